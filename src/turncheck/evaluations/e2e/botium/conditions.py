"""Conditions of Botium's sections: which of a group of sections ``#bot`` judges the next message.

Consecutive sections with the same name of a group share one message: the first whose condition is met judges it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct

from turncheck.evaluations.e2e.botium import values
from turncheck.evaluations.e2e.botium.dates import written
from turncheck.evaluations.e2e.botium.message import Message, selected
from turncheck.evaluations.e2e.botium.texts import CannotCompareError, NotJudgedError
from turncheck.evaluations.e2e.steps import same
from turncheck.project.botium.vocabulary import CONDITION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from turncheck.project.botium.model import Called, Reply

_TIME: Final = re.compile(r"(\d{1,2})(?::(\d{1,2}))?", re.ASCII)
_BEHIND: Final = CONDITION + "_"


def conditions_of(reply: Reply) -> list[Called]:
    """Return the logic hooks of a section that say when it applies."""
    return [hook for hook in reply.section.hooks if hook.name.startswith(CONDITION)]


class Group(Struct):
    """The group of sections that is being judged. ``is_met``: one of them applied, or it could not be said which."""

    is_met: bool = False


def ends_group(reply: Reply, following: Sequence[Reply]) -> bool:
    """Whether a section with a condition is the last one of its group."""
    after = conditions_of(following[0]) if following else []
    return not after or _name(after[0]) != _name(conditions_of(reply)[0])


def _name(hook: Called) -> str:
    return hook.args[1] if len(hook.args) > 1 else ""


def is_met(hook: Called, args: Sequence[str], message: Message, settings: Mapping[str, Any]) -> bool:
    """Whether a condition is met now.

    Raises:
        NotJudgedError: the engine does not report what it is about, or this machine does not know its time zone.
        CannotCompareError: its parameters are not those of such a condition.
    """
    try:
        given = json.loads(args[0] if args else "")
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise CannotCompareError(f"{hook.name} needs its parameters in JSON, such as {_EXAMPLES[hook.name]}")
    match hook.name.removeprefix(_BEHIND):
        case "TIME_BASED":
            return _is_between(hook.name, given, _now(given))
        case "BUSINESS_HOURS":
            return _is_open(hook.name, given, _now(given))
        case "CAPABILITY_VALUE_BASED":
            return _is_set(hook.name, given, settings)
        case _:
            path = given.get("jsonPath")
            found = message.at(path) if isinstance(path, str) and path else []
            return any(same(given.get("value"), value) for value in found)


_EXAMPLES: Final = {
    f"{_BEHIND}TIME_BASED": '{"start": "08:00", "end": "17:00", "timeZone": "Europe/Vienna"}',
    f"{_BEHIND}BUSINESS_HOURS": '{"days": ["Monday"], "start": "08:00", "end": "17:00"}',
    f"{_BEHIND}CAPABILITY_VALUE_BASED": '{"capabilityName": "CONTAINERMODE", "value": "simplerest"}',
    f"{_BEHIND}JSON_PATH_BASED": '{"jsonPath": "$.messageText", "value": "Hello"}',
}


# The time.


def _now(given: Mapping[str, Any]) -> datetime:
    zone = given.get("timeZone")
    if not zone:
        return values.now()
    try:
        return values.now().astimezone(ZoneInfo(str(zone)))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise NotJudgedError(f"this machine does not know the time zone '{zone}'") from None


def _is_between(name: str, given: Mapping[str, Any], now: datetime) -> bool:
    """Whether it is between two times of the day, both included; from the later one on, it is until the next day."""
    start, end = (_minutes(name, key, given) for key in ("start", "end"))
    minute = now.hour * 60 + now.minute
    return start <= minute <= end if start < end else minute >= start or minute <= end


def _minutes(name: str, key: str, given: Mapping[str, Any]) -> int:
    match = _TIME.fullmatch(str(given.get(key, "")).strip())
    if match is None or int(match[1]) > 23 or int(match[2] or 0) > 59:
        shown = f"'{given[key]}' is no time of the day" if key in given else "it is missing"
        raise CannotCompareError(f"{name}: {key}: {shown}; expected 08:00")
    return int(match[1]) * 60 + int(match[2] or 0)


def _is_open(name: str, given: Mapping[str, Any], now: datetime) -> bool:
    days = given.get("days")
    if not days and not (given.get("start") and given.get("end")):
        raise CannotCompareError(f"{name} needs days, or start and end, such as {_EXAMPLES[name]}")
    if days and written(now, "dddd") not in days:
        return False
    if days and not given.get("start") and not given.get("end"):
        return True
    return _is_between(name, given, now)


# The settings.


def _is_set(name: str, given: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    capability, path = str(given.get("capabilityName")), given.get("jsonPath")
    value = settings.get(capability)
    if not path:
        return capability in settings and "value" in given and same(given["value"], value)
    try:
        content = value if isinstance(value, (dict, list, tuple)) else json.loads(str(value))
    except (ValueError, RecursionError):
        raise CannotCompareError(f"{name}: botium.json has no JSON at '{capability}' for {path} to look into") from None
    return any(same(given.get("value"), found) for found in selected(str(path), content))
