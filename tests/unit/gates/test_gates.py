"""Gates: what fails a run, with which reason, and what is not judged."""

from __future__ import annotations

import doctest
from types import ModuleType
from typing import TYPE_CHECKING

import msgspec
import pytest
from golden_texts import Golden
from msgspec import structs
from pull_request import base_report, head_report, pull_request
from report_builder import BASE_COMMIT, case, coverage, example, finding, report, robustness, story, strength, suite

from turncheck.comparison import significance
from turncheck.comparison.compare import compare
from turncheck.comparison.metrics import find_metric, metrics_of
from turncheck.comparison.model import Missing, Present, encode
from turncheck.gates.rules import read_rules
from turncheck.messages.errors import UserError
from turncheck.render.wording import figures
from turncheck.render.wording.gates import judge
from turncheck.render.wording.verdict import GateResult, Verdict
from turncheck.report.evaluations import EVALUATIONS
from turncheck.report.model import (
    GateSettings,
    HowRepeated,
    Nlu,
    Repeats,
    Report,
    Skipped,
    Source,
    Understood,
    UnjudgedIntent,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.report.model import CaseResult, RepeatedOutcome

OF_BASE = Source(commit=BASE_COMMIT)
TWO_SENTENCES = (example("a", "x"), example("b", "y"))


def verdict_of(head: Report, base: Report | None = None, **settings: object) -> Verdict:
    baseline = Present(base, "git") if base else Missing("nothing ran here yet")
    return judge(head, compare(head, baseline), msgspec.convert(settings, GateSettings))


def gate(verdict: Verdict, name: str) -> GateResult:
    return next(one for one in verdict.gates if one.name == name)


def threshold(made: Report, rule: str) -> GateResult:
    return gate(verdict_of(made, thresholds=[rule]), f"threshold: {rule}")


def regression(head: Report, base: Report, rule: str) -> GateResult:
    return gate(verdict_of(head, base, max_regression=[rule]), f"max-regression: {rule}")


def outcomes(gates: Sequence[GateResult]) -> dict[str, str]:
    return {one.name: one.outcome for one in gates}


# --- fail-on ---------------------------------------------------------------------------------------------------------


def test_a_clean_run_passes_and_says_what_was_tested(golden: Golden) -> None:
    verdict = verdict_of(report(examples=TWO_SENTENCES, stories=[story("s", "a")]))

    assert verdict.passed
    assert outcomes(verdict.gates) == {"errors": "passed", "test-failures": "passed", "something-was-tested": "passed"}
    assert gate(verdict, "something-was-tested").reason == "tested: 2 sentences, 1 story"
    golden(verdict.summary)


def test_an_error_in_the_data_fails_and_is_named_with_its_place(golden: Golden) -> None:
    verdict = verdict_of(report(examples=TWO_SENTENCES, findings=[finding("code", "bad thing", line=7)]))

    failed = gate(verdict, "errors")
    assert failed.outcome == "failed"
    golden(failed.reason)
    assert [(cause.what, str(cause.location)) for cause in failed.failed_by] == [("code: bad thing", "domain.yml:7:1")]
    assert verdict.outcome == "failed"


def test_warnings_fail_only_where_it_is_asked_for(golden: Golden) -> None:
    made = report(examples=TWO_SENTENCES, findings=[finding("code", "odd", "warning"), finding("code", "fyi", "info")])

    assert verdict_of(made).passed
    failed = gate(verdict_of(made, fail_on_warnings=True), "fail-on-warnings")
    assert failed.outcome == "failed"
    golden(failed.reason)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (report(stories=[story("s", "a!b"), story("t", "a")]), "1 of 2 stories failed"),
        (report(cases=[case("c", "a!b"), case("d", "a")]), "1 of 2 end-to-end cases failed"),
        (report(suites=[suite("s", ("u", False), ("v", True))]), "1 of 2 batch cases failed"),
        (
            report(stories=[story("s", "a!b")], cases=[case("c", "a!b"), case("d", "a")]),
            "1 of 1 story and 1 of 2 end-to-end cases failed",
        ),
    ],
)
def test_failed_tests_fail_the_run(made: Report, reason: str) -> None:
    failed = gate(verdict_of(made), "test-failures")

    assert (failed.outcome, failed.reason) == ("failed", reason)
    assert failed.failed_by


