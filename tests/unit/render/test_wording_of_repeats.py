"""Runs of tests in words: how many fared how, and of which tests figures are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from golden_texts import Golden
from msgspec.structs import replace
from report_builder import BASE_COMMIT, case, report, with_changes

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Missing, Present
from turncheck.evaluations.varying.attempts import in_words
from turncheck.render.assistants import Run
from turncheck.render.console import render_console
from turncheck.render.explained import explain
from turncheck.render.junit import render_junit
from turncheck.render.links import Links
from turncheck.render.markdown import render_comment
from turncheck.render.wording.gates import judge
from turncheck.render.wording.repeats import (
    few_attempts,
    few_runs,
    repeats_in_words,
    short_base_in_words,
    worth_of_passing,
)
from turncheck.report.measured import MeasuredRun, MeasuredTurn
from turncheck.report.model import Attempt, EngineInfo, GateSettings, HowRepeated, Repeats
from turncheck.report.repeats import OTHER_BOT, SAME_BOT, UNTOLD, not_in_turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.render.wording.verdict import Verdict
    from turncheck.report.model import Report
    from turncheck.report.repeats import RepeatedOutcome

OLD = {"greet": Repeats(runs="PP", outcome="passed")}


HTTP = EngineInfo(name="http", version="1")


def ran(**repeats: Repeats) -> Report:
    """A report of a bot's end-to-end cases with these runs."""
    cases = []
    for number, (name, one) in enumerate(repeats.items(), 1):
        made = case(name, "a" if one.outcome in {"passed", "flaky"} else "a!b", line=4 * number)
        unclear = {"outcome": "unclear"} if one.outcome == "unclear" else {}
        cases.append(replace(made, repeats=one, **unclear))
    return with_changes(report(cases=cases), engine=HTTP)


def told(now: Report, base: Report, *gates: str) -> tuple[str, str]:
    """What the verdict's line and the comment say of a change."""
    settings = GateSettings(fail_on=gates)
    now = with_changes(now, settings=settings)
    before = with_changes(base, settings=settings, source=replace(base.source, commit=BASE_COMMIT))
    compared = compare(now, Present(before, "artifact"))
    verdict = judge(now, compared, settings)
    return verdict.summary, str(render_comment(now, compared, verdict, Links()).content)


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        (["FFFF"], "1 failing (0 of 4 runs pass)"),
        (["FFFF", "FFFF"], "2 failing (0 of 4 runs pass)"),
        (["PPFF", "PFFFFF", "PPPFFF"], "3 failing (worst: 1 of 6 runs pass)"),
        (["FFFF", "FFFFFF"], "2 failing (worst: 0 of 6 runs pass)"),
    ],
)
def test_figures_of_several_tests_are_said_of_the_worst_unless_they_are_alike(runs: list[str], words: str) -> None:
    repeats = {f"case {number}": Repeats(runs=one, outcome="failed") for number, one in enumerate(runs)}
    assert repeats_in_words(ran(**repeats)) == words


def test_what_regressed_from_one_rate_to_one_rate_is_said_with_it(golden: Golden) -> None:
    dead = Repeats(runs="FFffff", outcome="regressed", base="P" * 19 + "F")
    flaky = Repeats(runs="PF", outcome="flaky", base="PF")
    unclear = Repeats(runs="PF", outcome="unclear", base="PP")
    found = ran(a=dead, b=dead, c=flaky, d=flaky, e=flaky, f=unclear)
    golden(repeats_in_words(found))
    other = ran(a=dead, b=Repeats(runs="FFffff", outcome="regressed", base="P" * 20))
    assert repeats_in_words(other) == "2 regressed (worst: 0 of 6 runs pass; base 19 of 20)"


def interrupted(**reasons: str) -> str:
    """What a terminal says of cases that are unclear for these reasons."""
    found = ran(**{name: Repeats(runs="P", outcome="unclear") for name in reasons})
    assert found.e2e is not None
    cases = tuple(replace(one, reason=reasons[one.name]) for one in found.e2e.cases)
    found = replace(found, e2e=replace(found.e2e, cases=cases))
    settings = GateSettings(fail_on=("test-failures",))
    return str(render_console(found, None, judge(found, None, settings), Links()).content)


def test_unclear_cases_with_one_reason_are_counted(golden: Golden) -> None:
    early = "1 of 1 run passes (interrupted)"
    golden(interrupted(**{f"case_{number}": early for number in range(85)}), only="85")
    golden(interrupted(a=early, b=early, c="22 of 30 runs pass"), only="end-to-end case")
    golden(interrupted(a=early), only="end-to-end case")


