"""One door to every document: a sink of a test's own writes all that a document says, and nothing gets out of it."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, assert_never

import pytest
from github_markdown import ACTIVE, elements, text_outside_code, to_html
from hostile import HOSTILE
from hypothesis import given
from hypothesis import strategies as st
from pull_request import LINKS, base_report, pull_request

from turncheck.comparison.baseline import Missing
from turncheck.comparison.compare import compare
from turncheck.comparison.gates import judge
from turncheck.messages.location import Location
from turncheck.render.document import build_document
from turncheck.render.links import Links
from turncheck.render.markdown import render_summary
from turncheck.render.rooted import Rooted
from turncheck.render.sinks.markdown_writer import MarkdownWriter
from turncheck.render.sinks.terminal_writer import TerminalWriter
from turncheck.render.spans import Change, Code, Entry, Link, Place, Prose, Row, Said, Strong, Term, Text, line

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.comparison.model import Comparison, Verdict
    from turncheck.render.document import Document
    from turncheck.render.spans import Line, Span
    from turncheck.report.model import Report


def span_html(span: Span) -> str:
    """What a page would show of a span; a new kind of span is an error of the type checker here."""
    match span:
        case Text() | Prose():
            return html.escape(span.text)
        case Strong():
            return f"<strong>{html.escape(span.text)}</strong>"
        case Term():
            return f"<em>{html.escape(span.text)}</em>"
        case Code():
            return f"<code>{html.escape(span.text)}</code>"
        case Link():
            return f'<a href="{html.escape(span.url or "")}">{line_html(span.label)}</a>'
        case Place():
            return f"<code>{html.escape(str(span.location))}</code>"
        case Change():
            return f"<b>{html.escape(' '.join(span.words))}</b>"
        case _:
            assert_never(span)


def line_html(shown: Line) -> str:
    return "".join(map(span_html, shown))


def entry_html(entry: Entry | Row) -> str:
    if isinstance(entry, Row):
        return f"<tr>{''.join(f'<td>{line_html(cell)}</td>' for cell in entry.cells)}</tr>"
    parts = [
        f"<i>{entry.sign}</i><code>{html.escape(entry.label)}</code><strong>{html.escape(entry.outcome)}</strong>",
        line_html(entry.line),
        span_html(entry.place) if entry.place else "",
        html.escape(entry.hint),
        *map(entry_html, entry.below),
    ]
    return f"<li>{''.join(parts)}</li>"


def page(document: Document) -> str:
    parts = [entry_html(document.title), line_html(document.headline), *map(line_html, document.explained)]
    parts += [entry_html(document.baseline), line_html(document.examples), line_html(document.footer)]
    for section in document.sections:
        parts += [f"<h4>{html.escape(section.title)}</h4>", line_html(section.note)]
        parts += [f"<th>{html.escape(column.title)}</th>" for column in section.columns]
        parts += map(entry_html, section.entries)
    return "".join(parts)


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

    told = {*words(re.sub(r"<[^>]*>", " ", page(document)))}

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

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)


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
    writer = MarkdownWriter("", Links(), Rooted(base_report()))
    shown = to_html(f"{writer.entry(Entry(spans_of(text), Place(Location('a.yml', 1)), label='x' + text))}\n")

    assert {*elements(shown)} <= {"p", "code", "strong"}, shown
    assert not ACTIVE.search(text_outside_code(shown))


@given(foreign)
def test_no_span_gets_out_of_a_terminals_line(text: str) -> None:
    writer = TerminalWriter("", Rooted(base_report()))
    shown = writer.entry(Entry(spans_of(text), Place(Location("a.yml", 1)), label=text, hint=text))

    assert not re.search("[\x00-\x1f\x7f\x80-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", shown)
    assert "::" not in shown
    assert "##[" not in shown


@given(foreign)
def test_no_span_gets_out_of_html(text: str) -> None:
    parser = _Tags()
    parser.feed(line_html(spans_of(text)))

    assert parser.seen == ["strong", "code", "code", "b"]
