"""Cause before symptom: what is broken once is reported once, first, with all that fails because of it below."""

from __future__ import annotations

from github_markdown import elements, to_html
from pull_request import LINKS
from report_builder import BASE_COMMIT, case, finding, report, story

from turncheck.comparison.baseline import Missing, Present
from turncheck.comparison.compare import compare
from turncheck.comparison.gates import judge
from turncheck.render.console import render_console
from turncheck.render.markdown import render_comment
from turncheck.report.model import Report


def drawn(head: Report, base: Report | None = None) -> tuple[str, str]:
    comparison = compare(head, Present(base, "git") if base else Missing("none yet"))
    verdict = judge(head, comparison, head.settings)
    comment, console = (str(r(head, comparison, verdict, LINKS).content) for r in (render_comment, render_console))
    return comment, console


RENAMED = [story(f"ask {i}", "utter_greet", "utter_hours!utter_opening_hours", line=5 * i + 1) for i in range(12)]
OTHER = story("goodbye", "utter_bye!utter_greet", line=100)


def test_tests_that_fail_alike_are_one_entry_with_the_rest_to_unfold() -> None:
    comment, _ = drawn(report(stories=[OTHER, *RENAMED], cases=[case("e", "utter_hours!utter_opening_hours")]))

    assert "#### Failing tests (14)" in comment
    lines = comment[comment.index("#### Failing tests") :].splitlines()
    assert lines[2] == "- 12 stories and 1 end-to-end case: expected `utter_hours`, got `utter_opening_hours`"
    assert [line.partition(" · ")[0] for line in lines[3:7]] == [f"  - story `ask {i}`" for i in range(4)]
    assert lines[7] == "  <details><summary>9 more</summary>"
    assert comment.count("\n  - story `ask ") == 12
    assert "\n- story `goodbye`: expected `utter_bye`, got `utter_greet`" in comment
    html = to_html(comment)
    assert elements(html)["details"] == elements(html)["summary"] == html.count("</details>")


def test_the_terminal_tells_one_cause_once_too() -> None:
    _, console = drawn(report(stories=[OTHER, *RENAMED]))

    told = "12 stories: expected utter_hours, got utter_opening_hours by MemoizationPolicy (1.00)"
    assert f"Failing tests (13)\n  {told}\n    - tests/" in console
    assert "    - … and 8 more\n" in console


def test_what_is_left_out_is_counted_in_tests_not_in_entries() -> None:
    alike = [story(f"{kind} {i}", f"utter_{kind}!utter_x", line=i + 1) for kind in range(40) for i in range(2)]

    comment, _ = drawn(report(stories=alike))

    assert "#### Failing tests (80)" in comment
    assert "<details><summary>64 more</summary>" in comment


def test_findings_about_one_thing_are_one_entry() -> None:
    found = [
        finding("story-action-not-in-domain", f"The action 'action_pay' of the story 's{i}' is not listed.", line=i + 1)
        for i in range(3)
    ]
    comment, _ = drawn(report(findings=[*found, finding("x", "Something else.")]))

    assert "#### Errors in the data (4)" in comment
    assert comment.count("`story-action-not-in-domain`") == 1
    assert "\n  - The action `action_pay` of the story `s2` is not listed. · " in comment


def test_the_order_is_broken_files_errors_collisions_tests_then_warnings_and_notes() -> None:
    found = [
        finding("note", "A note.", "info"),
        finding("odd", "A warning.", "warning"),
        finding("missing-action", "An error."),
        finding("yaml-syntax", "The file cannot be read.", path="data/nlu.yml"),
    ]
    head = report(findings=found, stories=[OTHER])
    alone, _ = drawn(head)
    against, _ = drawn(head, report(findings=[], stories=[story("goodbye", "utter_bye", line=100)], commit=BASE_COMMIT))

    for text, new in ((alone, False), (against, True)):
        parts = [
            "New errors in the data (2)" if new else "Errors in the data (2)",
            "`yaml-syntax`",
            "`missing-action`",
            "Newly failing tests (1)" if new else "Failing tests (1)",
            "New warnings in the data (1)" if new else "Warnings in the data (1)",
            "<summary>New notes in the data (1)" if new else "<summary>Notes in the data (1)",
        ]
        places = [text.index(part) for part in parts]
        assert places == sorted(places)


def test_the_terminal_gathers_errors_about_one_thing() -> None:
    found = [
        finding("undefined", f"The action 'action_pay' of the story 's{i}' is not listed.", line=i + 1)
        for i in range(9)
    ]

    _, console = drawn(report(findings=found))

    assert "Errors in the data (9)\n  domain.yml:1:1: undefined: The action 'action_pay' of the story 's0'" in console
    assert "    - domain.yml:2:1: The action 'action_pay' of the story 's1' is not listed.\n" in console
    assert "    - … and 4 more\n" in console
