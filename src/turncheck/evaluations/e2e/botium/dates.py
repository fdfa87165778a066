"""Dates in the patterns of BotiumScript's functions: the tokens of Moment.js, in English."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

INVALID: Final = "Invalid date"
"""What a date beyond the calendar is written as."""
_DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_LONG: Final = {
    "LTS": "h:mm:ss A",
    "LT": "h:mm A",
    "LLLL": "dddd, MMMM D, YYYY h:mm A",
    "LLL": "MMMM D, YYYY h:mm A",
    "LL": "MMMM D, YYYY",
    "L": "MM/DD/YYYY",
    "llll": "ddd, MMM D, YYYY h:mm A",
    "lll": "MMM D, YYYY h:mm A",
    "ll": "MMM D, YYYY",
    "l": "M/D/YYYY",
}
"""Tokens that stand for several others."""


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _weekday(at: datetime) -> int:
    """Return the day of the week, counted from Sunday, which is 0."""
    return at.isoweekday() % 7


def _saturday(at: datetime) -> datetime:
    """Return the end of an English week, whose year the week belongs to."""
    return at.replace(tzinfo=None) + timedelta(days=6 - _weekday(at))


def _week(at: datetime) -> int:
    return (_saturday(at).timetuple().tm_yday - 1) // 7 + 1


def _hour(at: datetime) -> int:
    return at.hour % 12 or 12


def _offset(at: datetime, between: str) -> str:
    minutes = int((at.utcoffset() or timedelta()).total_seconds()) // 60
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}{between}{rest:02}"


def milliseconds(at: datetime) -> int:
    """Return the milliseconds since 1970."""
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


_NUMBERS: Final[dict[str, Callable[[datetime], int]]] = {
    "M": lambda at: at.month,
    "Q": lambda at: (at.month + 2) // 3,
    "D": lambda at: at.day,
    "DDD": lambda at: at.timetuple().tm_yday,
    "d": _weekday,
    "w": _week,
    "W": lambda at: at.isocalendar().week,
}
"""Tokens of numbers, which may be followed by ``o`` for an ordinal."""
_TOKENS: Final[dict[str, Callable[[datetime], str]]] = {
    **{token: lambda at, number=number: str(number(at)) for token, number in _NUMBERS.items()},  # type: ignore[misc]
    **{f"{token}o": lambda at, number=number: _ordinal(number(at)) for token, number in _NUMBERS.items()},  # type: ignore[misc]
    "MM": lambda at: f"{at.month:02}",
    "MMM": lambda at: _MONTHS[at.month - 1][:3],
    "MMMM": lambda at: _MONTHS[at.month - 1],
    "DD": lambda at: f"{at.day:02}",
    "DDDD": lambda at: f"{at.timetuple().tm_yday:03}",
    "dd": lambda at: _DAYS[_weekday(at)][:2],
    "ddd": lambda at: _DAYS[_weekday(at)][:3],
    "dddd": lambda at: _DAYS[_weekday(at)],
    "e": lambda at: str(_weekday(at)),
    "E": lambda at: str(at.isoweekday()),
    "ww": lambda at: f"{_week(at):02}",
    "WW": lambda at: f"{at.isocalendar().week:02}",
    "YY": lambda at: f"{at.year % 100:02}",
    "YYYY": lambda at: f"{at.year:04}",
    "Y": lambda at: str(at.year),
    "gg": lambda at: f"{_saturday(at).year % 100:02}",
    "gggg": lambda at: f"{_saturday(at).year:04}",
    "GG": lambda at: f"{at.isocalendar().year % 100:02}",
    "GGGG": lambda at: f"{at.isocalendar().year:04}",
    "A": lambda at: "AM" if at.hour < 12 else "PM",
    "a": lambda at: "am" if at.hour < 12 else "pm",
    "H": lambda at: str(at.hour),
    "HH": lambda at: f"{at.hour:02}",
    "h": lambda at: str(_hour(at)),
    "hh": lambda at: f"{_hour(at):02}",
    "k": lambda at: str(at.hour or 24),
    "kk": lambda at: f"{at.hour or 24:02}",
    "m": lambda at: str(at.minute),
    "mm": lambda at: f"{at.minute:02}",
    "s": lambda at: str(at.second),
    "ss": lambda at: f"{at.second:02}",
    "hmm": lambda at: f"{_hour(at)}{at.minute:02}",
    "hmmss": lambda at: f"{_hour(at)}{at.minute:02}{at.second:02}",
    "Hmm": lambda at: f"{at.hour}{at.minute:02}",
    "Hmmss": lambda at: f"{at.hour}{at.minute:02}{at.second:02}",
    "S": lambda at: f"{at.microsecond // 100_000}",
    "SS": lambda at: f"{at.microsecond // 10_000:02}",
    "SSS": lambda at: f"{at.microsecond // 1000:03}",
    "x": lambda at: str(milliseconds(at)),
    "X": lambda at: str(milliseconds(at) // 1000),
    "Z": lambda at: _offset(at, ":"),
    "ZZ": lambda at: _offset(at, ""),
}


def _any_of(tokens: dict[str, str] | dict[str, Callable[[datetime], str]]) -> re.Pattern[str]:
    """Return what finds the tokens in a pattern, and what is not one though it looks so: ``[text]`` and ``\\token``."""
    names = "|".join(map(re.escape, sorted(tokens, key=len, reverse=True)))
    return re.compile(rf"\[(?P<text>[^\[\]]*)\]|\\(?P<escaped>{names}|.)|(?P<token>{names})")


_LONG_TOKEN: Final = _any_of(_LONG)
_TOKEN: Final = _any_of(_TOKENS)


def written(at: datetime, pattern: str) -> str:
    """Return a date in a pattern: ``DD.MM.YYYY``, ``dddd [the] Do``."""

    def long(match: re.Match[str]) -> str:
        return _LONG[match["token"]] if match["token"] else match[0]

    def token(match: re.Match[str]) -> str:
        if match["token"]:
            return _TOKENS[match["token"]](at)
        return match["text"] if match["text"] is not None else match["escaped"]

    return _TOKEN.sub(token, _LONG_TOKEN.sub(long, pattern))


# Earlier and later dates.

_UNITS: Final = {
    **dict.fromkeys(("y", "year", "years"), ("months", 12)),
    **dict.fromkeys(("Q", "quarter", "quarters"), ("months", 3)),
    **dict.fromkeys(("M", "month", "months"), ("months", 1)),
    **dict.fromkeys(("w", "week", "weeks"), ("days", 7)),
    **dict.fromkeys(("d", "day", "days"), ("days", 1)),
    **dict.fromkeys(("h", "hour", "hours"), ("milliseconds", 3_600_000)),
    **dict.fromkeys(("m", "minute", "minutes"), ("milliseconds", 60_000)),
    **dict.fromkeys(("s", "second", "seconds"), ("milliseconds", 1000)),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), ("milliseconds", 1)),
}


def shifted(at: datetime, amount: float, unit: str) -> datetime | None:
    """Return the time that is so much later in local time; ``None`` if it is beyond the calendar.

    With an unknown unit it is the same time, as in Botium. Parts of days and months are rounded.
    """
    kind, size = _UNITS.get(unit) or _UNITS.get(unit.lower()) or ("days", 0)
    try:
        if kind == "milliseconds":
            return (at.astimezone(UTC) + timedelta(milliseconds=amount * size)).astimezone()
        whole = _rounded(amount * size)
        local = at.replace(tzinfo=None)
        if kind == "days":
            return (local + timedelta(days=whole)).astimezone()
        year, month = divmod(at.year * 12 + at.month - 1 + whole, 12)
        day = min(at.day, monthrange(year, month + 1)[1])
        return local.replace(year=year, month=month + 1, day=day).astimezone()
    except (OverflowError, ValueError):
        return None


def _rounded(number: float) -> int:
    """Round half away from zero."""
    return int(number + (0.5 if number >= 0 else -0.5))
