"""Suggested tests pass now, and notice what no test notices; nothing is overwritten, and no truth is invented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from golden_texts import Golden
from test_strength import CASES, CONFIG, DOMAIN, NLU, RULES, STORIES, small_bot

from turncheck.cli import build_parser, run_command_line
from turncheck.commands import strength
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.engines.embedded.workshop import EmbeddedWorkshop
from turncheck.evaluations.robustness.robustness import TrainingSentences, evaluate_robustness, training_sentences
from turncheck.evaluations.strength.bench import make_bench
from turncheck.evaluations.strength.faults import mutants_of
from turncheck.evaluations.strength.measure import StrengthRun, evaluate_strength, killing_test
from turncheck.evaluations.strength.suggested import CASES as CASES_FILE
from turncheck.evaluations.strength.suggested import (
    REVIEW,
    TASKS,
    TRAINING,
    SentenceTask,
    cases_text,
    free_file,
    key_of_task,
    key_of_test,
    key_of_training,
    sentence_tasks,
    stories_text,
    suggested_before,
    tasks_text,
    training_text,
)
from turncheck.evaluations.strength.suggested import STORIES as STORIES_FILE
from turncheck.messages.finding import Location
from turncheck.project.e2e.cases import read_cases
from turncheck.project.model import Project
from turncheck.project.nlu_data import Example, NluData
from turncheck.project.reader import read_project, read_story_files
from turncheck.report.model import Strength
from turncheck.report.strength import SuggestedTest
from turncheck.validation.facts import ProjectTests
from turncheck.work.workplace import Local

WORKSHOP = EmbeddedWorkshop(EmbeddedNluTrainer(), 42)


def the_tests(root: Path, *cases: str) -> ProjectTests:
    stories = read_story_files([root / "tests/test_stories.yml"], root)[0]
    return ProjectTests(stories, (), read_cases(root, [str(root / "tests" / name) for name in cases]).cases)


def measured(root: Path, tests: ProjectTests, **run: Any) -> Strength:
    return evaluate_strength(read_project(root), WORKSHOP, tests, StrengthRun(suggest=True, **run))


def noticed(project: Project, suggested: SuggestedTest, folder: Path) -> set[tuple[str, str, str]]:
    """Write a suggested test alone into a folder, and return all mutants that it kills."""
    path = folder / f"test_{suggested.kind}.yml"
    path.write_text((cases_text if suggested.kind == "case" else stories_text)([suggested]), encoding="utf-8")
    cases = read_cases(folder, [path]).cases if suggested.kind == "case" else ()
    stories = read_story_files([path], folder)[0] if suggested.kind == "story" else ()
    original = WORKSHOP.trained(project)
    bench = make_bench(original, ProjectTests(stories, (), cases))
    assert bench.cases or bench.stories, "it passes on the project as it is"
    killed = set()
    for mutant in mutants_of(project, 42):
        try:
            trained = mutant.trained(original)
        except Exception:  # noqa: BLE001, S112 - a mutant that cannot be trained is no matter of tests
            continue
        if killing_test(mutant, trained, bench) is not None:
            killed.add((mutant.operator.name, mutant.what, str(mutant.location)))
    return killed


def named(suggested: SuggestedTest) -> set[tuple[str, str, str]]:
    return {(one.operator, one.what, str(one.location)) for one in suggested.notices}


@pytest.mark.slow
def test_suggested_tests_bring_the_score_up(tmp_path: Path) -> None:
    root = small_bot(tmp_path, test_stories=STORIES)
    before = measured(root, the_tests(root))

    assert before.suggested
    path = root / "tests" / "e2e_suggested_1.yml"
    path.write_text(cases_text(before.suggested), encoding="utf-8")
    after = measured(root, the_tests(root, path.name))

    assert before.score is not None
    assert after.score is not None
    assert after.score > before.score + 0.2
    assert {one for test in before.suggested for one in named(test)} <= {
        (one.operator, one.what, str(one.location)) for one in after.mutants if one.by in {"case", "sentence"}
    }


@pytest.mark.slow
def test_each_suggested_test_kills_the_mutants_that_it_names(tmp_path: Path) -> None:
    root = small_bot(tmp_path / "bot", test_stories=STORIES)
    suggested = measured(root, the_tests(root)).suggested

    assert len(suggested) > 1
    for one in suggested:
        assert one.notices
        assert named(one) <= noticed(read_project(root), one, tmp_path)


def test_they_are_marked_and_say_what_they_would_notice(tmp_path: Path, golden: Golden) -> None:
    root = small_bot(tmp_path, test_stories=STORIES)
    text = cases_text(measured(root, the_tests(root)).suggested)

    assert text.startswith(f"# {REVIEW}")
    golden(text, only="'utter_hello'")
    (hello,) = [case for case in yaml.safe_load(text)["test_cases"] if "say hello" in case["test_case"]]
    assert {"bot": "Hello there"} in hello["steps"]


@pytest.mark.slow
def test_the_most_telling_come_first_whatever_the_number_of_workers(tmp_path: Path) -> None:
    root = small_bot(tmp_path, test_stories=STORIES)
    one = measured(root, the_tests(root))
    two = evaluate_strength(read_project(root), WORKSHOP, the_tests(root), StrengthRun(suggest=True), work=Local(2))

    assert one == two
    numbers = [len(test.notices) for test in one.suggested]
    assert numbers == sorted(numbers, reverse=True)


@pytest.mark.slow
def test_a_rule_with_a_custom_action_gets_a_test_story(tmp_path: Path) -> None:
    root = small_bot(tmp_path / "bot", test_stories=STORIES)
    domain = DOMAIN.replace("intents: [greet, bye, book]", "intents: [greet, bye, book]\nactions: [action_look_up]")
    rules = RULES.replace("- action: utter_booked", "- action: action_look_up\n      - action: utter_booked")
    (root / "domain.yml").write_text(domain.lstrip(), encoding="utf-8")
    (root / "data/rules.yml").write_text(rules.lstrip(), encoding="utf-8")

    (story,) = [one for one in measured(root, the_tests(root)).suggested if one.kind == "story"]

    assert story.along == "rule 'book'"
    assert not story.walked
    assert {"action": "action_look_up"} in story.steps
    assert named(story) <= noticed(read_project(root), story, tmp_path)


FORM = """
forms:
  book_form:
    required_slots: [city, nights]