def test_wrong_sentences_fail_no_run_by_themselves() -> None:
    assert verdict_of(report(examples=[example("a", "x", "y"), example("b", "y")])).passed


def test_none_only_looks() -> None:
    made = report(stories=[story("s", "a!b")], findings=[finding("code", "bad")])

    verdict = verdict_of(made, fail_on=["none"])

    assert verdict.passed
    assert outcomes(verdict.gates) == {"something-was-tested": "passed"}


@pytest.mark.parametrize("fail_on", ["new-failures", "test-failures"])
def test_an_error_on_the_base_does_not_excuse_what_is_wrong_here(fail_on: str) -> None:
    """What erred there says nothing of the assistant; what errs on both sides is no news."""
    right, wrong = case("pays", "a"), case("pays", "a!b")
    erred = structs.replace(wrong, outcome="error", steps=())

    def passes(*sides: CaseResult) -> bool:
        head, base = (report(cases=[side, case("orders", "c", line=20)]) for side in sides)
        return verdict_of(head, structs.replace(base, source=OF_BASE), fail_on=[fail_on]).passed

    assert not passes(wrong, erred)
    assert passes(right, erred)
    assert passes(wrong, wrong) == passes(erred, erred) == (fail_on == "new-failures")


def test_what_regressed_although_the_base_fails_it_was_run_there() -> None:
    def repeated(runs: str, base: str, outcome: RepeatedOutcome) -> Report:
        repeats = Repeats(runs=runs, base=base, outcome=outcome)
        return report(cases=[structs.replace(case("pays", "a!b"), repeats=repeats), case("orders", "c", line=20)])

    head = repeated("FFffff", "F" + "P" * 19, "regressed")
    base = structs.replace(repeated("PF", "P" * 18, "failed"), source=OF_BASE)
    assert not verdict_of(head, base, fail_on=["new-failures"]).passed
    assert compare(head, Present(base, "git")).base_lacks == ()


def test_only_new_failures_fail_where_that_is_asked_for(golden: Golden) -> None:
    base = report(stories=[story("old", "a!b"), story("s", "a")], findings=[finding("c", "old")], commit=BASE_COMMIT)
    same = report(stories=[story("old", "a!b"), story("s", "a")], findings=[finding("c", "old")])
    worse = report(stories=[story("old", "a!b"), story("s", "a!b"), story("n", "x!y")], findings=[finding("c", "new")])

    assert verdict_of(same, base, fail_on=["new-failures"]).passed
    failed = gate(verdict_of(worse, base, fail_on=["new-failures"]), "new-failures")
    golden(failed.reason)
    assert [cause.what for cause in failed.failed_by] == ["story s", "story n", "c: new"]


# --- something was tested, require -----------------------------------------------------------------------------------


def test_a_run_that_tested_nothing_fails_even_if_it_only_looks(golden: Golden) -> None:
    nothing = report(skipped=[Skipped(evaluation="nlu", reason="no NLU data")])

    verdict = verdict_of(nothing, fail_on=["none"])

    failed = gate(verdict, "something-was-tested")
    assert failed.outcome == "failed"
    golden(failed.reason)
    assert [cause.what for cause in failed.failed_by] == ["nlu was skipped: no NLU data"]
    assert not verdict.passed


