"""The comments in files that leave findings out: ``# turncheck: ignore CODE``, in Markdown ``<!-- … -->``.

Several codes are separated by commas or spaces; what follows them may say why. The comment may be after another
(``# noqa; turncheck: ignore CODE``), and case is ignored.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.messages.location import Location
from turncheck.validation.registry import CHECKS
from turncheck.yaml_tree.tree import YamlMapping, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.yaml_tree.source import YamlSource
    from turncheck.yaml_tree.tree import YamlDocument, YamlNode

_MARK: Final = re.compile(r"turncheck\s*:", re.IGNORECASE)

# Few projects have such comments: what only they need is compiled when one is read.
_HASH: Final = r"(?:^|(?<=\s))#"
_DIRECTIVE: Final = (
    r"(?i:turncheck\s*:\s*ignore\b\s*:?\s*(?P<codes>[a-z][a-z0-9-]*(?:\s*,\s*[a-z][a-z0-9-]*)*)?(?P<rest>.*))"
)
_MALFORMED: Final = r"(?i:#\s*turncheck\s*:|\bturncheck\s*:\s*(?:ignore|disable|skip|noqa)\b)"
_MARKDOWN: Final = r"<!--(?P<text>.*?)-->"

WHOLE_FILE: Final = -1
"""The line number of a comment that applies to its whole file."""

Place = tuple[int, int]
"""A line and a column, both from 1."""


class Comment(NamedTuple):
    """What a comment leaves out: ``codes`` at ``line`` and in the block that it opens. Without codes it is faulty."""

    codes: tuple[str, ...]
    location: Location
    line: int


class Blocks(NamedTuple):
    """Where a file's blocks of text are (they cannot contain comments), by the line that opens each."""

    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    def opening_line(self, line: int) -> int:
        """The line that opens the block around this line, else the line itself."""
        number = bisect_right(self.starts, line) - 1
        return self.starts[number] if number >= 0 and line <= self.ends[number] else line


@dataclass(slots=True)
class _Texts:
    """Where a file's blocks and quoted texts begin and end."""

    blocks: list[tuple[int, int]] = field(default_factory=list)
    quoted: list[tuple[Place, Place]] = field(default_factory=list)


def may_have_comments(source: YamlSource) -> bool:
    """Whether a file mentions turncheck as such a comment does."""
    return _MARK.search(source.file_text) is not None


def comments_of(path: str, document: YamlDocument) -> tuple[list[Comment], Blocks]:
    """The comments of a file that leave findings out or try to, and its blocks of text."""
    texts = _texts(document.root)
    blocks = Blocks(tuple(start for start, _ in texts.blocks), tuple(end for _, end in texts.blocks))
    comments = []
    last = len(document.source.line_starts)
    for number in range(1, last + 1):
        line = document.source.line(number)
        if _MARK.search(line) is None or blocks.opening_line(number) != number:
            continue
        start = _start_of_comment(line, number, texts.quoted)
        codes = _codes(line[start:]) if start is not None else None
        if start is not None and codes is not None:
            target = number if line[:start].strip() else _next_line(document, number, last)
            comments.append(Comment(codes, Location(path, number, start + 1), target))
    return comments, blocks


def comments_of_markdown(source: YamlSource) -> list[Comment]:
    """The comments ``<!-- turncheck: ignore CODE -->`` of a file that is not read; each applies to the whole file."""
    comments = []
    for number in range(1, len(source.line_starts) + 1):
        line = source.line(number)
        for match in re.finditer(_MARKDOWN, line):
            codes = _codes(f"# {match['text']}")
            if codes is not None:
                comments.append(Comment(codes, Location(source.path, number, match.start() + 1), WHOLE_FILE))
    return comments


def _start_of_comment(line: str, number: int, quoted: list[tuple[Place, Place]]) -> int | None:
    for match in re.finditer(_HASH, line):
        place = (number, match.start() + 1)
        before = bisect_right(quoted, (place, place)) - 1
        if before < 0 or place >= quoted[before][1]:
            return match.start()
    return None


def _codes(comment: str) -> tuple[str, ...] | None:
    """The codes that a comment names, none if it is faulty, ``None`` if it is about something else."""
    match = re.search(_DIRECTIVE, comment)
    if match is None or not match["codes"]:
        return () if re.search(_MALFORMED, comment) else None
    codes = [code.strip().lower() for code in match["codes"].split(",")]
    for word in match["rest"].lower().split():
        if word.strip(",") not in CHECKS:
            break
        codes.append(word.strip(","))
    return tuple(codes)


def _next_line(document: YamlDocument, number: int, last: int) -> int:
    """The next line that is neither empty nor a comment."""
    for following in range(number + 1, last + 1):
        text = document.source.line(following).strip()
        if text and not text.startswith("#"):
            return following
    return number


def _texts(root: YamlNode | None) -> _Texts:
    texts = _Texts()
    for node in _scalars(root):
        first = node.source.location(node.start)
        if node.style in {"|", ">"}:
            last = node.source.location(max(node.start, node.end - 1))
            texts.blocks.append((first.line or 1, last.line or first.line or 1))
        elif node.style:
            end = node.source.location(node.end)
            texts.quoted.append(((first.line or 1, first.column or 1), (end.line or 1, end.column or 1)))
    texts.blocks.sort()
    texts.quoted.sort()
    return texts


def _scalars(root: YamlNode | None) -> Iterator[YamlScalar]:
    stack = [root]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, YamlScalar):
            yield node
        elif isinstance(node, YamlMapping):
            stack += [*node.keys.values(), *node.items.values()]
        elif isinstance(node, YamlSequence):
            stack += node.items
