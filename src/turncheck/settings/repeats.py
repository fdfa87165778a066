"""The setting ``repeats``: how often the cases of an assistant whose answers vary are run, and what that may cost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from turncheck.messages.phrasing import not_one_of
from turncheck.settings.parsers import WrongWordError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

AUTO: Final = "auto"
_OFF: Final = "off"
MOST_RUNS: Final = 1000
"""Of one case."""
_MOST_TURNS: Final = 10_000_000
_MOST_SECONDS: Final = 86_400
_UNITS: Final = {"s": 1, "m": 60, "h": 3600}
_NAMES: Final = ("first", "most", "false-alarms", "worth", "turns", "time")


@dataclass(frozen=True, slots=True)
class RepeatRules:
    """How cases are repeated: each ``first`` times, those that failed until that is judged, at most ``most`` times.

    ``false_alarms``: how often a run without any change may fail. ``worth``: by how much a case must fail more often to
    matter, and ``says_worth``: whether that is written down. ``turns``, ``seconds``: the budget of all cases together.
    """

    first: int = 2
    most: int = 30
    false_alarms: float = 0.01
    worth: float = 0.4
    turns: int = 5000
    seconds: int = 900
    says_worth: bool = field(default=False, compare=False)

    @property
    def of_a_test(self) -> Worth:
        """By how much a test must fail more often to matter, and whether that is written down."""
        return Worth(self.worth, self.says_worth)

    def no_milder_than(self, base: RepeatRules) -> RepeatRules:
        """Return rules by which a test is run as often as by those of the base at least, and fails as easily.

        ``worth`` apart, which is not a matter of degree: it says what may pass.
        """
        if self.once or base.once:
            return base if self.once else self
        first = max(self.first, base.first)
        return replace(
            self,
            first=first,
            most=min(MOST_RUNS, max(self.most, first + base.most - base.first)),
            false_alarms=max(self.false_alarms, base.false_alarms),
            turns=max(self.turns, base.turns),
            seconds=max(self.seconds, base.seconds),
        )

    @property
    def once(self) -> bool:
        """Whether every case is run a single time."""
        return self.most == 1

    def __str__(self) -> str:
        """As the setting is written on one line."""
        if self.once:
            return _OFF
        minutes, seconds = divmod(self.seconds, 60)
        time = f"{self.seconds}s" if seconds or not minutes else f"{minutes}m"
        runs = f"first: {self.first}, most: {self.most}"
        test = f"false-alarms: {self.false_alarms * 100:g}%"
        test += f", worth: {self.worth:g}" if self.says_worth else ""
        return f"{runs}, {test}, turns: {self.turns}, time: {time}"


class Worth(NamedTuple):
    """By how much a test must fail more often to matter; ``is_set``: whether somebody says so, so that less passes."""

    share: float
    is_set: bool


ONCE: Final = RepeatRules(first=1, most=1)


def repeat_rules(setting: str) -> RepeatRules:
    """Return the rules that a setting stands for; ``auto`` stands for the usual ones."""
    if setting == AUTO:
        return RepeatRules()
    return ONCE if setting == _OFF else RepeatRules(**dict(_fields(_lines(setting))))


def read_repeats(value: Any) -> str:
    """Take ``auto``, ``off``, or rules: a mapping, or ``first: 2, most: 30`` on one line or several."""
    if value is False or value == _OFF:  # YAML reads `off` as false
        return _OFF
    if value == AUTO:
        return AUTO
    named = dict(_flat(value)) if isinstance(value, Mapping) else _lines(value)
    rules = RepeatRules(**dict(_fields(named)))
    if rules.first > rules.most:
        raise WrongWordError(f"`first` ({rules.first}) is more than `most` ({rules.most})")
    return str(rules)


def _flat(value: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """The rules of a mapping; those of the budget may be in one of their own."""
    for name, one in value.items():
        if name == "budget":
            if not isinstance(one, Mapping) or not set(one) <= {"turns", "time"}:
                raise ValueError("`budget` takes `turns` and `time`, such as {turns: 5000, time: 15m}")
            yield from one.items()
        else:
            yield str(name), one


def _lines(value: Any) -> dict[str, str]:
    if not isinstance(value, str):
        raise ValueError("expected `auto`, `off`, or rules such as `first: 2, most: 30`")
    named = {}
    for part in (part.strip() for part in re.split(r"[,\n]", value)):
        name, colon, text = part.partition(":")
        if name.strip() == "budget":
            raise WrongWordError("on one line, the budget is written without its name: `turns: 5000, time: 15m`")
        if part and not (colon and text.strip()):
            raise ValueError("expected `auto`, `off`, or rules such as `first: 2, most: 30`")
        if name.strip() in named:
            raise WrongWordError(f"`{name.strip()}` appears twice")
        if part:
            named[name.strip()] = text.strip()
    return named


def _fields(named: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if not named:
        raise ValueError("expected `auto`, `off`, or rules such as `first: 2, most: 30`")
    for name, value in named.items():
        match name:
            case "first" | "most":
                yield name, _whole(name, value, 1, MOST_RUNS)
            case "false-alarms":
                yield "false_alarms", _share(name, value, 0.5)
            case "worth":
                yield name, _share(name, value, 1)
                yield "says_worth", True
            case "turns":
                yield name, _whole(name, value, 1, _MOST_TURNS)
            case "time":
                yield "seconds", _time(value)
            case _:
                raise WrongWordError(not_one_of(name, _NAMES))


def _whole(name: str, value: Any, least: int, most: int) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
        raise WrongWordError(f"`{name}`: expected a whole number from {least} to {most:,}, not {shown(value)}")
    return int(text)


def _share(name: str, value: Any, most: float) -> float:
    match = re.fullmatch(r"([0-9]{0,9}\.?[0-9]{0,9})\s*(%?)", str(value).strip())
    number = float(match[1]) / (100 if match[2] else 1) if match and match[1].strip(".") else 0.0
    if isinstance(value, bool) or not 0.0001 <= number <= most:
        expected = f"a share above 0 and up to {most:g}, such as 0.1 or 10%"
        raise WrongWordError(f"`{name}`: expected {expected}, not {shown(value)}")
    return round(number, 6)


def _time(value: Any) -> int:
    match = re.fullmatch(r"([0-9]{1,6})\s*([smh])", str(value).strip())
    seconds = int(match[1]) * _UNITS[match[2]] if match else 0
    if not 1 <= seconds <= _MOST_SECONDS:
        raise WrongWordError(f"`time`: expected a duration of up to a day, such as 90s, 15m or 1h, not {shown(value)}")
    return seconds