def test_what_is_required_and_did_not_run_fails_with_its_reason(golden: Golden) -> None:
    made = report(
        examples=TWO_SENTENCES, skipped=[Skipped(evaluation="e2e", reason="no file tests/e2e_test_cases.yml")]
    )

    verdict = verdict_of(made, require=["nlu", "e2e", "core"])

    assert gate(verdict, "require: nlu").outcome == "passed"
    golden(gate(verdict, "require: e2e").reason)
    assert gate(verdict, "require: core").outcome == "failed"


@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_every_evaluation_can_be_required(evaluation: str) -> None:
    everything = structs.replace(
        report(
            examples=TWO_SENTENCES, stories=[story("s", "a")], cases=[case("c", "a")], suites=[suite("s", ("u", True))]
        ),
        strength=strength("killed"),
        robustness=robustness(failed=1, of=10),
    )

    assert gate(verdict_of(everything, require=[evaluation]), f"require: {evaluation}").outcome == "passed"


# --- thresholds ------------------------------------------------------------------------------------------------------

ONE_OF_FOUR_WRONG = report(examples=[example("a", "x"), example("b", "x"), example("c", "y"), example("d", "y", "x")])


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        ("nlu.intents.accuracy >= 0.75", "passed"),
        ("nlu.intents.accuracy > 0.75", "failed"),
        ("nlu.intents.accuracy >= 75%", "passed"),
        ("nlu.intents.accuracy>=0.76", "failed"),
        ("nlu.intents[x].recall == 1", "passed"),
        ("nlu.intents[y].recall >= .9", "failed"),
        ("validation.warnings <= 0", "passed"),
        ("validation.errors < 1e0", "passed"),
    ],
)
def test_a_threshold_is_exact_at_its_border(rule: str, outcome: str) -> None:
    assert threshold(ONE_OF_FOUR_WRONG, rule).outcome == outcome


def test_a_failed_threshold_lists_what_is_behind_it() -> None:
    failed = gate(
        verdict_of(ONE_OF_FOUR_WRONG, thresholds=["nlu.intents[y].f1 >= 0.9"]), "threshold: nlu.intents[y].f1 >= 0.9"
    )

    assert failed.reason == "nlu.intents[y].f1 is 0.667, not >= 0.9"
    assert failed.metric == "nlu.intents[y].f1"
    assert [cause.what for cause in failed.failed_by] == ["d: expected y, got x"]


@pytest.mark.parametrize("rule", ["core.conversation_accuracy >= 1", "core.failed <= 0"])
def test_thresholds_of_stories_list_the_stories(rule: str) -> None:
    made = report(stories=[story("s", "a!b"), story("t", "a")])

    assert [cause.what for cause in threshold(made, rule).failed_by] == ["story s"]


def test_a_threshold_of_coverage_lists_what_is_not_reached() -> None:
    made = report(examples=TWO_SENTENCES, covered=coverage("slots", city=("a", True), date=("b", False)))

    failed = threshold(made, "coverage.slots >= 0.9")

    assert [cause.what for cause in failed.failed_by] == ["date"]


@pytest.mark.parametrize(
    ("rule", "known"),
    [
        ("nlu.intents.f2 >= 1", "nlu.intents.f1"),
        ("nlu.intents[greeet].f1 >= 1", "nlu.intents[greet].f1"),
        ("nlu.entities.DIETClasifier.f1 >= 1", "nlu.entities.DIETClassifier.f1"),
        ("nonsense >= 1", "Known metrics: validation.errors"),
        ("coverage.intent >= 1", "coverage.intents"),
    ],
)
def test_an_unknown_metric_is_an_error_that_lists_those_near_to_it(rule: str, known: str) -> None:
    made = report(examples=[example("hi", "greet"), example("b", "y")], entity_scores=1.0)

    with pytest.raises(UserError, match="unknown metric") as caught:
        verdict_of(made, thresholds=[rule])

    assert known in str(caught.value)