def test_a_new_test_that_the_bot_of_the_base_fails_as_well_is_new_and_counted_once(golden: Golden) -> None:
    new = Repeats(runs="FFfff", outcome="failed", base="fff")
    said, comment = told(ran(**OLD, pool=new), ran(**OLD), "new-failures")
    golden(said)
    golden(comment, only="0 of 3")


def test_a_new_failing_test_stands_beside_the_old_ones(golden: Golden) -> None:
    old = {**OLD, "pay": Repeats(runs="FF", outcome="failed")}
    now = {**OLD, "pay": Repeats(runs="FFff", outcome="failed", base="FF")}
    new = Repeats(runs="FFff", outcome="failed")
    said, _ = told(ran(**now, pool=new), ran(**old), "new-failures")
    golden(said)


def test_where_nothing_else_says_what_is_new_its_runs_do() -> None:
    new = Repeats(runs="FFfff", outcome="failed", base="fff")
    said, _ = told(ran(**OLD, pool=new), ran(**OLD))
    assert "1 failing (0 of 5 runs pass; base 0 of 3)" in said
    assert "as before" not in said


def test_a_test_whose_base_was_unclear_does_not_fail_as_before() -> None:
    unclear = ran(greet=Repeats(runs="PFFP", outcome="unclear"))
    said, comment = told(ran(greet=Repeats(runs="FFFF", outcome="failed", base="PFFP")), unclear, "new-failures")
    assert "1 end-to-end case newly fails" in said
    assert "as before" not in said
    assert "not run" not in comment


@pytest.mark.parametrize("gate", ["test-failures", "new-failures"])
def test_why_a_test_has_no_answer_is_said_by_the_gate(gate: str, golden: Golden) -> None:
    now = ran(greet=Repeats(runs="FF", outcome="failed"))
    assert now.e2e
    (failed,) = now.e2e.cases
    runs = Repeats(runs="", errors=3, outcome="unclear")
    erred = replace(failed, outcome="error", repeats=runs, reason="the bot answers 502 to POST /chat")
    _, comment = told(replace(now, e2e=replace(now.e2e, cases=(erred,))), ran(**OLD), gate)
    golden(comment, only="3 runs")


@pytest.mark.parametrize(("engine", "told_so"), [("embedded", True), ("http", False)])
def test_an_action_server_is_only_advised_where_it_would_help(engine: str, told_so: bool) -> None:
    left_out = replace(case("b", "a"), passed=False, outcome="skipped", reason="no", actions={"action_b": "missing"})
    made = with_changes(report(cases=[case("a", "a"), left_out]), engine=EngineInfo(name=engine, version="1"))
    _, comment = told(made, made)
    assert ("--action-server" in comment) == told_so


@pytest.mark.parametrize(
    ("in_turn", "of_all", "drop"), [("", 1 / 2, 0.5), ("FFPPFFPPFF", 3 / 7, 0.0), ("FPFPFPPPFP", 2 / 7, 0.8)]
)
def test_a_share_of_runs_is_compared_in_turn_with_the_base_where_it_was_asked_so(
    in_turn: str, of_all: float, drop: float
) -> None:
    """The figure is of all runs that every case got, whatever is compared."""
    names = [f"case {number}" for number in range(9)]
    before, now = (
        replace(made, e2e=replace(made.e2e, repeats=HowRepeated(first=2, most=30, false_alarms=0.01)))
        for made in (
            ran(**{name: Repeats(runs="PP", outcome="passed") for name in names}),
            ran(**{name: Repeats(runs="PF", outcome="flaky", base="PP", in_turn=in_turn) for name in names}),
        )
        if made.e2e is not None
    )
    compared = compare(now, Present(with_changes(before, source=replace(before.source, commit=BASE_COMMIT)), "git"))
    metric = compared.metric("e2e.pass_rate")
    assert metric
    assert (metric.base, metric.value) == (1.0, of_all)
    shared = metric.shared or metric
    assert round(-(shared.delta or 0.0), 6) == drop
    assert (metric.judgement == "worse") == (drop > 0)


