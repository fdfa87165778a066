"""The story files of ``rasa test core``, and the words and pictures beside them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st

from turncheck.messages.finding import Location
from turncheck.render.plots import story_plots
from turncheck.render.rasa_files import by_severity, story_block, story_files
from turncheck.render.results import render_results
from turncheck.report.model import Core, ProjectInfo, Report, StoryResult, StoryStep, Tool, WrittenStep

NAMES = st.text(min_size=1).filter(lambda name: name.isprintable())
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), NAMES)
STEPS = st.one_of(
    st.builds(lambda name: {"action": name}, NAMES),
    st.builds(lambda name: {"bot": name}, NAMES),
    st.builds(lambda name: {"active_loop": name}, st.one_of(st.none(), NAMES)),
    st.builds(lambda name, value: {"slot_was_set": [{name: value}]}, NAMES, st.one_of(SCALARS, st.lists(SCALARS))),
    st.builds(
        lambda name, entities: {"intent": name, "entities": entities},
        NAMES,
        st.lists(st.one_of(NAMES, st.builds(lambda key, value: {key: value}, NAMES, SCALARS))),
    ),
)


class YamlOfRasa(yaml.SafeLoader):
    """Rasa reads YAML 1.2, where ``yes`` is a text."""


YamlOfRasa.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag.rpartition(":")[2] != "bool" or letter in "tTfF"]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def result(name: str = "s", *written: WrittenStep, **more: Any) -> StoryResult:
    return StoryResult(name=name, location=Location("tests/test_stories.yml", 3), passed=False, written=written, **more)


def core(*stories: StoryResult) -> Core:
    return Core(stories=stories, report={}, accuracy=0.5, conversation_accuracy=0.5)


@pytest.mark.slow
@given(NAMES, st.lists(st.tuples(STEPS, st.one_of(st.none(), st.text()))))
def test_what_is_written_reads_back_the_same_whatever_the_comments(
    name: str, steps: list[tuple[dict[str, Any], str | None]]
) -> None:
    written = [WrittenStep(step=step, comment=comment) for step, comment in steps]
    block = story_block(result(name, *written))
    assert yaml.load(block, Loader=YamlOfRasa) == [  # noqa: S506 - a safe loader
        {"story": f"{name} (tests/test_stories.yml)", "steps": [step for step, _ in steps]}
    ]


def test_a_comment_stands_behind_its_step_and_cannot_begin_another() -> None:
    block = story_block(result("s", WrittenStep(step={"action": "utter_a"}, comment="predicted: x\n- action: evil")))
    assert block.splitlines()[2:] == ["  - action: utter_a  # predicted: x - action: evil"]


def test_comments_of_entities_stand_behind_the_entities() -> None:
    step = {"intent": "inform", "entities": [{"city": "Rome"}, {"name": "Ann"}]}
    block = story_block(result("s", WrittenStep(step=step, entity_comments={"1": "predicted: dish: Ann"})))
    assert block.splitlines()[-1] == "    - name: Ann  # predicted: dish: Ann"


def test_files_without_stories_say_so_as_rasa_does(golden: Golden) -> None:
    contents = {file.name: file.encoded.decode() for file in story_files(core(), successes=True)}
    golden(contents["failed_test_stories.yml"])
    golden(contents["successful_test_stories.yml"])
    golden(contents["stories_with_warnings.yml"])


def test_warnings_come_the_most_severe_first_and_duplicates_stay_out() -> None:
    stories = [
        result("mild", warned=True, severity=0.5),
        result("grave", warned=True, severity=2.0),
        result("same", duplicate=True),
    ]
    assert [story.name for story in by_severity(stories)] == ["grave", "mild"]
    files = {file.name: file.encoded.decode() for file in story_files(core(*stories))}
    assert "same" not in str(files["failed_test_stories.yml"])


def wrong_step(**more: Any) -> StoryStep:
    return StoryStep(kind="action", expected="utter_a", predicted="utter_b", passed=False, **more)


def test_the_terminal_shows_a_failed_story_and_nothing_hostile() -> None:
    story = StoryResult(
        name="evil \x1b[31m::error::",
        location=Location("tests/test_stories.yml", 3),
        passed=False,
        steps=(wrong_step(policy="RulePolicy", confidence=1.0, slots={"city": "Rome"}, active_loop="form"),),
    )
    told = render_results(
        Report(tool=Tool(name="turncheck", version="1"), project=ProjectInfo(name="bot"), seed=1, core=core(story))
    )
    assert "expected utter_a, got utter_b" in told
    assert "\x1b" not in told
    assert not any(line.startswith("::") for line in told.splitlines())


def test_pictures_are_the_same_bytes_for_the_same_figures() -> None:
    story = StoryResult(name="s", location=Location("t.yml"), passed=False, steps=(wrong_step(),))
    report = Report(tool=Tool(name="turncheck", version="1"), project=ProjectInfo(name="bot"), seed=1, core=core(story))
    first, second = (list(story_plots(report)) for _ in range(2))
    assert first == second
    assert [picture.name for picture in first] == ["story_confusion_matrix.png", "story_confmat.pdf"]
    assert first[0].encoded.startswith(b"\x89PNG")
    assert first[1].encoded.startswith(b"%PDF")
