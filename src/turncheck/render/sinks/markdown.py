"""Markdown as GitHub renders it: comments and job summaries, and how spans and entries become it.

Only functions of this module make :class:`Markdown`, and templates print nothing else, so that a sentence of a pull
request is never more than its own letters: no mention, no link, no HTML, no table cell, no formula, no new line.
The rules are GitHub Flavored Markdown's (https://github.github.com/gfm/); mentions and issue numbers are looked for by
GitHub in the rendered text outside ``code``, which no backslash prevents, only an invisible space does. So it looks for
commits, which are put into ``code``. GitLab also makes links of ``!7``, ``%7``, ``&7`` and
``^alert#7``.
"""

from __future__ import annotations

import hashlib
import html
import re
from typing import TYPE_CHECKING, Final, assert_never

from msgspec import Struct, field

from turncheck.messages.plain_text import lines, one_line, with_blanks
from turncheck.render import spans
from turncheck.render.links import Base, Links, PathResolver, repository_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.render.spans import Column, Line, Mark, Sign, Span


_LONGEST_PIECE: Final = 2000

_ZERO_WIDTH: Final = "\u200b"
_ENTITIES: Final = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_ACTS: Final = re.compile(
    r"(?P<markup>[<>]|&(?!\d))"
    r"|(?P<special>[\\`*_\[\]{}|~$])"
    r"|(?P<linked>[@#&]|!(?=\d)|%(?=[\w\"])|\^(?=alert)|/(?=/)|(?<![^\W_])(?:www(?=\.)|gh(?=-\d)))"
    r"|(?P<commit>(?<![^\W_])[0-9a-f]{7,40}(?![^\W_]))",
    re.IGNORECASE,
)
"""What has a meaning within a line: HTML; Markdown and formulas; what GitHub makes links of, addresses included."""
_LITERAL: Final = re.compile(r"`(?P<code>[^`]+)`|(?<![\w'`])'(?P<name>[^'`]*[^\s'`][^'`]*)'(?![\w'`])")
"""What our own sentences mark as literal; an apostrophe does not quote."""
_TOUCHING: Final = re.compile(r"(?<=`)\0(?=`)")
"""Separates two code spans that would run into each other; one_line() leaves no such character."""
_STARTS_BLOCK: Final = re.compile(r"^(\d{0,9})([-+=.)!])")


class Markdown(str):
    """Text that is safe to print into a Markdown document as it is."""

    __slots__ = ()


def trusted(text: str) -> Markdown:
    """Mark our own words, written in this package, as Markdown."""
    return Markdown(text)


def join(parts: Iterable[Markdown], separator: str = "") -> Markdown:
    """Join Markdown with our own separator."""
    return Markdown(separator.join(parts))


def words(text: str) -> Markdown:
    """Escape a piece of a line, keeping its blanks."""
    return Markdown(_ACTS.sub(_disarm, with_blanks(text, _LONGEST_PIECE)))


def together(pieces: Iterable[Markdown]) -> Markdown:
    """Join pieces of a line so that no code span runs into the next."""
    return Markdown(_TOUCHING.sub(_ZERO_WIDTH, "\0".join(piece for piece in pieces if piece)).replace("\0", ""))


def prose(text: str, limit: int = spans.PROSE_LIMIT) -> Markdown:
    """Escape ``text`` for use within a sentence or a table cell; an empty one becomes a dash."""
    return Markdown(_STARTS_BLOCK.sub(r"\1\\\2", _ACTS.sub(_disarm, one_line(text, limit) or "–")))


def ticked(text: str, limit: int = spans.PROSE_LIMIT) -> Markdown:
    """Escape a sentence as :func:`prose` does, with code for what our own sentences quote or put in backticks."""
    text = one_line(text, limit)
    parts = text.split("`")
    if len(parts) % 2 == 0 or not all(parts[1::2]):
        return prose(text, limit)
    shown, end = [], 0
    for match in _LITERAL.finditer(text):
        shown += [_ACTS.sub(_disarm, text[end : match.start()]), code(match["code"] or match["name"])]
        end = match.end()
    shown.append(_ACTS.sub(_disarm, text[end:]))
    return Markdown(_STARTS_BLOCK.sub(r"\1\\\2", together(map(Markdown, shown))) or "–")


