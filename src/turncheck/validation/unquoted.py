"""Unquoted values that Rasa cannot read, as findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.validation.findings import found
from turncheck.yaml_tree.unquoted import unreadable_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Finding
    from turncheck.yaml_tree.tree import YamlNode


def check_unreadable_values(root: YamlNode) -> Iterator[Finding]:
    """Values anywhere in a file that make Rasa fail while it reads it."""
    for node, reason, _ in unreadable_values(root):
        yield found("value-unreadable", f"Rasa cannot read '{str(node.value)[:60]}': {reason}.", node.location)
