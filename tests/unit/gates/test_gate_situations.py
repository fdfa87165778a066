"""What every gate does in every situation: the table of docs/gates.md, and what must hold of each row."""

from __future__ import annotations

import re

import pytest
from gate_situations import (
    BY_DEFAULT,
    CASES,
    EVERY_GATE,
    FINE,
    ON_PULL_REQUESTS,
    PAGE,
    SITUATIONS,
    STORIES,
    SYNTAX,
    UNREADABLE,
    Situation,
    ancestor,
    base,
    skipped,
    with_tables,
)
from golden_texts import Golden
from msgspec.structs import replace
from report_builder import case, example, finding, nlu, report, story, with_changes

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Missing, Present, Unreachable, Unreadable
from turncheck.messages.finding import Location
from turncheck.render.console import render_console
from turncheck.render.links import Links
from turncheck.render.markdown import render_comment
from turncheck.render.wording.gates import judge
from turncheck.render.wording.tests import cause_first
from turncheck.render.wording.verdict import GateResult, Verdict
from turncheck.report.model import GateSettings, Report, Skipped

BY_NAME = {situation.name: situation for situation in SITUATIONS}


def gate(verdict: Verdict, name: str) -> GateResult:
    return next(one for one in verdict.gates if one.name == name)


def gone(head: Report, before: Report, *accepted: str) -> GateResult:
    settings = GateSettings(fail_on=("gone-tests",), accept_gone=accepted)
    return gate(Situation("", head, base(before)).verdict(settings), "gone-tests")


def test_the_table_of_the_manual_is_what_the_code_does() -> None:
    """Write the new one with: python tests/unit/gate_situations.py"""
    page = PAGE.read_text("utf-8")

    assert with_tables(page) == page


@pytest.mark.parametrize("settings", [ON_PULL_REQUESTS, BY_DEFAULT, EVERY_GATE, GateSettings(fail_on=("errors",))])
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
def test_what_is_said_fits_what_failed(situation: Situation, settings: GateSettings) -> None:
    verdict, title = situation.verdict(settings), situation.title(settings)
    failed = any(not one.passed for part in (situation.head.core,) if part for one in part.stories)
    clauses = verdict.summary.split("; ")

    assert 1 <= len(clauses) <= 3
    assert verdict.passed == (not any(one.fails for one in verdict.gates))
    assert title.startswith("❌ Failed") == (not verdict.passed)
    if verdict.passed and failed:
        kinds = ("✅ Passed with old failures only", "⚠️ Passed although tests fail", "⚠️ Passed, but a story is mis")
        assert title.startswith(kinds)
        assert re.search("on the base too|not count|newly misunderstood", verdict.summary)
    if any(one.outcome == "not judged" and not one.fails for one in verdict.gates) and verdict.passed:
        assert verdict.reservation
        assert re.search("not judged|not run|unclear", verdict.summary)
    assert not verdict.passed or not clauses[0].endswith("on the base too")


@pytest.mark.parametrize("baseline", [Missing("it is new"), Unreachable("no answer"), Unreadable("no report"), None])
def test_without_a_baseline_every_failure_is_new(baseline: Missing | Unreadable | None, golden: Golden) -> None:
    head = report(stories=[*STORIES[:2], story("broken", "a!b", line=40)], findings=[finding("bad", "it is bad")])
    settings = GateSettings(fail_on=("errors", "new-failures"))

    verdict = judge(head, compare(head, baseline) if baseline else None, settings)

    failed = gate(verdict, "new-failures")
    assert failed.outcome == "failed"
    golden(failed.reason)
    assert [cause.what for cause in failed.failed_by] == ["story broken"], "the gate errors lists the others"
    assert verdict.summary.startswith("it is bad (domain.yml:1:1); 1 of 3 stories failed")


def test_why_there_is_no_baseline_is_told_apart(golden: Golden) -> None:
    told = [
        gate(BY_NAME[f"{name}; a test fails"].verdict(ON_PULL_REQUESTS), "new-failures").reason.partition(" (")[0]
        for name in ("no base yet", "the base cannot be read", "the host does not answer")
    ]

    golden(*told)


