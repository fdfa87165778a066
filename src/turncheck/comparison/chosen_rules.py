"""What ``fail-on: auto`` stands for: on a change what it broke, elsewhere (default branch, no base) all that fails.

A base that is out of reach or unreadable is not the absence of one: an outage must not choose other rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from turncheck.gates.table import AUTO, OF_A_CHANGE, OF_ALL

if TYPE_CHECKING:
    from turncheck.comparison.model import Comparison
    from turncheck.report.model import GateSettings

Because = Literal["a base", "only an ancestor", "base out of reach", "base unreadable", "own branch", "no base"]


def because(comparison: Comparison | None) -> Because:
    """Return what decides which rules ``auto`` stands for."""
    if comparison is None:
        return "no base"
    base = comparison.baseline
    if base.own_branch is True:
        return "own branch"
    if base.status == "present":
        return "only an ancestor" if base.way == "ancestor" else "a base"
    outages: dict[str, Because] = {"unreachable": "base out of reach", "unreadable": "base unreadable"}
    return outages.get(base.status, "no base")


def with_chosen(settings: GateSettings, comparison: Comparison | None) -> GateSettings:
    """Return the settings with the words that ``auto`` stands for in its place."""
    if AUTO not in settings.fail_on:
        return settings
    chosen = OF_ALL if because(comparison) in {"own branch", "no base"} else OF_A_CHANGE
    others = (word for word in settings.fail_on if word != AUTO)
    return msgspec.structs.replace(settings, fail_on=tuple(dict.fromkeys((*chosen, *others))))