def test_a_share_of_runs_is_not_compared_in_turn_if_only_what_had_failed_was() -> None:
    """Of the others none had failed, and what fails once rarely fails again: with these runs, no change is a gain."""
    often = {f"case {number}": Repeats(runs="PPPPF", outcome="flaky") for number in range(20)}
    passed = {name: Repeats(runs="PP", outcome="passed", base="PPPPF") for name in list(often)[:12]}
    failed = {
        name: Repeats(runs="PFpppp", outcome="flaky", base="PPPPFpppp", in_turn="PPPPPPPP") for name in list(often)[12:]
    }
    before, now = (
        replace(made, e2e=replace(made.e2e, repeats=HowRepeated(first=2, most=30, false_alarms=0.01)))
        for made in (ran(**often), ran(**passed, **failed))
        if made.e2e is not None
    )
    compared = compare(now, Present(with_changes(before, source=replace(before.source, commit=BASE_COMMIT)), "git"))
    metric = compared.metric("e2e.pass_rate")
    assert metric
    assert metric.judgement == "noise"
    assert [round(side or 0.0, 2) for side in metric.sides] == [0.8, 0.8]


HOW = HowRepeated(first=2, most=30, false_alarms=0.01)


def beside(now: Mapping[str, Repeats], runs: str = "PP", *gates: str) -> tuple[Verdict, str]:
    """The verdict of cases with these runs beside a base on which all passed, and the comment."""
    made = ran(**now), ran(**{name: Repeats(runs=runs, outcome="passed") for name in now})
    here, there = (replace(one, e2e=replace(one.e2e, repeats=HOW)) for one in made if one.e2e is not None)
    settings = GateSettings(fail_on=gates or ("new-failures", "test-failures"))
    here, there = (with_changes(one, settings=settings) for one in (here, there))
    compared = compare(here, Present(with_changes(there, source=replace(there.source, commit=BASE_COMMIT)), "git"))
    verdict = judge(here, compared, settings)
    return verdict, str(render_comment(here, compared, verdict, Links()).content)


def in_turn(pairs: str, outcome: RepeatedOutcome, first: str = "PP") -> Repeats:
    """A case whose runs in turn with the base these are."""
    base = f"{'P' * 5}{pairs[1::2].lower()}"
    return Repeats(runs=f"{first}{pairs[::2]}", outcome=outcome, base=base, in_turn=pairs)


DEAD = in_turn("FP" * 8, "regressed", "FF")
LESS = in_turn("FPPPFPPPPPFPPP", "flaky")
STEADY = in_turn("PP" * 6, "passed")


@pytest.mark.parametrize(
    "cases",
    [[DEAD, DEAD, LESS, LESS, LESS, STEADY], [LESS] * 5 + [STEADY], [DEAD] + [STEADY] * 5, [LESS] + [STEADY] * 5],
)
def test_where_the_whole_bot_became_worse_the_title_says_so_first(cases: list[Repeats], golden: Golden) -> None:
    """A dead case is one: the runs of all others say nothing of it. What stands behind the losses is listed."""
    verdict, comment = beside({f"case {number}": one for number, one in enumerate(cases)})
    golden(f"{verdict.in_words}: {verdict.summary}")
    golden(*(one for one in comment.splitlines() if "End-to-end cases passed" in one or "Together" in one))


@pytest.mark.parametrize("cases", [[DEAD, LESS, LESS, LESS, LESS, LESS], [LESS] * 6])
def test_without_a_report_of_the_base_the_title_says_what_its_bot_did(cases: list[Repeats], golden: Golden) -> None:
    """It was asked in turn, as in shards, whose report of the base is looked for by whoever merges them."""
    made = ran(**{f"case {number}": one for number, one in enumerate(cases)})
    assert made.e2e is not None
    made = replace(made, e2e=replace(made.e2e, repeats=HOW))
    compared = compare(made, Missing("no run has left one"))
    golden(judge(made, compared, GateSettings(fail_on=("new-failures",))).summary)


def test_what_fails_by_itself_is_not_listed_again() -> None:
    """A case that is worse by less than `worth` newly fails; the others together fail more often."""
    worse = in_turn("FPFPFPPPFPPP", "worse")
    verdict, comment = beside({"worse": worse, **{f"case {number}": LESS for number in range(5)}})
    assert comment.count("`worse`: ") == 1
    assert comment.count("`case 1`: ") == 1
    assert verdict.outcome == "failed"


