"""JUnit XML: its cases, its places, and that nothing in a report breaks it."""

from __future__ import annotations

import re
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import msgspec
import pytest
from golden_texts import Golden
from hostile import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from pull_request import LINKS, pull_request
from report_builder import case, example, finding, report, story, suite, with_changes

from turncheck.render.junit import render_junit
from turncheck.render.junit_lines import attribute, element
from turncheck.render.wording.gates import judge
from turncheck.report.model import Alternative, GateSettings, Repeats, Skipped, StoryStep
from turncheck.settings.file import read_settings_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.report.model import Report

GOLDEN = Path(__file__).parents[1] / "golden" / "junit.xml"


def junit_of(made: Report, **gates: object) -> ET.Element:
    chosen = msgspec.convert(gates, GateSettings)
    rendered = render_junit(made, None, judge(made, None, chosen), LINKS)
    return ET.fromstring(rendered.encoded)  # noqa: S314  # our own output


def case_named(root: ET.Element, name: str) -> ET.Element:
    return next(one for one in root.iter("testcase") if one.get("name") == name)


def test_the_document_is_the_golden_one() -> None:
    assert render_junit(*pull_request(), LINKS).encoded.decode() == GOLDEN.read_text()


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
        "  a\n! expected b, got c by MemoizationPolicy (1.00)\n    at bots/pizzeria/tests/test_stories.yml:12:5"
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
        "! expected b, got c\n"
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
    assert output.text == "1 of 2 right\nbots/pizzeria/tests/test_nlu.yml:1:7: 'b': expected x, got y (0.90)"
    failure = failing.find("failure")
    assert failure is not None
    assert failure.get("message") == "nlu.intents[x].recall is 0.500, not >= 0.9"


def test_a_failed_gate_fails_and_one_that_is_not_judged_is_skipped() -> None:
    made = report(stories=[story("s", "a!b")])
    root = junit_of(made, thresholds=["core.failed <= 0"], max_regression=["core.failed: 0"])

    assert case_named(root, "threshold: core.failed <= 0").find("failure") is not None
    skipped = case_named(root, "max-regression: core.failed: 0").find("skipped")
    assert skipped is not None
    assert skipped.get("message")
    assert skipped.text == skipped.get("message")


def test_what_breaks_is_one_failure_and_the_gates_that_fail_by_it_are_properties() -> None:
    of_story = report(stories=[story("s", "a!b"), story("t", "a")])
    of_case = report(cases=[case("c", "a!b")])
    of_data = report(findings=[finding("x", "Bad.")], stories=[story("t", "a")])
    for made, gate in ((of_story, "test-failures"), (of_case, "test-failures"), (of_data, "errors")):
        root = junit_of(made)
        assert [one.get("type") == "gate" for one in root.iter("failure")] == [False]
        told = {one.get("name"): one.get("value") or "" for one in root[-1].iter("property")}
        assert told[f"gate {gate}"].startswith("failed: ")
        assert told["gate something-was-tested"].startswith("passed: ")


def test_a_gate_that_nothing_else_shows_to_fail_is_a_failure() -> None:
    assert [one.get("type") for one in junit_of(report(), fail_on=["test-failures"]).iter("failure")] == ["gate"]
    strict = junit_of(report(stories=[story("t", "a")]), thresholds=["core.passed >= 2"])
    assert [one.get("type") for one in strict.iter("failure")] == ["gate"]


def test_a_case_that_passed_with_a_warning_tells_it_in_its_output() -> None:
    warned = msgspec.structs.replace(case("calm", "utter_a"), reason="'action_a' failed: <500>")
    one = case_named(junit_of(report(cases=[warned])), "calm")
    assert one.findtext("system-out") == "passed, although: 'action_a' failed: <500>"
    assert one.find("failure") is None


def test_errors_and_skipped_end_to_end_cases_are_told_apart(golden: Golden) -> None:
    base = case("c", "a")
    broken = msgspec.structs.replace(base, name="broken", outcome="error", passed=False, reason="the server is down")
    skipped = msgspec.structs.replace(base, name="later", outcome="skipped", passed=False, reason="needs an LLM")
    root = junit_of(report(cases=[base, broken, skipped]))

    error, later = case_named(root, "broken").find("error"), case_named(root, "later").find("skipped")
    assert error is not None
    assert later is not None
    assert later.get("message") == "needs an LLM"
    golden(error.get("message"))


def test_names_are_never_empty_and_never_twice() -> None:
    made = report(stories=[story("s", "a"), story("s", "a"), story("s", "a"), story("", "a"), story("\x00", "a")])

    core = next(one for one in junit_of(made) if one.get("name") == "bots/pizzeria core")

    names = [(one.get("classname"), one.get("name")) for one in core.iter("testcase")]
    classname = "bots/pizzeria.core.tests/test_stories"
    assert names == [(classname, name) for name in ("s", "s (2)", "s (3)", "unnamed", "unnamed (2)")]


