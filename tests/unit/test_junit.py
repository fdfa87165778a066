"""JUnit XML: its cases, its places, and that nothing in a report breaks it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hostile import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st
from pull_request import LINKS, pull_request
from report_builder import case, example, finding, report, story, suite

from turncheck.comparison.gates import judge
from turncheck.render.junit import render_junit
from turncheck.render.sinks.xml import attribute, element
from turncheck.report.model import Alternative, GateSettings, Skipped, StoryStep

if TYPE_CHECKING:
    from turncheck.report.model import Report

GOLDEN = Path(__file__).parent / "golden" / "junit.xml"


def junit_of(made: Report, **gates: object) -> ET.Element:
    chosen = msgspec.convert(gates, GateSettings)
    rendered = render_junit(made, None, judge(made, None, chosen), LINKS)
    assert isinstance(rendered.content, str)
    return ET.fromstring(rendered.content)  # noqa: S314  # our own output


def case_named(root: ET.Element, name: str) -> ET.Element:
    return next(one for one in root.iter("testcase") if one.get("name") == name)


def test_the_document_is_the_golden_one() -> None:
    assert render_junit(*pull_request(), LINKS).content == GOLDEN.read_text()


def test_each_evaluation_is_a_suite_and_counts_add_up() -> None:
    made = report(
        examples=[example("a", "x"), example("b", "y")],
        stories=[story("s", "a!b"), story("t", "a")],
        cases=[case("c", "a!b")],
        suites=[suite("faq", ("u", False), ("v", True))],
        findings=[finding("code", "bad")],
        skipped=[Skipped(evaluation="batch", reason="asked not to")],
    )

    root = junit_of(made)

    names = [one.get("name") for one in root]
    assert names == [
        f"bots/pizzeria {part}" for part in ("validation", "nlu", "core", "e2e", "batch faq", "batch", "gates")
    ]
    for one in root:
        cases = one.findall("testcase")
        assert one.get("tests") == str(len(cases))
        assert one.get("failures") == str(sum(c.find("failure") is not None for c in cases))
        assert one.get("skipped") == str(sum(c.find("skipped") is not None for c in cases))
    assert root.get("tests") == str(len(list(root.iter("testcase"))))
    assert root.get("skipped") is None


def test_file_is_relative_to_the_repository_and_line_that_of_the_failing_step() -> None:
    failing = case_named(junit_of(report(stories=[story("s", "a", "b!c", line=10)])), "s")

    assert (failing.get("file"), failing.get("line")) == ("bots/pizzeria/tests/test_stories.yml", "12")
    failure = failing.find("failure")
    assert failure is not None
    assert failure.get("message") == "expected b, got c"
    assert failure.text == (
        "  a\n! b, but c was predicted by MemoizationPolicy (1.000)\n    at tests/test_stories.yml:12:5"
    )


def test_a_failed_story_says_what_else_was_considered_and_slots_and_loop_at_that_point() -> None:
    wrong = StoryStep(
        kind="action",
        expected="b",
        predicted="c",
        passed=False,
        alternatives=(Alternative(action="d", confidence=0.25), Alternative(action="e<", confidence=0.125)),
        slots={"size": "large\n", "n": 2.5},
        active_loop="order_form",
    )
    result = msgspec.structs.replace(story("s"), passed=False, steps=(wrong,))
    failure = case_named(junit_of(report(stories=[result])), "s").find("failure")
    assert failure is not None
    assert failure.text == (
        "! b, but c was predicted\n"
        "    also considered: d 0.25, e< 0.12\n"
        "    slots: size='large\\n', n=2.5\n"
        "    active loop: order_form"
    )


def test_a_wrong_sentence_fails_nothing_unless_a_gate_of_its_intent_fails() -> None:
    made = report(examples=[example("a", "x"), example("b", "x", "y"), example("c", "y")])

    quiet = case_named(junit_of(made), "x")
    failing = case_named(junit_of(made, thresholds=["nlu.intents[x].recall >= 0.9"]), "x")

    output = quiet.find("system-out")
    assert quiet.find("failure") is None
    assert output is not None
    assert output.text == "1 of 2 right\ntests/test_nlu.yml:1:7: 'b': expected x, got y (0.900)"
    failure = failing.find("failure")
    assert failure is not None
    assert failure.get("message") == "nlu.intents[x].recall is 0.500, not >= 0.9"


def test_a_failed_gate_fails_and_one_that_is_not_judged_is_skipped() -> None:
    root = junit_of(report(stories=[story("s", "a!b")]), max_regression=["core.failed: 0"])

    assert case_named(root, "test-failures").find("failure") is not None
    assert case_named(root, "max-regression: core.failed: 0").find("skipped") is not None


def test_a_case_that_passed_with_a_warning_tells_it_in_its_output() -> None:
    warned = msgspec.structs.replace(case("calm", "utter_a"), reason="'action_a' failed: <500>")
    one = case_named(junit_of(report(cases=[warned])), "calm")
    assert one.findtext("system-out") == "passed, although: 'action_a' failed: <500>"
    assert one.find("failure") is None


def test_errors_and_skipped_end_to_end_cases_are_told_apart() -> None:
    base = case("c", "a")
    broken = msgspec.structs.replace(base, name="broken", outcome="error", passed=False, reason="the server is down")
    skipped = msgspec.structs.replace(base, name="later", outcome="skipped", passed=False, reason="needs an LLM")
    root = junit_of(report(cases=[base, broken, skipped]))

    error, later = case_named(root, "broken").find("error"), case_named(root, "later").find("skipped")
    assert error is not None
    assert later is not None
    assert (error.get("message"), later.get("message")) == ("the server is down", "needs an LLM")


def test_names_are_never_empty_and_never_twice() -> None:
    made = report(stories=[story("s", "a"), story("s", "a"), story("s", "a"), story("", "a"), story("\x00", "a")])

    core = next(one for one in junit_of(made) if one.get("name") == "bots/pizzeria core")

    names = [(one.get("classname"), one.get("name")) for one in core.iter("testcase")]
    assert names == [("core", name) for name in ("s", "s (2)", "s (3)", "unnamed", "unnamed (2)")]


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.sampled_from(HOSTILE), st.text()))
def test_any_text_gives_well_formed_xml(text: str) -> None:
    made = report(
        examples=[example(text, text or "a", f"{text}x"), example("b", "y")],
        stories=[story(text, f"a!{text}" if text else "a", path=text or "p")],
        cases=[case(text, f"a!{text}" if text else "a", path=text or "p")],
        suites=[suite(text, (text, False))],
        findings=[finding(text, text, path=text or "p")],
        skipped=[Skipped(evaluation="batch", reason=text)],
        name=text,
        root=text,
    )

    for one in junit_of(made).iter("testcase"):
        assert one.get("name")
        assert one.get("classname")
        assert "\n" not in str(one.get("name"))
        assert int(one.get("line", "1")) >= 1


@given(st.text())
def test_xml_text_comes_back_without_what_xml_forbids(text: str) -> None:
    root = ET.Element("a", {"b": attribute(text)})
    root.text = element(text)

    back = ET.fromstring(ET.tostring(root, encoding="utf-8"))  # noqa: S314  # our own output

    assert back.get("b") == attribute(text)
    assert (back.text or "") == element(text)


@pytest.mark.parametrize("text", ["x" * 10_000_000, "\x00" * 10_000_000])
def test_long_texts_are_cut(text: str) -> None:
    assert len(attribute(text)) <= 400
    assert len(element(text)) <= 20_001