def test_one_test_is_explained_with_its_runs() -> None:
    """Neither what is unclear nor what is flaky is the same as on the base."""
    cases = {"dead": DEAD, "open": in_turn("FPFPPP", "unclear"), "flaky": LESS}
    made = ran(**cases), ran(**dict.fromkeys(cases, OLD["greet"]))
    here, there = (replace(one, e2e=replace(one.e2e, repeats=HOW)) for one in made if one.e2e)
    compared = compare(here, Present(with_changes(there, source=replace(there.source, commit=BASE_COMMIT)), "git"))
    run = Run(here, compared, judge(here, compared, GateSettings()), Links())
    found = {name: explain(run, name) for name in cases}
    assert [one.outcome for one in found.values() if one] == ["failed", "unclear", "passed"]
    assert all(one is not None and one.runs for one in found.values())
    assert [one.on_base for name, one in found.items() if one and name != "dead"] == ["", ""]
    junit = render_junit(here, compared, run.verdict, Links()).encoded
    root = ET.fromstring(junit)  # noqa: S314  # our own output
    (failure,) = root.findall(".//testcase[@name='dead']/failure")
    assert failure.get("message", "").startswith(found["dead"].runs)  # type: ignore[union-attr]


@pytest.mark.parametrize("runs", ["PP", "PPPP", "PPPPP"])
def test_a_base_with_few_runs_is_named_where_the_verdict_is_read(runs: str, golden: Golden) -> None:
    """Of five runs of each case all together can be judged, so that there is nothing to say."""
    flaky, passed = Repeats(runs="PFpp", outcome="flaky", base=runs), Repeats(runs="PP", outcome="passed", base=runs)
    verdict, _ = beside({"a": flaky, **{f"case {number}": passed for number in range(7)}}, runs)
    golden(f"{verdict.in_words}: {verdict.summary}")


@pytest.mark.parametrize(("engine", "flag"), [("http", "bot"), ("rasa", "rasa"), ("kore", None)])
def test_each_engine_has_its_own_flag_for_where_the_base_runs(engine: str, flag: str | None) -> None:
    cases = {"a": Repeats(runs="PFpp", outcome="flaky", base="PP")}
    made = with_changes(ran(**cases), engine=EngineInfo(name=engine, version="1"))
    said = short_base_in_words(made, compare(made, Present(made, "file")))
    assert said
    assert re.findall(r"--(\w+)-url-base", said) == ([flag] if flag else [])
    stopped = replace(made, stopped="the bot is gone")
    assert not short_base_in_words(stopped, compare(stopped, Present(made, "file")))


@pytest.mark.parametrize("pairs", ["FP" * 3 + "PP" * 9, "PP" * 12])
def test_without_a_report_of_the_base_its_bot_that_was_asked_in_turn_counts(pairs: str) -> None:
    """None of eight cases fails by itself; all together do, as beside a base that left its report."""
    made = ran(**{f"case {number}": in_turn(pairs, "flaky" if "F" in pairs else "passed") for number in range(8)})
    assert made.e2e is not None
    made = replace(made, e2e=replace(made.e2e, repeats=HOW))
    for gate in ("new-failures", "test-failures"):
        settings = GateSettings(fail_on=(gate,))
        verdict = judge(with_changes(made, settings=settings), compare(made, Missing("there is none")), settings)
        assert {one.outcome for one in verdict.gates if one.name == gate} == {"failed" if "F" in pairs else "passed"}


def test_a_title_does_not_pass_over_a_share_of_runs_that_really_dropped(golden: Golden) -> None:
    """At 5 % it is a drop, at the 1 % of false alarms no failure."""
    flaky = Repeats(runs="PFPP", outcome="flaky", base="PPPPPP")
    cases = {f"case {number}": flaky for number in range(6)}
    cases |= {f"steady {number}": Repeats(runs="PPPP", outcome="passed", base="PPPPPP") for number in range(2)}
    verdict, _ = beside(cases, "PPPPPP")
    golden(f"{verdict.in_words}: {verdict.summary}")


def test_no_case_is_counted_twice_where_worth_is_given(golden: Golden) -> None:
    """One fails; what is worse by less than was set passes, and is counted by itself."""
    regressed, worse = in_turn("FP" * 6 + "PP" * 2, "regressed"), in_turn("FPPPFPPPFPPPFPPP", "worse")
    made = ran(a=regressed, b=worse, c=worse, d=in_turn("PP" * 4, "passed"))
    assert made.e2e is not None
    cases = tuple(
        one if one.name == "a" else replace(one, passed=True, outcome="passed", steps=()) for one in made.e2e.cases
    )
    now = replace(made, e2e=replace(made.e2e, cases=cases, passed=3, failed=1))
    before = ran(**{name: Repeats(runs="PPPPP", outcome="passed") for name in "abcd"})
    said, _ = told(now, before, "new-failures")
    golden(said)


