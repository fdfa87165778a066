"""A gate, a headline, an entry says each thing once, and where it belongs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from golden_texts import Golden
from pull_request import LINKS
from report_builder import BASE_COMMIT, example, report, story

from turncheck.comparison.changes import CaseChange, FindingChange
from turncheck.comparison.compare import compare
from turncheck.comparison.model import Missing, Present, Unreachable
from turncheck.messages.finding import Finding, Location
from turncheck.render.console import render_console
from turncheck.render.entries import findings
from turncheck.render.markdown import render_comment
from turncheck.render.phrases import expected_got, understood
from turncheck.render.spans import Code, line, plain
from turncheck.render.wording.gates import judge
from turncheck.report.evaluations import Evaluation
from turncheck.report.model import (
    ExpectedParse,
    GateSettings,
    Misunderstanding,
    NearSentence,
    Nlu,
    Report,
    Skipped,
    StoryParse,
    TrainingSentence,
    Unread,
)

RULES = GateSettings(fail_on=("errors", "new-failures", "gone-tests"), max_regression=("nlu.intents.f1: 0.01",))
SENTENCES = [example(f"{word} you", "greet", line=number) for number, word in enumerate(("hello", "good day"), start=1)]
STORY = story("hi", "utter_hi")


def drawn(head: Report, baseline: Report | Unreachable | Missing) -> tuple[str, str]:
    found = baseline if not isinstance(baseline, Report) else Present(baseline, "git")
    comparison = compare(head, found)
    verdict = judge(head, comparison, RULES)
    comment, console = (str(r(head, comparison, verdict, LINKS).content) for r in (render_comment, render_console))
    return comment, console


def with_nlu(made: Report, **changes: Any) -> Report:
    assert isinstance(made.nlu, Nlu)
    return msgspec.structs.replace(made, nlu=msgspec.structs.replace(made.nlu, **changes))


def test_a_gate_names_what_is_lost_once_and_counts_only_what_it_does_not_name(golden: Golden) -> None:
    base = report(examples=SENTENCES, stories=[STORY, story("bye", "utter_bye")], commit=BASE_COMMIT)
    why = Skipped(evaluation="nlu", reason="not requested (evaluations: core)")
    _, console = drawn(report(stories=[STORY], skipped=[why]), base)

    (gate,) = (told for told in console.splitlines() if told.startswith("failed  gone-tests"))
    assert gate.count("language understanding") == 1
    golden(gate)


def test_all_held_out_sentences_are_gone_once() -> None:
    base = report(examples=SENTENCES, commit=BASE_COMMIT)
    comment, console = drawn(with_nlu(report(examples=SENTENCES), mode="cross-validation", folds=5), base)

    told = "all 2 held-out sentences of the base are gone"
    assert sum(told in one for one in console.splitlines()) == 2  # the gate, the last line
    assert all(one.count(told) <= 1 for one in (*console.splitlines(), *comment.splitlines()))


def test_why_the_base_cannot_be_reached_is_printed_once(golden: Golden) -> None:
    why = "the list of runs cannot be read: 503 Service Unavailable, and this clone has one commit"
    for document in drawn(report(examples=SENTENCES, stories=[STORY]), Unreachable(why)):
        assert document.count(why) == 1
        golden(document, only=why)


def test_an_overlap_that_the_base_has_too_is_not_in_the_headline(golden: Golden) -> None:
    old = with_nlu(report(examples=SENTENCES, commit=BASE_COMMIT), on_training_sentences=1)
    same = with_nlu(report(examples=SENTENCES, stories=[STORY]), on_training_sentences=1)
    more = with_nlu(report(examples=SENTENCES, stories=[STORY]), on_training_sentences=2)
    told = "also appear"

    comment, console = drawn(same, old)
    first, _, method = comment.partition("How it was measured")
    assert told not in first
    golden(method, only="optimistic")
    assert told not in console

    comment, _ = drawn(more, old)
    headline = comment.partition("| base")[0]
    golden(headline)
    comment, _ = drawn(same, Missing("none yet"))
    golden(comment.partition("| | ")[0])


def test_a_fallback_and_the_intent_behind_it_are_two_names(golden: Golden) -> None:
    assert understood("nlu_fallback, else hours") == line(
        Code("nlu_fallback"), ", below the threshold, else ", Code("hours")
    )
    assert understood("hours") == line(Code("hours"))

    wrong = Misunderstanding(
        text="are you open",
        location=Location("tests/test_stories.yml", 3, 5),
        expected=ExpectedParse(intent="hours"),
        predicted=StoryParse(intent="greet", fallback=True, confidence=0.2),
    )
    spoilt = msgspec.structs.replace(STORY, passed=False, as_written=True, misunderstood=(wrong,))
    comment, _ = drawn(report(stories=[spoilt]), report(stories=[STORY], commit=BASE_COMMIT))

    golden(comment, only="`hours`")


def test_a_figure_of_a_single_entity_says_on_how_few_it_rests(golden: Golden) -> None:
    def measured(found: list[tuple[int, int, str]], score: float, **more: Any) -> Report:
        tea = example("one small tea", "order", entities=[(4, 9, "size")], found=found)
        others = [example(f"hello {word}", "greet", line=line) for line, word in enumerate("abcdefghi", start=2)]
        return report(examples=[tea, *others], entity_scores=score, **more)

    comment, console = drawn(measured([], 0.0), measured([(4, 9, "size")], 1.0, commit=BASE_COMMIT))

    (row,) = (told for told in comment.splitlines() if told.startswith("| Entities, F1"))
    golden(row)
    golden(console, only="−1.000")


def test_a_new_neighbour_is_new_without_an_evaluation_of_language_understanding_too() -> None:
    place = Location("data/nlu.yml", 18, 7)
    old = TrainingSentence(text="are you open", intent="hours", location=Location("data/nlu.yml", 9, 7))
    new = TrainingSentence(text="is the shop open", intent="hours", location=place)
    near = NearSentence(text=new.text, intent=new.intent, location=place, similarity=0.8)
    wrong = Misunderstanding(
        text="where is the shop",
        location=Location("tests/test_stories.yml", 3, 5),
        expected=ExpectedParse(intent="address"),
        predicted=StoryParse(intent="hours", confidence=0.4),
        neighbours=(near,),
    )
    spoilt = msgspec.structs.replace(STORY, passed=False, as_written=True, misunderstood=(wrong,))
    head = msgspec.structs.replace(report(stories=[spoilt]), training=(old, new))
    base = msgspec.structs.replace(report(stories=[STORY], commit=BASE_COMMIT), training=(old,))

    comment, _ = drawn(head, base)

    assert "new in `hours`: `is the shop open`" in comment


@pytest.mark.parametrize(
    ("expected", "got", "remark"),
    [
        ("action_listen", "utter_help", "RulePolicy"),
        ("action_listen", "action_book", "RulePolicy; while book_form is active"),
        ("action_listen", "How many?", ""),
        ("utter_help", "action_listen", "MemoizationPolicy"),
        ("utter_help", "utter_bye", "RulePolicy"),
        ("utter_help", "utter_bye", ""),
        ("action_listen", "", "the server is down"),
    ],
)
def test_waiting_for_the_user_is_said_in_words(expected: str, got: str, remark: str, golden: Golden) -> None:
    golden(plain(expected_got(expected, got, remark)))


# --- what keeps tests from running -----------------------------------------------------------------------------------

PLACE = Location("data/stories.yml", 7, 3)
CAUSE = "the policies cannot be trained: rules contradict"
CONTRADICTION = Skipped(
    evaluation="core",
    reason=f"{CAUSE} ({PLACE})",
    fault=True,
    location=PLACE,
    cause=CAUSE,
    without_place=CAUSE,
)
CONTRADICTS = Finding("rule-contradiction", "error", "One rule contradicts another.", PLACE)


def test_a_fault_of_both_sides_is_said_once(golden: Golden) -> None:
    head, base = (
        report(examples=SENTENCES, findings=[CONTRADICTS], skipped=[CONTRADICTION], commit=commit)
        for commit in ("2" * 40, BASE_COMMIT)
    )
    comparison = compare(head, Present(base, "git"))
    verdict = judge(head, comparison, GateSettings(fail_on=("new-errors", "new-failures")))

    golden(verdict.in_words + ": " + verdict.summary)
    golden(*(f"{gate.name}: {gate.reason}" for gate in verdict.gates if gate.outcome != "passed"))
    comment = str(render_comment(head, comparison, verdict, LINKS).content)
    assert comment.count(CAUSE[1:]) == 2  # the title, the gate


@pytest.mark.parametrize(
    "there",
    [
        "the policies cannot be trained: rules contradict (data/rules.yml:9:3)",
        "the policies cannot be trained: unknown policy 'TedPolicy' (config.yml:4:3)",
        "the domain cannot be read completely: domain.yml:2:1: This is not YAML",
    ],
)
def test_another_fault_of_the_base_is_not_the_same(there: str, golden: Golden) -> None:
    head = report(examples=SENTENCES, findings=[CONTRADICTS], skipped=[CONTRADICTION])
    other = Skipped(evaluation="core", reason=there, fault=True, without_place=there.partition(" (")[0])
    comparison = compare(head, Present(report(examples=SENTENCES, skipped=[other], commit=BASE_COMMIT), "git"))
    verdict = judge(head, comparison, GateSettings(fail_on=("new-errors", "new-failures")))
    golden(verdict.summary)


@pytest.mark.parametrize("names", [("nlu", "core", "e2e"), ("core", "e2e")], ids=len)
def test_why_nothing_was_tested_is_said_once(names: tuple[Evaluation, ...], golden: Golden) -> None:
    why, remedy = "this engine does not run flows", "(`engine: rasa` runs them)"
    skipped = [Skipped(evaluation=name, reason=f"{why} {remedy}") for name in names]
    head, base = (report(skipped=skipped, commit=commit) for commit in ("2" * 40, BASE_COMMIT))
    comparison = compare(head, Present(base, "git"))
    verdict = judge(head, comparison, GateSettings(fail_on=("new-errors", "new-failures")))

    golden(verdict.summary)
    golden(*(gate.in_words for gate in verdict.gates if gate.outcome != "passed"))
    comment = str(render_comment(head, comparison, verdict, LINKS).content)
    assert comment.count(why) == 2  # the title, and what was not run
    assert comment.count(remedy) == 1


def test_a_folder_without_data_is_why_nothing_was_tested(golden: Golden) -> None:
    words = "There is no training data below 'data'; `data: [bot_a, bot_b]` in turncheck.yml would name some."
    elsewhere = Finding("data-not-found", "warning", words, Location("data"))
    reasons: dict[Evaluation, str] = {"nlu": "the project has no NLU examples", "core": "the project has no stories"}
    skipped = [Skipped(evaluation=name, reason=reason) for name, reason in reasons.items()]
    for faults in ([elsewhere], []):
        head = report(skipped=skipped, findings=faults)
        golden(judge(head, compare(head, Present(head, "git")), GateSettings(fail_on=("new-errors",))).summary)


@pytest.mark.parametrize("place", [PLACE, Location("tests/test_stories.yml", 8, 5)], ids=str)
def test_an_error_that_two_gates_are_about_is_listed_by_the_first(place: Location) -> None:
    """Also if a test fails at its place, which is a failure of its own."""
    broken = Finding("bad", "error", "It is bad.", place)
    base = report(stories=[STORY], commit=BASE_COMMIT)
    failing = [story("bye", "utter_bye!utter_hi", line=7), story("thanks", "utter_ok!utter_hi", line=20)]
    head = report(stories=[STORY, *failing], findings=[broken])
    comparison = compare(head, Present(base, "git"))

    both = judge(head, comparison, GateSettings(fail_on=("new-errors", "new-failures")))
    only_failures = judge(head, comparison, GateSettings(fail_on=("new-failures",)))

    assert [cause.what for gate in both.gates for cause in gate.failed_by] == [
        "bad: It is bad.",
        "story bye",
        "story thanks",
    ]
    assert [cause.what for gate in only_failures.gates for cause in gate.failed_by] == [
        "story bye",
        "story thanks",
        "bad: It is bad.",
    ]


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_place_that_a_failing_test_names_is_not_listed_again(failing: int) -> None:
    places = [Location("tests/test_stories.yml", line) for line in (3, 9, 15)]
    found = FindingChange(code="c", severity="error", message="m", location=Location("a.yml", 1), others=tuple(places))
    tests = [
        ("story", CaseChange(name=f"{at}", location=at, base_location=at, passed=False, base_passed=True))
        for at in places[:failing]
    ]

    entry = findings([found], because=tests)

    assert [below.place.location for below in entry.below if below.place is not None] == places


@pytest.mark.parametrize("part", ["endpoints", "domain"])
def test_a_fault_in_where_the_servers_are_hides_nothing_that_is_compared(part: str, golden: Golden) -> None:
    unread = (Unread(location=Location(f"{part}.yml", 4, 3), code="schema-violation", part=part),)
    head, base = (
        msgspec.structs.replace(report(stories=[STORY], commit=commit), unread=unread)
        for commit in ("2" * 40, BASE_COMMIT)
    )
    golden(judge(head, compare(head, Present(base, "git")), GateSettings(fail_on=("new-errors",))).summary)
