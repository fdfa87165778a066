"""Stories whose alternatives multiply beyond what can be followed."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import pytest
from golden_texts import Golden
from in_process import turncheck
from small_project import places, read
from timing import Timing

from turncheck.dialogue.domain import DialogueDomain
from turncheck.dialogue.training import StoryTracker, training_trackers
from turncheck.messages.errors import UserError
from turncheck.validation.facts import Dialogues
from turncheck.validation.pipeline import validate

S = "data/stories.yml"
_OR = "  - or:\n    - intent: greet\n    - intent: goodbye\n    - intent: order\n  - action: utter_done\n"


def _story(alternatives: int) -> tuple[str, str, str]:
    return S, "stories:\n", f"stories:\n- story: survey\n  steps:\n{_OR * alternatives}"


@pytest.mark.slow
def test_twenty_five_alternatives_in_a_row_are_a_finding_soon(tmp_path: Path, timing: Timing) -> None:
    project = read(tmp_path, _story(25))
    with timing.at_most(60):
        assert places(validate(project), "story-ways-too-many") == ["data/stories.yml:3:3"]


@pytest.mark.slow
def test_training_refuses_them_with_the_place(tmp_path: Path, golden: Golden) -> None:
    project = read(tmp_path, _story(25))
    with pytest.raises(UserError, match="'survey'") as refused:
        training_trackers(project, DialogueDomain.of(project))
    golden(refused.value)


def test_a_few_alternatives_are_followed(tmp_path: Path) -> None:
    assert places(validate(read(tmp_path, _story(3))), "story-ways-too-many") == []


def _joined(points: int) -> tuple[str, str, str]:
    """A chain of checkpoints, with three stories from each to the next."""
    turn = "  - intent: {}\n  - action: utter_done\n"
    first = f"- story: first\n  steps:\n{turn.format('greet')}  - checkpoint: point_0\n"
    joining = [
        f"- story: {intent} {point}\n  steps:\n  - checkpoint: point_{point}\n"
        f"{turn.format(intent)}  - checkpoint: point_{point + 1}\n"
        for point in range(points)
        for intent in ("greet", "goodbye", "order")
    ]
    last = f"- story: last\n  steps:\n  - checkpoint: point_{points}\n{turn.format('goodbye')}"
    return S, "stories:\n", "stories:\n" + first + "".join(joining) + last


@pytest.mark.slow
@pytest.mark.parametrize("points", [8, 12])
def test_checkpoints_that_thousands_of_dialogues_go_on_from_are_named(points: int, tmp_path: Path) -> None:
    no_rules = ("config.yml", "- name: RulePolicy\n", "")  # which would be held against each of the dialogues
    findings = validate(read(tmp_path, _joined(points), no_rules)).findings
    (finding,) = [finding for finding in findings if finding.code == "checkpoint-joins-many"]
    assert finding.severity == "warning"  # a user has to see it: time and memory grow with it
    assert "'point_8' (6,561), 'point_7' (2,187)" in finding.message
    assert any(finding.code == "story-ways-too-many" for finding in findings) == (points == 12)


@pytest.mark.slow
def test_checkpoints_with_few_dialogues_are_not_named(tmp_path: Path) -> None:
    assert places(validate(read(tmp_path, _joined(6))), "checkpoint-joins-many") == []


@pytest.mark.slow
def test_thousands_of_joined_dialogues_share_what_they_have_in_common(tmp_path: Path) -> None:
    project = read(tmp_path, _joined(8))
    domain = DialogueDomain.of(project)
    tracemalloc.start()
    try:
        trackers = training_trackers(project, domain, augmentation=0)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    stories = [tracker for tracker in trackers.stories if tracker.name.startswith("first")]
    assert len(stories) == 3**8
    assert len({id(state) for tracker in stories for state in tracker.states()}) < 100
    assert held / len(stories) < 3_000


@pytest.mark.slow
def test_dialogues_that_are_refused_are_not_kept(tmp_path: Path) -> None:
    project = read(tmp_path, _joined(12))
    dialogues = Dialogues.of(project)
    assert dialogues.refused is not None
    gc.collect()
    assert sum(isinstance(one, StoryTracker) for one in gc.get_objects()) < 1_000


@pytest.mark.slow
def test_whoever_runs_or_validates_reads_the_names_of_the_checkpoints(tmp_path: Path) -> None:
    read(tmp_path, _joined(12))
    named = "'point_8' (6,561)"
    assert named in turncheck("data", "validate", cwd=tmp_path).stdout
    turncheck("run", "--evaluations", "validate", cwd=tmp_path)
    for shown in ("summary.md", "comment.md"):
        assert named.replace("'", "`") in (tmp_path / "results" / shown).read_text()