@pytest.mark.parametrize(("base", "told_so"), [("PPPPP", True), ("PPPPF", False), ("", False), ("P" * 40, True)])
def test_what_no_run_of_the_base_did_is_not_said_to_be_as_there(base: str, told_so: bool) -> None:
    words = in_words(Repeats(runs="FPPPFP", outcome="flaky", base=base))
    assert (UNTOLD in words) == told_so


def repeated_alone(runs: str, cases: int = 8, first: int = 2) -> Report:
    made = ran(**{f"case {number}": Repeats(runs=runs, outcome="passed") for number in range(cases)})
    assert made.e2e is not None
    how = HowRepeated(first=first, most=max(30, first), false_alarms=0.01)
    return replace(made, e2e=replace(made.e2e, repeats=how))


def test_without_a_base_a_few_runs_that_pass_show_little(golden: Golden) -> None:
    """0.95^16 is 0.44: as often does a bot pass that is wrong in one of twenty answers."""
    (words,) = few_runs(repeated_alone("PP"))
    golden(words)
    assert not list(few_runs(repeated_alone("P" * 10, first=10))), "0.95^80 is 0.02"
    assert not list(worth_of_passing(0, 0, 2, 0, ""))
    passed = [replace(case("a", "b"), attempts=Attempt(passed=3, of=3)) for _ in range(4)]
    (words,) = few_attempts(passed)
    golden(words)
    assert not list(few_attempts([*passed, replace(passed[0], attempts=Attempt(passed=2, of=3))]))
    assert not list(few_attempts([replace(passed[0], attempts=Attempt(passed=1, of=1))])), "nobody asked how it varies"
    failing = repeated_alone("PP")
    assert failing.e2e is not None
    other = replace(failing.e2e.cases[0], repeats=Repeats(runs="FPpp", outcome="flaky"))
    assert not list(few_runs(replace(failing, e2e=replace(failing.e2e, cases=(other, *failing.e2e.cases[1:])))))


@pytest.mark.parametrize(
    ("bot", "runs", "told_so"), [(("kind: rest",), None, True), ((), None, False), (("kind: rest",), "PF", False)]
)
def test_a_bot_that_was_asked_once_may_vary_all_the_same(bot: tuple[str, ...], runs: str | None, told_so: bool) -> None:
    """With `repeats: off` as well; an engine that needs only files answers the same each time."""
    cases = [case(f"case {number}", "a" if runs is None else "a!b") for number in range(3)]
    made = with_changes(report(cases=cases), settings=GateSettings(bot=bot))
    assert any("0.95^" in words for words in few_runs(made)) == told_so


def test_a_command_says_it_of_cases_that_it_repeats_by_itself() -> None:
    """`turncheck test e2e` repeats those of a bot without being asked to."""
    made = repeated_alone("PP")
    assert made.e2e is not None
    assert ["--repeat " in words for words in few_attempts(made.e2e.cases)] == [True]
    erred = replace(made.e2e.cases[0], repeats=Repeats(runs="PP", outcome="passed", errors=1))
    assert not list(few_attempts([erred, *made.e2e.cases[1:]]))


@pytest.mark.parametrize(
    "remark", [not_in_turn(OTHER_BOT), not_in_turn(SAME_BOT), "1 run of the base, asked in turn with this side, ended."]
)
def test_why_turns_were_not_compared_in_turn_is_the_true_reason(remark: str, golden: Golden) -> None:
    turn = MeasuredTurn(ms=100.0)
    measured = tuple(MeasuredRun(turns=(turn,)) for _ in range(2))
    made = repeated_alone("PP")
    assert made.e2e is not None
    cases = tuple(replace(one, measured=measured) for one in made.e2e.cases)
    now = replace(made, e2e=replace(made.e2e, cases=cases, remarks=(remark,)))
    settings = GateSettings(max_regression=("turns.ms.p50: 20%",))
    before = with_changes(now, source=replace(now.source, commit=BASE_COMMIT))
    verdict = judge(now, compare(now, Present(before, "file")), settings)
    golden(*(gate.reason for gate in verdict.gates if gate.metric == "turns.ms.p50"))


