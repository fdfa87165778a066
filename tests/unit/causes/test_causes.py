"""Cause before symptom: what is broken once is reported once, first, with all that fails because of it below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from github_markdown import elements, to_html
from golden_texts import Golden
from pull_request import LINKS
from report_builder import BASE_COMMIT, case, finding, report, story

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Missing, Present
from turncheck.messages.finding import Location
from turncheck.render.console import render_console
from turncheck.render.markdown import render_comment, render_summary
from turncheck.render.wording.gates import judge
from turncheck.report.model import (
    CaseMessage,
    CaseResult,
    ExpectedParse,
    GateSettings,
    Misunderstanding,
    Report,
    StoryParse,
    StoryResult,
    StoryStep,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.render.rendered import Rendered


def drawn(head: Report, base: Report | None = None) -> tuple[str, str]:
    comment, console = shown(render_comment, head, base), shown(render_console, head, base)
    return comment, console


def shown(render: Callable[..., Rendered], head: Report, base: Report | None = None) -> str:
    comparison = compare(head, Present(base, "git") if base else Missing("none yet"))
    return str(render(head, comparison, judge(head, comparison, head.settings), LINKS).content)


RENAMED = [story(f"ask {i}", "utter_greet", "utter_hours!utter_opening_hours", line=5 * i + 1) for i in range(12)]
OTHER = story("goodbye", "utter_bye!utter_greet", line=100)


def test_tests_that_fail_alike_are_one_entry_with_the_rest_to_unfold(golden: Golden) -> None:
    head = report(stories=[OTHER, *RENAMED], cases=[case("e", "utter_hours!utter_opening_hours")])
    comment, summary = shown(render_comment, head), shown(render_summary, head)

    for text, number in ((comment, 3), (summary, 4)):
        assert "#### Failing tests (14)" in text
        lines = text[text.index("#### Failing tests") :].splitlines()
        golden(lines[2], lines[3 + number])
        entries = [line.partition(" · ")[0] for line in lines[3 : 3 + number]]
        assert entries == [f"  - story `ask {i}`" for i in range(number)]
        assert "\n- story `goodbye`: expected `utter_bye`, got `utter_greet`" in text
    assert comment.count("\n  - story `ask ") == 3
    assert summary.count("\n  - story `ask ") == 12
    html = to_html(summary)
    assert elements(html)["details"] == elements(html)["summary"] == html.count("</details>")


def test_the_terminal_tells_one_cause_once_too() -> None:
    _, console = drawn(report(stories=[OTHER, *RENAMED]))

    told = "12 stories: expected utter_hours, got utter_opening_hours (MemoizationPolicy)"
    assert f"Failing tests (13)\n  {told}\n    - tests/" in console
    assert "    - … and 8 more\n" in console


def test_what_is_left_out_is_counted_in_tests_not_in_entries() -> None:
    alike = [story(f"{kind} {i}", f"utter_{kind}!utter_x", line=i + 1) for kind in range(40) for i in range(2)]

    comment, _ = drawn(report(stories=alike))

    assert "#### Failing tests (80)" in comment
    assert "<details><summary>64 more</summary>" in comment
    assert "\n… and 60 more" in comment


def test_findings_about_one_thing_are_one_entry(golden: Golden) -> None:
    found = [
        finding(
            "story-action-not-in-domain",
            f"The action 'action_pay' of the story 's{i}' is not listed.",
            line=i + 1,
            action="action_pay",
        )
        for i in range(3)
    ]
    comment, _ = drawn(report(findings=[*found, finding("x", "Something else.")]))

    golden(comment, only="Errors")
    assert comment.count("`story-action-not-in-domain`") == 1
    golden(comment, only="`s2`")


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


def test_the_terminal_gathers_errors_about_one_thing(golden: Golden) -> None:
    found = [
        finding(
            "undefined", f"The action 'action_pay' of the story 's{i}' is not listed.", line=i + 1, action="action_pay"
        )
        for i in range(9)
    ]

    _, console = drawn(report(findings=found))

    golden(console.partition("(9)\n")[2].partition("\n\n")[0])


# --- tests that fail because of a name that is gone ------------------------------------------------------------------


def opening(said: str, *, heard: str, on_base: str | None = None, response: str | None = None) -> CaseResult:
    """An end-to-end case in which the bot is to say its opening hours."""
    expected = "We are open from nine to five"
    message = CaseMessage(
        text="when are you open",
        location=Location("tests/e2e_test_cases.yml", 4, 5),
        understood=StoryParse(intent=heard),
        before=StoryParse(intent=on_base) if on_base else None,
    )
    made = case("opening", expected if said == expected else f"{expected}!{said}")
    (step,) = made.steps
    step = msgspec.structs.replace(step, kind="bot", message=0, response=response)
    return msgspec.structs.replace(made, messages=(message,), steps=(step,))


RULES = GateSettings(fail_on=("errors", "new-failures"))


def section(comment: str, title: str) -> str:
    return comment[comment.index(f"#### {title}") :].partition("\n#### ")[0]


@pytest.mark.parametrize(
    ("message", "names", "head", "base"),
    [
        (
            "'hours' was renamed to 'opening_times' in this change; 2 uses keep the old name.",
            {"removed": "hours", "new": "opening_times"},
            opening("What?", heard="opening_times", on_base="hours"),
            opening("We are open from nine to five", heard="hours", response="utter_hours"),
        ),
        (
            "The intent 'hours' has lost all its examples in this change and can never be predicted.",
            {"removed": "hours"},
            opening("What?", heard="greet", on_base="hours"),
            opening("We are open from nine to five", heard="hours", response="utter_hours"),
        ),
        (
            "'utter_hours' was removed in this change; 1 use keeps its name.",
            {"removed": "utter_hours"},
            opening("What?", heard="hours"),
            opening("We are open from nine to five", heard="hours", response="utter_hours"),
        ),
    ],
)
def test_an_end_to_end_case_is_below_the_name_that_it_fails_by(
    message: str, names: dict[str, str], head: CaseResult, base: CaseResult, golden: Golden
) -> None:
    stories = [story("goodbye", "utter_bye", line=100)]
    now = report(findings=[finding("odd", message, "error", "domain.yml", 1, **names)], stories=[OTHER], cases=[head])
    comment, _ = drawn(now, report(stories=stories, cases=[base], commit=BASE_COMMIT))

    golden(section(comment, "New errors in the data (1)"))
    assert "opening" not in section(comment, "Other newly failing tests (1)")
    golden(comment.partition("| base")[0])  # a story fails for another reason


def test_the_headline_says_that_all_fail_because_of_the_one_error(golden: Golden) -> None:
    gone = finding("odd", "'utter_hours' was removed in this change; 1 use keeps its name.", removed="utter_hours")
    now = report(findings=[gone], cases=[opening("What?", heard="hours")], settings=RULES)
    good = opening("We are open from nine to five", heard="hours", response="utter_hours")

    comment, _ = drawn(now, report(cases=[good], commit=BASE_COMMIT, settings=RULES))

    golden(comment, only="**`utter_hours`")
    assert "newly failing tests" not in comment


def test_a_story_is_below_the_intent_that_it_is_written_with_and_that_is_gone(golden: Golden) -> None:
    def told(predicted: str) -> StoryResult:
        steps = [
            StoryStep(kind="intent", expected="hours", predicted=predicted, passed=predicted == "hours"),
            StoryStep(
                kind="action",
                expected="utter_hours",
                predicted="utter_hours" if predicted == "hours" else "action_default_fallback",
                passed=predicted == "hours",
            ),
        ]
        return msgspec.structs.replace(story("hours"), steps=tuple(steps), passed=predicted == "hours")

    message = "'hours' was renamed to 'opening_times' in this change; 1 use keeps the old name."
    found = finding("odd", message, removed="hours", new="opening_times")
    comment, _ = drawn(
        report(findings=[found], stories=[told("opening_times")]), report(stories=[told("hours")], commit=BASE_COMMIT)
    )

    golden(comment, only="because")
    assert "newly failing tests" not in comment


# --- a sentence that spoils tests of both kinds ----------------------------------------------------------------------


def test_a_sentence_misunderstood_in_stories_and_end_to_end_cases_is_told_once(golden: Golden) -> None:
    text, place = "where is the shop", Location("tests/test_stories.yml", 13, 5)
    wrong = Misunderstanding(
        text=text, location=place, expected=ExpectedParse(intent="address"), predicted=StoryParse(intent="hours")
    )
    fine = story("address", "utter_address")
    spoilt = msgspec.structs.replace(fine, passed=False, as_written=True, misunderstood=(wrong,))
    good = case("where", "utter_address")
    message = CaseMessage(text=text, location=place, understood=StoryParse(intent="address"))
    heard = CaseMessage(
        text=text, location=place, understood=StoryParse(intent="hours"), before=StoryParse(intent="address")
    )
    bad = msgspec.structs.replace(good, passed=False, outcome="misunderstood", messages=(heard,), as_before=True)
    good = msgspec.structs.replace(good, messages=(message,))

    comment, console = drawn(
        report(stories=[spoilt], cases=[bad]), report(stories=[fine], cases=[good], commit=BASE_COMMIT)
    )

    golden(comment, only="misunderstood (")
    golden(comment, only="`where`")
    assert comment.count("*Misunderstood*:") == 1
    assert console.count("'where is the shop'") == 1
