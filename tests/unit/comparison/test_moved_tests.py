"""Tests that were moved out of sight, renamed or reworded; sentences that are measured otherwise than on the base."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from golden_texts import Golden
from pull_request import LINKS
from report_builder import BASE_COMMIT, example, finding, report, story

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.messages.finding import Location
from turncheck.project.testfiles import find_files_not_looked_for
from turncheck.render.markdown import render_comment
from turncheck.render.wording.gates import judge
from turncheck.report.model import GateSettings, Report, StoryResult, StoryStep
from turncheck.run.reading import read_tests
from turncheck.settings.options import Settings

if TYPE_CHECKING:
    from pathlib import Path

RULES = GateSettings(fail_on=("errors", "new-failures", "gone-tests"))
STORIES = 'version: "3.1"\nstories:\n- story: hi\n  steps:\n  - intent: greet\n  - action: utter_greet\n'
SENTENCES = 'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - hello\n'


def drawn(head: Report, base: Report) -> str:
    comparison = compare(head, Present(base, "git"))
    return str(render_comment(head, comparison, judge(head, comparison, RULES), LINKS).content)


def test_tests_under_a_name_that_nobody_looks_for_are_noted(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "stories.yml").write_text(STORIES, encoding="utf-8")
    (tmp_path / "tests" / "sentences.yml").write_text(SENTENCES, encoding="utf-8")
    (tmp_path / "tests" / "test_more.yml").write_text(STORIES, encoding="utf-8")
    (tmp_path / "tests" / "notes.yml").write_text("a: b\n", encoding="utf-8")

    assert find_files_not_looked_for(tmp_path, ("stories",), [tmp_path / "tests" / "test_more.yml"]) == [
        "tests/stories.yml"
    ]
    found = read_tests(Settings(project=str(tmp_path))).other_findings
    assert [(one.code, one.location.path) for one in found] == [
        ("test-file-not-looked-for", "tests/sentences.yml"),
        ("test-file-not-looked-for", "tests/stories.yml"),
    ]
    named = Settings(project=str(tmp_path), stories=(str(tmp_path / "tests" / "test_more.yml"),))
    assert [one.location.path for one in read_tests(named).other_findings] == ["tests/sentences.yml"]


def test_what_a_file_holds_that_is_no_text_is_not_guessed(tmp_path: Path, golden: Golden) -> None:
    texts = {
        "tests/greet.convo.txt": "#me\nhello\n\n#bot\nwelcome\n",
        "tests/greetings.utterances.txt": "GREETING\nhello\n",
        "tests/cases.yml": "test_cases:\n- test_case: greet\n  steps:\n  - user: hello\n",
        "tests/answers.json": '{"a": 1}',
        "e2e_tests/cases.yml": "test_cases:\n- test_case: greet\n  steps:\n  - user: hello\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-16")

    tests = read_tests(Settings(project=str(tmp_path)))

    found = [(one.code, one.severity, one.location.path) for one in tests.findings]
    paths = ("tests/answers.json", "tests/cases.yml")
    assert found == [("file-not-utf8", "warning", path) for path in paths]
    golden("\n".join(one.message for one in tests.findings))
    unread = [str(tmp_path / name) for name in ("e2e_tests/cases.yml", "tests/greet.convo.txt")]
    assert tests.e2e == (*unread,), "reading says why it cannot be done"


def test_where_tests_are_gone_the_file_is_named_that_has_them_out_of_sight(golden: Golden) -> None:
    told = "'tests/stories.yml' holds stories, but its name is not that of a test file: nothing is tested with it."
    note = finding("test-file-not-looked-for", told, "info", path="tests/stories.yml")
    kept, gone = story("kept", "utter_a"), story("gone", "utter_b", line=9)

    head = report(stories=[kept], findings=[note], root="")
    comment = drawn(head, report(stories=[kept, gone], root="", commit=BASE_COMMIT))

    golden(comment, only="**1")
    section = comment.partition("#### Tests that are gone (1)")[2].partition("<details>")[0]
    golden(section)


@pytest.mark.parametrize("code", ["file-without-data", "file-empty"])
def test_where_tests_are_gone_their_file_is_named_if_it_has_none_left(code: str) -> None:
    kept, gone = story("kept", "utter_a"), story("gone", "utter_b", path="tests/test_gone.yml")
    notes = [finding(code, "It has none.", "warning", path=f"tests/test_{name}.yml") for name in ("gone", "other")]
    head = report(stories=[kept], findings=notes, root="")
    comparison = compare(head, Present(report(stories=[kept, gone], root="", commit=BASE_COMMIT), "git"))

    verdict = judge(head, comparison, RULES)

    assert "'tests/test_gone.yml'" in verdict.summary
    assert "test_other" not in "".join([verdict.summary, *(gate.reason for gate in verdict.gates)])


def test_sentences_that_are_measured_otherwise_are_no_change() -> None:
    held_out = [example("good evening", "greet"), example("see you", "bye", line=2)]
    folded = [example("hello", "greet", "bye"), example("good evening", "greet", "bye", line=2), *held_out[1:]]
    head = report(examples=folded)
    assert head.nlu is not None
    head = msgspec.structs.replace(head, nlu=msgspec.structs.replace(head.nlu, mode="cross-validation", folds=5))

    comment = drawn(head, report(examples=held_out, commit=BASE_COMMIT))

    assert "Newly misclassified" not in comment
    assert "misclassified on" not in comment
    assert "Misclassified sentences (2)" in comment
    (row,) = (line for line in comment.splitlines() if line.startswith("| Intents, F1"))
    assert row.endswith("|  |")
    assert "F1 changed" not in comment


def said(name: str, text: str, *, path: str = "tests/test_stories.yml", action: str = "utter_address") -> StoryResult:
    place = Location(path, 4, 5)
    steps = (
        StoryStep(kind="intent", expected="address", predicted="address", passed=True, text=text, location=place),
        StoryStep(kind="action", expected=action, predicted=action, passed=True, location=place),
    )
    return msgspec.structs.replace(story(name, path=path), steps=steps)


def test_a_story_renamed_reworded_and_moved_is_the_same_story() -> None:
    base = report(stories=[said("address", "where is the shop")], commit=BASE_COMMIT)
    head = report(stories=[said("find us", "where is the shop please", path="tests/test_moved.yml")])

    compared = compare(head, Present(base, "git")).stories

    assert (compared.added, compared.removed, compared.gone) == (0, 0, ())
    assert [case.edits for case in compared.edited] == [("edited", "renamed", "moved")]


def test_a_story_with_other_steps_or_quite_other_words_is_another_one() -> None:
    base = report(stories=[said("address", "where is the shop")], commit=BASE_COMMIT)
    for other in (said("x", "I am hungry, bring pizza"), said("x", "where is the shop please", action="utter_hours")):
        compared = compare(report(stories=[other]), Present(base, "git")).stories
        assert (compared.added, compared.removed) == (1, 1)


RESULTS = "e2e_coverage_results/passed.yml"
CASES = 'version: "3.1"\ntest_cases:\n- test_case: hi\n  steps:\n  - user: hello\n  - utter: utter_greet\n'


def test_end_to_end_cases_anywhere_in_the_project_are_recognised_by_their_content(
    tmp_path: Path, golden: Golden
) -> None:
    elsewhere = ("conversations/smoke.yml", "data/flows/checks.yaml", "top.yml")
    for path in (
        *elsewhere,
        "tests/any/name.yml",
        "e2e_tests/a.yml",
        ".hidden/e2e.yml",
        "bots/other/tests/e2e.yml",
        RESULTS,
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(CASES, encoding="utf-8")
    (tmp_path / "e2e_notes.yml").write_text("remarks:\n- test_cases: none\n", encoding="utf-8")
    for name in ("config.yml", "domain.yml"):
        (tmp_path / "bots" / "other" / name).write_text("{}\n", encoding="utf-8")

    tests = read_tests(Settings(project=str(tmp_path)))

    assert tests.e2e == (str(tmp_path / "e2e_tests" / "a.yml"), str(tmp_path / "tests" / "any" / "name.yml"))
    assert tests.e2e_elsewhere == elsewhere
    told = [one for one in tests.other_findings if one.code == "test-file-not-looked-for"]
    assert [one.location.path for one in told] == list(elsewhere)
    golden(told[0].message)


def test_a_file_of_cases_that_the_settings_do_not_name_is_not_run_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name in ("one.yml", "two.yml"):
        (tmp_path / "tests" / name).write_text(CASES, encoding="utf-8")
    tests = read_tests(Settings(project=str(tmp_path), e2e=(str(tmp_path / "tests" / "one.yml"),)))
    assert tests.e2e_elsewhere == ("tests/two.yml",)