@pytest.mark.parametrize(
    ("cases", "flaky"),
    [([LESS] * 3 + [DEAD] * 3, 3), ([DEAD] * 6, 0), ([in_turn("FFPPFFPP", "flaky", "PF")] * 6, 6)],
)
def test_flaky_cases_are_counted_as_the_title_counts_them(cases: list[Repeats], flaky: int, golden: Golden) -> None:
    """What regressed fails now and then as well, and is not flaky; and a row says which runs its share is of."""
    names = {f"case {number}": one for number, one in enumerate(cases)}
    made = ran(**names), ran(**{name: Repeats(runs="PP", outcome="passed") for name in names})
    here, there = (replace(one, e2e=replace(one.e2e, repeats=HOW)) for one in made if one.e2e is not None)
    there = with_changes(there, source=replace(there.source, commit=BASE_COMMIT))
    metric = compare(here, Present(there, "git")).metric("e2e.flaky")
    assert metric is not None
    assert metric.sides[1] == flaky
    _, comment = beside(names)
    golden(*(one for one in comment.splitlines() if "| Runs passed" in one))


def rows_of_runs(now: Report, base: Report | None) -> list[str]:
    """What the comment says of the share of runs that pass, and of what it is compared with."""
    here, there = (replace(one, e2e=replace(one.e2e, repeats=HOW)) if one and one.e2e else None for one in (now, base))
    assert here is not None
    known = there and Present(with_changes(there, source=replace(there.source, commit=BASE_COMMIT)), "git")
    compared = compare(here, known or Missing("no run has left one"))
    settings = GateSettings()
    comment = str(render_comment(here, compared, judge(here, compared, settings), Links()).content)
    told = ("Runs passed", "End-to-end cases passed", "No baseline", "only its bot", "no base", "no report")
    return [one for one in comment.splitlines() if any(words in one for words in told)]


@pytest.mark.parametrize("first", ["PP", "PF"])
@pytest.mark.parametrize("pairs", ["", "FPPPFPPP"])
def test_what_was_unclear_on_the_base_counts_among_the_runs_that_passed(first: str, pairs: str, golden: Golden) -> None:
    """Eight cases are eight, whatever they were there: the share is of the same runs as the title's."""
    one = Repeats(runs=f"{first}{pairs[::2].lower()}fp", outcome="flaky", base="PFPFPF", in_turn=pairs)
    cases = {f"case {number}": one for number in range(8)}
    before = {name: Repeats(runs="PFPFPF", outcome="unclear" if name < "case 3" else "flaky") for name in cases}
    golden(*rows_of_runs(ran(**cases), ran(**before)))


def test_tests_without_runs_in_turn_are_in_no_share_of_those(golden: Golden) -> None:
    """As in shards of which one asked the base, and one had no need to: the title counts 6 cases."""
    once = {f"once {number}": Repeats(runs="PP", outcome="passed", base="PPPPP") for number in range(2)}
    less = replace(LESS, runs="PP" + LESS.in_turn[::2].lower())
    cases = {f"case {number}": less for number in range(6)} | once
    made, before = ran(**cases), ran(**{name: Repeats(runs="PPPPP", outcome="passed") for name in cases})
    golden(*rows_of_runs(made, before), beside(cases)[0].summary)
    golden(*rows_of_runs(made, None))


def test_a_share_of_some_runs_says_of_which(golden: Golden) -> None:
    """Those that had failed were run again; those that ended in an error are no runs that passed."""
    flaky, late = (Repeats(runs=runs, outcome="flaky", errors=2) for runs in ("PFpppp", "PPFpp"))
    passed = Repeats(runs="PP", outcome="passed")
    golden(*rows_of_runs(ran(a=flaky, b=passed), None))
    golden(*rows_of_runs(ran(a=late, b=passed), None))
    none = Repeats(runs="", errors=3, outcome="unclear")
    erred = replace(case("b", "a!b", line=8), outcome="error", repeats=none, reason="the bot answers 400 to POST /chat")
    made = ran(a=passed)
    assert made.e2e is not None
    made = with_changes(report(cases=[*made.e2e.cases, erred]), engine=HTTP)
    golden(*rows_of_runs(made, None))
    golden(*rows_of_runs(made, ran(a=passed, b=passed)))


@pytest.mark.parametrize("errors", [0, 1, 6])
def test_where_runs_ended_in_errors_the_title_does_not_say_that_nothing_changed(errors: int, golden: Golden) -> None:
    """Nobody knows whether as many do on the base."""
    cases = {"a": Repeats(runs="PPpppppppppppp", outcome="passed", base="PPPPP", errors=errors), "b": OLD["greet"]}
    golden(beside(cases, "PPPPP")[0].summary)
