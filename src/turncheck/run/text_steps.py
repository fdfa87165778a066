"""The difference of two texts, in steps that can be taken one by one."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


LEAST_LIKE: Final = 0.5
"""Two lines are one line that was rewritten, two files one that was renamed, if they share this ratio of letters."""
_MOST_PAIRED: Final = 10_000
"""Pairs of lines of a hunk that are compared."""
MOST_RENAMED: Final = 50
"""Files of the change that may be the new name of one."""
MARKER: Final = re.compile(r"(<<<<<<<|=======|>>>>>>>|\|\|\|\|\|\|\|)")
"""What git leaves where two changes conflict: never the base's own words."""
_WORD: Final = re.compile(r"\w")
_WORDS: Final = re.compile(r"\w+")
_KEY: Final = re.compile(r"(- +)?\w+ *:( *[|>][-+]?)?")
"""A line that is nothing but a key, which may have been misspelt."""
_TOKEN: Final = re.compile(r"\w+|\s+|[^\w\s]")
_NAMES: Final = re.compile(r"(- *)?[\w./-]+ *:?")
"""A line of a domain that is nothing but a name: of an intent, of a response …"""


class Edit(Struct, frozen=True):
    """A part of a text that is replaced: where it begins and ends, and by what. Those that begin alike keep order."""

    start: int
    end: int
    text: str
    order: tuple[int, int] = (0, 0)


Step = tuple[Edit, ...]
"""Edits that are made together or not at all."""


