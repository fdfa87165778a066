"""Flows and tests that were only checked against each other: what the gates and the summary say of that."""

from __future__ import annotations

import pytest
from golden_texts import Golden
from msgspec import UnsetType
from msgspec.structs import replace
from report_builder import BASE_COMMIT, case, finding, report, with_changes

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Baseline, Missing, Present
from turncheck.messages.finding import Location
from turncheck.render.wording.gates import judge
from turncheck.render.wording.verdict import Verdict
from turncheck.report.consistency import CheckedTest, Consistency, FlowCondition, FlowSteps, InconsistentTest
from turncheck.report.model import GateSettings, Report, Skipped

FLOW = FlowSteps(flow="order", location=Location("data/flows.yml", 2), steps=5, named=3)
WRONG = InconsistentTest(
    name="a large one",
    location=Location("tests/e2e.yml", 2),
    lacks="response 'utter_ordred'",
    at=Location("tests/e2e.yml", 5),
)
NOT_RUN = Skipped(evaluation="e2e", reason="the embedded engine does not run CALM assistants")
CANNOT_PASS = finding("flow-test-cannot-pass", "It cannot.", path="tests/e2e.yml", line=5, response="utter_ordred")


TESTS = (
    CheckedTest(
        name="a large one", location=Location("tests/e2e.yml", 2), content="1", expects=("utter: utter_large",)
    ),
    CheckedTest(
        name="a small one",
        location=Location("tests/e2e.yml", 12),
        content="2",
        expects=("utter: utter_small", "slot_was_set: size = small"),
    ),
)


def checked(*wrong: InconsistentTest, tests: tuple[CheckedTest, ...] = TESTS) -> Report:
    """A report of a run in which nothing but files was checked."""
    consistency = Consistency(flows=(FLOW,), slots=3, responses=4, tests=tests, inconsistent=wrong)
    found = (CANNOT_PASS,) if wrong else ()
    return with_changes(report(findings=found), consistency=consistency, skipped=(NOT_RUN,))


CHECKED = Consistency(flows=(FLOW,), slots=3, responses=4, tests=TESTS)


def judged(head: Report, base: Baseline | None = None, fail_on: tuple[str, ...] | None = None) -> Verdict:
    """The verdict on a report."""
    chosen = GateSettings() if fail_on is None else GateSettings(fail_on=fail_on)
    head = with_changes(head, settings=chosen)
    return judge(head, compare(head, base or Missing("there is none")), chosen)


def base_of(made: Report) -> Baseline:
    """A report as the one of the base."""
    return Present(with_changes(made, source=replace(made.source, commit=BASE_COMMIT)), "artifact")


def outcomes(verdict: Verdict) -> dict[str, str]:
    """The outcomes of the gates by their names."""
    return {gate.name: gate.outcome for gate in verdict.gates}


def test_flows_and_tests_that_fit_pass_with_a_reservation(golden: Golden) -> None:
    verdict = judged(checked())
    assert outcomes(verdict)["consistent-tests"] == "passed"
    assert outcomes(verdict)["something-was-tested"] == "passed"
    assert verdict.outcome == "passed"
    golden(verdict.reservation)
    golden(f"{verdict.in_words}: {verdict.summary}")


def test_without_tests_that_is_said(golden: Golden) -> None:
    golden(judged(checked(tests=())).summary)


def test_tests_that_expect_what_is_not_there_fail(golden: Golden) -> None:
    verdict = judged(checked(WRONG))
    gate = next(gate for gate in verdict.gates if gate.name == "consistent-tests")
    assert (verdict.outcome, gate.outcome) == ("failed", "failed")
    assert [cause.location for cause in gate.failed_by] == [WRONG.at]
    golden(f"{verdict.summary}\n{gate.in_words}")