@pytest.mark.parametrize(
    ("baseline", "setting", "passes"),
    [
        (Missing("it is new"), "auto", True),
        (Unreachable("no answer"), "auto", False),
        (Unreadable("no report"), "auto", False),
        (Unreachable("no answer"), "pass", True),
        (Missing("it is new"), "fail", False),
    ],
)
@pytest.mark.parametrize("rule", ["max-regression", "coverage", "gone-tests"])
def test_a_rule_that_needs_a_baseline_is_not_waived_by_an_outage(
    baseline: Missing | Unreadable, setting: str, *, passes: bool, rule: str
) -> None:
    settings = GateSettings(
        fail_on=("gone-tests",) if rule == "gone-tests" else ("none",),
        max_regression=("core.passed: 0",) if rule == "max-regression" else (),
        thresholds=("coverage.changed >= 0.5",) if rule == "coverage" else (),
        not_judged=setting,  # type: ignore[arg-type]  # one of its words
    )

    verdict = Situation("", FINE, baseline).verdict(settings)

    assert verdict.passed == passes
    assert [one.outcome for one in verdict.gates if one.name.startswith(rule[:8])][:1] in (["not judged"], [])
    assert "not judged" in verdict.summary


@pytest.mark.parametrize(("setting", "passes"), [("auto", False), ("pass", True), ("fail", False)])
@pytest.mark.parametrize("fail_on", ["gone-tests", "test-failures", "new-failures"])
def test_an_ancestor_does_not_show_which_tests_of_the_base_are_gone(
    fail_on: str, setting: str, *, passes: bool
) -> None:
    """A test that the base added after its ancestor may be gone, and nobody would notice."""
    settings = GateSettings(fail_on=(fail_on,), not_judged=setting)  # type: ignore[arg-type]  # one of its words

    verdict = Situation("", FINE, ancestor(FINE)).verdict(settings)

    assert verdict.passed == passes
    assert {one.name for one in verdict.gates if one.outcome == "not judged"} == {"gone-tests"}
    measured = Situation("", FINE, base(FINE)).verdict(settings)
    assert measured.passed == (gate(measured, "gone-tests").outcome == "passed") is True


def test_what_the_ancestor_has_and_this_change_deletes_is_gone() -> None:
    verdict = Situation("", report(stories=STORIES[:1], cases=CASES), ancestor(FINE)).verdict(BY_DEFAULT)

    assert gate(verdict, "gone-tests").outcome == "failed"


def test_an_unreadable_file_is_one_failure_with_its_consequences(golden: Golden) -> None:
    situation = BY_NAME["a file cannot be read"]
    settings = replace(EVERY_GATE, thresholds=())  # a limit says itself why there is no figure
    verdict = situation.verdict(settings)
    head = with_changes(situation.head, settings=settings)
    comment = str(render_comment(head, compare(head, situation.base), verdict, Links()).content)
    terminal = str(render_console(head, compare(head, situation.base), verdict, Links()).content)

    assert {one.name for one in verdict.gates if one.fails and not one.follows} == {"could-be-run"}
    golden(verdict.summary)
    for document in (comment, terminal):
        assert document.count("not YAML") == 2, "once among the findings, once among the gates"
        assert (
            len(
                re.findall(r"^.*core.*e2e.*because of `?(?:bots/pizzeria/)?data/nlu.yml:181.*$", document, re.MULTILINE)
            )
            == 1
        )


def test_a_gate_with_a_cause_of_its_own_is_no_consequence() -> None:
    unreadable = BY_NAME["a file cannot be read"]
    head = with_changes(unreadable.head, validation=report(findings=[SYNTAX, finding("bad", "it is bad")]).validation)

    errors = gate(Situation("", head, unreadable.base).verdict(ON_PULL_REQUESTS), "new-errors")

    assert errors.follows == ""
    assert [cause.what for cause in errors.failed_by] == ["bad: it is bad"], "the other is named above"


