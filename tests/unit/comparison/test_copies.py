"""Exact copies of a story: one entry that counts them, and counts that agree everywhere."""

from __future__ import annotations

import re

import msgspec
from golden_texts import Golden
from pull_request import LINKS
from report_builder import BASE_COMMIT, report, story

from turncheck.comparison.cases import story_cases
from turncheck.comparison.compare import compare
from turncheck.comparison.model import Missing, Present
from turncheck.render.console import render_console
from turncheck.render.markdown import render_comment
from turncheck.render.wording.gates import judge
from turncheck.report.model import Alternative, GateSettings, Report, StoryResult, StoryStep


def copies_of(original: StoryResult, number: int) -> list[StoryResult]:
    return [msgspec.structs.replace(original, name=f"copy {i}", duplicate=True) for i in range(number)]


BROKEN = story("order", "utter_a!utter_b", line=3)
FINE = story("order", "utter_a", line=3)


def drawn(head: Report, base: Report | None) -> tuple[str, str, str]:
    comparison = compare(head, Present(base, "git") if base else Missing("none yet"))
    verdict = judge(head, comparison, head.settings)
    comment, console = (str(r(head, comparison, verdict, LINKS).content) for r in (render_comment, render_console))
    return comment, console, verdict.summary


def test_copies_are_counted_on_the_entry_and_the_counts_agree() -> None:
    head = report(stories=[BROKEN, *copies_of(BROKEN, 14), story("other", "utter_x", line=90)])

    comment, console, summary = drawn(head, None)

    assert "15 of 16 stories failed" in summary
    assert "#### Failing tests (15)" in comment
    assert "- story `order` and 14 copies: expected `utter_a`, got `utter_b`" in comment
    assert "Failing tests (15)" in console
    assert "story order and 14 copies: expected utter_a" in console


def test_copies_count_against_a_base_too() -> None:
    rules = GateSettings(fail_on=("new-failures",))
    head = report(stories=[BROKEN, *copies_of(BROKEN, 2)], settings=rules)
    base = report(stories=[FINE, *copies_of(FINE, 2)], settings=rules, commit=BASE_COMMIT)

    comment, _, summary = drawn(head, base)

    assert "#### Newly failing tests (3)" in comment
    assert "and 2 copies" in comment
    assert summary.startswith("3 stories newly fail")
    assert "| Stories passed | 3/3 | 0/3 | −3 🔴 worse |" in comment


def test_a_copy_that_went_away_is_no_test_that_is_gone(golden: Golden) -> None:
    head, base = report(stories=[FINE]), report(stories=[FINE, *copies_of(FINE, 1)], commit=BASE_COMMIT)
    comparison = compare(head, Present(base, "git"))
    comment, _, _ = drawn(head, base)

    assert "| Stories passed | 2/2 | 1/1 | same |" in comment
    assert "gone" not in comment
    (gate,) = [one for one in judge(head, comparison, head.settings).gates if one.name == "gone-tests"]
    assert gate.outcome == "passed"
    golden(gate.reason)


def test_what_is_the_same_to_every_policy_but_said_or_fared_otherwise_stands_by_itself() -> None:
    def heard(text: str, *, passed: bool) -> StoryStep:
        return StoryStep(
            kind="intent", expected="greet", predicted="greet" if passed else "bye", passed=passed, text=text
        )

    one = msgspec.structs.replace(FINE, steps=(heard("hello", passed=True), *FINE.steps))
    other = msgspec.structs.replace(
        FINE, name="hi", steps=(heard("hi", passed=False), *FINE.steps), duplicate=True, passed=False
    )

    cases = story_cases(report(stories=[one, other, msgspec.structs.replace(other, name="hi again")]))

    assert [(case.name, case.passed, case.copies) for case in cases] == [("order", True, 0), ("hi", False, 1)]


# --- what came instead -----------------------------------------------------------------------------------------------


def failing(step: StoryStep) -> tuple[str, str]:
    head = report(stories=[msgspec.structs.replace(BROKEN, passed=False, steps=(step,))])
    comment, console, _ = drawn(head, None)
    return next(line for line in comment.splitlines() if line.startswith("- story")), console


def test_a_form_that_is_active_is_no_policy() -> None:
    step = StoryStep(kind="action", expected="a", predicted="x", passed=False, active_loop="cc_payment_form")

    entry, console = failing(step)

    assert "got `x` (while cc\\_payment\\_form is active)" in entry
    assert "got x (while cc_payment_form is active)" in console
    assert " by " not in entry


def test_how_the_engine_came_to_it_reads_as_a_sentence() -> None:
    step = StoryStep(
        kind="action",
        expected="a",
        predicted="x",
        passed=False,
        policy="TEDPolicy",
        confidence=0.5,
        alternatives=(Alternative(action="a", confidence=0.25),),
        active_loop="f",
    )

    entry, _ = failing(step)

    assert "got `x` (TEDPolicy; while f is active)" in entry


def test_nothing_found_is_said_in_words() -> None:
    found = {
        "entities": StoryStep(kind="entities", expected="[x](e)", predicted="", passed=False),
        "nothing": StoryStep(kind="entities", expected="", predicted="[x](e)", passed=False),
        "intent": StoryStep(kind="intent", expected="greet", predicted="None", passed=False),
    }
    told = {name: failing(step) for name, step in found.items()}

    assert "expected `[x](e)`, got `no entity`" in told["entities"][0]
    assert "expected `no entity`, got `[x](e)`" in told["nothing"][0]
    assert "expected `greet`, got `no intent`" in told["intent"][0]
    assert not any(re.search(r"got *(?:by|$|·)", text, re.MULTILINE) for pair in told.values() for text in pair)