def counterparts_of(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """The numbers of the lines that were rewritten: alike ones, or as many lines that became as many others."""
    found: dict[int, int] = {}
    for kind, first, end, start, stop in SequenceMatcher(None, old, new).get_opcodes():
        if kind != "replace":
            continue
        if end - first == stop - start:
            found |= {first + offset + 1: start + offset + 1 for offset in range(end - first)}
        taken = start
        for place in range(first, end if (end - first) * (stop - start) <= _MOST_PAIRED else first):
            near = next((other for other in range(taken, stop) if _alike(old[place], new[other])), None)
            if near is not None:
                found[place + 1], taken = near + 1, near + 1
    return found


def as_text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def split_lines(text: str) -> list[str]:
    return [f"{line}\n" for line in text.split("\n")[:-1]] + [text.rpartition("\n")[2]]


def bare_lines(lines: Sequence[str]) -> list[str]:
    return ["".join(line.split()) for line in lines]


def in_encoding_of(content: bytes, other: bytes) -> bytes:
    """A file in another encoding, in that of the change: its words are the base's own."""
    if _is_utf8(content) or not _is_utf8(other):
        return content
    encoding = "utf-16" if content[:2] in {b"\xff\xfe", b"\xfe\xff"} else "cp1252"
    try:
        return content.decode(encoding).encode("utf-8")
    except UnicodeDecodeError:
        return content


def _is_utf8(content: bytes) -> bool:
    return content.decode("utf-8", "ignore").encode() == content


def hunks_of(text: str, new: str, *, whole_items: bool) -> list[list[Step]]:
    """The differences of two texts: hunks of steps, a line each; lines that are only indented otherwise are one.

    ``whole_items``: the lines of an item of a list, which was removed or added, are one as well.
    """
    before, after = split_lines(text), split_lines(new)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    hunks = []
    for kind, first, end, start, stop in SequenceMatcher(None, before, after).get_opcodes():
        if kind == "equal":
            continue
        indented: list[Edit] = []
        steps: list[Step] = []
        for order, (old, line) in enumerate(_paired(before[first:end], after[start:stop], first)):
            at, until = starts[old.start], starts[old.stop]
            edit = Edit(at, until, line, (order, 0))
            if bare_lines([text[at:until]]) == bare_lines([line]):
                indented.append(edit)
            else:
                steps.append((edit,))
        by_line = _whole_items(text, steps) if whole_items else steps
        hunks.append([*([tuple(indented)] if indented else []), *by_line])
    return hunks


def _whole_items(text: str, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps; those that remove or add an item of a list are one: its keys belong to no other item."""
    item: list[Edit] = []
    begun = "", 0
    for edit in (edit for step in steps for edit in step):
        old = text[edit.start : edit.end]
        kind, line = "rewritten" if old and edit.text else "removed" if old else "added", old or edit.text
        indent = len(line) - len(line.lstrip())
        if item and kind == begun[0] and line.strip() and indent > begun[1]:
            item.append(edit)
            continue
        if item:
            yield tuple(item)
        item = []
        if kind != "rewritten" and line.lstrip().startswith("- "):
            item, begun = [edit], (kind, indent)
        else:
            yield (edit,)
    if item:
        yield tuple(item)


def _paired(old: Sequence[str], new: Sequence[str], first: int) -> Iterator[tuple[slice, str]]:
    """Pair the lines of a hunk: rewritten ones with what they became; the others were removed or added."""
    compared = len(old) * len(new) <= _MOST_PAIRED
    matcher = SequenceMatcher(None, bare_lines(old), bare_lines(new), autojunk=False)
    for kind, one, end, start, stop in matcher.get_opcodes():
        if kind == "equal":
            for offset in range(end - one):
                yield slice(first + one + offset, first + one + offset + 1), new[start + offset]
            continue
        taken = start
        for place in range(one, end):
            others = range(taken, stop) if compared else ()
            near = next((other for other in others if _alike(old[place], new[other])), None)
            if near is None:
                yield slice(first + place, first + place + 1), ""
                continue
            for added in range(taken, near):
                yield slice(first + place, first + place), new[added]
            yield slice(first + place, first + place + 1), new[near]
            taken = near + 1
        for added in range(taken, stop):
            yield slice(first + end, first + end), new[added]


def _alike(line: str, other: str) -> bool:
    return SequenceMatcher(None, line.strip()[:200], other.strip()[:200], autojunk=False).ratio() >= LEAST_LIKE


def with_steps(text: str, steps: Iterable[Step]) -> str:
    parts = []
    at = 0
    for edit in sorted((edit for step in steps for edit in step), key=lambda one: (one.start, one.order)):
        parts += [text[at : edit.start], edit.text]
        at = max(at, edit.end)
    return "".join([*parts, text[at:]])


def distance_to(hunk: Sequence[Step], text: str, line: int) -> tuple[int, int]:
    """How many lines a hunk is away from a line; those above come first, since a fault shows late."""
    near = min(abs(text.count("\n", 0, edit.start) + 1 - line) for step in hunk for edit in step)
    return near, min(edit.start for step in hunk for edit in step)


def only_rewrites(text: str, steps: Iterable[Step]) -> bool:
    """Whether no line with a word in it is added or removed."""
    for edit in (edit for step in steps for edit in step):
        old = text[edit.start : edit.end]
        one_sided = edit.text if not old else old if not edit.text else ""
        if _WORD.search(one_sided) and not MARKER.match(one_sided):
            return False
    return True


def names_things(text: str, steps: Iterable[Step]) -> bool:
    """Whether any line is one that the names of a domain are in, and not only the text of a response."""
    edits = [edit for step in steps for edit in step]
    return any(_NAMES.fullmatch(side.strip()) for edit in edits for side in (text[edit.start : edit.end], edit.text))


def groups_of(text: str, step: Step) -> Iterator[Step]:
    """The parts of a rewritten line that differ, each a step of its own: a line may hold several rules."""
    if len(step) > 1 or not (old := text[step[0].start : step[0].end]) or not step[0].text:
        yield step
        return
    (edit,) = step
    before, after = _TOKEN.findall(old), _TOKEN.findall(edit.text)
    starts = [edit.start]
    for token in before:
        starts.append(starts[-1] + len(token))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for number, (kind, first, end, start, stop) in enumerate(matcher.get_opcodes()):
        if kind != "equal":
            yield (Edit(starts[first], starts[end], "".join(after[start:stop]), (edit.order[0], number)),)


def is_of_the_base(text: str, repaired: str) -> bool:
    """Whether a repaired file still has half of the words that it had."""
    before, after = (
        Counter(line for line in bare_lines(split_lines(side)) if _WORD.search(line)) for side in (text, repaired)
    )
    return (before & after).total() >= LEAST_LIKE * before.total()


@lru_cache(maxsize=8)
def brought_by(text: str, repaired: str) -> frozenset[int]:
    """The lines of the repaired text whose words are not those of a line of the base; not keys without a value."""
    own = [set(_WORDS.findall(line)) for line in split_lines(text)]
    bare = set(bare_lines(split_lines(text)))
    return frozenset(
        number
        for number, line in enumerate(split_lines(repaired), 1)
        if "".join(line.split()) not in bare
        and not _KEY.fullmatch(line.strip())
        and not any(set(_WORDS.findall(line)) <= known for known in own)
    )