def test_what_the_base_expects_in_vain_too_does_not_fail() -> None:
    fail_on = ("new-errors", "new-failures")
    assert outcomes(judged(checked(WRONG), base_of(checked(WRONG)), fail_on=fail_on))["consistent-tests"] == "passed"
    assert outcomes(judged(checked(WRONG), base_of(checked()), fail_on=fail_on))["consistent-tests"] == "failed"


def test_a_test_that_is_gone_fails(golden: Golden) -> None:
    verdict = judged(checked(tests=TESTS[:1]), base_of(checked()))
    gate = next(gate for gate in verdict.gates if gate.name == "consistent-tests")
    assert (gate.outcome, [cause.location for cause in gate.failed_by]) == ("failed", [TESTS[1].location])
    moved = replace(TESTS[1], location=Location("tests/other.yml", 2), content="edited")
    renamed = replace(TESTS[1], name="a tiny one")
    reworded = replace(renamed, content="with another sentence")
    for still in (moved, renamed, reworded):
        assert outcomes(judged(checked(tests=(TESTS[0], still)), base_of(checked())))["consistent-tests"] == "passed"
    golden(f"{verdict.summary}\n{gate.in_words}")


def test_a_test_that_is_gone_may_be_accepted() -> None:
    settings = GateSettings(accept_gone=("a small one",))
    head = with_changes(checked(tests=TESTS[:1]), settings=settings)
    verdict = judge(head, compare(head, base_of(checked())), settings)
    assert outcomes(verdict)["consistent-tests"] == "passed"


def condition(text: str, meaning: str, opposite: str) -> FlowCondition:
    """A condition of the flow."""
    place = Location("data/flows.yml", 9, 17)
    return FlowCondition(
        flow="order", leads_to="action utter_yes", meaning=meaning, opposite=opposite, text=text, location=place
    )


def new_codes(now: Consistency, before: Consistency = CHECKED) -> list[tuple[str, Location]]:
    """The new findings of a change, with their places."""
    base, head = (with_changes(checked(), consistency=one) for one in (before, now))
    return [(one.code, one.location) for one in compare(head, base_of(base)).new_findings]


def test_a_test_that_expects_less_is_a_warning() -> None:
    less = replace(TESTS[1], content="edited", expects=TESTS[1].expects[:1])
    other = replace(TESTS[1], content="edited", expects=("utter: utter_tiny", "slot_was_set: size = tiny"))
    assert new_codes(replace(CHECKED, tests=(TESTS[0], less))) == [("flow-test-weakened", TESTS[1].location)]
    assert new_codes(replace(CHECKED, tests=(TESTS[0], other))) == []
    namesake = replace(TESTS[1], content="3", expects=("utter: utter_other",), location=Location("tests/other.yml", 2))
    both = replace(CHECKED, tests=(*TESTS, namesake))
    assert new_codes(both, both) == []
    assert new_codes(replace(CHECKED, tests=(*TESTS[:1], less, namesake)), both) == [
        ("flow-test-weakened", less.location)
    ]


def test_a_rejection_that_was_removed_is_a_warning() -> None:
    flow = replace(FLOW, collects=("size",))
    rejection = replace(
        condition("slots.size = 'huge'", "slots.size = 'huge'", ""), rejects="size", leads_to="rejection"
    )
    before = replace(CHECKED, flows=(flow,), conditions=(rejection,))
    reworded = replace(rejection, meaning="slots.size = 'vast'", leads_to="rejection utter_no")
    assert new_codes(replace(before, conditions=()), before) == [("flow-rejection-removed", flow.location)]
    assert new_codes(replace(before, conditions=(reworded,)), before) == []
    assert new_codes(replace(before, conditions=(), flows=(FLOW,)), before) == []


def test_a_condition_of_which_a_part_was_turned_is_a_warning() -> None:
    before = replace(condition("slots.paid", "slots.paid", "not slots.paid"), turned=("slots.paid = False",))
    now = condition("slots.paid = false", "slots.paid = False", "slots.paid != False")
    conditions = [replace(CHECKED, conditions=(one,)) for one in (now, before)]
    assert new_codes(*conditions) == [("flow-condition-turned", now.location)]