def test_a_gate_names_what_failed_it_first_and_how_many_more(golden: Golden) -> None:
    head = report(findings=[finding("bad", "it is bad", line=3), finding("worse", "it is worse", line=9)])

    verdict = Situation("", head, Missing("it is new")).verdict(GateSettings(fail_on=("errors",)))

    golden(gate(verdict, "errors").in_words)


def kept_from_running(*names: str) -> Report:
    """All that an unreadable file leaves, where the test files still hold these stories."""
    faults = tuple(
        replace(one, tests=names if one.evaluation == "core" else ("user orders", "user pays"))
        for one in UNREADABLE.skipped
    )
    return with_changes(UNREADABLE, skipped=faults)


def test_an_unreadable_file_hides_no_deleted_test(golden: Golden) -> None:
    situation = Situation("", kept_from_running("order", "greet"), base(FINE))
    verdict = situation.verdict(ON_PULL_REQUESTS)

    failed = gate(verdict, "gone-tests")
    assert failed.follows == ""
    assert [cause.what for cause in failed.failed_by] == [
        "story pay is gone (was at tests/test_stories.yml:9 in `11111111`)"
    ]
    golden(verdict.summary)


@pytest.mark.parametrize("names", [("order", "pay", "greet"), ("order", "pay by card", "greet"), None])
def test_a_test_that_may_still_be_there_is_not_gone(
    names: tuple[str, ...] | None,
) -> None:
    head = kept_from_running(*names) if names is not None else UNREADABLE

    assert gate(Situation("", head, base(FINE)).verdict(ON_PULL_REQUESTS), "gone-tests").follows == "could-be-run"


def test_of_test_files_only_the_unreadable_one_hides_its_tests() -> None:
    in_two = (STORIES[0], story("pay", "utter_b", line=9, path="tests/test_pay.yml"), STORIES[2])
    part = Skipped(
        evaluation="core",
        reason="the test stories cannot be read completely: tests/test_pay.yml:2:1: This is not YAML",
        part=True,
        fault=True,
        location=Location("tests/test_pay.yml", 2, 1),
    )
    head = with_changes(report(stories=STORIES[:1], cases=CASES), skipped=(part,))

    comparison = compare(head, base(report(stories=in_two, cases=CASES)))

    assert [case.name for case in comparison.stories.gone] == ["greet"]
    assert [case.name for case in comparison.stories.not_run] == ["pay"]


def test_half_a_base_is_said(golden: Golden) -> None:
    verdict = next(one for one in SITUATIONS if one.name.startswith("the base did not run")).verdict(ON_PULL_REQUESTS)

    golden(gate(verdict, "new-failures").reason)


def test_a_case_that_the_base_did_not_run_is_neither_new_nor_gone() -> None:
    before = report(stories=STORIES, cases=[CASES[0], *skipped("user pays")])
    after = report(stories=STORIES, cases=[CASES[0], case("user pays", "utter_b!utter_x", line=6)])

    comparison = compare(after, base(before))

    assert (comparison.e2e.added, comparison.e2e.removed, len(comparison.e2e.newly_failing)) == (0, 0, 1)
    assert [(one.evaluation, one.cases) for one in comparison.base_lacks] == [("e2e", 1)]


# --- tests that are gone ---------------------------------------------------------------------------------------------


def test_tests_that_were_deleted_fail_and_are_named_with_their_file(golden: Golden) -> None:
    failed = gone(report(stories=STORIES[:1], cases=CASES[:1]), FINE)

    assert failed.outcome == "failed"
    golden(failed.reason)
    assert [cause.what for cause in failed.failed_by] == [
        "story pay is gone (was at tests/test_stories.yml:9 in `11111111`)",
        "story greet is gone (was at tests/test_stories.yml:20 in `11111111`)",
        "end-to-end case user pays is gone (was at tests/e2e_test_cases.yml:6 in `11111111`)",
    ]


