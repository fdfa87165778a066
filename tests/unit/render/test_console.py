"""The terminal summary."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from golden_texts import Golden
from hostile import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from pull_request import LINKS, base_report, pull_request
from report_builder import case, example, finding, report, story

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Missing
from turncheck.render.console import render_console
from turncheck.render.links import Links
from turncheck.render.markdown import render_comment
from turncheck.render.wording.gates import judge
from turncheck.report.model import Skipped

GOLDEN = Path(__file__).parents[1] / "golden" / "summary.txt"


def test_the_plain_summary_is_the_golden_one() -> None:
    assert render_console(*pull_request(), LINKS).content == GOLDEN.read_text()


def test_the_verdict_is_the_last_line(golden: Golden) -> None:
    head = base_report()
    comparison = compare(head, Missing("first run"))

    lines = str(render_console(head, comparison, judge(head, comparison, head.settings), Links()).content).splitlines()

    golden(lines[-1])
    assert "No baseline: first run" in lines


def test_a_case_that_could_not_be_run_to_its_end_says_why_wherever_it_is_shown(golden: Golden) -> None:
    lost = replace(case("orders"), passed=False, outcome="error", reason="the action server is gone")
    head = report(cases=[lost])
    comparison = compare(head, Missing("first run"))
    verdict = judge(head, comparison, head.settings)

    shown = str(render_console(head, comparison, verdict, Links()).content)
    golden(shown, only="tests/e2e_test_cases.yml:1:5")
    comment = str(render_comment(head, comparison, verdict, Links()).content)
    golden(comment, only="`orders`")
    assert "expected" not in shown + comment


def test_cases_that_passed_with_a_warning_are_counted_wherever_a_person_looks() -> None:
    warned = replace(case("calm", "utter_a"), reason="'action_a' failed: status 500")
    head = report(cases=[warned, case("good", "utter_a")])
    comparison = compare(head, Missing("first run"))
    verdict = judge(head, comparison, head.settings)
    told = "1 end-to-end case passed with a warning: 'action_a' failed: status 500"
    assert f"Warning: {told}" in str(render_console(head, comparison, verdict, Links()).content)
    assert told.partition("'")[0] in str(render_comment(head, comparison, verdict, Links()).content)


def test_each_reason_for_which_cases_are_skipped_is_said_with_its_places(golden: Golden) -> None:
    reasons = ["no `buttons`", "no `media`", "no `media`", *(f"reason {number}" for number in range(9))]
    cases = [
        replace(case(reason, line=line), outcome="skipped", passed=False, reason=reason)
        for line, reason in enumerate(reasons, start=3)
    ]
    head = report(cases=[case("runs", "utter_a"), *cases], root="")
    shown = (head, None, judge(head, None, head.settings), Links())
    lines = str(render_console(*shown).content).splitlines()
    place = "tests/e2e_test_cases.yml"
    assert f"Warning: 2 end-to-end cases skipped: no `media` ({place}:4:5, {place}:5:5)" in lines
    assert f"Warning: 1 end-to-end case skipped: no `buttons` ({place}:3:5)" in lines
    golden(*(line for line in lines if line.startswith("Warning: 1 more")))
    comment = str(render_comment(*shown).content)
    assert [comment.count(f"skipped: {words}") for words in ("no `media`", "no `buttons`", "reason 0")] == [1, 1, 1]


def test_without_a_terminal_there_is_no_escape_and_no_wrapped_line() -> None:
    text = str(render_console(*pull_request(), LINKS).content)

    assert "\x1b" not in text
    assert any(len(line) > 120 for line in text.splitlines())


def test_on_a_terminal_lines_fit_and_words_are_coloured() -> None:
    text = str(render_console(*pull_request(), LINKS, width=60).content)

    assert "\x1b[" in text
    assert all(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) <= 60 for line in text.splitlines())


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(st.one_of(st.sampled_from(HOSTILE), st.text()), st.sampled_from([None, 40]))
def test_nothing_of_a_project_reaches_the_terminal_as_a_command(text: str, width: int | None) -> None:
    made = report(
        examples=[example(text, text or "a", f"{text}x"), example("b", "y")],
        stories=[story(text, f"a!{text}" if text else "a", path=text or "p")],
        cases=[case(text, f"a!{text}" if text else "a", path=text or "p")],
        findings=[finding(text, text, path=text or "p")],
        skipped=[Skipped(evaluation="batch", reason=text)],
    )

    shown = str(render_console(made, None, judge(made, None, made.settings), Links(), width=width).content)

    bare = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]", bare)
    assert not re.search(r"(?m)^\s*::|##\[", bare)


@pytest.mark.slow
def test_rich_is_imported_only_when_something_is_shown() -> None:
    code = "import sys, turncheck.render.markdown, turncheck.render.annotations; sys.exit('rich' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_tests_that_nothing_looked_for_are_named() -> None:
    told = "'checks/a.yml' holds end-to-end cases, but it is not below tests/ or e2e_tests/: they are not run."
    note = finding("test-file-not-looked-for", told, "info", path="checks/a.yml")
    head = report(examples=[example("hi", "greet")], findings=[note], root="")
    comparison = compare(head, Missing("first run"))

    shown = str(render_console(head, comparison, judge(head, comparison, head.settings), Links()).content)

    assert f"Not run: {told}\n" in shown