def test_the_name_of_a_repeated_story_does_not_depend_on_the_order_of_the_report() -> None:
    stories = [
        story("s", "a", line=3),
        story("s", "b!c", line=9),
        story("s", "d", line=9),  # what an `or` makes of one story
        story("s (2)", "e", line=15),
        story("s", "f", path="tests/more/test_stories.yml"),
    ]

    def names(order: Sequence[int]) -> dict[str, tuple[str | None, str | None]]:
        root = junit_of(report(stories=[stories[index] for index in order]))
        core = next(one for one in root if one.get("name") == "bots/pizzeria core")
        cases = zip(order, core.iter("testcase"), strict=True)
        return {stories[index].steps[0].expected: (one.get("classname"), one.get("name")) for index, one in cases}

    here, there = "bots/pizzeria.core.tests/test_stories", "bots/pizzeria.core.tests/more/test_stories"
    expected = {"a": (here, "s"), "b": (here, "s (3)"), "d": (here, "s (4)"), "e": (here, "s (2)"), "f": (there, "s")}
    assert all(names(order) == expected for order in permutations(range(len(stories))))


def test_cases_have_the_time_that_was_measured_and_suites_that_of_their_step() -> None:
    made = report(stories=[story("s", "a"), story("t", "a")], cases=[case("c", "a")])
    timings = {"core": 3.25, "core[1]": 0.125, "e2e": 1200.5, "e2e[0]": 1199.25}

    root = junit_of(with_changes(made, timings=timings))

    assert (case_named(root, "s").get("time"), case_named(root, "t").get("time")) == (None, "0.125000")
    assert case_named(root, "c").get("time") == "1199.250000"
    times = {one.get("name"): one.get("time") for one in root}
    assert (times["bots/pizzeria core"], times["bots/pizzeria e2e"]) == ("3.250", "1200.500")
    assert root.get("time") == "1203.750"


def test_what_is_of_no_single_file_is_shown_at_the_settings_else_at_a_test() -> None:
    made = report(stories=[story("s", "a!b")], skipped=[Skipped(evaluation="e2e", reason="no cases")])

    def files(of: Report) -> set[tuple[str | None, str | None]]:
        root = junit_of(of)
        gates = [case_named(root, name) for name in ("errors", "something-was-tested")]
        assert {one.get("line") for one in gates} == {None}, "no line of the file sets them"
        assert {one.get("file") for one in gates} == {case_named(root, "no findings").get("file")}
        names = ("e2e was not run", "no findings")
        return {(one.get("file"), one.get("line")) for one in (case_named(root, name) for name in names)}

    assert files(made) == {("bots/pizzeria/turncheck.yml", "1")}
    older = with_changes(made, project=msgspec.structs.replace(made.project, file=None))
    assert files(older) == {("bots/pizzeria/tests/test_stories.yml", "1")}


def test_paths_in_texts_are_from_the_top_of_the_repository_as_those_of_the_cases(golden: Golden) -> None:
    made = report(
        stories=[story("s", "a!b")],
        findings=[
            finding(
                "twice", "It appears in data/nlu.yml, too (data/nlu.yml:3); not my_data/nlu.yml.", path="domain.yml"
            ),
            finding("other", "Bad.", path="data/nlu.yml"),
        ],
        skipped=[Skipped(evaluation="nlu", reason="cannot be trained (data/nlu.yml:3:1)")],
    )

    root = junit_of(made)

    failure, skipped = case_named(root, "twice").find("failure"), case_named(root, "nlu was not run").find("skipped")
    assert failure is not None
    assert skipped is not None
    told = "It appears in bots/pizzeria/data/nlu.yml, too (bots/pizzeria/data/nlu.yml:3); not my_data/nlu.yml."
    assert failure.text == f"bots/pizzeria/domain.yml:1:1: error: {told}"
    assert failure.get("message") == f"1 found: {told}"
    golden(skipped.get("message"))


def test_findings_of_one_code_are_a_case_for_each_file() -> None:
    root = junit_of(
        report(findings=[finding("x", "a", path="domain.yml"), finding("x", "b", "info", path="data/n.yml")])
    )

    found = {one.get("classname"): one.find("failure") is not None for one in root[0].iter("testcase")}
    assert found == {"bots/pizzeria.validation.domain": True, "bots/pizzeria.validation.data/n": False}