def test_a_metric_that_was_renamed_is_still_known_and_whoever_names_it_is_told() -> None:
    cases = [structs.replace(case("a", "x"), repeats=Repeats(runs="P" * 10, outcome="passed"))]
    made = report(cases=cases)
    assert made.e2e is not None
    how = HowRepeated(first=10, most=30, false_alarms=0.01)
    made = structs.replace(made, e2e=structs.replace(made.e2e, repeats=how))
    found = gate(verdict_of(made, thresholds=["e2e.pass_at_1 >= 60%"]), "threshold: e2e.pass_at_1 >= 60%")
    assert (found.metric, found.outcome) == ("e2e.pass_rate", "passed")
    assert "`e2e.pass_at_1`" in found.reason
    (drop,) = read_rules(GateSettings(max_regression=("batch.pass_at_1: 0.1",))).regressions
    assert (drop.name, drop.former) == ("batch.pass_rate", "batch.pass_at_1")


@pytest.mark.parametrize(
    "rule", ["nlu.intents.f1 >= 85%", "nlu.intents.f1 <= 1", "nlu.examples >= 2", "validation.warnings <= 12"]
)
def test_limits_of_shares_and_of_counts_are_read(rule: str) -> None:
    made = report(examples=[example("hi", "greet"), example("b", "y")])
    assert any(gate.name == f"threshold: {rule}" for gate in verdict_of(made, thresholds=[rule]).gates)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"thresholds": ["nlu.intents.f1"]}, "thresholds: cannot read 'nlu.intents.f1'"),
        ({"thresholds": ["nlu.intents.f1 => 0.5"]}, "thresholds: cannot read"),
        ({"thresholds": ["nlu.intents.f1 >= good"]}, "thresholds: cannot read"),
        ({"thresholds": ["nlu" + " " * 1_000_000 + ">="]}, "thresholds: cannot read"),
        ({"thresholds": ["nlu.intents.f1 >= 85"]}, "nlu.intents.f1 is a share, and '85' is above 1"),
        ({"thresholds": ["core.conversation_accuracy > 1.5"]}, "is a share, and '1.5' is above 1"),
        ({"thresholds": ["nlu.intents[greet].recall >= 850%"]}, "is a share, and '850%' is above 1"),
        ({"max_regression": ["nlu.intents.f1"]}, "max-regression: cannot read"),
        ({"max_regression": ["nlu.intents.f1: -0.01"]}, "is negative"),
        ({"max_regression": ["nlu.examples: 3"]}, "cannot become worse"),
        ({"max_regression": ["nlu.intents.f9: 0.1"]}, "unknown metric 'nlu.intents.f9'"),
        ({"fail_on": ["warnings"]}, "fail-on: unknown word 'warnings'"),
        ({"require": ["nlg"]}, "require: unknown evaluation 'nlg'"),
    ],
)
def test_a_rule_that_cannot_be_read_is_an_error_before_anything_runs(settings: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words.replace("(", r"\(")):
        read_rules(msgspec.convert(settings, GateSettings))


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("nlu.intents[greet].f1 >= 0.9", "no NLU data"),
        ("e2e.passed >= 1", "no end-to-end cases were run"),
        ("coverage.changed >= 1", "what changed is known only against a baseline"),
        ("coverage.slots >= 1", "coverage was not measured"),
    ],
)
def test_a_threshold_on_what_did_not_run_is_not_judged(rule: str, reason: str) -> None:
    made = report(stories=[story("s", "a")], skipped=[Skipped(evaluation="nlu", reason="no NLU data")])

    judged = gate(verdict_of(made, thresholds=[rule]), f"threshold: {rule}")

    assert (judged.outcome, judged.reason) == ("not judged", reason)
    assert verdict_of(made, thresholds=[rule]).passed
    assert not verdict_of(made, thresholds=[rule], not_judged="fail").passed


