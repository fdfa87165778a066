"""Botium's scripting memory: `$name` in a line stands for a value, takes one from a message, or is computed."""

from __future__ import annotations

import re
import secrets
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.clock import seconds_left
from turncheck.evaluations.e2e.botium.dates import INVALID, milliseconds, shifted, written
from turncheck.evaluations.e2e.botium.message import as_text
from turncheck.evaluations.e2e.botium.texts import CannotCompareError
from turncheck.project.botium.patterns import UnsupportedPatternError, as_pattern, from_utf16_units, to_utf16_units
from turncheck.project.botium.vocabulary import ANSWERED, CALL, FUNCTIONS, VARIABLE, arguments
from turncheck.yaml_tree.shapes import SEARCH_SECONDS, as_re_reads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.evaluations.e2e.botium.message import Message
    from turncheck.project.botium.model import Capabilities

MOST_DIGITS: Final = 1000
LONGEST_TEXT: Final = 1_000_000
"""No text with its values has more characters."""
MOST_VARIABLES: Final = 100
"""An expected message with more variables than this gives none of them a value."""
_DATE: Final = "M/D/YYYY"
_TIME: Final = "h:mm:ss A"
_PATTERNS: Final = {
    **dict.fromkeys(("$now", "$now_EN"), f"{_DATE}, {_TIME}"),
    "$now_DE": "DD.MM.YYYY, HH:mm:ss",
    **dict.fromkeys(("$date", "$date_EN", "$tomorrow", "$yesterday", "$date_add", "$date_subtract"), _DATE),
    "$date_DE": "YYYY.MM.DD",
    "$date_ISO": "YYYY-MM-DD",
    **dict.fromkeys(("$time", "$time_EN"), _TIME),
    **dict.fromkeys(("$time_DE", "$time_ISO"), "HH:mm:ss"),
    "$time_HH_MM": "HH:mm",
    "$time_HH": "HH",
    "$time_H_A": "h A",
    "$year": "YYYY",
    "$month": "MMMM",
    "$month_MM": "MM",
    "$day_of_month": "D",
    "$day_of_week": "dddd",
}
"""How functions write the time, by their names; where Botium asks for the machine's language, in American English."""


def now() -> datetime:
    """Return the time, in the machine's time zone."""
    return datetime.now().astimezone()


class Values(Struct, frozen=True):
    """What `$name` stands for: values of variables, the settings for `$cap`, and the message for `$msg`."""

    memory: Mapping[str, str]
    settings: Mapping[str, Any]
    message: Message | None = None

    def filled(self, text: str) -> str:
        """Return the text with each name replaced, longer ones first; a variable goes before a function.

        Raises:
            NotJudgedError: what `$msg` asks for is not reported.
            CannotCompareError: its path cannot be followed, or its text becomes too long.
        """
        if "$" not in text:
            return text
        for name in sorted({*ANSWERED, *self.memory}, key=lambda one: (-len(one), one)):
            if name not in text:
                continue
            if name in self.memory:
                _ensure_short(len(text) + text.count(name) * len(self.memory[name]))
                text = text.replace(name, self.memory[name])
            else:
                _ensure_short(text.count(name) * MOST_DIGITS if name == "$random" else 0)
                text = re.sub(CALL[name], lambda match, name=name: self._result(name, match[1]), text)  # type: ignore[misc]
        _ensure_short(len(text))
        return text

    def _result(self, name: str, written_args: str | None) -> str:
        args = [self.memory.get(arg, arg) for arg in arguments(name, written_args)]
        first = args[0] if args else ""
        match name:
            case "$uniqid":
                return str(uuid.uuid1(node=secrets.randbits(48) | 1 << 40))  # a version that does not name the machine
            case "$random" | "$random10":
                return _digits("10" if name == "$random10" else first)
            case "$cap":
                return as_text(self.settings.get(first))
            case "$msg":
                found = [] if self.message is None else self.message.at(first)
                return as_text(found[0]) if found else ""
            case "$projectname" | "$testsessionname" | "$testcasename":
                return as_text(self.settings.get(name[1:].upper()))
            case "$now_ISO":
                return now().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            case "$timestamp":
                return str(milliseconds(now()))
            case _:
                return _time(name, args)


def _ensure_short(length: int) -> None:
    """Refuse a message that grows beyond the limit as values are filled in: each may hold others twice."""
    if length > LONGEST_TEXT:
        raise CannotCompareError(
            f"the message has more than {LONGEST_TEXT:,} characters once its variables are filled in"
        )


def _digits(written_number: str) -> str:
    number = int(written_number) if re.fullmatch(r"\s*\d{1,4}\s*", written_number, re.ASCII) else 0
    return "".join(secrets.choice("0123456789") for _ in range(min(number, MOST_DIGITS)))


def _time(name: str, args: list[str]) -> str:
    pattern = _PATTERNS[name]
    match name:
        case "$tomorrow" | "$yesterday":
            at = shifted(now(), 1 if name == "$tomorrow" else -1, "days")
            given = args[0] if args else ""
        case "$date_add" | "$date_subtract":
            amount, unit, given = (*args, "", "", "")[:3]
            at = shifted(now(), _number(amount) * (1 if name == "$date_add" else -1), unit)
        case _:
            at, given = now(), args[0] if args and name == "$date" else ""
    return INVALID if at is None else written(at, given or pattern)


def _number(text: str) -> float:
    """Read an amount; what is no number counts nothing, as in Botium."""
    return float(text) if re.fullmatch(r"[+-]?\d{1,15}(\.\d{1,15})?", text.strip(), re.ASCII) else 0.0


# Values that are taken from messages.


def values_in(said: str, wanted: Sequence[str], settings: Capabilities) -> dict[str, str]:
    """Return the values that variables in the wanted texts have in a message, where they fit."""
    kind = {"word": r"(\w+)", "joker": r"([\w\W]+)"}.get(settings.memory_words, r"(\S+)")
    is_pattern = settings.matching in {"regexp", "regexpIgnoreCase"}
    values: dict[str, str] = {}
    for text in wanted:
        names = VARIABLE.findall(text)
        if not names or len(names) > MOST_VARIABLES:
            continue
        pattern = text if is_pattern else re.escape(text).replace(r"\$", "$")
        for name in names:
            pattern = pattern.replace(name, kind)
        match = _search(pattern, said)
        found_here = dict(zip(names, match or (), strict=False))
        values |= {
            n: from_utf16_units(value) for n, value in found_here.items() if value is not None and n not in FUNCTIONS
        }
    return values


def _search(pattern: str, text: str) -> tuple[str | None, ...] | None:
    import regex  # only where there are variables

    try:
        searched = as_re_reads(as_pattern(pattern))
        units = to_utf16_units(text)
        seconds = seconds_left(SEARCH_SECONDS)
        match = regex.search(searched, units, flags=regex.VERSION0, timeout=seconds, concurrent=True)
    except (UnsupportedPatternError, regex.error, TimeoutError):
        return None
    return None if match is None else match.groups()
