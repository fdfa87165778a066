"""Unquoted values that Rasa does not read as the strings that our reader takes them for.

Rasa 3.6 reads YAML 1.2 with ruamel.yaml, which keeps dates, ``=`` and underscores in numbers from YAML 1.1, and takes
``${…}`` for an environment variable.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterator

Reading = Literal["date", "number", "variable", "sign"]

# Not compiled here: hardly any text that is not quoted begins as a number does.
_DATE: Final = (
    r"(\d{4})-(\d\d)-(\d\d)"
    r"|(\d{4})-(\d\d?)-(\d\d?)(?:[Tt]|[ \t]+)(\d\d?):(\d\d):(\d\d)(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?"
)
_NUMBER: Final = (
    r"[-+]?(?:0b[01_]+|0o?[0-7_]+|[0-9_]+|0x[0-9a-fA-F_]+"
    r"|[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+|\.[0-9_]+(?:[eE][-+][0-9]+)?)"
)
_SIGNS: Final = frozenset({"=", "<<"})
"""Values with a meaning of their own in YAML 1.1."""
_NUMBER_START: Final = frozenset("-+.0123456789")


SET_IT: Final = "Set it in the environment of the run. In quotes, Rasa would take the text itself for the value."
"""What to do about a variable that is not set."""


class UnreadableValue(NamedTuple):
    """A value, or a key, that ends Rasa's reading of a file, and why."""

    node: YamlScalar
    reason: str
    reading: Reading


def rasa_value(node: YamlNode) -> Reading | None:
    """How Rasa reads a value that is a string here; ``None`` if it is a string for Rasa too."""
    if not isinstance(node, YamlScalar) or node.style or node.is_tagged or not isinstance(node.value, str):
        return None
    text = node.value
    if "${" in text:
        names_variable = "\n" not in text and text.find("${") < text.rfind("}") - 1
        return "variable" if names_variable else None
    if text in _SIGNS:
        return "sign"
    if not text or text[0] not in _NUMBER_START:
        return None
    if re.fullmatch(_DATE, text, re.ASCII):
        return "date"
    return "number" if "_" in text and re.fullmatch(_NUMBER, text) else None


def unreadable_values(root: YamlNode) -> Iterator[UnreadableValue]:
    """All values of a file that Rasa cannot read: variables that are not set, invalid dates."""
    if not _may_hold_some(root.source.text):
        return
    for node, is_key in _scalars(root):
        reading = rasa_value(node)
        if reading is not None and (reason := _why_unreadable(str(node.value), reading, is_key=is_key)):
            yield UnreadableValue(node, reason, reading)


def _may_hold_some(text: str) -> bool:
    return any(sign in text for sign in ("${", "_", "=", "<<")) or re.search(r"\d{4}-\d", text) is not None


def _why_unreadable(text: str, reading: Reading, *, is_key: bool) -> str:
    if reading == "sign" and not is_key:
        return "YAML has a meaning of its own for it"
    if reading == "variable":
        unset = [word for word in os.path.expandvars(text).split() if word.startswith("$") and word in text]
        return f"the environment variable in '{unset[0][:60]}' is not set" if unset else ""
    if reading == "date" and not _is_date(text):
        return "there is no such date"
    if reading == "number" and not re.search(r"[0-9a-fA-F]", re.sub(r"^[-+]?(?:0[box](?=_))?", "", text)):
        return "it has no digit"
    return ""


def _is_date(text: str) -> bool:
    year, month, day, *clock = [int(number) for number in re.findall(r"\d+", text)[:6]]
    hour, minute, second = clock or (0, 0, 0)
    try:
        datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return False
    return True


def _scalars(root: YamlNode) -> Iterator[tuple[YamlScalar, bool]]:
    """All values and keys of a file, in their order, each once, and whether it is a key."""
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, is_key = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, YamlScalar):
            yield node, is_key
        elif isinstance(node, YamlMapping):
            for key, value in reversed(node.items.items()):
                stack += [(value, False), (node.keys[key], True)]
        elif isinstance(node, YamlSequence):
            stack += [(item, False) for item in reversed(node.items)]