def test_a_threshold_on_an_intent_that_was_never_judged_says_why(golden: Golden) -> None:
    made = report(examples=TWO_SENTENCES)
    nlu = msgspec.structs.replace(nlu_of(made), unjudged=(UnjudgedIntent(intent="rare", examples=2),))

    judged = gate(
        verdict_of(msgspec.structs.replace(made, nlu=nlu), thresholds=["nlu.intents[rare].f1 >= 1"]),
        "threshold: nlu.intents[rare].f1 >= 1",
    )

    golden(judged.reason)


def nlu_of(made: Report) -> Nlu:
    assert made.nlu
    return made.nlu


# --- max-regression --------------------------------------------------------------------------------------------------


def sides(wrong: int) -> tuple[Report, Report]:
    def side(number: int, commit: str) -> Report:
        return report(
            examples=[
                example(f"s{i}", f"i{i % 4}", f"i{(i + 1) % 4}" if i < number else None, line=i + 1) for i in range(100)
            ],
            commit=commit,
        )

    return side(0, BASE_COMMIT), side(wrong, "2" * 40)


@pytest.mark.parametrize(
    ("rule", "wrong", "outcome"),
    [
        ("nlu.intents.accuracy: 0.05", 5, "passed"),
        ("nlu.intents.accuracy: 0.05", 6, "failed"),
        ("nlu.intents.accuracy: 5%", 6, "failed"),
        ("nlu.intents.accuracy: 0 significant", 4, "passed"),
        ("nlu.intents.accuracy: 0", 4, "failed"),
        ("nlu.intents.accuracy: significant", 12, "failed"),
        ("nlu.intents.f1: 0.2, significant", 12, "passed"),
    ],
)
def test_a_regression_beyond_its_limit_fails_and_a_significant_one_only_if_it_is_real(
    rule: str, wrong: int, outcome: str
) -> None:
    base, head = sides(wrong)

    assert regression(head, base, rule).outcome == outcome


def of_one_intent() -> tuple[Report, Report]:
    """The base judges two intents; of the test sentences those of one are left, as Rasa does without scores then."""
    base = report(examples=[example("a", "x"), example("b", "y")], commit=BASE_COMMIT)
    head = report(examples=[example("a", "x")])
    assert head.nlu is not None
    return base, msgspec.structs.replace(head, nlu=msgspec.structs.replace(head.nlu, intents=None))


def test_test_sentences_cut_down_to_one_intent_are_no_way_around_the_gates(golden: Golden) -> None:
    base, head = of_one_intent()
    verdict = verdict_of(head, base, fail_on=["gone-tests"], max_regression=["nlu.intents.f1: 0.1"])
    gone, drop = gate(verdict, "gone-tests"), gate(verdict, "max-regression: nlu.intents.f1: 0.1")
    assert (gone.outcome, drop.outcome, verdict.passed) == ("failed", "failed", False)
    golden(gone.reason)
    golden(drop.reason)
    golden(verdict_of(head).summary)


@pytest.mark.parametrize(
    "name",
    ["nlu.intents.f1", "nlu.intents.accuracy", "nlu.responses.faq.f1", "nlu.entities.DIETClassifier.f1", "core.f1"],
)
def test_a_known_figure_that_a_run_has_nothing_for_is_not_judged(name: str) -> None:
    _, head = of_one_intent()
    assert threshold(head, f"{name} >= 0.5").outcome == "not judged"


def test_an_intent_without_a_test_sentence_is_not_judged_and_an_unknown_one_is_a_mistake(golden: Golden) -> None:
    head = report(examples=TWO_SENTENCES, covered=coverage("intents", x=("1", True), y=("2", True), z=("3", False)))
    golden(threshold(head, "nlu.intents[z].f1 >= 0.5").reason)
    with pytest.raises(UserError, match="unknown metric"):
        threshold(head, "nlu.intents[zz].f1 >= 0.5")


