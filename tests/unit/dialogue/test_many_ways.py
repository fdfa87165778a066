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
from turncheck.dialogue.events import ActionExecuted
from turncheck.dialogue.story_steps import story_steps
from turncheck.dialogue.training import StoryTracker, Trackers, trackers_of_steps, training_trackers
from turncheck.messages.errors import UserError
from turncheck.project.model import Project
from turncheck.project.reader import read_project
from turncheck.report.codec import decode
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


_NO_RULES = (
    ("config.yml", "- name: RulePolicy\n", ""),
    ("domain.yml", "forms:\n  pizza_form:\n    required_slots:\n    - size\n", ""),
    ("data/stories.yml", "  - action: pizza_form\n  - active_loop: pizza_form\n  - active_loop: null\n", ""),
)
"""Rules would be held against each of the dialogues."""
_TEST = """\
version: "3.1"
stories:
- story: hello
  steps:
  - intent: greet
  - action: utter_greet
"""


@pytest.mark.slow
def test_ten_alternatives_of_three_intents_are_followed(tmp_path: Path) -> None:
    project = read(tmp_path, _story(10), *_NO_RULES)
    assert len(training_trackers(project, DialogueDomain.of(project), augmentation=0).stories) > 3**10


@pytest.mark.slow
def test_beyond_the_limit_stories_are_not_judged_which_is_no_fault(tmp_path: Path) -> None:
    read(tmp_path, _story(11), *_NO_RULES, **{"tests/test_stories.yml": _TEST})
    ended = turncheck("run", "--baseline", "none", "--folds", "2", cwd=tmp_path)
    report = decode((tmp_path / "results/report.json").read_bytes())
    assert report.validation is not None
    (finding,) = [finding for finding in report.validation.findings if finding.code == "story-ways-too-many"]
    (skipped,) = [skipped for skipped in report.skipped if skipped.evaluation == "core"]
    assert (ended.returncode, finding.severity, report.core, skipped.fault) == (0, "warning", None, False)
    assert "177,147" in skipped.reason
    assert "at most 60,000" in skipped.reason
    assert "Passed, but not all tests were run" in (tmp_path / "results/comment.md").read_text()


_OLDER = {
    "config.yml": "language: en\npolicies:\n- name: MemoizationPolicy\n  max_history: {}\n",
    "domain.yml": (
        "intents:\n- greet\n- goodbye\n- order\nactions:\n- utter_done\n- utter_end\n"
        "templates:\n  utter_done:\n  - text: Done.\n  utter_end:\n  - text: The end.\n"
    ),
    "data/nlu.md": "## intent:greet\n- hello\n- hi\n",
    "data/stories.md": (
        "## survey\n* greet\n  - utter_done\n"
        + "* greet OR goodbye OR order\n  - utter_done\n" * 14
        + "* greet\n  - utter_end\n"
    ),
}


def _older(folder: Path, max_history: str) -> Project:
    (folder / "data").mkdir()
    for name, text in _OLDER.items():
        (folder / name).write_text(text.replace("{}", max_history))
    return read_project(folder)


@pytest.mark.parametrize("more", ["", "\n- name: MappingPolicy", "\n- name: KerasPolicy\n  max_history: 2"])
def test_rasa_1_follows_one_of_the_dialogues_that_end_alike(more: str, tmp_path: Path) -> None:
    project = _older(tmp_path, f"3{more}")
    trackers = training_trackers(project, DialogueDomain.of(project), augmentation=0)
    assert len(trackers.stories) < 1_000  # of millions
    whole = [tracker for tracker in trackers.stories if tracker.name == "survey" and len(tracker.states()) > 30]
    assert whole
    assert places(validate(project), "story-ways-too-many") == []


@pytest.mark.slow
@pytest.mark.parametrize("more", ["\n- name: EmbeddingPolicy", "\n- name: own.Policy"])
def test_not_if_a_policy_looks_back_at_the_whole_dialogue(more: str, tmp_path: Path) -> None:
    project = _older(tmp_path, f"3{more}")
    with pytest.raises(UserError, match="'survey'"):
        training_trackers(project, DialogueDomain.of(project), augmentation=0)


@pytest.mark.parametrize("window", [1, 2, 3])
def test_what_is_learnt_from_the_last_states_is_the_same(window: int, tmp_path: Path) -> None:
    project = read(tmp_path, _story(4), *_NO_RULES)
    steps = story_steps(project.stories, DialogueDomain.of(project))
    every = trackers_of_steps(steps, DialogueDomain.of(project))
    joined = trackers_of_steps(steps, DialogueDomain.of(project), window=window)
    assert len(joined.stories) < len(every.stories)
    assert _learnt(joined, window) == _learnt(every, window)


def _learnt(trackers: Trackers, window: int) -> set[tuple[str, ...]]:
    """The states before each action, and the action."""
    found = set()
    for tracker in trackers.stories:
        states = [state.text for state in tracker.states()]
        actions = [event.label for event in tracker.events if isinstance(event, ActionExecuted)]
        for number, action in enumerate(actions):
            found.add((*states[max(0, number + 1 - window) : number + 1], action))
    return found


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
    most = {8: "'point_8' (6,561), 'point_7' (2,187)", 12: "'point_10' (59,049), 'point_9' (19,683)"}
    assert most[points] in finding.message
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
    named = "'point_10' (59,049)"
    assert named in turncheck("data", "validate", cwd=tmp_path).stdout
    turncheck("run", "--evaluations", "validate", cwd=tmp_path)
    for shown in ("summary.md", "comment.md"):
        assert named.replace("'", "`") in (tmp_path / "results" / shown).read_text()


def test_a_few_ways_through_a_long_story_are_bounded_as_well(tmp_path: Path) -> None:
    turns = "  - intent: greet\n  - action: utter_done\n" * 1_000
    project = read(tmp_path, (S, "stories:\n", f"stories:\n- story: survey\n  steps:\n{_OR * 6}{turns}"), *_NO_RULES)
    assert places(validate(project), "story-ways-too-many") == ["data/stories.yml:3:3"]
