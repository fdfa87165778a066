"""Strings with a meaning to some parser, and ways to put them where something else was expected."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from tools.fuzzing.growth import grow, large_value

if TYPE_CHECKING:
    import random

GROWN: Final = {"share": 0.1}
"""Of the inputs, this share is grown in some way."""
HOSTILE = (
    *(
        "",
        "null",
        "~",
        "[]",
        "{}",
        "- ",
        ":",
        "::",
        "? ",
        "&a ",
        "*a",
        "!!python/object:os.system x",
        "<<: *a",
        "|",
        ">-",
    ),
    *(
        "true",
        "yes",
        "0x1F",
        "1e999",
        "-1",
        ".nan",
        "2024-01-01",
        "12:30",
        "'",
        '"',
        "#",
        "%YAML 1.1",
        "---",
        "...",
        "\t",
    ),
    *(
        "\x00",
        "\x07",
        "\ufeff",
        "\u2028",
        "\ud7ff",
        "é",
        "🙅",
        "\\u00e9",
        "\\uD800",
        "a" * 300,
        "((((a+)+)+)+)+",
        "[0-9{5}",
    ),
    *(
        "[x](y)",
        "[x](y:z)",
        '[x]{"entity": "y"}',
        "[x]{",
        '[x][{"entity": "y"}]',
        "faq/a/b",
        "/greet{",
        '/inform{"a": 1}',
    ),
    *(
        "intent:",
        "intents:",
        "slots:",
        "forms:",
        "responses:",
        "stories:",
        "rules:",
        "nlu:",
        "steps:",
        "or:",
        "version: 9",
    ),
    *(
        "- checkpoint: a",
        "- active_loop: null",
        "- slot_was_set:",
        "- action: action_restart",
        "- action: ",
        "- intent: ",
    ),
    *(
        "required_slots:",
        "mappings:",
        "type: from_entity",
        "use_entities: true",
        "# turncheck: ignore x",
        "examples: |",
    ),
)
"""Strings with a meaning to some parser."""

ODD_TEXTS = (
    *(
        "\n",
        "\r\n",
        "\x1b[31m",
        "::error::x",
        "%0A::stop-commands::x",
        "<!-- -->",
        "@everyone",
        "../../etc/passwd",
        "/",
    ),
    *(
        "abc",
        "-1",
        "0",
        "1.5",
        "9" * 30,
        "9" * 5000,
        "²",
        "٣",
        "nan",
        "inf",
        "1e999",
        "True",
        "NULL",
        " ",
        "\t",
        "=",
        "a=b",
    ),
    *(
        "http://[",
        "http://a:99999",
        "http://a:b",
        "https://",
        "//a",
        "http://a..b",
        "file:///etc/passwd",
        "http://\x00",
    ),
    *(
        "https://me:pass@127.0.0.1:9/x?token=y#z",
        "http://127.0.0.1:9",
        "socks5://127.0.0.1:9",
        "http://xn--a",
        "http://é.example",
    ),
    *(
        "\udcff",
        "\ud800",
        "\ufffe",
        "\U0010ffff",
        "a" * 10_000,
        "${HOME}",
        "$(id)",
        "`id`",
        "{0.__class__}",
        "%s%n",
        "'\"'",
    ),
    *(
        "nlu.intents.f1 >= 0.85",
        "nlu.intents[x].f1: 5 %",
        "validation.errors <= 1e400",
        "core.x >= nan",
        "none",
        "errors, none",
    ),
)
"""Strings for settings, variables and JSON values."""
ODD_VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1.5,
        10**30,
        -(10**400),
        float("inf"),
        float("nan"),
        "",
        [],
        {},
        [[]],
        [None],
        {"": None},
    ),
    *({"id": 1}, [{"id": "x"}], "x", ["x"] * 3, {"name": {"name": {"name": {}}}}),
)


def odd_text(chance: random.Random) -> str:
    """An unexpected string."""
    return chance.choice((*ODD_TEXTS, *HOSTILE))


def odd_value(chance: random.Random) -> Any:
    """An unexpected JSON value; rarely a deeply nested one, or a large one."""
    if chance.random() < GROWN["share"] / 4:
        return large_value(chance)
    if chance.random() < 0.01:
        value: Any = "x"
        for _ in range(chance.choice((50, 150, 300))):
            value = [value] if chance.random() < 0.5 else {"a": value}
        return value
    return odd_text(chance) if chance.random() < 0.4 else copy.deepcopy(chance.choice(ODD_VALUES))


def change_value(document: Any, chance: random.Random) -> Any:
    """Return the document with one of its values replaced, removed or repeated."""
    document = copy.deepcopy(document)
    holder: Any = None
    key: Any = None
    current = document
    while isinstance(current, (dict, list)) and current and (holder is None or chance.random() < 0.85):
        holder = current
        key = chance.choice(list(current)) if isinstance(current, dict) else chance.randrange(len(current))
        current = holder[key]
    if holder is None:
        return odd_value(chance)
    way = chance.random()
    if way < 0.15:
        del holder[key]
    elif way < 0.25 and isinstance(holder, list):
        holder += [current] * chance.choice((1, 3, 200))
    elif way < 0.3 and isinstance(holder, dict):
        holder[odd_text(chance)] = current
    else:
        holder[key] = odd_value(chance)
    return document


def mutate(content: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """Change a file in one to four ways, or let something in it grow."""
    if chance.random() < GROWN["share"]:
        return grow(content, chance)
    for _ in range(chance.randint(1, 4)):
        change = chance.choice(CHANGES)
        content = change(content, others, chance)
    return content


def _lines(content: bytes) -> list[bytes]:
    return content.split(b"\n")


def _place(lines: list[bytes], chance: random.Random) -> int:
    return chance.randrange(len(lines))


def delete_lines(content: bytes, _others: list[bytes], chance: random.Random) -> bytes:
    """Delete one to three lines."""
    lines = _lines(content)
    place = _place(lines, chance)
    del lines[place : place + chance.randint(1, 3)]
    return b"\n".join(lines)


def repeat_lines(content: bytes, _others: list[bytes], chance: random.Random) -> bytes:
    """Insert some lines of the file elsewhere in it."""
    lines = _lines(content)
    start = _place(lines, chance)
    lines[_place(lines, chance) : 0] = lines[start : start + chance.randint(1, 4)]
    return b"\n".join(lines)


def indent_line(content: bytes, _others: list[bytes], chance: random.Random) -> bytes:
    """Change the indentation of a line."""
    lines = _lines(content)
    place = _place(lines, chance)
    lines[place] = b" " * chance.randint(0, 8) + lines[place].lstrip()
    return b"\n".join(lines)


def replace_value(content: bytes, _others: list[bytes], chance: random.Random) -> bytes:
    """Put a hostile string after the colon or dash of a line."""
    lines = _lines(content)
    place = _place(lines, chance)
    sign = chance.choice((b":", b"- "))
    head, found, _ = lines[place].partition(sign)
    text = chance.choice(HOSTILE).encode("utf-8", "replace")
    lines[place] = head + (found or sign) + b" " + text
    return b"\n".join(lines)


def insert_text(content: bytes, _others: list[bytes], chance: random.Random) -> bytes:
    """Insert a hostile string anywhere."""
    place = chance.randint(0, len(content))
    return content[:place] + chance.choice(HOSTILE).encode("utf-8", "replace") + content[place:]


def flip_byte(content: bytes, _others: list[bytes], chance: random.Random) -> bytes:
    """Replace one byte by any other."""
    place = chance.randint(0, max(0, len(content) - 1))
    return content[:place] + bytes([chance.randrange(256)]) + content[place + 1 :]


def cut(content: bytes, _others: list[bytes], chance: random.Random) -> bytes:
    """Cut the file off."""
    return content[: chance.randint(0, len(content))]


def splice(content: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """Continue with the second half of another file."""
    other = _lines(chance.choice(others))
    lines = _lines(content)
    return b"\n".join([*lines[: _place(lines, chance)], *other[_place(other, chance) :]])


CHANGES = (
    delete_lines,
    repeat_lines,
    indent_line,
    indent_line,
    replace_value,
    replace_value,
    replace_value,
    insert_text,
    flip_byte,
    cut,
    splice,
)
