"""Which values a slot may have, as texts: those of buttons, of steps, of tests and of their stubs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turncheck.project.model import Slot


def refused_value(slot: Slot, value: str) -> tuple[str, ...]:
    """Return the values that a slot may have, if this one is none of them; nothing if it may have it."""
    if value.lower() in {"none", "null", "undefined", ""} or "{" in value:
        return ()
    if slot.type == "categorical" and slot.values:
        listed = tuple(str(one) for one in slot.values)
        return () if value.lower() in {one.lower() for one in listed} else listed
    if slot.type == "bool":
        return () if value.lower() in {"true", "false", "yes", "no", "1", "0"} else ("true", "false")
    return () if slot.type != "float" or _is_number(value) else ("numbers",)


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