"""
FORM_RULES = """
  - rule: begin
    steps:
      - intent: book
      - action: book_form
      - active_loop: book_form
  - rule: end
    condition:
      - active_loop: book_form
    steps:
      - action: book_form
      - active_loop: null
      - slot_was_set:
          - requested_slot: null
      - action: utter_booked
"""


@pytest.mark.slow
def test_a_form_is_filled_in_to_its_end(tmp_path: Path) -> None:
    root = small_bot(tmp_path / "bot", test_stories=STORIES)
    slots = "  nights:\n    type: text\n    influence_conversation: false\n    mappings:\n      - type: from_text\n"
    slots += "        conditions:\n          - active_loop: book_form\n            requested_slot: nights\n"
    asked = "responses:\n  utter_ask_city:\n    - text: Where?\n  utter_ask_nights:\n    - text: How long?\n"
    domain = DOMAIN.replace("responses:\n", slots + asked) + FORM
    rules = RULES[: RULES.index("  - rule: book")].rstrip() + FORM_RULES
    (root / "domain.yml").write_text(domain.lstrip(), encoding="utf-8")
    (root / "data/rules.yml").write_text(rules.lstrip(), encoding="utf-8")

    found = [one for one in measured(root, the_tests(root)).suggested if one.along == "rule 'end'"]

    assert found
    assert {"bot": "How long?"} in found[0].steps
    assert found[0].steps[-1]["bot"].startswith("Booked for ")


def with_form(root: Path, nights: str) -> Path:
    """Give the small bot a form for a city and something else, whose slot is ``nights``."""
    asked = "responses:\n  utter_ask_city:\n    - text: Where?\n  utter_ask_nights:\n    - text: How long?\n"
    domain = DOMAIN.replace("responses:\n", nights + asked).replace(
        "[greet, bye, book]", "[greet, bye, book, sure, nope]"
    )
    rules = RULES[: RULES.index("  - rule: book")].rstrip() + FORM_RULES
    nlu = (
        NLU.rstrip()
        + """
  - intent: sure
    examples: |
      - exactly
  - intent: nope
    examples: |
      - never
