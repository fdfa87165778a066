"""Annotations as data, and the workflow commands made of them."""

from __future__ import annotations

import re

from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from pull_request import pull_request
from report_builder import BASE_COMMIT, example, finding, report, story, with_changes

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.messages.plain_text import log_line
from turncheck.render.annotations import Annotation, find_annotations, within_limit, workflow_commands
from turncheck.render.sinks.commands import command


def unescape(text: str) -> str:
    """As the runner reads it back: the reverse of its toolkit's escaping, the percent sign last."""
    for code, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_the_worst_come_first_with_their_places_in_the_repository(golden: Golden) -> None:
    report_, comparison, _ = pull_request()

    found = find_annotations(report_, comparison)

    assert [one.level for one in found] == ["error"] * 2 + ["warning"] * 10
    assert found[0] == Annotation(
        "error",
        "missing-response",
        "The response utter_fees_detail is used but not defined.",
        "bots/bank/domain.yml",
        52,
    )
    assert (found[1].path, found[1].line) == ("bots/bank/tests/test_stories.yml", 3)
    assert found[2].message.startswith("'how much is on my account': expected check_balance, got transfer_money")
    golden(found[2].message)


def test_what_is_new_comes_before_what_fails_on_the_base_too(golden: Golden) -> None:
    old = [story(f"old {number}", "utter_x!utter_y", line=10 * number) for number in range(1, 15)]
    base = report(stories=old, findings=[finding("a", "old")], commit=BASE_COMMIT)
    head = report(
        stories=[*old, story("new", "utter_x!utter_y", line=990)],
        findings=[finding("a", "old"), finding("z", "new", line=2)],
    )

    found = find_annotations(head, compare(head, Present(base, "git")))

    golden(*(one.title for one in found[:4]))
    lenient = with_changes(head, settings=structs.replace(head.settings, fail_on=("errors", "new-failures")))
    found = find_annotations(lenient, compare(lenient, Present(base, "git")))
    assert [one.level for one in found] == ["error"] * 3 + ["warning"] * 14


def test_remarks_on_one_line_are_one_annotation_as_bad_as_the_worst() -> None:
    found = find_annotations(
        report(findings=[finding("a", "one", "warning"), finding("b", "two", "error"), finding("c", "x", line=2)]), None
    )

    assert [(one.level, one.title, one.message, one.line) for one in found] == [
        ("error", "2 remarks", "a: one\nb: two", 1),
        ("error", "c", "x", 2),
    ]


def test_wrong_sentences_are_annotated_only_where_they_are_new() -> None:
    old, lines = example("a", "x", "y", line=1), range(2, 10)
    base = report(examples=[old, *(example(f"b{n}", "y", line=n) for n in lines)], commit=BASE_COMMIT)
    head = report(examples=[old, *(example(f"b{n}", "y", "x", line=n) for n in lines)])

    assert find_annotations(head, None) == ()
    assert [one.line for one in find_annotations(head, compare(head, Present(base, "git")))] == [*lines]


def test_a_wrong_sentence_within_noise_is_not_annotated() -> None:
    base = report(examples=[example("a", "x", "y", line=1), example("b", "y", line=2)], commit=BASE_COMMIT)
    head = report(examples=[example("a", "x", "y", line=1), example("b", "y", "x", line=2)])

    assert find_annotations(head, compare(head, Present(base, "git"))) == ()


def test_at_most_ten_of_a_level_are_shown_and_the_last_says_how_many_more(golden: Golden) -> None:
    found = find_annotations(
        report(
            findings=[finding("e", f"m{i}", line=i + 1) for i in range(47)]
            + [finding("w", f"m{i}", "warning", line=100 + i) for i in range(10)],
        ),
        None,
    )

    shown, left = within_limit(found)

    assert [one.level for one in shown] == ["error"] * 10 + ["warning"] * 10
    golden(shown[9].message)
    assert (len(left), shown[10].message) == (38, "m0")


def test_what_was_said_before_takes_places(golden: Golden) -> None:
    found = find_annotations(report(findings=[finding("e", f"m{i}", line=i + 1) for i in range(9)]), None)

    shown, left = within_limit(found, {"error": 2})

    golden(*(one.message for one in shown[-2:]))
    assert (len(shown), len(left)) == (8, 2)


def test_a_place_outside_the_repository_is_an_annotation_of_the_run() -> None:
    (found,) = find_annotations(report(stories=[story("s", "a!b", path="/tmp/elsewhere.yml")]), None)  # noqa: S108

    assert (found.path, found.line) == (None, None)
    assert workflow_commands([found])[0].startswith("::error title=story failed%3A s::")


@given(st.text(), st.text(), st.text())
def test_a_command_is_one_line_and_says_what_it_should(message: str, title: str, path: str) -> None:
    line = command("error", message, title=title, file=path, line=3)

    assert len(line.splitlines()) == 1
    found = re.fullmatch(r"::error (?P<properties>.*?)::(?P<data>.*)", line)
    assert found
    properties = dict(pair.split("=", 1) for pair in found["properties"].split(","))
    assert set(properties) <= {"title", "file", "line"}
    assert properties["line"] == "3"
    assert "\n::" not in unescape(found["data"])
    assert "##[" not in line


@given(st.text())
def test_a_line_of_the_log_is_never_a_command(text: str) -> None:
    assert "::" not in log_line(text)
    assert "##[" not in log_line(text)