def test_what_a_broken_file_hides_is_no_improvement() -> None:
    warned = [finding("example-duplicate", f"'{text}' appears twice.", "warning") for text in ("a", "b", "c")]
    base = report(examples=TWO_SENTENCES, findings=warned, commit=BASE_COMMIT)
    broken = finding("yaml-syntax", "This is not YAML.")
    head = report(examples=TWO_SENTENCES, findings=[broken])
    compared = compare(head, Present(base, "git"))
    delta = compared.metric("validation.warnings")
    assert delta is not None
    assert (delta.delta, delta.judgement, compared.gone_findings) == (-3, "not judged", ())
    verdict = verdict_of(head, base, max_regression=["validation.warnings: 0", "validation.errors: 0"])
    assert gate(verdict, "max-regression: validation.warnings: 0").outcome == "not judged"
    assert gate(verdict, "max-regression: validation.errors: 0").outcome == "failed"

    mended = compare(report(examples=TWO_SENTENCES), Present(base, "git"))
    assert (len(mended.gone_findings), mended.metric("validation.warnings").judgement) == (3, "better")  # type: ignore[union-attr]


def test_a_failed_regression_says_from_what_to_what_and_lists_the_newly_wrong_first(golden: Golden) -> None:
    _, comparison, verdict = pull_request()

    failed = gate(verdict, "max-regression: nlu.intents.f1: 0.01 significant")

    golden(failed.reason)
    golden(failed.failed_by[0].what)
    assert len(failed.failed_by) == len(comparison.examples.worse)


def test_more_failures_are_a_regression_of_a_metric_whose_lower_values_are_better() -> None:
    base = report(stories=[story("s", "a"), story("t", "a")], commit=BASE_COMMIT)
    head = report(stories=[story("s", "a!b"), story("t", "a")])

    failed = regression(head, base, "core.failed: 0")

    assert (failed.outcome, failed.reason) == ("failed", "core.failed: 0 to 1 (+1), more than 0")


def test_a_story_that_was_deleted_is_a_drop_of_those_that_passed(golden: Golden) -> None:
    base = report(stories=[story(f"s{i}", f"utter_{i}") for i in range(5)], commit=BASE_COMMIT)
    head = report(stories=[story(f"s{i}", f"utter_{i}") for i in range(3)])

    passed, failed = (regression(head, base, rule) for rule in ("core.passed: 0 significant", "core.failed: 0"))

    assert (passed.outcome, failed.outcome) == ("failed", "passed")
    golden(passed.reason)


def test_a_regression_is_measured_on_the_examples_both_sides_judged(golden: Golden) -> None:
    base = report(examples=[example(f"s{i}", "x" if i % 2 else "y") for i in range(10)], commit=BASE_COMMIT)
    harder = [example(f"quite different {'ab' * i}", "x", "y", path="tests/new.yml") for i in range(10)]
    head = report(examples=[*(example(f"s{i}", "x" if i % 2 else "y") for i in range(10)), *harder])

    passed = gate(
        verdict_of(head, base, max_regression=["nlu.intents.f1: 0.01"]), "max-regression: nlu.intents.f1: 0.01"
    )

    assert passed.outcome == "passed"
    golden(passed.reason)


@pytest.mark.parametrize("asked", [True, False])
def test_without_a_baseline_gates_on_change_are_not_judged_and_say_why(*, asked: bool) -> None:
    head = report(examples=TWO_SENTENCES, stories=[story("s", "a")])
    settings = GateSettings(fail_on=("gone-tests",), max_regression=("nlu.intents.f1: 0.01",))
    comparison = compare(head, Missing("the base branch has no run yet")) if asked else None

    verdict = judge(head, comparison, settings)

    words = "the base branch has no run yet" if asked else "none was asked for"
    for name in ("gone-tests", "max-regression: nlu.intents.f1: 0.01"):
        assert gate(verdict, name).outcome == "not judged"
        assert gate(verdict, name).reason == f"no baseline: {words}"
    assert verdict.passed
    assert not judge(head, comparison, msgspec.structs.replace(settings, not_judged="fail")).passed