def _disarm(match: re.Match[str]) -> str:
    if match.lastgroup == "markup":
        return _ENTITIES[match[0]]
    if match.lastgroup == "special":
        return f"\\{match[0]}"
    if match.lastgroup == "commit":
        return f"`{match[0]}`"  # so that it can be copied
    return f"{_ENTITIES.get(match[0], match[0])}{_ZERO_WIDTH}"


def code(text: str, limit: int = spans.NAME_LIMIT) -> Markdown:
    """Show ``text`` letter by letter in a code span; an empty one becomes a dash."""
    text = one_line(text, limit)
    if not text:
        return Markdown("–")
    fence = "`" * (_longest_run("`", text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return Markdown(f"{fence}{pad}{text}{pad}{fence}")


def code_cell(text: str, limit: int = 80) -> Markdown:
    """Show ``text`` as :func:`code` does, within a table: GFM splits cells before it parses code spans."""
    return Markdown(code(text, limit).replace("|", "\\|"))


def code_in_html(text: str, limit: int = spans.NAME_LIMIT) -> Markdown:
    """Show ``text`` letter by letter within a line of HTML, such as the title of a fold, where Markdown is not read."""
    return Markdown(f"<code>{html.escape(one_line(text, limit)) or '–'}</code>")


def block(text: str, limit: int = 4000) -> Markdown:
    """Show several lines as a fenced block that nothing in them can close."""
    body = "\n".join(lines(text, limit))
    fence = "`" * max(3, _longest_run("`", body) + 1)
    return Markdown(f"{fence}\n{body}\n{fence}")


def link(label: Markdown, url: str | None) -> Markdown:
    """Link ``label`` to an address made by :class:`turncheck.render.links.Links`; without one it stays text."""
    if url is None:
        return label
    target = re.sub(r"[^A-Za-z0-9/:._~?#&=%@+,;!*-]", lambda match: _percent(match[0]), url)
    return Markdown(f"[{label}]({target})")


def marker(name: str, *, of_fork: bool = False) -> Markdown:
    """Return the hidden first line by which a comment is recognised; that of a fork's run is never another run's.

    Only ``A-Z a-z 0-9 . _ -`` are kept of the name, and no two dashes in a row, which would end an HTML comment; a
    name that loses something by this gets a digest appended, so that two names never share a comment.
    """
    key = re.sub(r"-{2,}", "-", re.sub(r"[^A-Za-z0-9._-]", "-", name[:100])).strip("-")
    if key != name:
        key = f"{key}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}".lstrip("-")
    return Markdown(f"<!-- turncheck:{'fork' if of_fork else 'report'} id={key or 'default'} -->")


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode(errors="replace"))


def _longest_run(character: str, text: str) -> int:
    return max((len(run) for run in re.findall(f"{re.escape(character)}+", text)), default=0)


# Spans, entries and tables as Markdown: places as links to the line, long parts folded in ``<details>``.

SIGNS: Final[dict[Sign, str]] = {
    "passed": "✅", "failed": "❌", "not judged": "➖", "error": "❌", "warning": "⚠️", "info": "💡",
    "caution": "⚠️", "stopped": "⛔", "": "",
}  # fmt: skip
MARKS: Final[dict[Mark, str]] = {"real gain": "🟢", "real drop": "🔴", "better": "🟢", "worse": "🔴"}
"""The signs beside the words, never instead of them."""
_RULES: Final = {"": "---", "left": ":---", "right": "---:"}


class MarkdownWriter(Struct, frozen=True):
    """Knows the project's path in its repository, and how to link."""

    root: str
    links: Links
    rooted: PathResolver
    base: Base = field(default_factory=Base)
    """For what was removed since."""

    def line(self, line: Line) -> Markdown:
        """Write a line."""
        return together(map(self._span, line))

    def _span(self, span: Span) -> Markdown:
        match span:
            case spans.Text():
                return words(span.text)
            case spans.Strong():
                return join([trusted("**"), words(span.text), trusted("**")])
            case spans.Term():
                return join([trusted("*"), words(span.text), trusted("*")])
            case spans.Code():
                return code(span.text, span.limit)
            case spans.Prose():
                return ticked(self.rooted.text(span.text) if span.names_paths else span.text, span.limit)
            case spans.Link():
                return link(self.line(span.label), span.url)
            case spans.PlaceSpan():
                return self.place(span)
            case spans.Change():
                return _change(span)
            case _:
                assert_never(span)

    def place(self, place: spans.PlaceSpan) -> Markdown:
        """``path:line`` from the repository's top, linked if possible; a place in the base is marked as such."""
        location = place.location
        root = self.base.root if place.on_base else self.root
        path = repository_path(root, location) or location.path
        shown = path if location.line is None else f"{path}:{location.line}"
        linked = link(code(shown), self.links.file(root, location, base=place.on_base))
        if place.on_base and self.base.commit:
            return join([trusted("was at "), linked, trusted(" in "), code(self.base.commit[:8])])
        return linked

    def entry(self, entry: spans.Entry, depth: int = 1) -> Markdown:
        """Write an entry with what is below it, ``depth`` levels deep, as the text of a list's item."""
        parts = [self.head(entry), self.line(entry.line)]
        if entry.case and (address := self.links.case(entry.case)):
            parts.append(join([trusted(" "), link(trusted("details"), address)]))
        if address := self.links.trace(entry.trace):
            parts.append(join([trusted(" "), link(trusted("trace"), address)]))
        if entry.place:
            parts += [trusted(" · " if entry.line else ""), self.place(entry.place)]
        if entry.hint:
            parts += [trusted("<br>"), ticked(entry.hint)]
        return join([*parts, *self._below(entry, depth)])

    def head(self, entry: spans.Entry) -> Markdown:
        """What comes before the line: the sign, the label and the outcome."""
        sign = trusted(f"{SIGNS[entry.sign]} " if entry.sign else "")
        label = join([code(entry.label), trusted(" ")]) if entry.label else trusted("")
        outcome = join([trusted("**"), words(entry.outcome), trusted("**: ")]) if entry.outcome else trusted("")
        return join([sign, label, outcome])

    def _below(self, entry: spans.Entry, depth: int) -> list[Markdown]:
        """What is below an entry: some in plain sight, the rest folded."""
        new_line = f"\n{'  ' * depth}"
        items = [join([trusted(f"{new_line}- "), self.entry(one, depth + 1)]) for one in entry.below]
        more = trusted(f"{new_line}- … and {entry.left_out:,} more on the page" if entry.left_out else "")
        if entry.in_sight is None:
            return [*items, more]
        shown, folded = items[: entry.in_sight], items[entry.in_sight :]
        number = len(folded) + entry.left_out
        return [
            *shown,
            trusted(f"{new_line}<details><summary>{number:,} more</summary>\n"),
            *folded,
            more,
            trusted(f"\n{new_line}</details>"),
        ]

    def item(self, shown: spans.Entry | spans.Row) -> Markdown:
        """Write one entry of a section: an item of its list, or a row of its table."""
        if isinstance(shown, spans.Row):
            return join([trusted("| "), join(map(self._cell, shown.cells), " | "), trusted(" |")])
        return join([trusted("- "), self.entry(shown)])

    def _cell(self, cell: Line) -> Markdown:
        return together(
            code_cell(span.text, span.limit) if isinstance(span, spans.Code) else self._span(span) for span in cell
        )


def table_head(columns: Sequence[Column]) -> Markdown:
    """The two lines above the rows of a table."""
    titles = join(
        join([trusted(" "), words(column.title), trusted(" |")]) if column.title else trusted(" |")
        for column in columns
    )
    rules = "|".join(_RULES[column.align] for column in columns)
    return join([trusted("|"), titles, trusted(f"\n|{rules}|")])


def _change(change: spans.Change) -> Markdown:
    """A difference, how significant it is and what to know about it, in few words: all of it must fit on a phone."""
    difference, shown = change.words
    return words(" ".join(part for part in (difference, MARKS.get(change.mark, ""), shown) if part))
