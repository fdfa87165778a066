"""Unquoted values that Rasa does not read as the strings that our reader takes them for.

Rasa 3.6 reads YAML 1.2 with ruamel.yaml, which keeps dates, ``=`` and underscores in numbers from YAML 1.1, and takes
``${…}`` for an environment variable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from turncheck.yaml_tree.tree import YamlDocument, YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


SET_IT: Final = (
    "Set it for the run with `--env NAME=VALUE`, in the action with the input `env`."
    " In quotes, Rasa would take the text itself for the value."
)
"""What to do about a variable that is not set."""


@dataclass(slots=True, eq=False)
class ExpandedScalar(YamlScalar):
    """A plain value or key with variables in it: ``value`` is with theirs, ``written`` is the file's, to be shown.

    Rasa checks most values before it expands them, so that a variable is refused where a string must be.
    """

    written: str = ""


def expand_variables(document: YamlDocument, value_of: Callable[[str], str | None]) -> frozenset[str]:
    """Expand the variables of a file in place, in plain values and keys, as Rasa does (``os.path.expandvars``).

    What a variable holds stays text, whatever YAML would make of it. A variable without a value stays as written; see
    :func:`unreadable_values`.

    Args:
        document: the file.
        value_of: returns a variable's value, ``None`` if it has none.

    Returns:
        The values that were put in.
    """
    used: dict[str, str] = {}
    if document.root is None or "${" not in document.source.text:
        return frozenset()

    def value(match: re.Match[str]) -> str:
        found = value_of(match[1] or match[2])
        if found is None:
            return match[0]
        used[match[0]] = found
        return found

    expanded: dict[int, ExpandedScalar] = {}
    for node, _ in _scalars(document.root):
        if rasa_value(node) == "variable":
            text = re.sub(_VARIABLE, value, str(node.value))
            expanded[id(node)] = ExpandedScalar(
                node.source, node.start, node.length, text, node.style, node.is_tagged, str(node.value)
            )
    if expanded:
        _replace(document.root, expanded)
    return frozenset(used.values())


_VARIABLE: Final = r"(?a:\$(?:(\w+)|\{([^}]*)\}))"


def _replace(root: YamlNode, nodes: dict[int, ExpandedScalar]) -> None:
    """Put other nodes in the places of some of a file; of keys that are the same then, the first one counts."""
    for parent in _collections(root):
        if isinstance(parent, YamlSequence):
            parent.items[:] = [nodes.get(id(item), item) for item in parent.items]
            continue
        entries: dict[object, tuple[YamlNode, YamlNode]] = {}
        for (key, item), key_node in zip(parent.items.items(), parent.key_nodes, strict=True):
            new = nodes.get(id(key_node))
            entries.setdefault(key if new is None else new.value, (new or key_node, nodes.get(id(item), item)))
        parent.replace({key: item for key, (_, item) in entries.items()}, tuple(key for key, _ in entries.values()))


def _collections(root: YamlNode) -> Iterator[YamlSequence | YamlMapping]:
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) in seen or not isinstance(node, YamlSequence | YamlMapping):
            continue
        seen.add(id(node))
        stack += node.items if isinstance(node, YamlSequence) else [*node.items.values(), *node.key_nodes]
        yield node


def written(node: YamlScalar) -> str:
    """Return the text of a value as it stands in the file, for what is shown: never what a variable holds."""
    return node.written if isinstance(node, ExpandedScalar) else str(node.value)


class UnreadableValue(NamedTuple):
    """A value, or a key, that ends Rasa's reading of a file, and why."""

    node: YamlScalar
    reason: str
    reading: Reading


def rasa_value(node: YamlNode) -> Reading | None:
    """How Rasa reads a value that is a string here; ``None`` if it is a string for Rasa too."""
    if isinstance(node, ExpandedScalar):
        return "variable"
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
        if reading is not None and (reason := _why_unreadable(node, reading, is_key=is_key)):
            yield UnreadableValue(node, reason, reading)


def _may_hold_some(text: str) -> bool:
    return any(sign in text for sign in ("${", "_", "=", "<<")) or re.search(r"\d{4}-\d", text) is not None


def _why_unreadable(node: YamlScalar, reading: Reading, *, is_key: bool) -> str:
    text = written(node)
    if reading == "sign" and not is_key:
        return "YAML has a meaning of its own for it"
    if reading == "variable":
        unset = [word for word in str(node.value).split() if word.startswith("$") and word in text]
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
