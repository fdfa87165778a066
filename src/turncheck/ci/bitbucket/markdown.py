"""Markdown as Bitbucket takes it: without any HTML, which it shows as text.

A hidden line is the definition of a link that nothing refers to; what GitHub folds is under a bold line.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

from turncheck.render.sinks.markdown import code

if TYPE_CHECKING:
    from collections.abc import Callable

_LITERAL: Final = (
    r"(?P<literal>^ *(?P<fence>`{3,})\n(?s:.*?)\n *(?P=fence)$|(?<!`)(?P<ticks>`+)(?!`)[^\n]*?(?<!`)(?P=ticks)(?!`))"
)
"""Code blocks and spans, whose content is shown literally."""
_COMMENT: Final = re.compile(r"<!-- (.*?) -->")
_HIDDEN: Final = re.compile(r"\[//\]: # \((.*?)\)")
_SUMMARY: Final = re.compile(r"<details(?: open)?>\s*<summary>(?P<summary>(?s:.*?))</summary>")
_BREAK: Final = re.compile(r"<br ?/?>")
_TAG: Final = re.compile(r"</?(?:details|summary|sub|sup|b|strong|i|em|p|div|span|kbd)(?: [^<>]*)?>")
_CODE: Final = re.compile(r"<code>(.*?)</code>")
_BOLD: Final = re.compile(r"</?(?:b|strong)>")


def to_bitbucket(body: str) -> str:
    """Return a comment in Bitbucket's dialect."""
    head, _, rest = body.partition("\n")
    hidden = " ".join(_COMMENT.findall(head))
    if hidden:
        head = f"[//]: # ({hidden})\n"
    rest = _outside_code(_SUMMARY, lambda match: f"**{_plain(match['summary'])}**", rest)
    for pattern, shown in ((_COMMENT, ""), (_BREAK, " · "), (_TAG, "")):
        rest = _outside_code(pattern, lambda _, shown=shown: shown, rest)  # type: ignore[misc]
    return f"{head}\n{rest}" if rest or hidden else body


def _outside_code(pattern: re.Pattern[str], shown: Callable[[re.Match[str]], str], text: str) -> str:
    """Replace the matches of a pattern outside code."""
    either = re.compile(f"{_LITERAL}|{pattern.pattern}", re.MULTILINE)
    return either.sub(lambda match: match["literal"] or shown(match), text)


def from_bitbucket(body: str) -> str:
    """Return a comment with its hidden first line as other hosts have it."""
    head, _, rest = body.partition("\n")
    found = _HIDDEN.match(head)
    if found is None:
        return body
    words = re.split(r" (?=turncheck:)", found[1])
    return "".join(f"<!-- {one} -->" for one in words) + f"\n{rest.removeprefix(chr(10))}"


def _plain(summary: str) -> str:
    shown = _TAG.sub("", _BOLD.sub("", summary)).strip().strip("*")  # escaped text in code is not a tag
    return _CODE.sub(lambda match: code(html.unescape(match[1])), shown)
