"""Configurations for which the embedded engine runs the same: no comparison here can say which one is better."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

from turncheck.comparison.unseen_changes import differences, run_alike
from turncheck.messages.plurals import count
from turncheck.render.sinks.terminal import text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.comparison.changes import UnseenChange
    from turncheck.report.model import ConfiguredComponent

Configured = tuple["ConfiguredComponent", ...]
_MOST_NAMED: Final = 5


def alike_to(name: str, configured: Mapping[str, Configured]) -> list[str]:
    """Return the configurations for which the engine runs the same as for this one, without it."""
    own = configured.get(name)
    if own is None:
        return []
    return [one for one, other in configured.items() if one != name and run_alike(own, other)]


def alike_in_words(configured: Mapping[str, Configured], what: str) -> list[str]:
    """Say of each configuration that runs like another one that no figure tells them apart, and in what they differ.

    ``what`` they are configurations of: ``pipeline``, ``policies``.
    """
    return [
        _in_words(one, other, differences(configured[one], configured[other]), what)
        for one, other in combinations(configured, 2)
        if run_alike(configured[one], configured[other]) and one == _first_of(one, configured)
    ]


def _first_of(name: str, configured: Mapping[str, Configured]) -> str:
    return next(one for one in configured if run_alike(configured[one], configured[name]))


def _in_words(one: str, other: str, changes: Sequence[UnseenChange], what: str) -> str:
    if not changes:
        return f"{text(one)} and {text(other)} have the same {what}."
    named = [_name(change) for change in changes]
    names = ", ".join(dict.fromkeys(named[:_MOST_NAMED]))
    more = f" and {count(len(changes) - _MOST_NAMED, 'more difference')}" if len(changes) > _MOST_NAMED else ""
    return (
        f"{text(one)} and {text(other)} differ only in what the embedded engine ignores ({names}{more}): "
        "it cannot say which is better. Compare them with Rasa itself."
    )


def _name(change: UnseenChange) -> str:
    component = text(change.component)
    return f"{text(change.parameter)} of {component}" if change.parameter else component
