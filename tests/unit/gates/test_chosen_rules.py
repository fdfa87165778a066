"""What `fail-on: auto` stands for: the rules of a change, or those for everything, and what is said of it."""

from __future__ import annotations

import pytest
from golden_texts import Golden
from msgspec import UNSET
from report_builder import BASE_COMMIT, HEAD_COMMIT, example, finding, report, story

from turncheck.comparison.chosen_rules import with_chosen
from turncheck.comparison.compare import compare, shown_beside_base
from turncheck.comparison.model import Baseline, Missing, Present, Unreachable, Unreadable
from turncheck.render.console import render_console
from turncheck.render.links import Links
from turncheck.render.markdown import render_comment
from turncheck.render.wording.gates import judge
from turncheck.report.model import GateSettings, Report
from turncheck.settings.gates import gate_settings
from turncheck.settings.options import Settings

AUTO = GateSettings(fail_on=("auto",))
OF_A_CHANGE, OF_ALL = ("new-errors", "new-failures"), ("errors", "test-failures")
OLD_FAULT = (story("pays", "a!b"), story("greets", "a"))


def _report(*, failing: bool = False, commit: str = HEAD_COMMIT) -> Report:
    stories = OLD_FAULT if failing else (story("pays", "a"), story("greets", "a"))
    return report(examples=[example("a", "x")], stories=stories, commit=commit)


@pytest.mark.parametrize(
    ("baseline", "rules"),
    [
        (Present(_report(), "git"), OF_A_CHANGE),
        (Present(_report(), "ancestor"), OF_A_CHANGE),
        (Present(_report(), "file"), OF_A_CHANGE),
        (Unreachable("the host does not answer"), OF_A_CHANGE),
        (Unreadable("it is not a report"), OF_A_CHANGE),
        (Missing("this is the base itself"), OF_ALL),
        (Present(_report(), "git", agreed=True), OF_ALL),
        (Unreachable("the host does not answer", own_branch=True), OF_ALL),
    ],
    ids=["base", "ancestor", "named", "unreachable", "unreadable", "missing", "own-branch", "own-branch-unreachable"],
)
def test_the_base_decides_which_rules_count_and_why_is_said(
    baseline: Baseline, rules: tuple[str, ...], golden: Golden
) -> None:
    head = report(examples=[example("a", "x")], stories=OLD_FAULT)
    comparison = compare(head, baseline)

    verdict = judge(head, comparison, AUTO)

    assert with_chosen(AUTO, comparison).fail_on == rules
    assert verdict.chosen is not UNSET
    assert verdict.chosen.fail_on == rules
    assert {"errors", "new-errors"} & {gate.name for gate in verdict.gates} == {rules[0]}
    golden(verdict.chosen.because)


def test_without_a_comparison_all_that_is_broken_counts() -> None:
    verdict = judge(_report(failing=True), None, AUTO)

    assert not verdict.passed
    assert verdict.chosen is not UNSET
    assert verdict.chosen.fail_on == OF_ALL


def test_an_old_fault_fails_the_default_branch_and_no_change() -> None:
    head, base = _report(failing=True), _report(failing=True, commit=BASE_COMMIT)

    assert judge(head, compare(head, Present(base, "git")), AUTO).passed
    assert not judge(head, compare(head, Present(base, "git", agreed=True)), AUTO).passed


def test_tests_that_are_gone_fail_with_either_rules_and_beside_an_unreachable_base() -> None:
    head, base = report(examples=[example("a", "x")], stories=[story("greets", "a")]), _report()

    for baseline in (Present(base, "git"), Present(base, "git", agreed=True), Unreachable("no answer")):
        failing = [gate.name for gate in judge(head, compare(head, baseline), AUTO).gates if gate.fails]
        assert failing == ["gone-tests"], baseline


def test_more_rules_may_be_named_beside_it_and_count_once() -> None:
    settings = GateSettings(fail_on=("gone-tests", "auto", "new-errors"))

    assert with_chosen(settings, None).fail_on == ("errors", "test-failures", "gone-tests", "new-errors")
    assert with_chosen(settings, compare(_report(), Unreadable("x"))).fail_on == (*OF_A_CHANGE, "gone-tests")


def test_rules_that_somebody_names_are_kept_and_nothing_is_said_of_them() -> None:
    head = _report()
    named = GateSettings(fail_on=("errors",))
    comparison = compare(head, Present(_report(), "git"))

    assert with_chosen(named, comparison) == named
    assert judge(head, comparison, named).chosen is UNSET


def test_it_is_the_default_and_what_is_shown_is_judged_by_the_rules_that_it_chose() -> None:
    assert gate_settings(Settings()).fail_on == ("auto",)
    head = report(examples=[example("a", "x")], findings=[finding("code", "bad thing", line=1)], settings=AUTO)

    assert shown_beside_base(head, compare(head, Missing("none"))).settings.fail_on == OF_ALL
    assert head.settings.fail_on == ("auto",)


def test_comment_and_terminal_name_the_rules(golden: Golden) -> None:
    head = _report(failing=True)
    comparison = compare(head, Unreachable("the host does not answer"))
    verdict = judge(head, comparison, AUTO)
    comment = render_comment(head, comparison, verdict, Links()).content
    screen = render_console(head, comparison, verdict, Links()).content

    lines = [line for text in (comment, screen) for line in str(text).splitlines() if "fail-on: auto" in line]
    assert len(lines) == 2
    golden(*lines)