def test_a_metric_that_one_side_lacks_is_not_judged(golden: Golden) -> None:
    base = report(examples=TWO_SENTENCES, commit=BASE_COMMIT)
    head = report(examples=[example("a", "x"), example("c", "z")])

    verdict = verdict_of(head, base, max_regression=["nlu.intents[y].f1: 0", "nlu.intents[z].f1: 0"])

    golden(gate(verdict, "max-regression: nlu.intents[y].f1: 0").reason)
    golden(gate(verdict, "max-regression: nlu.intents[z].f1: 0").reason)


def test_coverage_of_changes_can_be_a_gate() -> None:
    verdict = verdict_of(head_report(), base_report(), thresholds=["coverage.changed >= 0.5"])

    failed = gate(verdict, "threshold: coverage.changed >= 0.5")
    assert (failed.outcome, failed.reason) == ("failed", "coverage.changed is 0.333, not >= 0.5")
    assert [cause.what for cause in failed.failed_by] == ["intents: ask_fees", "responses: utter_fees"]


# --- metrics, documents, words ---------------------------------------------------------------------------------------


def test_every_metric_of_a_report_is_found_by_its_name() -> None:
    for made in (base_report(), head_report()):
        metrics = metrics_of(made)
        assert len(metrics) > 20
        for name, metric in metrics.items():
            assert find_metric(made, metrics, name) == metric


def test_names_with_brackets_dots_and_spaces_are_names() -> None:
    made = report(examples=[example("a", "faq/a.b]"), example("b", "x y [z")])

    for intent in ("faq/a.b]", "x y [z"):
        assert threshold(made, f"nlu.intents[{intent}].f1 >= 1").outcome == "passed"


def test_the_verdict_reads_back() -> None:
    verdict = pull_request()[2]

    assert msgspec.json.decode(encode(verdict), type=Verdict) == verdict


@pytest.mark.parametrize("module", [figures, significance])
def test_the_examples_in_the_docstrings_hold(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("value", "shown"), [(1.0, "1.000"), (0.99999, "0.999"), (0.0, "0.000"), (0.0001, "0.001"), (0.9994, "0.999")]
)
def test_what_is_not_exactly_one_or_zero_is_never_shown_as_such(value: float, shown: str) -> None:
    assert figures.figure(value, "score") == shown


def asked_for(made: Report, base: Report | None = None, **rules: object) -> Verdict:
    """The verdict on a report whose own settings request the evaluations."""
    settings = msgspec.convert(rules, GateSettings)
    return verdict_of(structs.replace(made, settings=settings), base, **rules)


def test_a_check_of_the_data_alone_passes_or_fails_by_its_findings(golden: Golden) -> None:
    fine = asked_for(report(), evaluations=("validate",))
    wrong = asked_for(report(findings=[finding("a", "It is wrong.", "error")]), evaluations=("validate",))

    assert fine.passed
    golden(fine.summary)
    golden(gate(fine, "something-was-tested").reason)
    assert not wrong.passed
    assert [one.name for one in wrong.gates if one.fails] == ["errors"]
    golden(wrong.summary)


def test_a_check_of_the_data_alone_is_no_success_if_the_base_runs_tests() -> None:
    """A pull request could otherwise switch all tests off in its own turncheck.yml."""
    head, base = report(), report(stories=[story("s", "utter_a")], commit=BASE_COMMIT)

    verdict = asked_for(head, base, evaluations=("validate",), fail_on=("errors",))
    accepted = asked_for(head, base, evaluations=("validate",), fail_on=("errors",), accept_gone=("core",))

    assert [one.name for one in verdict.gates if one.fails] == ["something-was-tested"]
    assert accepted.passed


