"""The ``version`` key of data and domain files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding
from turncheck.yaml_tree.tree import YamlScalar

if TYPE_CHECKING:
    from turncheck.yaml_tree.tree import YamlMapping

SUPPORTED: Final = (3, 1)
"""The newest version of the training data format, also in Rasa 3.6 and Rasa Pro."""

_VERSION: Final = re.compile(
    r"v?([0-9]+(?:\.[0-9]+)*)(?:[-_.]?(?:a|b|c|rc|alpha|beta|pre|preview|post|rev|r|dev)[-_.]?[0-9]*)*"
)
_MAX_LENGTH: Final = 100


def parse_version(text: str) -> tuple[int, ...] | None:
    """Return the numbers of a version without trailing zeros (``3.1.0``: ``(3, 1)``); ``None`` if it is not one."""
    match = _VERSION.fullmatch(text.strip().strip("\"'")) if len(text) <= _MAX_LENGTH else None
    if match is None:
        return None
    numbers = [int(number) for number in match[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def version_too_high(root: YamlMapping | None) -> Finding | None:
    """Return a finding if the file's version is above the supported one, so that Rasa skips the file."""
    node = root.items.get("version") if root is not None else None
    if not isinstance(node, YamlScalar) or not isinstance(node.value, str):
        return None
    version = parse_version(node.value)
    if version is None or version <= SUPPORTED:
        return None
    return Finding(
        "version-too-high",
        "warning",
        f"The version '{node.value}' of '{node.source.path}' is above 3.1, the newest that Rasa 3 reads; "
        "the file is skipped.",
        node.location,
        'Write version: "3.1".',
    )
