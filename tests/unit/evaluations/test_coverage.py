"""Which parts of a project the tests reach."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from small_project import read

from turncheck.evaluations.coverage import (
    Reached,
    coverage,
    reached_by_conversations,
    reached_by_examples,
    reached_by_stories,
)
from turncheck.project.model import ActionStep, Story, UserStep
from turncheck.project.reader import read_nlu, read_stories
from turncheck.report.conversations import StoryResult, StoryStep
from turncheck.report.model import COVERAGE_KINDS

S = "data/stories.yml"
TEST = """\
version: "3.1"
stories:
- story: says goodbye and asks
  steps:
  - user: |
      see you
    intent: goodbye
  - action: utter_goodbye
  - user: |
      are you open
    intent: faq/hours
  - action: utter_faq
"""


def covered(kinds: object, kind: str) -> set[str]:
    return {item.name for item in kinds[kind].items if item.covered}  # type: ignore[index] # a dictionary of kinds


def reached(folder: Path, text: str) -> Reached:
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests" / "test_stories.yml").write_text(text, encoding="utf-8")
    stories, _ = read_stories([folder / "tests" / "test_stories.yml"], folder)
    return reached_by_stories(stories)


def test_test_stories_reach_intents_responses_and_rules(tmp_path: Path) -> None:
    project = read(tmp_path)
    kinds = coverage(project, reached(tmp_path, TEST), {})
    assert tuple(kinds) == tuple(kind for kind in COVERAGE_KINDS if not kind.startswith("flow"))
    assert covered(kinds, "intents") == {"goodbye", "faq"}
    assert covered(kinds, "responses") == {"utter_goodbye", "utter_faq/hours"}
    assert covered(kinds, "rules") == {"say goodbye", "answer questions"}
    assert covered(kinds, "stories") == set()
    assert kinds["rules"].share == 1.0
    assert kinds["intents"].share == 0.5
    assert kinds["actions"].share == 0.0


def test_what_came_instead_of_what_a_story_expects_is_reached_as_well(tmp_path: Path) -> None:
    project = read(tmp_path)
    text = TEST.replace("utter_goodbye", "utter_bye")
    stories_reach = reached(tmp_path, text)
    assert covered(coverage(project, stories_reach, {}), "rules") == {"answer questions"}

    stories, _ = read_stories([tmp_path / "tests" / "test_stories.yml"], tmp_path)
    wrong = StoryStep(
        kind="action",
        expected="utter_bye",
        predicted="utter_goodbye",
        passed=False,
        location=next(step.location for step in stories[0].steps if isinstance(step, ActionStep)),
    )
    result = StoryResult(name="says goodbye and asks", location=stories[0].location, passed=False, steps=(wrong,))
    kinds = coverage(project, reached_by_stories(stories, (result,)), {})
    assert covered(kinds, "rules") == {"say goodbye", "answer questions"}
    assert covered(kinds, "responses") == {"utter_goodbye", "utter_faq/hours"}


def test_flows_are_reached_where_the_project_has_some(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data" / "flows.yml").write_text("flows:\n  send: {steps: [{action: a}]}\n  pay: {steps: []}\n")
    kinds = coverage(read(tmp_path), reached_by_conversations({"flows": ["send", "pattern_x"]}), {})
    assert tuple(kinds) == tuple(kind for kind in COVERAGE_KINDS if kind != "flow_steps")  # those are added by a run
    assert covered(kinds, "flows") == {"send"}
    assert kinds["flows"].share == 0.5
    assert str(kinds["flows"].items[1].location) == "data/flows.yml:3:3"


def test_a_form_brings_its_slots_and_an_entity_the_slot_it_fills(tmp_path: Path) -> None:
    project = read(tmp_path)
    assert covered(coverage(project, Reached(actions=frozenset({"pizza_form"})), {}), "slots") == {"size"}
    assert covered(coverage(project, Reached(entities=frozenset({"size"})), {}), "slots") == {"size"}


def test_a_story_is_reached_if_all_its_steps_are_walked(tmp_path: Path) -> None:
    project = read(tmp_path)
    story = project.stories[0]
    assert covered(coverage(project, reached_by_stories([story]), {}), "stories") == {"greet and order"}


def test_test_sentences_reach_intents_and_entities(tmp_path: Path) -> None:
    project = read(tmp_path)
    nlu, _ = read_nlu([tmp_path / "data" / "nlu.yml"], tmp_path)
    kinds = coverage(project, reached_by_examples(nlu.examples), {})
    assert kinds["intents"].share == kinds["entities"].share == 1.0


def test_a_digest_changes_with_the_content_and_not_with_the_place(tmp_path: Path) -> None:
    before = coverage(read(tmp_path / "a"), Reached(), {})
    moved = coverage(read(tmp_path / "b", (S, "stories:", "# moved\n\nstories:")), Reached(), {})
    edited = coverage(read(tmp_path / "c", (S, "utter_done", "utter_goodbye")), Reached(), {})
    digests = [kinds["stories"].items[0].digest for kinds in (before, moved, edited)]
    assert digests[0] == digests[1] != digests[2]
    assert before["stories"].items[0].location != moved["stories"].items[0].location


def test_nothing_to_cover_has_no_share(tmp_path: Path) -> None:
    project = read(tmp_path, **{S: 'version: "3.1"\n'})
    assert coverage(project, Reached(), {})["stories"].share is None


def test_a_custom_action_changes_with_its_code(tmp_path: Path) -> None:
    project = read(tmp_path)
    name = next(iter(project.domain.actions))

    def digest(code: dict[str, str]) -> str:
        return next(item.digest for item in coverage(project, Reached(), code)["actions"].items if item.name == name)

    assert digest({name: "one"}) != digest({name: "other"}) != digest({})
    assert digest({"action_of_another_bot": "one"}) == digest({})


def test_a_rule_is_reached_by_a_conversation_that_walks_it(tmp_path: Path) -> None:
    project = read(tmp_path)
    rule = project.rules[0]
    labels = [f"{kind} {name}" for kind, name in _labels(rule)]
    steps = [f"{one} > {other}" for one, other in pairwise(labels)]

    assert covered(coverage(project, reached_by_conversations({"steps": steps}), {}), "rules") >= {rule.name}
    assert rule.name not in covered(coverage(project, reached_by_conversations({"steps": steps[:-1]}), {}), "rules")


def _labels(story: Story) -> list[tuple[str, str]]:
    return [
        ("intent", str(step.intent)) if isinstance(step, UserStep) else ("action", step.action)
        for step in story.steps
        if isinstance(step, UserStep | ActionStep)
    ]