def test_data_that_could_not_be_checked_are_no_success() -> None:
    unread = structs.replace(report(), validation=None, skipped=(Skipped(evaluation="validate", reason="no project"),))

    assert not asked_for(unread, evaluations=("validate",)).passed


@pytest.mark.parametrize("asked", [("validate", "core"), ("core",), ()])
def test_without_tests_nothing_else_that_is_requested_passes(asked: tuple[str, ...]) -> None:
    assert not asked_for(report(), evaluations=asked).passed


def test_tests_that_went_away_altogether_are_a_drop(golden: Golden) -> None:
    base = report(stories=[story("a", "utter_a")], commit=BASE_COMMIT)
    gone = report(examples=TWO_SENTENCES, skipped=[Skipped(evaluation="core", reason="there are no test stories")])

    judged = regression(gone, base, "core.passed: 0")

    assert judged.outcome == "failed"
    golden(judged.reason)


def test_an_evaluation_that_was_not_asked_for_has_not_dropped() -> None:
    base = report(stories=[story("a", "utter_a")], commit=BASE_COMMIT)
    skipped = Skipped(evaluation="core", reason="not requested (evaluations: nlu)")
    head = report(examples=TWO_SENTENCES, skipped=[skipped], settings=GateSettings(evaluations=("nlu",)))

    assert regression(head, base, "core.passed: 0").outcome == "not judged"


def understood(wrong: int, fallen_back: int = 0, more: int = 0) -> Report:
    """A hundred sentences, and ``more`` that are all wrong."""
    examples = [example(f"s{i}", "x", "y" if i < wrong else None) for i in range(100)]
    examples += [example(f"something else entirely {i}", "x", "y") for i in range(more)]
    examples = [
        msgspec.structs.replace(
            one, predicted=msgspec.structs.replace(one.predicted, fallback=100 - fallen_back <= i < 100)
        )
        for i, one in enumerate(examples)
    ]
    counts = Understood(right=100 - wrong - fallen_back, wrong=wrong + more, not_understood=fallen_back)
    made = report(examples=examples, commit=BASE_COMMIT if not (wrong or fallen_back or more) else "b" * 40)
    assert made.nlu is not None
    nlu = msgspec.structs.replace(made.nlu, understood=counts, calibration_error=0.05 + wrong / 1000 + more / 100)
    return msgspec.structs.replace(made, nlu=nlu)


@pytest.mark.parametrize("metric", ["nlu.understood.wrong", "nlu.understood.right", "nlu.calibration_error"])
def test_what_is_understood_is_a_sample_too(metric: str) -> None:
    few = regression(understood(wrong=1), understood(wrong=0), f"{metric}: significant")
    many = regression(understood(wrong=30), understood(wrong=0), f"{metric}: significant")

    assert (few.outcome, many.outcome) == ("passed", "failed")
    assert "within noise" in few.reason


@pytest.mark.parametrize("metric", ["nlu.understood.wrong", "nlu.calibration_error"])
def test_harder_new_sentences_do_not_count_against_what_is_understood(metric: str, golden: Golden) -> None:
    judged = regression(understood(wrong=0, more=20), understood(wrong=0), f"{metric}: 0")

    assert judged.outcome == "passed"
    golden(judged.reason)


def test_sentences_that_fall_back_now_are_not_understood() -> None:
    judged = regression(
        understood(wrong=0, fallen_back=8), understood(wrong=0), "nlu.understood.not_understood: significant"
    )

    assert judged.outcome == "failed"


def test_with_no_sentence_in_common_no_drop_is_judged(golden: Golden) -> None:
    base = report(examples=[example("one thing", "x"), example("another", "y")], commit=BASE_COMMIT)
    head = report(examples=[example("quite different", "x", "y"), example("and this", "y")])

    for rule in ("nlu.intents.f1: 0", "nlu.intents.f1: significant"):
        judged = regression(head, base, rule)
        assert judged.outcome == "not judged"
        golden(judged.reason)
