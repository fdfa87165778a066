"""Errors in the data that the base has too: they fail no pull request, and a headline says that they are old."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden
from msgspec.structs import replace
from msgspec.structs import replace as with_parts
from report_builder import BASE_COMMIT, batch, coverage, finding, report, story, suite, with_changes

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Missing, Present, Unreachable, Unreadable
from turncheck.messages.finding import LEGACY_PROJECT
from turncheck.render.links import Links
from turncheck.render.markdown import render_comment
from turncheck.render.wording.gates import judge
from turncheck.report.model import GateSettings, Skipped, Source

if TYPE_CHECKING:
    from turncheck.comparison.model import Baseline
    from turncheck.messages.finding import Finding
    from turncheck.render.wording.verdict import GateResult, Verdict
    from turncheck.report.model import Report

OLD = finding("slot-undefined", "The slot 'a' is not defined.", severity="error", line=3)
OTHER = finding("slot-undefined", "The slot 'b' is not defined.", severity="error", line=5)
NEW = finding("slot-undefined", "The slot 'c' is not defined.", severity="error", line=9)


def found(*findings: Finding) -> Report:
    return report(findings=findings, stories=(story("greets"),))


def base_of(measured: Report) -> Present:
    return Present(with_changes(measured, source=Source(commit=BASE_COMMIT)), "file")


def judged(head: Report, base: Baseline, *gates: str) -> Verdict:
    return judge(head, compare(head, base), GateSettings(fail_on=gates))


def gate(verdict: Verdict, name: str) -> GateResult:
    return next(one for one in verdict.gates if one.name == name)


def test_an_error_of_the_base_does_not_fail_a_change(golden: Golden) -> None:
    verdict = judged(found(OLD), base_of(found(OLD)), "new-errors", "test-failures")

    assert verdict.passed
    golden(verdict.summary)


def test_a_new_error_fails_it_and_is_the_only_one_named(golden: Golden) -> None:
    verdict = judged(found(OLD, NEW), base_of(found(OLD)), "new-errors")

    failed = gate(verdict, "new-errors")
    assert failed.fails
    assert [one.message for one in failed.failed_by] == [NEW.message]
    golden(verdict.summary)


def test_of_several_new_errors_the_one_is_named_because_of_which_most_tests_fail(golden: Golden) -> None:
    undefined, gone, another = (
        finding("test-action-undefined", f"A test names '{name}'.", response=name, line=line)
        for line, name in enumerate(("utter_other", "utter_gone", "utter_another"), start=4)
    )
    removed = coverage("responses", utter_gone=("1", True), utter_another=("2", True))
    base = report(stories=(story("greets", "utter_gone"), story("leaves", "utter_gone")), covered=removed)
    broken = [story(name, "utter_gone!utter_kept") for name in ("greets", "leaves")]

    kept = coverage("responses", utter_kept=("3", True))
    for findings in ((undefined, gone, another), (another, undefined)):
        head = report(findings=findings, stories=broken, covered=kept)
        verdict = judged(head, base_of(base), "new-errors", "new-failures")
        golden(verdict.summary)


def test_of_several_errors_the_first_is_named(golden: Golden) -> None:
    older = finding(LEGACY_PROJECT, "This is a Rasa 1 project.", rasa="1")
    for errors in ((OLD, OTHER), (older, OLD, OTHER)):
        golden(judge(found(*errors), None, GateSettings(fail_on=("errors",))).summary)
        golden(judged(found(*errors), base_of(found(OLD)), "errors").summary)


@pytest.mark.parametrize("base", [Missing("none was asked for"), None])
def test_without_a_base_every_error_counts(base: Baseline | None) -> None:
    head = found(OLD)
    compared = compare(head, base) if base else None

    verdict = judge(head, compared, GateSettings(fail_on=("new-errors",)))

    assert gate(verdict, "new-errors").outcome == "failed"


@pytest.mark.parametrize("base", [Unreachable("it is down"), Unreadable("it is not JSON")])
def test_a_base_that_cannot_be_had_leaves_errors_unjudged_which_fails(base: Baseline) -> None:
    verdict = judged(found(OLD), base, "new-errors")

    failed = gate(verdict, "new-errors")
    assert (failed.outcome, failed.fails) == ("not judged", True)
    assert gate(judged(found(), base, "new-errors"), "new-errors").outcome == "passed"


@pytest.mark.parametrize(
    ("head", "base", "words"),
    [
        ((OLD,), (OLD,), "on the base too"),
        ((OLD, OTHER), (OLD, OTHER), "2 errors in the data, both on the base too"),
        ((OLD, OTHER, NEW), (OLD, OTHER, NEW), "3 errors in the data, all on the base too"),
        ((OLD, OTHER, NEW), (OLD, OTHER), "3 errors in the data, 2 of them on the base too"),
    ],
)
def test_a_headline_says_whether_its_errors_are_old(
    head: tuple[Finding, ...], base: tuple[Finding, ...], words: str
) -> None:
    assert words in judged(found(*head), base_of(found(*base)), "errors").summary


def test_errors_that_are_all_new_are_not_called_old(golden: Golden) -> None:
    golden(judged(found(OLD, NEW), base_of(found()), "errors").summary)


def test_a_headline_is_not_cut_by_the_punctuation_of_a_name(golden: Golden) -> None:
    named = replace_message(OLD, "The action 'utter_see you. bye' is not defined.")

    summary = judged(found(named), Missing("none was asked for"), "errors").summary

    golden(summary)


def replace_message(one: Finding, message: str) -> Finding:

    return replace(one, message=message)


def test_what_could_not_be_run_on_this_side_alone_is_a_new_error() -> None:

    head = with_parts(found(), core=None, skipped=(Skipped(evaluation="core", reason="no stories fit", fault=True),))

    assert gate(judged(head, base_of(found()), "new-errors"), "new-errors").outcome == "failed"
    assert gate(judged(head, base_of(head), "new-errors"), "new-errors").outcome == "passed"


def test_a_name_with_the_word_misunderstood_is_no_misunderstood_story() -> None:
    named = replace_message(OLD, "The action 'utter_misunderstood' is not defined.")
    head = found(named)
    comparison = compare(head, Missing("none was asked for"))
    verdict = judge(head, comparison, GateSettings(fail_on=("errors",)))

    assert "utter_misunderstood" in verdict.summary
    assert "*Misunderstood*" not in str(render_comment(head, comparison, verdict, Links()).content)


def test_the_list_the_summary_and_the_verdict_say_the_same_of_a_stand_in_s_newly_failing_batch_case(
    golden: Golden,
) -> None:
    def measured(commit: str, *, passes: bool) -> Report:
        cases = suite("faq", ("hi", True), ("bye", passes))
        return with_changes(report(suites=(cases,), commit=commit), batch=batch(cases, by_stand_in=True))

    head, base = (measured(one, passes=one == BASE_COMMIT) for one in ("2" * 40, BASE_COMMIT))
    verdict = judged(head, Present(base, "file"), "errors", "test-failures")

    assert verdict.passed
    golden(verdict.reservation)
    golden(verdict.summary)


@pytest.mark.parametrize("fail_on", [("new-failures",), ("test-failures",), ()])
@pytest.mark.parametrize("base", ["ran none", "missing"])
@pytest.mark.parametrize("story_passes", [True, False])
def test_what_a_stand_in_finds_wrong_is_listed_and_summed_up_alike_where_the_base_ran_no_suite(
    fail_on: tuple[str, ...], base: str, golden: Golden, *, story_passes: bool
) -> None:
    cases = suite("faq", ("hi", True), ("bye", False))
    stories = [story("day", "utter_hi" if story_passes else "utter_hi!utter_bye")]
    head = with_changes(report(suites=(cases,), stories=stories), batch=batch(cases, by_stand_in=True))
    before = report(stories=[story("day", "utter_hi")], commit=BASE_COMMIT)
    comparison = compare(head, Present(before, "file") if base == "ran none" else Missing("none was asked for"))
    verdict = judge(head, comparison, GateSettings(fail_on=fail_on))
    comment = str(render_comment(head, comparison, verdict, Links()).content)

    if story_passes or base == "ran none":
        assert re.search(r"\b1 (of 2 )?batch cases?\b", verdict.summary)
    assert verdict.passed == (not fail_on or (fail_on == ("test-failures",) and story_passes))
    assert not verdict.summary.startswith(" ")
    assert "(fail-on: )" not in verdict.summary
    if base == "ran none":
        assert f"Newly failing tests ({2 - story_passes})" in comment
        assert bool(verdict.reservation) == verdict.passed
    golden(verdict.summary, verdict.reservation)