@pytest.mark.parametrize("settings", [BY_DEFAULT, ON_PULL_REQUESTS])
def test_it_is_part_of_what_test_failures_and_new_failures_mean(settings: GateSettings) -> None:
    all_gone = with_changes(
        report(examples=[example("hi", "greet"), example("bye", "goodbye")]),
        skipped=(Skipped(evaluation="core", reason="the project has no test stories", no_tests=True),),
    )

    verdict = Situation("", all_gone, base(report(stories=STORIES))).verdict(settings)

    assert not verdict.passed
    assert verdict.summary.startswith("3 stories gone")


@pytest.mark.parametrize(
    "now",
    [
        [story("order", "utter_a", line=1, path="tests/other.yml"), *STORIES[1:]],
        [story("order something", "utter_a", line=1), *STORIES[1:]],
        [story("order", "utter_a", "utter_more", line=1), *STORIES[1:]],
        [story("order", "utter_x", line=1, path="tests/other.yml"), *STORIES[1:]],
        [story("order something", "utter_a", line=1, path="tests/other.yml"), *STORIES[1:]],
        [story("order", "utter_b", line=1), replace(STORIES[1], duplicate=True), STORIES[2]],
        list(reversed(STORIES)),
    ],
    ids=["moved", "renamed", "edited", "moved and edited", "moved and renamed", "now a copy", "in another order"],
)
def test_a_test_that_is_still_there_is_not_gone(now: list[object]) -> None:
    assert gone(report(stories=now), report(stories=STORIES)).outcome == "passed"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("accepted", "outcome"),
    [
        (("pay", "greet", "user pays"), "passed"),
        (("tests",), "passed"),
        (("tests/test_stories.yml", "tests/e2e_test_cases.yml"), "passed"),
        (("core", "e2e"), "passed"),
        (("pay", "greet"), "failed"),
        (("test",), "failed"),
        (("tests/test_stories.yml",), "failed"),
    ],
)
def test_what_may_go_is_named(accepted: tuple[str, ...], outcome: str) -> None:
    assert gone(report(stories=STORIES[:1], cases=CASES[:1]), FINE, *accepted).outcome == outcome


def test_what_is_gone_and_accepted_is_said_all_the_same(golden: Golden) -> None:
    settings = GateSettings(accept_gone=("pay", "greet", "user pays"))
    verdict = Situation("", report(stories=STORIES[:1], cases=CASES[:1]), base(FINE)).verdict(settings)

    assert verdict.passed
    golden(verdict.summary)


@pytest.mark.parametrize(
    ("reason", "settings"),
    [
        ("it cannot be trained", GateSettings()),
        ("not requested (evaluations: nlu)", GateSettings(evaluations=("nlu",))),
    ],
)
def test_an_evaluation_that_no_longer_runs_is_lost(reason: str, settings: GateSettings, golden: Golden) -> None:
    head = with_changes(report(cases=CASES), settings=settings, skipped=(Skipped(evaluation="core", reason=reason),))

    verdict = judge(head, compare(head, base(FINE)), replace(settings, fail_on=("gone-tests",)))

    said = gate(verdict, "gone-tests").reason
    assert reason in said
    golden(said)
    assert compare(head, base(FINE)).stories.gone == ()


def test_all_held_out_sentences_may_not_go_and_single_ones_may(golden: Golden) -> None:
    sentences = [example("hi", "greet"), example("bye", "goodbye"), example("good day", "greet")]
    before, fewer = report(examples=sentences), report(examples=sentences[:2])
    folded = with_changes(before, nlu=replace(nlu(sentences), mode="cross-validation", folds=2))

    assert gone(fewer, before).outcome == "passed"
    golden(gone(folded, before).reason)
    assert gone(folded, before, "tests/test_nlu.yml").outcome == "passed"


