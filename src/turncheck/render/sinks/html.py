"""HTML: the text and the attributes of a page, and how spans and entries become it.

Only functions of this module make :class:`Html`, and templates print nothing else, so that a sentence of a pull request
is never more than its own letters: no element, no attribute, no script, no comment. What cannot be seen is dropped, as
all sinks do (:mod:`turncheck.render.sinks.commands`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, assert_never

from markupsafe import Markup, escape
from msgspec import Struct, field

from turncheck.messages.plain_text import one_line, with_blanks
from turncheck.render import spans
from turncheck.render.links import Base, Links, PathResolver, repository_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Set as AbstractSet

    from turncheck.render.spans import Column, Line, Mark, Sign, Span


_LONGEST_PIECE: Final = 2000
_LITERAL: Final = re.compile(r"`(?P<code>[^`]+)`|(?<![\w'`])'(?P<name>[^'`]*[^\s'`][^'`]*)'(?![\w'`])")
"""What our own sentences mark as literal; an apostrophe does not quote."""
_WEB: Final = re.compile(r"https?://[^\s\"'<>]+")


class Html(Markup):
    """Text that is safe to print into a page as it is: Jinja's autoescape leaves it alone."""

    __slots__ = ()


def trusted(text: str) -> Html:
    """Mark our own words, written in this package, as HTML."""
    return Html(text)


def join(parts: Iterable[Html], separator: str = "") -> Html:
    """Join HTML with our own separator."""
    return Html(separator.join(parts))


def words(text: str) -> Html:
    """Escape a piece of a line, keeping its blanks."""
    return _escaped(with_blanks(text, _LONGEST_PIECE))


def prose(text: str, limit: int = spans.PROSE_LIMIT) -> Html:
    """Escape a sentence, with code for what our sentences quote or put in backticks; an empty one becomes a dash."""
    text = one_line(text, limit)
    shown, end = [], 0
    for match in _LITERAL.finditer(text):
        shown += [_escaped(text[end : match.start()]), code(match["code"] or match["name"])]
        end = match.end()
    shown.append(_escaped(text[end:]))
    return join(shown) or Html("–")


def code(text: str, limit: int = spans.NAME_LIMIT) -> Html:
    """Show ``text`` letter by letter; an empty one becomes a dash."""
    text = one_line(text, limit)
    return element("code", _escaped(text)) if text else Html("–")