"""
    )
    (root / "domain.yml").write_text((domain + FORM).lstrip(), encoding="utf-8")
    (root / "data/rules.yml").write_text(rules.lstrip(), encoding="utf-8")
    (root / "data/nlu.yml").write_text(nlu.lstrip(), encoding="utf-8")
    return root


@pytest.mark.slow
def test_the_questions_of_a_form_are_noticed_and_each_way_to_answer_is_taken(tmp_path: Path) -> None:
    way = "      - type: from_intent\n        intent: {}\n        value: {}\n"
    way += "        conditions:\n          - active_loop: book_form\n            requested_slot: nights\n"
    slot = "  nights:\n    type: bool\n    influence_conversation: false\n    mappings:\n"
    ways = way.format("sure", "true") + way.format("nope", "false")
    root = with_form(small_bot(tmp_path / "bot", test_stories=STORIES), slot + ways)

    suggested = measured(root, the_tests(root)).suggested

    faults = {fault for test in suggested for _, fault, _ in named(test)}
    assert any("'utter_ask_nights'" in fault for fault in faults)
    assert {"exactly", "never"} <= {step.get("user") for test in suggested for step in test.steps}
    done = [(test.kind, test.steps, test.fixture) for test in suggested]
    assert all(one not in done[:number] for number, one in enumerate(done))
    for one in suggested:
        assert named(one) <= noticed(read_project(root), one, tmp_path)


def test_missing_sentences_are_a_task_and_no_truth(tmp_path: Path) -> None:
    root = small_bot(tmp_path, test_stories=STORIES)
    tasks = sentence_tasks(read_project(root), (Example("hi", "greet"),), measured(root, the_tests(root)))

    assert {task.intent for task in tasks} == {"bye", "book"}
    assert all(other != task.intent for task in tasks for _, other in task.near)
    assert all(len(set(task.near)) == len(task.near) for task in tasks)


def test_training_sentences_are_those_that_help(tmp_path: Path) -> None:
    root = small_bot(tmp_path)
    (root / "config.yml").write_text(CONFIG.replace("KeywordIntentClassifier", "DIETClassifier"), encoding="utf-8")
    nlu = NLU.replace("- hello\n", "- please tell me about you\n      - please tell me what you know\n")
    (root / "data/nlu.yml").write_text(nlu.lstrip(), encoding="utf-8")
    project, trainer = read_project(root), EmbeddedNluTrainer()
    tests = NluData(tuple(Example(text, "greet") for text in ("please tell me", "tell me about you please", "you")))
    robustness = evaluate_robustness(project, trainer.fit(project), tests)

    found = training_sentences(project, tests, robustness, trainer, 42)

    known = {one.text for one in (*project.nlu.examples, *tests.examples)}
    assert all(one.after < one.before for one in found)
    assert all(sentence.text not in known for one in found for sentence in one.sentences)


@pytest.mark.slow
def test_files_are_written_beside_those_that_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    root = small_bot(tmp_path, test_stories=STORIES, e2e_test_cases=CASES)
    command = ["suggest", "--project", str(root), "--workers", "1", "-q"]

    assert run_command_line(command) == 0
    assert "would notice" in capsys.readouterr().out
    assert not list(root.glob("tests/*suggested*"))
    assert run_command_line([*command, "--write"]) == 0
    path = root / "tests" / "e2e_suggested_1.yml"
    first = path.read_text("utf-8")
    assert (root / "tests" / "e2e_test_cases.yml").read_text("utf-8") == CASES.lstrip()
    assert f"Already in {path}" not in capsys.readouterr().out

    assert run_command_line([*command, "--write"]) == 0
    told = capsys.readouterr().out
    golden(told)
    assert "Written" not in told
    assert path.read_text("utf-8") == first
    assert len(list(root.glob("tests/*suggested_*"))) == len(list(root.glob("tests/*suggested_1.*")))


@pytest.mark.slow
def test_what_was_suggested_is_written_once_whatever_a_reviewer_corrects(tmp_path: Path) -> None:
    root = small_bot(tmp_path, test_stories=STORIES, e2e_test_cases=CASES)
    command = ["suggest", "--project", str(root), "--workers", "1", "-q", "--write"]
    assert run_command_line(command) == 0
    path = root / "tests" / "e2e_suggested_1.yml"
    written = yaml.safe_load(path.read_text("utf-8"))
    tests = written["test_cases"]
    assert len(tests) > 1
    kept, lost = tests[0], tests[1:]
    kept["test_case"] = "corrected"
    kept["steps"] = [{"user": step["user"]} if "user" in step else {"bot": "Something else"} for step in kept["steps"]]
    path.write_text(yaml.safe_dump({"test_cases": [kept]}), "utf-8")
    (root / "tests" / "held_out_suggested_1.template").write_text("not: [yaml", "utf-8")

    assert run_command_line(command) == 0
    more = yaml.safe_load((root / "tests" / "e2e_suggested_2.yml").read_text("utf-8"))["test_cases"]
    assert [one["test_case"] for one in more] == [one["test_case"] for one in lost]
    assert (root / "tests" / "held_out_suggested_2.template").is_file()
    assert (root / "tests" / "held_out_suggested_1.template").read_text("utf-8") == "not: [yaml"


def test_each_kind_of_suggestion_is_found_again_in_its_file(tmp_path: Path) -> None:
    hello = {"user": "it's: [one](number) #1", "intent": "greet"}
    case = SuggestedTest(
        kind="case", name="a", along="rule 'a'", location=Location("a.yml"),
        steps=({"user": "yes"}, {"bot": "Yes: no"}, {"user": "\U0001f600 on"}), fixture={"size": "no", "count": 3},
    )  # fmt: skip
    story = SuggestedTest(kind="story", name="b", along="rule 'b'", location=Location("a.yml"), steps=(hello,))
    task = SentenceTask("true", ())
    group = TrainingSentences("greet", "typo", (Example("helo: you", "greet"), Example("hi # you", "greet")), 2, 1)
    (tmp_path / "tests").mkdir()
    for name, content in (
        (CASES_FILE, cases_text([case])),
        (STORIES_FILE, stories_text([story])),
        (TASKS, tasks_text([task])),
        (TRAINING, training_text([group])),
    ):
        free_file(tmp_path, name).write_text(content, encoding="utf-8")

    assert list(suggested_before(tmp_path)) == [
        key_of_test(case), key_of_test(story), key_of_task(task), key_of_training(group),
    ]  # fmt: skip


@pytest.mark.parametrize("command", [["test", "strength"], ["suggest"]])
def test_mutants_are_tried_for_a_limited_time_unless_it_is_switched_off(command: list[str]) -> None:
    parser = build_parser(command[0])
    assert strength.tested_settings(parser.parse_args(command)).strength_budget == strength.BUDGET
    assert strength.tested_settings(parser.parse_args([*command, "--budget", "0"])).strength_budget == 0