def test_the_flavour_for_xunit_has_its_places_in_the_texts() -> None:
    made = report(stories=[story("s", "a!b", line=6), story("t", "a")], findings=[finding("x", "Bad.")])
    rendered = render_junit(made, None, judge(made, None, GateSettings()), LINKS, "xunit")
    root = ET.fromstring(rendered.encoded)  # noqa: S314  # our own output

    assert {key for one in root.iter("testcase") for key in one.keys()} == {"name", "classname"}  # noqa: SIM118
    first_lines = [(one.text or "").splitlines()[0] for one in root.iter("failure")]
    assert first_lines == [
        "at (bots/pizzeria/domain.yml:1:1)",
        "at (bots/pizzeria/tests/test_stories.yml:7:5)",
    ]


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

    root = junit_of(made)
    for one in root.iter("testcase"):
        assert one.get("name")
        assert one.get("classname")
        assert "\n" not in str(one.get("name"))
        assert int(one.get("line", "1")) >= 1
    shown = "".join("".join([*one.attrib.values(), one.text or "", one.tail or ""]) for one in root.iter())
    assert not NOT_SHOWN.search(shown)


NOT_SHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
"""Controls, marks of direction, what separates lines elsewhere, and what is not seen."""


@pytest.mark.parametrize(
    "mark", ["\u202e", "\u2066", "\u2028", "\u2029", "\u061c", "\u200f", "\ufeff", "\x1b[1m", "\U000e0041"]
)
def test_no_text_turns_another_around(mark: str) -> None:
    assert not NOT_SHOWN.search(element(f"a{mark}b\nc{mark}") + attribute(f"a{mark}b"))
    assert element("שלום\n  می\u200cخواهم\t👩\u200d🚀") == "שלום\n  می\u200cخواهم 👩\u200d🚀"


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


def test_a_gate_stands_at_the_line_that_sets_it_and_without_one_has_none(tmp_path: Path) -> None:
    (tmp_path / "turncheck.yml").write_text(
        "# what fails\nfail-on: [errors, test-failures]\n\nmax-regression: |\n  core.passed: 0\n  nlu.intents.f1: 0.1\n"
        "thresholds:\n- core.failed <= 3\nrequire: core\n"
    )
    file = read_settings_file(tmp_path)
    made = report(stories=[story("s", "a!b")])
    gates = GateSettings(
        max_regression=("core.passed: 0", "nlu.intents.f1: 0.1"), thresholds=("core.failed <= 3",), require=("core",)
    )
    verdict = judge(made, None, gates, {**file.rules, **file.gates})
    root = ET.fromstring(render_junit(made, None, verdict, LINKS).encoded)  # noqa: S314 - our own

    cases = [case for case in root.iter("testcase") if "gates" in (case.get("classname") or "")]
    lines = {case.get("name"): case.get("line") for case in cases}
    assert lines == {
        "errors": "2",
        "something-was-tested": None,
        "require: core": "9",
        "threshold: core.failed <= 3": "8",
        "max-regression: core.passed: 0": "5",
        "max-regression: nlu.intents.f1: 0.1": "6",
    }


def test_a_sentence_that_did_not_pass_each_time_is_a_case_with_its_runs() -> None:
    runs = {
        "hi": Repeats(runs="PP", outcome="passed"),
        "hey": Repeats(runs="PFpp", outcome="flaky"),
        "yo": Repeats(runs="PFpf", outcome="unclear"),
        "see you": Repeats(runs="FFff", outcome="failed", base="FF"),
        "ciao": Repeats(runs="FFfff", outcome="regressed", base="PPPP"),
        "adieu": Repeats(runs="", errors=3, outcome="unclear"),
        "so long": Repeats(runs="PF", outcome="unclear"),
    }
    wrong = {"yo", "see you", "ciao", "adieu", "so long"}
    intents = {"see you": "bye", "ciao": "bye", "adieu": "bye", "so long": "leave"}
    made = report(
        examples=[
            replace(example(text, intents.get(text, "greet"), "other" if text in wrong else None), repeats=repeats)
            for text, repeats in runs.items()
        ]
    )
    root = junit_of(made)
    cases = {one.get("name"): one for one in root.iter("testcase") if "nlu" in one.get("classname", "")}
    assert [*cases] == ["bye", "greet", "leave", "hey", "yo", "see you", "ciao", "adieu", "so long"]
    properties = {
        name: {one.get("name"): one.get("value") for one in case.iter("property")} for name, case in cases.items()
    }
    assert (properties["hey"], properties["yo"]) == ({"flaky": "true", "runs": "PFPP"}, {"runs": "PFPF"})
    outcomes = {
        name: [child.tag for child in case if child.tag in {"skipped", "failure"}] for name, case in cases.items()
    }
    assert [name for name, found in outcomes.items() if found == ["skipped"]] == ["leave", "yo", "see you", "so long"]
    assert [name for name, found in outcomes.items() if found == ["failure"]] == ["ciao", "adieu"]
    assert case_named(root, "yo").find("skipped").get("message") == "unclear: 2 of 4 runs pass"  # type: ignore[union-attr]
    assert (case_named(root, "greet").findtext("system-out") or "").startswith("2 of 2 right, 1 unclear")