def element(name: str, inner: Html, **attributes: str) -> Html:
    """Return one of our own elements; attribute values are escaped, ``class_`` is ``class``."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{_escaped(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{written}>{inner}</{name}>")


def link(label: Html, url: str | None) -> Html:
    """Link ``label`` to an address of the web or of the page itself (``#…``); anything else stays text."""
    if url is None or not (url.startswith("#") or _WEB.fullmatch(url)):
        return label
    return element("a", label, href=url)


def _escaped(text: str) -> Html:
    return Html(escape(str(text)))


# Spans, entries and tables as HTML: places as links to the line, cases as links to where the page shows them.

_SIGNS: Final[dict[Sign, tuple[str, str]]] = {
    "passed": ("✓", "passed"), "failed": ("✕", "failed"), "not judged": ("–", "not judged"),
    "error": ("✕", "error"), "warning": ("!", "warning"), "info": ("i", "note"),
    "caution": ("!", "caution"), "stopped": ("■", "stopped"),
}  # fmt: skip
"""How a sign looks, and its name for a screen reader."""
_KINDS: Final[dict[Mark, str]] = {"real gain": "better", "better": "better", "real drop": "worse", "worse": "worse"}
"""The class of a difference, for its colour."""
_ARROWS: Final = {"+": "▲", "−": "▼"}
"""Beside the words, never instead of them; by the sign of the difference, since more warnings are worse."""


class HtmlWriter(Struct, frozen=True):
    """Knows the project's path in its repository, how to link, and which cases the page itself shows."""

    root: str
    links: Links
    rooted: PathResolver
    base: Base = field(default_factory=Base)
    """For what was removed since."""
    cases: AbstractSet[str] = frozenset()
    """Keys of the cases that have a place on the page."""
    address: Callable[[str], str] = field(default="#{}".format)
    """Where the page shows a case."""
    elsewhere: Html = field(default_factory=lambda: words("report.json"))
    """Where all entries are, if not all are written."""

    def line(self, line: Line) -> Html:
        """Write a line."""
        return join(map(self._span, line))

    def _span(self, span: Span) -> Html:
        match span:
            case spans.Text():
                return words(span.text)
            case spans.Strong():
                return element("strong", words(span.text))
            case spans.Term():
                return element("em", words(span.text))
            case spans.Said():
                return element("q", code(span.text, span.limit))
            case spans.Code():
                return code(span.text, span.limit)
            case spans.Prose():
                return prose(self.rooted.text(span.text) if span.names_paths else span.text, span.limit)
            case spans.Link():
                return link(self.line(span.label), span.url)
            case spans.PlaceSpan():
                return self.place(span)
            case spans.Change():
                return _change(span)
            case _:
                assert_never(span)

    def place(self, place: spans.PlaceSpan) -> Html:
        """``path:line`` from the repository's top, linked if possible; a place in the base is marked as such."""
        location = place.location
        root = self.base.root if place.on_base else self.root
        path = repository_path(root, location) or location.path
        shown = path if location.line is None else f"{path}:{location.line}"
        linked = link(code(shown), self.links.file(root, location, base=place.on_base))
        if place.on_base and self.base.commit:
            linked = join([trusted("was at "), linked, trusted(" in "), code(self.base.commit[:8])])
        return element("span", linked, class_="place")

    def entry(self, entry: spans.Entry) -> Html:
        """Write an entry with what is below it, as the content of a list's item."""
        parts = [self.head(entry), self.line(entry.line)]
        if entry.case in self.cases:
            parts += [trusted(" "), element("a", trusted("show"), class_="show", href=self.address(entry.case))]
        if entry.place:
            parts += [trusted(" "), self.place(entry.place)]
        if entry.hint:
            parts.append(element("p", prose(entry.hint), class_="hint"))
        return join([*parts, *self._below(entry)])

    def head(self, entry: spans.Entry) -> Html:
        """What comes before the line: the sign, the label and the outcome."""
        parts = [sign(entry.sign), trusted(" ")] if entry.sign else []
        parts += [code(entry.label), trusted(" ")] if entry.label else []
        parts += [element("strong", words(entry.outcome)), trusted(": ")] if entry.outcome else []
        return join(parts)

    def _below(self, entry: spans.Entry) -> list[Html]:
        """What is below an entry: some in plain sight, the rest folded."""
        items = [element("li", self.entry(one)) for one in entry.below]
        if entry.left_out:
            items.append(element("li", self.more(entry.left_out)))
        first = len(items) if entry.in_sight is None else entry.in_sight
        shown, folded = items[:first], items[first:]
        written = [element("ul", join(shown))] if shown else []
        if folded:
            number = len(entry.below) - first + entry.left_out
            summary = element("summary", trusted(f"{number:,} more"))
            written.append(element("details", join([summary, element("ul", join(folded))])))
        return written

    def more(self, number: int) -> Html:
        """Say how many entries are not written here, and where they are."""
        return join([trusted(f"… and {number:,} more in "), self.elsewhere])

    def item(self, shown: spans.Entry | spans.Row) -> Html:
        """Write one entry of a section: an item of its list, or a row of its table."""
        if isinstance(shown, spans.Row):
            first, *others = map(self.line, shown.cells)
            cells = [element("th", first, scope="row"), *(element("td", cell) for cell in others)]
            return element("tr", join(cells))
        return element("li", self.entry(shown))


def table_head(columns: tuple[Column, ...]) -> Html:
    """The first row of a table."""
    # A column without a title has no header cell: a screen reader would read out an empty one.
    cells = [
        element("th", words(column.title), scope="col") if column.title else element("td", trusted(""))
        for column in columns
    ]
    return element("tr", join(cells))


def sign(of: Sign) -> Html:
    """Return a sign with its word for screen readers: never the colour by itself."""
    shape, name = _SIGNS[of]
    inner = join([element("span", trusted(shape), aria_hidden="true"), element("span", trusted(name), class_="aloud")])
    return element("span", inner, class_=f"sign {of.replace(' ', '-')}")


def _change(change: spans.Change) -> Html:
    """A difference, how significant it is, and what to know about it."""
    difference, shown = change.words
    kind = _KINDS.get(change.mark, "same")
    parts = [words(difference)] if difference else []
    if (shape := _ARROWS.get(difference[:1])) and change.mark in _KINDS:
        parts.append(element("span", trusted(shape), aria_hidden="true"))
    if shown:
        parts.append(element("span", words(shown), class_="told"))
    return element("span", join(parts, " "), class_=f"change {kind}")