def test_a_condition_that_was_turned_around_is_a_warning(golden: Golden) -> None:
    before = condition("slots.paid", "slots.paid", "not slots.paid")
    now = condition("not slots.paid", "not slots.paid", "slots.paid")
    base, head = (with_changes(checked(), consistency=replace(CHECKED, conditions=(one,))) for one in (before, now))
    comparison = compare(head, base_of(base))
    found = [finding for finding in comparison.new_findings if finding.code == "flow-condition-turned"]
    assert [(one.severity, one.location) for one in found] == [("warning", now.location)]
    assert not compare(base, base_of(base)).new_findings
    golden(found[0].message)


def test_files_never_replace_an_evaluation_that_the_base_ran(golden: Golden) -> None:
    base = with_changes(report(cases=(case("orders"),)), consistency=checked().consistency)
    verdict = judged(checked(), base_of(base))
    assert outcomes(verdict)["something-was-tested"] == "failed"
    assert verdict.outcome == "failed"
    golden(next(gate.in_words for gate in verdict.gates if gate.name == "something-was-tested"))


def test_all_there_is_only_said_of_tests_that_ran(golden: Golden) -> None:
    settings = GateSettings(fail_on=("new-failures",))
    there, gone = checked(), checked(tests=TESTS[:1])
    for head in (there, gone):
        verdict = judged(head, base_of(checked()), fail_on=settings.fail_on)
        golden(next(gate.in_words for gate in verdict.gates if gate.name == "gone-tests"))


def test_how_many_tests_cannot_pass_is_said_also_where_the_error_is_named() -> None:
    for base in (None, base_of(checked())):
        verdict = judged(checked(WRONG), base, fail_on=None if base is None else ("new-errors", "new-failures"))
        gates = {gate.name: gate for gate in verdict.gates}
        assert not gates["consistent-tests"].follows
        assert gates["consistent-tests"].reason in verdict.summary or base is not None


def test_other_assistants_have_no_such_gate() -> None:
    assert "consistent-tests" not in outcomes(judged(report(cases=(case("orders"),))))


def test_a_test_that_was_edited_is_named_with_the_file_that_did_it(golden: Golden) -> None:
    large, small = TESTS
    known = (replace(large, resolved="1", own="1", shared={"conftest.yml": "1"}), small)
    now = (replace(large, resolved="2", own="1", shared={"conftest.yml": "2"}), replace(small, content="3"))
    base = base_of(checked(tests=known))
    compared = compare(checked(tests=now), base)

    assert not isinstance(compared.consistency, UnsetType)
    assert [(one.name, one.edited_in) for one in compared.consistency.edited] == [
        ("a large one", ("conftest.yml",)),
        ("a small one", ()),
    ]
    golden(judged(checked(tests=now), base).summary)


@pytest.mark.parametrize(
    "now",
    [
        (TESTS[0],),
        (replace(TESTS[0], content="2"),),
        (replace(TESTS[0], location=Location("tests/more.yml", 2)), TESTS[1]),
    ],
    ids=["a twin", "under another's name", "a twin moved"],
)
def test_each_test_stands_for_one_of_the_base(now: tuple[CheckedTest, ...]) -> None:
    twins = (*TESTS, replace(TESTS[0], location=Location("tests/more.yml", 2), content="4"))
    compared = compare(checked(tests=now), base_of(checked(tests=twins)))

    assert not isinstance(compared.consistency, UnsetType)
    assert len(compared.consistency.gone) == len(twins) - len(now)


def test_what_an_engine_ran_is_not_edited_twice() -> None:
    ran = case(TESTS[1].name, path="tests/e2e.yml", line=12)
    head = with_changes(checked(tests=(TESTS[0], replace(TESTS[1], content="3"))), e2e=report(cases=(ran,)).e2e)
    compared = compare(head, base_of(checked()))

    assert not isinstance(compared.consistency, UnsetType)
    assert compared.consistency.edited == ()
