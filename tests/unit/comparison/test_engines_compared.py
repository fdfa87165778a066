"""Engines compared: what counts as the same test, and as the same answer."""

from __future__ import annotations

from typing import Any

import pytest
from golden_texts import Golden
from msgspec.structs import replace
from report_builder import batch, report, suite

from turncheck.comparison.engines import Asked, compare_engines, read_engine_rules
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.render.engines import engines_csv, engines_text, render_engines_page
from turncheck.report.batch import BatchCase, BatchEntity, BatchSuite, numbers_of
from turncheck.report.model import Report


def case(text: str, *matched: str, **more: Any) -> BatchCase:
    passed = matched == ("Order Tea",)
    given = {"expected": ("Order Tea",), "result": "tp" if passed else "fp", "passed": passed, **more}
    return BatchCase(text=text, location=Location("tests/a.json", 3), kind="dialog", matched=matched, **given)


def entity(name: str, matched: str | None) -> BatchEntity:
    return BatchEntity(name=name, expected=("Oslo",), matched=matched, passed=matched == "Oslo")


def made(*cases: BatchCase) -> Report:
    one = BatchSuite(**numbers_of(cases), name="smoke", outcome="success", cases=cases)
    return replace(report(), batch=batch(one))


def compared(*reports: Report) -> Any:
    return compare_engines([Asked(f"e{number}", one, seconds=1.0) for number, one in enumerate(reports)])


def test_names_agree_whatever_their_case_and_underscores() -> None:
    (test,) = compared(made(case("tea", "Order Tea")), made(case("tea", "order_tea", passed=True, result="tp"))).tests
    assert test.agree is True


def test_equal_utterances_of_one_suite_are_tests_of_their_own() -> None:
    twice = made(case("tea", "Order Tea"), case("tea", "Buy"))
    found = compared(twice, made(case("tea", "Order Tea"), case("tea", "Order Tea")))
    assert [test.agree for test in found.tests] == [True, False]
    assert [one.answered for one in found.engines] == [2, 2]
    assert (found.engines[1].better, found.engines[1].worse) == (1, 0)


def test_only_entities_that_both_judge_decide() -> None:
    known, unknown = entity("City", "Oslo"), entity("Day", None)
    both = made(case("tea", "Order Tea", entities=(known, unknown)))
    one = made(case("tea", "Order Tea", entities=(known,)))
    other = made(case("tea", "Order Tea", entities=(entity("City", "Lyon"),)))
    assert compared(both, one).tests[0].agree is True
    assert compared(both, other).tests[0].agree is False
    assert compared(both, other).tests[0].answers[0].got == "Order Tea (City: Oslo, Day: not found)"
    assert compared(both, one, other).tests[0].agree is False


def test_an_intent_of_another_linked_bot_is_another_one() -> None:
    first, second, unknown = (
        made(case("pay", "Order Tea", bots=("Tea Shop",), matched_bots=bots))
        for bots in (("Tea Shop",), ("Library",), ())
    )
    (test,) = compared(first, second).tests
    assert test.agree is False
    assert [one.got for one in test.answers] == ["Order Tea of Tea Shop", "Order Tea of Library"]
    assert compared(first, unknown).tests[0].agree is True


def test_both_wrong_in_the_same_way_agree_and_in_another_do_not() -> None:
    assert compared(made(case("tea", "Buy")), made(case("tea", "Buy"))).agreement == 1.0
    assert compared(made(case("tea", "Buy")), made(case("tea"))).agreement == 0.0


def test_what_was_not_evaluated_is_no_answer() -> None:
    none = made(case("tea", result="not-evaluated", reason="the platform is gone"))
    found = compared(none, made(case("tea", "Order Tea")), made(case("tea", "Buy")))
    assert found.reference == 1
    assert [answer and answer.passed for answer in found.tests[0].answers] == [None, True, False]
    assert (found.engines[0].answered, found.engines[2].worse) == (0, 1)
    assert "no answer" in engines_text(found)
    assert "tests/a.json" in str(engines_csv(found).content)
    assert "no answer" in str(render_engines_page(found).content)


def test_an_engine_without_a_report_is_a_column(golden: Golden) -> None:
    found = compare_engines([Asked("rasa", problem="cannot be reached"), Asked("embedded", report())])
    assert (found.reference, found.agreement, found.compared) == (-1, None, 0)
    golden(engines_text(found))


def test_a_gate_about_an_engine_that_did_not_answer_is_not_judged() -> None:
    rules = read_engine_rules(["agreement[b] >= 0.1", "right[a] >= 0.1"], ["a", "b"])
    asked = [Asked("a", made(case("tea", "Order Tea"))), Asked("b", problem="gone")]
    assert [gate.outcome for gate in compare_engines(asked, rules).gates] == ["not judged", "passed"]


@pytest.mark.parametrize("rule", ["right >= 0.1", "agreement[c] >= 1", "agreement", "agreement: 0.1", "f1 >= 0.1"])
def test_a_rule_that_means_nothing_is_refused(rule: str) -> None:
    with pytest.raises(UserError, match="thresholds"):
        read_engine_rules([rule], ["a", "b"])


def test_suites_of_equal_utterances_are_apart() -> None:
    one = replace(report(), batch=batch(suite("a", ("x", True)), suite("b", ("x", False))))
    assert [test.suite for test in compared(one, one).tests] == ["a", "b"]
