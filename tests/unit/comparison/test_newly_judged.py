"""What only this side judges is judged by what it is: a new intent, response, entity or suite that is mostly wrong."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any

import pytest
from golden_texts import Golden
from msgspec.structs import replace
from report_builder import BASE_COMMIT, coverage, example, nlu, report, suite, training

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.comparison.newly_judged import is_mostly_wrong
from turncheck.render.annotations import find_annotations
from turncheck.render.console import render_console
from turncheck.render.junit import render_junit
from turncheck.render.links import Links
from turncheck.render.markdown import render_comment
from turncheck.render.page.model import Labels
from turncheck.render.page.sentences import intent_rows
from turncheck.render.wording.gates import judge
from turncheck.report.model import EntityScores, GateSettings

if TYPE_CHECKING:
    from turncheck.comparison.model import Comparison
    from turncheck.render.wording.verdict import Verdict
    from turncheck.report.model import NluPrediction, Report

OLD = [example(f"old {number}", "greet", line=number + 1) for number in range(8)]


def new_intent(right: int, of: int, *, went_to: str = "greet", name: str = "hours") -> list[NluPrediction]:
    return [
        example(f"new {name} {number}", name, None if number < right else went_to, line=20 + number)
        for number in range(of)
    ]


def compared(head: Report, base: Report) -> tuple[Comparison, Verdict]:
    comparison = compare(head, Present(base, "git"))
    return comparison, judge(head, comparison, head.settings)


def base_of(**parts: Any) -> Report:
    return report(**{"examples": OLD, "commit": BASE_COMMIT, **parts})


@pytest.mark.parametrize("right", [0, 4])
def test_a_new_intent_that_is_mostly_misunderstood_is_in_the_title(right: int, golden: Golden) -> None:
    head = report(examples=[*OLD, *new_intent(right, 10)])
    comparison, verdict = compared(head, base_of())
    assert verdict.reservation
    golden(verdict.in_words)
    golden(verdict.summary)
    terminal = str(render_console(head, comparison, verdict, Links()).content)
    golden(terminal, only="mostly wrong")
    comment = str(render_comment(head, comparison, verdict, Links()).content)
    row = next(line for line in comment.splitlines() if line.startswith("|") and "`hours`" in line)
    assert f"new: {right} of 10 right" in row
    junit = b"".join(render_junit(head, comparison, verdict, Links()).pieces).decode()
    golden(junit, only='message="new, ')
    annotated = [f"{one.title} {one.message}" for one in find_annotations(head, comparison)]
    golden(*(words for words in annotated if f"{right} of its 10" in words))


@pytest.mark.parametrize(("right", "of"), [(10, 10), (8, 10), (5, 10), (2, 5), (0, 1), (1, 2)])
def test_a_new_intent_that_is_understood_or_hardly_judged_is_not_scolded(right: int, of: int) -> None:
    head = report(examples=[*OLD, *new_intent(right, of)])
    comparison, verdict = compared(head, base_of())
    assert verdict.reservation == ""
    assert [(one.name, one.right, one.judged, one.mostly_wrong) for one in comparison.newly_judged] == [
        ("hours", right, of, False)
    ]
    comment = str(render_comment(head, comparison, verdict, Links()).content)
    assert "mostly" not in comment


def test_a_new_intent_that_takes_the_sentences_of_others_is_in_the_title_too(golden: Golden) -> None:
    taken = [replace(one, correct=False, predicted=new_intent(1, 1)[0].predicted) for one in OLD[:7]]
    head = report(examples=[*taken, *OLD[7:], *new_intent(4, 4)])
    _, verdict = compared(head, base_of())
    assert verdict.reservation
    golden(verdict.summary)


def test_an_intent_that_the_base_judged_is_not_new_whatever_its_name() -> None:
    sentences = [training(*[(f"new hours {number}", name) for number in range(10)]) for name in ("hours", "opening")]
    base = report(
        examples=[*OLD, *new_intent(10, 10)],
        sentences=sentences[0],
        covered=coverage("intents", greet=("one", True), hours=("two", True)),
        commit=BASE_COMMIT,
    )
    same = report(examples=[*OLD, *new_intent(3, 10)], sentences=sentences[0])
    renamed = report(
        examples=[*OLD, *new_intent(3, 10, name="opening")],
        sentences=sentences[1],
        covered=coverage("intents", greet=("one", True), opening=("two", True)),
    )
    assert compared(same, base)[0].newly_judged == ()
    assert compared(renamed, base)[0].newly_judged == ()


def test_an_intent_that_the_base_knew_and_could_not_judge_is_called_that(golden: Golden) -> None:
    known = training(("open?", "hours"))
    _, verdict = compared(report(examples=[*OLD, *new_intent(1, 8)], sentences=known), base_of(sentences=known))
    golden(verdict.summary)


def test_without_a_base_or_without_sentences_there_nothing_is_new() -> None:
    head = report(examples=[*OLD, *new_intent(0, 10)])
    assert compared(head, report(commit=BASE_COMMIT))[0].newly_judged == ()
    assert judge(head, None, head.settings).reservation == ""


@pytest.mark.parametrize(("right", "wrong"), [(2, True), (9, False)])
def test_a_new_response_is_judged_by_the_response_that_is_selected(right: int, wrong: bool, golden: Golden) -> None:
    def asked(number: int, key: str, got: str) -> NluPrediction:
        one = example(f"{key} {number}", "faq", line=40 + number)
        expected = replace(one.expected, response=f"faq/{key}")
        return replace(one, expected=expected, predicted=replace(one.predicted, response=f"faq/{got}"))

    old = [asked(number, "name", "name") for number in range(6)]
    new = [asked(number, "age", "age" if number < right else "name") for number in range(10)]
    comparison, verdict = compared(report(examples=[*old, *new]), base_of(examples=old))
    (found,) = comparison.newly_judged
    assert (found.kind, found.name, found.right, found.mostly_wrong) == ("responses", "faq/age", right, wrong)
    assert ("'faq/age'" in verdict.summary) is wrong
    golden(verdict.summary)


@pytest.mark.parametrize(("right", "wrong"), [(1, True), (9, False)])
def test_a_new_entity_is_judged_by_the_sentences_in_which_it_is_found(right: int, wrong: bool, golden: Golden) -> None:
    def told(number: int, entity: str, *, found: bool) -> NluPrediction:
        spans = [(0, 4, entity)]
        return example(
            f"word {entity} {number}", "greet", line=60 + number, entities=spans, found=spans if found else []
        )

    def with_entities(examples: list[NluPrediction], commit: str = "2" * 40) -> Report:
        names = {span.entity for one in examples for span in one.expected.entities}
        scores = EntityScores(
            report={name: {"support": 6} for name in names}, precision=1.0, recall=1.0, f1=1.0, spans=None
        )
        measured = nlu(examples)
        return replace(report(examples=examples, commit=commit), nlu=replace(measured, entities={"CRF": scores}))

    old = [told(number, "city", found=True) for number in range(6)]
    new = [told(number, "date", found=number < right) for number in range(10)]
    comparison, verdict = compared(with_entities([*old, *new]), with_entities(old, BASE_COMMIT))
    (found,) = comparison.newly_judged
    assert (found.kind, found.name, found.judged, found.mostly_wrong) == ("entities", "date", 10, wrong)
    assert ("'date'" in verdict.summary) is wrong
    golden(verdict.summary)


@pytest.mark.parametrize(("right", "wrong"), [(2, True), (6, False)])
def test_a_new_suite_is_judged_by_its_cases(right: int, wrong: bool) -> None:
    old = suite("old", *[(f"old {number}", True) for number in range(6)])
    new = suite("new", *[(f"new {number}", number < right) for number in range(8)])
    settings = GateSettings(fail_on=("new-errors",))
    head = report(suites=[old, new], settings=settings)
    comparison, verdict = compared(head, report(suites=[old], commit=BASE_COMMIT))
    assert [(one.kind, one.name, one.right, one.mostly_wrong) for one in comparison.newly_judged] == [
        ("suites", "new", right, wrong)
    ]
    assert ("the new suite 'new' passes 2 of its 8 cases" in verdict.summary) is wrong


def test_a_suite_that_has_another_name_is_not_new() -> None:
    cases = [(f"say {number}", number < 2) for number in range(8)]
    comparison, _ = compared(
        report(suites=[suite("after", *cases)]), report(suites=[suite("before", *cases)], commit=BASE_COMMIT)
    )
    assert comparison.newly_judged == ()


def test_a_threshold_may_judge_a_new_intent() -> None:
    settings = GateSettings(thresholds=("nlu.intents[hours].f1 >= 0.7",))
    head = report(examples=[*OLD, *new_intent(4, 10)], settings=settings)
    assert not compared(head, base_of())[1].passed


def test_the_page_shows_new_intents_among_those_that_changed() -> None:
    head = report(examples=[*OLD, *new_intent(4, 10)])
    comparison, _ = compared(head, base_of())
    labels = Labels()
    rows = {row.new for row in intent_rows(head.nlu, comparison, labels)}
    assert rows == {"", "new: 4 of 10 right"}


def test_chance_alone_hardly_ever_scolds_and_what_is_bad_is_found() -> None:
    """Of intents of which four of five sentences are understood, fewer than 5 % are ever called mostly wrong."""
    for judged in range(1, 60):
        chance = sum(
            comb(judged, right) * 0.8**right * 0.2 ** (judged - right)
            for right in range(judged + 1)
            if is_mostly_wrong(right, judged)
        )
        assert chance < 0.05
        assert judged < 2 or is_mostly_wrong(0, judged)
        assert judged < 6 or is_mostly_wrong((judged - 1) // 2, judged)


def test_a_sentence_without_an_entity_is_no_new_one_when_some_is_found_in_it() -> None:
    plain = [example(f"hello {number}", "greet", line=number + 1) for number in range(4)]
    found = [*plain[:3], example("hello 3", "greet", line=4, found=[(0, 5, "name")])]
    for before, now, side in ((plain, found, "worse"), (found, plain, "better")):
        comparison = compare(report(examples=now), Present(report(examples=before, commit=BASE_COMMIT), "git"))
        (case,) = getattr(comparison.entities, side)
        assert (case.name, case.base_passed, comparison.entities.added_failing) == ("hello 3", side == "worse", ())


def test_sentences_that_the_base_did_not_judge_are_not_called_new(golden: Golden) -> None:
    here = [(0, 5, "city")]
    few = training(("there 0", "travel"), ("there 1", "travel"))
    base = report(examples=OLD, sentences=few, commit=BASE_COMMIT)
    head = report(
        examples=[
            *OLD,
            *(example(f"there {n}", "travel", "greet", line=30 + n, entities=here, found=[]) for n in range(4)),
        ]
    )
    comparison, verdict = compared(head, base)
    text = str(render_comment(head, comparison, verdict, Links()).content)
    golden(verdict.summary, "\n".join(line for line in text.splitlines() if "there " in line))


def test_no_response_is_selected(golden: Golden) -> None:
    one = example("who are you", "faq")
    old = [
        replace(
            one,
            expected=replace(one.expected, response="faq/name"),
            predicted=replace(one.predicted, response="faq/name"),
        )
    ]
    new = [replace(old[0], predicted=replace(one.predicted, response=""))]
    head, base = report(examples=new), base_of(examples=old)
    comparison, verdict = compared(head, base)
    golden(str(render_comment(head, comparison, verdict, Links()).content), only="response of")
