"""HTML: the text and the attributes of a page.

Only functions of this module make :class:`Html`, and templates print nothing else, so that a sentence of a pull request
is never more than its own letters: no element, no attribute, no script, no comment. What cannot be seen is dropped, as
all sinks do (:mod:`turncheck.render.sinks.plain`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from turncheck.render.sinks.plain import one_line, with_blanks
from turncheck.render.spans import NAME_LIMIT, PROSE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def prose(text: str, limit: int = PROSE_LIMIT) -> Html:
    """Escape a sentence, with code for what our sentences quote or put in backticks; an empty one becomes a dash."""
    text = one_line(text, limit)
    shown, end = [], 0
    for match in _LITERAL.finditer(text):
        shown += [_escaped(text[end : match.start()]), code(match["code"] or match["name"])]
        end = match.end()
    shown.append(_escaped(text[end:]))
    return join(shown) or Html("–")


def code(text: str, limit: int = NAME_LIMIT) -> Html:
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