def test_tests_of_a_file_that_cannot_be_read_are_not_run_rather_than_gone(golden: Golden) -> None:
    part = Skipped(evaluation="core", reason="its test file tests/b.yml cannot be read (see the findings)", part=True)
    head = with_changes(report(stories=STORIES[:2]), skipped=(part,))

    judged = gone(head, report(stories=STORIES))

    assert compare(head, base(report(stories=STORIES))).stories.gone == ()
    golden(judged.reason)
    assert gate(judge(head, None, GateSettings(require=("core",))), "require: core").outcome == "failed"


# --- tests that were skipped -----------------------------------------------------------------------------------------


def test_what_is_required_must_run_whole_and_what_would_make_it_run_is_said(golden: Golden) -> None:
    head = report(stories=STORIES, cases=[CASES[0], *skipped("user pays", "user waits")])

    failed = gate(judge(head, None, GateSettings(require=("core", "e2e"))), "require: e2e")

    assert failed.outcome == "failed"
    golden(failed.reason)
    for way in ("--action-server", "--action-endpoint", "stub_custom_actions"):
        assert way in failed.reason
    assert [str(cause.location) for cause in failed.failed_by] == [
        "tests/e2e_test_cases.yml:3:5",
        "tests/e2e_test_cases.yml:6:5",
    ]


def test_cases_none_of_which_ran_are_no_success(golden: Golden) -> None:
    head = report(stories=STORIES, cases=skipped("user orders", "user pays"))
    verdict = judge(head, None, GateSettings())

    assert gate(verdict, "test-failures").outcome == "not judged"
    assert verdict.summary.startswith("2 end-to-end cases not run, 3 stories passed")
    golden(verdict.in_words)
    assert not judge(head, None, GateSettings(not_judged="fail")).passed


def test_intents_that_were_dropped_fail_what_is_required(golden: Golden) -> None:
    from turncheck.report.model import UnjudgedIntent  # for this one

    sentences = [example("hi", "greet"), example("bye", "goodbye")]
    judged = replace(nlu(sentences), unjudged=(UnjudgedIntent(intent="rare", examples=2),))
    head = with_changes(report(examples=sentences), nlu=judged)

    failed = gate(judge(head, None, GateSettings(require=("nlu",))), "require: nlu")

    golden(failed.reason)


# --- what chooses the tests ------------------------------------------------------------------------------------------


def test_what_chooses_the_tests_is_a_rule_and_an_older_report_does_not_tell_it(golden: Golden) -> None:
    old = report(settings=GateSettings(), commit="3" * 40)
    before = report(settings=GateSettings(stories=(), data=(), ignore=()), commit="3" * 40)
    head = report(settings=GateSettings(stories=("tests/a.yml",), data=(), ignore=("x",), evaluations=("nlu",)))

    changes = {one.name: (one.base, one.value) for one in compare(head, Present(before, "git")).settings_changed}

    assert {name: value for name, (_, value) in changes.items()} == {
        "stories": "tests/a.yml",
        "ignore": "x",
        "evaluations": "nlu",
    }
    golden(*(base for base, _ in changes.values()))
    assert [one.name for one in compare(head, Present(old, "git")).settings_changed] == ["evaluations"]


@pytest.mark.parametrize(
    ("reason", "cause", "told"),
    [
        ("There is no file at 'config.yml'", "there is no configuration", "There is no configuration (config.yml)"),
        ("the data: config.yml: It is bad", "the data: 'a. b'", "The data: 'a. b' (config.yml)"),
        ("a report of an earlier version (config.yml)", "", "A report of an earlier version (config.yml)"),
    ],
)
def test_a_cause_is_told_once_by_its_place(reason: str, cause: str, told: str, golden: Golden) -> None:
    place = Location("config.yml")
    first = Skipped(evaluation="nlu", reason=reason, fault=True, location=place, cause=cause)
    others = [replace(first, evaluation="core"), replace(first, evaluation="e2e", reason=f"something else: {reason}")]

    said = cause_first([first, *others])
    assert said.startswith(told)
    golden(said)
