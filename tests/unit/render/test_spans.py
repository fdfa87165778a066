"""One door to every document: each sink writes all that it says, and nothing that people wrote gets out of it."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from github_markdown import ACTIVE, elements, text_outside_code, to_html
from hostile import HOSTILE
from hypothesis import given
from hypothesis import strategies as st
from pull_request import LINKS, base_report, pull_request

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Missing
from turncheck.messages.finding import Location
from turncheck.render.document import build_document
from turncheck.render.links import Links, PathResolver
from turncheck.render.markdown import render_summary
from turncheck.render.sinks.html import HtmlWriter, table_head
from turncheck.render.sinks.html import words as html_words
from turncheck.render.sinks.markdown import MarkdownWriter
from turncheck.render.sinks.terminal_writer import TerminalWriter
from turncheck.render.spans import Change, Code, Entry, PlaceSpan, Prose, Said, Strong, Text, line
from turncheck.render.wording.gates import judge

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.comparison.model import Comparison
    from turncheck.render.document import Document
    from turncheck.render.spans import Line
    from turncheck.render.wording.verdict import Verdict
    from turncheck.report.model import Report


def page(document: Document, report: Report) -> str:
    """All that a document says, as the HTML sink writes it."""
    writer = HtmlWriter(report.project.root, LINKS, PathResolver(report))
    parts = [writer.entry(document.title), writer.line(document.headline), *map(writer.line, document.explained)]
    parts += [writer.entry(document.baseline), writer.line(document.examples), writer.line(document.footer)]
    for section in document.sections:
        parts += [html_words(section.title), writer.line(section.note), table_head(section.columns)]
        parts += map(writer.item, section.entries)
    return " ".join(parts)


def words(text: str) -> list[str]:
    """The words of a document, without its marks."""
    return re.findall(r"[\w.]{2,}", text)


def without_base() -> tuple[Report, Comparison, Verdict]:
    head = base_report()
    comparison = compare(head, Missing("first run"))
    return head, comparison, judge(head, comparison, head.settings)


@pytest.mark.parametrize("run", [pull_request, without_base])
def test_a_page_of_the_same_document_says_every_word_that_the_summary_says(
    run: Callable[[], tuple[Report, Comparison, Verdict]],
) -> None:
    report, comparison, verdict = run()
    document = build_document(report, comparison, verdict, LINKS, unfolded=50)
    assert len(document.sections) > 5

    told = {*words(html.unescape(re.sub(r"<[^>]*>", " ", page(document, report))))}

    summary = html.unescape(
        re.sub(r"<[^>]*>", " ", to_html(str(render_summary(report, comparison, verdict, LINKS).content)))
    )
    paths = re.compile(r"bots/bank/(\S+?):(\d+)")
    missing = {*words(paths.sub(" ", summary.replace("\u200b", "")))} - told
    # Of the summary's own dress: what it says of the commit of a place that is gone.
    assert missing <= {"was", "at", "in"}, missing


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.attributes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += [name for name, _ in attrs if tag != "span" or name != "aria-hidden"]

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


foreign = st.one_of(
    st.text(max_size=60),
    st.sampled_from(HOSTILE),
    st.lists(st.sampled_from([*HOSTILE, " ", "|", "`", "*", "<b>", "\n", "::error::"]), max_size=5).map("".join),
)


def spans_of(text: str) -> Line:
    apart = Text(" ")
    words = (Text(text), apart, Strong(text), apart, Code(text), Said(text), apart, Prose(text), apart)
    return line("in ", words, Change("", "worse", f" {text}"))


@given(foreign)
def test_no_span_gets_out_of_markdown(text: str) -> None:
    writer = MarkdownWriter("", Links(), PathResolver(base_report()))
    shown = to_html(f"{writer.entry(Entry(spans_of(text), PlaceSpan(Location('a.yml', 1)), label='x' + text))}\n")

    assert {*elements(shown)} <= {"p", "code", "strong"}, shown
    assert not ACTIVE.search(text_outside_code(shown))


@given(foreign)
def test_no_span_gets_out_of_a_terminals_line(text: str) -> None:
    writer = TerminalWriter("", PathResolver(base_report()))
    shown = writer.entry(Entry(spans_of(text), PlaceSpan(Location("a.yml", 1)), label=text, hint=text))

    assert not re.search("[\x00-\x1f\x7f\x80-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", shown)
    assert "::" not in shown
    assert "##[" not in shown


@given(foreign)
def test_no_span_gets_out_of_html(text: str) -> None:
    parser = _Tags()
    writer = HtmlWriter("", Links(), PathResolver(base_report()))
    entry = Entry(spans_of(text), PlaceSpan(Location("a.yml", 1)), label="x" + text, hint=f"Mend {text}", case=text)
    parser.feed(writer.entry(entry))
    parser.close()

    allowed = {"strong", "code", "q", "span", "p"}
    assert {*parser.seen} <= allowed, parser.seen
    assert {*parser.attributes} <= {"class"}


def test_an_arrow_follows_the_sign_and_the_colour_what_it_is_worth() -> None:
    more = str(HtmlWriter("", Links(), PathResolver(pull_request()[0])).line((Change("+3", "worse"),)))
    assert "▲" in more
    assert 'class="change worse"' in more
    fewer = str(HtmlWriter("", Links(), PathResolver(pull_request()[0])).line((Change("−2", "better"),)))
    assert "▼" in fewer
    assert 'class="change better"' in fewer
