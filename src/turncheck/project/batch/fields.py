"""The content of a suite's field → its parts. The delimiters are the same in JSON and CSV."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turncheck.yaml_tree.json_tree import TYPOGRAPHIC_QUOTES

if TYPE_CHECKING:
    from collections.abc import Iterable

_TRAIT: Final = re.compile(r"\s*trait\s*:", re.IGNORECASE)
_BETWEEN_TRAITS: Final = "||"
_BETWEEN_LEVELS: Final = re.compile(r"\|\||>>")
_SINGLE_PIPE: Final = re.compile(r"(?<!\|)\|(?!\|)")
_COMPONENT: Final = re.compile(r"[^:|]*[^:|\s][^:|]*:")
_BRACE_FOR_PIPE: Final = re.compile(r"^[^{}]*(\})\s*[^\W\d]\w*\s*:")
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Co", "Cs"})


@dataclass(frozen=True, slots=True)
class IntentField:
    """The content of ``intent``: alternatives, or traits. ``is_blank``: it is empty, without even ``None``."""

    names: tuple[str, ...]
    is_trait: bool = False
    is_blank: bool = False
    has_double_pipe: bool = False


def read_intent(text: str) -> IntentField:
    """Read ``Pay Bill | Book Flight``, ``trait: A||B``, ``None``."""
    if prefix := _TRAIT.match(text):
        traits = _trimmed(text[prefix.end() :].split(_BETWEEN_TRAITS))
        return IntentField(() if _is_none(traits) else traits, is_trait=True)
    names = _trimmed(_SINGLE_PIPE.split(text))
    return IntentField(() if _is_none(names) else names, is_blank=not names, has_double_pipe=_BETWEEN_TRAITS in text)


def read_parent(text: str) -> tuple[str, ...]:
    """Read the levels above a sub-intent, topmost first: ``Greeting >> That's sweet``, or with ``||``."""
    return _trimmed(_BETWEEN_LEVELS.split(text))


def read_bots(text: str) -> tuple[str, ...]:
    """Read one bot name per intent."""
    return _trimmed(text.split("|"))


def read_order(text: str) -> tuple[str, ...]:
    """Read the order of entities as written in CSV: ``TransferAmount>PayeeName``."""
    return _trimmed(text.split(">"))


def items_of(value: str) -> tuple[str, ...]:
    """Return the items of a multi-item entity's value; for any other value, only the value itself."""
    return tuple(part.strip() for part in value.split("||")) if "||" in value else (value.strip(),)


def components_of(value: str) -> tuple[tuple[str, str], ...]:
    """Return the names and values of a composite entity's components; empty if the value is not composite.

    It is composite if there are several parts separated by single ``|``, all of the form ``name:value``.

    >>> components_of("City:Oslo|At:12:30")
    (('City', 'Oslo'), ('At', '12:30'))
    """
    parts = _SINGLE_PIPE.split(value)
    if len(parts) < 2 or "||" in value or not all(_COMPONENT.match(part) for part in parts):
        return ()
    cut = (part.partition(":") for part in parts)
    return tuple((name.strip(), of_it.strip()) for name, _, of_it in cut)


def brace_for_pipe(value: str) -> int | None:
    """Return where a composite value has ``}`` in place of the ``|`` between two components, or ``None``."""
    begin = 0
    for part in _SINGLE_PIPE.split(value):
        if not _COMPONENT.match(part):
            return None
        if slip := _BRACE_FOR_PIPE.match(part):
            return begin + slip.start(1)
        begin += len(part) + 1
    return None


def invisible_characters(name: str) -> str:
    """Return a name with its invisible and easily confused characters escaped; "" if it has none."""
    if not any(_is_invisible(character) for character in name):
        return ""
    return "".join(_escaped(one) if _is_invisible(one) else one for one in name)


def _escaped(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def _is_invisible(character: str) -> bool:
    return character in TYPOGRAPHIC_QUOTES or unicodedata.category(character) in _INVISIBLE


def _trimmed(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(trimmed for part in parts if (trimmed := part.strip()))


def _is_none(names: tuple[str, ...]) -> bool:
    return len(names) == 1 and names[0].casefold() == "none"
