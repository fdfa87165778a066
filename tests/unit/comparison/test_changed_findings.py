"""A finding is the same where only places in its message moved; markers of two names are two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from report_builder import finding, report

from turncheck.commands.validate import Request, check_project
from turncheck.comparison.changed_parts import changed_findings
from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.render.sinks.markdown import marker

if TYPE_CHECKING:
    from pathlib import Path

    from timing import Timing

    from turncheck.messages.finding import Finding
    from turncheck.report.model import Report

SAID = "The rule 'a' contradicts the story 'b' (data/stories.yml:{line}:3)."


def test_a_line_more_above_makes_no_finding_new_or_gone() -> None:
    base = report(findings=(finding("rule-contradiction", SAID.format(line=7), line=4),))
    head = report(findings=(finding("rule-contradiction", SAID.format(line=8), line=5),))

    assert changed_findings(base, head) == ((), ())


def test_a_file_that_was_renamed_makes_no_finding_new_or_gone() -> None:
    message = "The test sentence 'hi' is a training sentence as well ({path}:3:7)."
    base = report(findings=(finding("test-sentence-in-training", message.format(path="data/nlu.yml")),))
    head = report(findings=(finding("test-sentence-in-training", message.format(path="data/nlu/a.yml")),))

    assert changed_findings(base, head) == ((), ())


def test_other_counts_make_no_finding_new_or_gone() -> None:
    message = "The intent 'greet' has {} examples, and 3 of 'order 66' are as few."
    base = report(findings=(finding("few", message.format(12)),))
    head = report(findings=(finding("few", message.format(1_300)),))

    assert changed_findings(base, head) == ((), ())
    assert changed_findings(base, report(findings=(finding("few", message.format(12).replace("66", "67")),)))[0]


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("come at 2 o'clock", "come at 3 o'clock"),
        ("it's 2 o'clock", "it's 3 o'clock"),
        ("call at 10:15", "call at 10:30"),
        ("see notes.txt:7", "see notes.txt:8"),
        ("i'd like 2, don't you", "i'd like 3, don't you"),
    ],
)
def test_numbers_and_places_within_a_name_are_parts_of_it(name: str, other: str) -> None:
    message = "The example '{}' appears under several intents: 'a', 'b' ({}.yml:3:7)."
    base = report(findings=(finding("several", message.format(name, "x")),))

    new, gone = changed_findings(base, report(findings=(finding("several", message.format(other, "x")),)))

    assert (len(new), len(gone)) == (1, 1)
    assert changed_findings(base, report(findings=(finding("several", message.format(name, "y"), path="y"),))) == (
        (),
        (),
    )


def test_a_finding_with_a_subject_is_the_same_whatever_its_message_lists() -> None:
    listed = [replace(finding("imbalance", words), subject="sizes") for words in ("'a' 110, 'b' 3.", "'a' 110, 'c' 2.")]

    assert changed_findings(report(findings=listed[:1]), report(findings=listed[1:])) == ((), ())


def test_findings_without_a_file_are_compared_too() -> None:
    known = finding("not-trained", "It cannot be trained.", path="")
    base = report(findings=(known,))
    head = report(findings=(known, finding("not-trained", "Another cannot.", path="")))

    new, gone = changed_findings(base, head)

    assert (len(new), len(gone)) == (1, 0)


def test_another_subject_is_another_finding() -> None:
    base = report(findings=(finding("rule-contradiction", SAID.format(line=7)),))
    head = report(findings=(finding("rule-contradiction", SAID.format(line=7).replace("'b'", "'c'")),))

    new, gone = changed_findings(base, head)

    assert (len(new), len(gone)) == (1, 1)


def test_names_that_lose_letters_in_the_marker_keep_comments_of_their_own() -> None:
    names = [
        "bots/a",
        "bots-a",
        "bots.a",
        "日本",
        "中国",
        "my bot",
        "my-bot",
        "münchen",
        "mänchen",
        "x" * 101,
        "x" * 102,
    ]

    assert len({marker(name) for name in names}) == len(names)


# --- findings about several sentences or stories ----------------------------------------------------------------------


def in_the_data(root: Path, blocks: list[str], stories: list[str]) -> list[Finding]:
    (root / "data").mkdir(parents=True)
    (root / "domain.yml").write_text(
        'version: "3.1"\nintents: [greet, bye, order]\nresponses: {utter_hi: [{text: hi}]}\n'
    )
    (root / "config.yml").write_text("language: en\npipeline: [{name: WhitespaceTokenizer}]\npolicies: []\n")
    (root / "data" / "nlu.yml").write_text('version: "3.1"\nnlu:\n' + "".join(blocks))
    (root / "data" / "stories.yml").write_text('version: "3.1"\nstories:\n' + "".join(stories))
    return list(check_project(Request(project=root)).validated.findings)


def test_another_order_of_sentences_and_stories_makes_no_finding_new_or_gone(tmp_path: Path) -> None:
    def block(intent: str, *sentences: str) -> str:
        return f"- intent: {intent}\n  examples: |\n" + "".join(f"    - {one}\n" for one in sentences)

    def story(name: str) -> str:
        return f"- story: {name}\n  steps: [{{intent: unknown}}, {{action: some_form}}]\n"

    greet = ("hello there my friend", "to [Rome](city) please", "a [thin](crust) pizza with everything")
    bye = ("see you later my friend", "Hello there, my friend!", "to [Oslo](city) please")
    one = in_the_data(tmp_path / "one", [block("greet", *greet), block("bye", *bye)], [story("a"), story("b")])
    other = in_the_data(
        tmp_path / "other",
        [block("bye", *reversed(bye)), block("greet", *reversed(greet))],
        [story("b"), story("a")],
    )

    codes = {"entity-undefined", "story-intent-undefined", "action-undefined", "example-nearly-in-several-intents"}
    assert codes <= {found.code for found in one}
    assert {found.message for found in one} != {found.message for found in other}
    assert changed_findings(report(findings=one), report(findings=other)) == ((), ())


def test_a_warning_about_a_whole_file_is_not_new_in_the_parts_that_the_file_is_split_into() -> None:
    def low(*paths: str, severity: str = "warning") -> Report:
        said = "The version 2.0 of '{}' is lower than 3.1."
        return report(findings=[finding("version-too-low", said.format(path), severity, path) for path in paths])

    assert changed_findings(low("data/nlu.yml"), low("data/a.yml", "data/b.yml", "data/c.yml")) == ((), ())
    compared = compare(low("data/a.yml", "data/b.yml"), Present(low("data/nlu.yml"), "file"))
    assert all(one.judgement != "worse" for one in compared.metrics)
    new, _ = changed_findings(low("data/nlu.yml", severity="error"), low("data/a.yml", "data/b.yml", severity="error"))
    assert len(new) == 1, "what fails a run is counted"


@pytest.mark.parametrize(
    ("code", "severity"),
    [
        ("domain-not-found", "error"),
        ("config-not-found", "error"),
        ("domain-file-unread", "warning"),
        ("yaml-syntax", "error"),
    ],
)
def test_fewer_findings_are_no_gain_where_something_is_not_read(code: str, severity: str) -> None:
    known = [finding("unused", f"The intent '{name}' is unused.", "warning") for name in "abc"]
    base, head = report(findings=known), report(findings=(finding(code, "It is not read.", severity),))

    comparison = compare(head, Present(base, "git"))

    (warnings,) = (one for one in comparison.metrics if one.name == "validation.warnings")
    assert warnings.judgement == "not judged"
    assert comparison.gone_findings == ()


@pytest.mark.parametrize("part", ["x", "'a", "' ", " 'a", ":1", "1,", "a: ", "1"])
def test_long_messages_are_matched_in_no_time(part: str, timing: Timing) -> None:
    long = report(findings=(finding("several", part * 30_000),))

    with timing.at_most(2):
        assert changed_findings(long, long) == ((), ())
        assert len(changed_findings(long, report(findings=(finding("several", part * 30_000 + " z"),)))[0]) == 1
