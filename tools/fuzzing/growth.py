"""Growing inputs: a file of at most 100 KB in which something is as many, as long or as deep as fits.

What a reader or an evaluation makes of it must cost neither long nor much memory: see ``tools/fuzz.py``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

MOST_BYTES: Final = 100_000
_WORD: Final = re.compile(rb"[A-Za-z_]\w*")
_NUMBERS: Final = (3, 30, 90, 300, 2_000, 100_000)
_SEPARATORS: Final = (b"", b" ", b",", b", ", b".", b"/", b"|", b"\n", b"\n  - ", b"\n- ", b"->", b"::")
_BRACKETS: Final = (
    *((b"[", b"]"), (b"(", b")"), (b"{a: ", b"}"), (b'{"a":', b"}"), (b'["a",', b"]"), (b"<", b">"), (b"$[?@", b"]")),
    *((b"[x](", b")"), (b"- ", b""), (b"? ", b""), (b"!a ", b""), (b"(?:", b")*"), (b"${", b"}"), (b"{{", b"}}")),
)
_PIECES: Final = (
    *(b"a", b"9", b"a ", b"<", b"*", b"*a", b"$", b"$a", b".", b"..", b"\\", b"'", b'"', b"\t", b"(a|a)*", b"(a+)+"),
    *(b"a{1,999}", b"[a-z]*", b".*", b"\xc3\xa9", b"[a](b)", b"[x]{", b"/a", b"{a}", b"&#39;", b"%s", b"\x00", b"#"),
    *(b"@", b":", b"-", b"|", b"a\n", b"\n", b"\n\n", b" - a\n", b"[?@..*]", b"$random(1000)", b"$now", b"  "),
)


def grow(content: bytes, chance: random.Random) -> bytes:
    """Return the file with something in it grown, cut to the limit."""
    way = chance.choice(_WAYS)
    return way(content, chance)[:MOST_BYTES]


def _number(size: int, chance: random.Random) -> int:
    return min(chance.choice(_NUMBERS), MOST_BYTES // max(size, 1))


def _repeated_lines(content: bytes, chance: random.Random) -> bytes:
    """Some lines again and again, perhaps with other names each time."""
    lines = content.split(b"\n")
    place = chance.randrange(len(lines))
    block = b"\n".join(lines[place : place + chance.choice((1, 1, 2, 5, 30))]) + b"\n"
    number = _number(len(block), chance)
    words = sorted(set(_WORD.findall(block)))
    word = chance.choice(words) if words and chance.random() < 0.7 else None
    grown = b"".join(block if word is None else block.replace(word, b"%s%d" % (word, index)) for index in range(number))
    return b"\n".join([*lines[:place], grown + b"\n".join(lines[place:])])


def _repeated_word(content: bytes, chance: random.Random) -> bytes:
    """A word of the file again and again in its place."""
    found = list(_WORD.finditer(content))
    if not found:
        return content
    match = chance.choice(found)
    separator = chance.choice(_SEPARATORS)
    number = _number(len(match[0]) + len(separator), chance)
    return content[: match.start()] + separator.join([match[0]] * number) + content[match.end() :]


def _repeated_piece(content: bytes, chance: random.Random) -> bytes:
    place, piece = _place(content, chance), chance.choice(_PIECES)
    return content[:place] + piece * _number(len(piece), chance) + content[place:]


def _nested(content: bytes, chance: random.Random) -> bytes:
    place, (left, right) = _place(content, chance), chance.choice(_BRACKETS)
    number = _number(len(left) + len(right), chance)
    return content[:place] + left * number + b"x" + right * number + content[place:]


def _indented(content: bytes, chance: random.Random) -> bytes:
    """Maps in maps, or lists in lists, a line and a level each."""
    lines = content.split(b"\n")
    place = chance.randrange(len(lines))
    key = chance.choice((b"a:", b"- a:", b"-"))
    lines[place:place] = [b" " * 2 * level + key for level in range(min(_number(300, chance), 400))]
    return b"\n".join(lines)


def _aliases(content: bytes, chance: random.Random) -> bytes:
    """Anchors of YAML of which each names the one before several times, and the last one is a value of the file."""
    often = chance.choice((1, 2, 9))
    kind = chance.choice((b"[%s]", b"{<<: [%s]}", b"{a: [%s]}"))
    lines = [b"x0: &x0 " + chance.choice((b"{a: b}", b"[a, b]", b"abc"))]
    number = _number(9 * often + 20, chance)
    lines += [b"x%d: &x%d " % (one, one) + kind % b", ".join([b"*x%d" % (one - 1)] * often) for one in range(1, number)]
    own = content.split(b"\n")
    place = chance.randrange(len(own))
    head, sign, _ = own[place].partition(chance.choice((b":", b"- ")))
    own[place] = head + (sign or b":") + b" *x%d" % (number - 1)
    return b"\n".join([*lines, *own])


def _place(content: bytes, chance: random.Random) -> int:
    """A place in the file, mostly where a value begins."""
    values = [match.end() for match in re.finditer(rb"[:\-|=\"'(\n] ?", content)]
    return chance.choice(values) if values and chance.random() < 0.8 else chance.randint(0, len(content))


_WAYS: Final[tuple[Callable[[bytes, random.Random], bytes], ...]] = (
    _repeated_lines,
    _repeated_lines,
    _repeated_word,
    _repeated_piece,
    _repeated_piece,
    _nested,
    _indented,
    _aliases,
)


def large_value(chance: random.Random) -> Any:
    """A JSON value that is long, wide or deep."""
    number = chance.choice(_NUMBERS[2:])
    match chance.randrange(6):
        case 0:
            return (chance.choice(_PIECES).decode("utf-8") * number)[:MOST_BYTES]
        case 1:
            return [chance.choice((1, "a", None, {}, {"text": "a"}))] * min(number, MOST_BYTES // 12)
        case 2:
            return {f"a{index}": index for index in range(min(number, MOST_BYTES // 12))}
        case 3:
            return {"a" * min(number, MOST_BYTES // 2): [1] * (MOST_BYTES // 6)}
        case 4:
            return 10 ** min(number, 4_000)
        case _:
            value: Any = [1] * chance.choice((1, 200))
            for _ in range(chance.choice((50, 90, 300))):
                value = [value, *[1] * chance.choice((0, 100))] if chance.random() < 0.8 else {"a": value}
            return value
