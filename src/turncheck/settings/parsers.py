"""How the strings of settings become values: each parser refuses what it does not know, and names what it accepts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b
from typing import Any, Final

from turncheck.gates.table import FAIL_ON, NONE
from turncheck.messages.phrasing import not_one_of
from turncheck.process.environment import Secret, read_secret, remember_guessed
from turncheck.registry import added_names
from turncheck.report.evaluations import EVALUATIONS
from turncheck.settings.bot_presets import PRESETS
from turncheck.settings.engines import ENGINES

OUTPUT_FORMATS: Final = (
    "sarif",
    "codequality",
    "metrics",
    "annotations",
)
"""The files that are written on request."""
MAX_NOTES: Final = 1024
"""Characters of the notes on a run, as Kore.ai's platform has it."""
_MOST_SHOWN: Final = 80
"""Maximum number of characters of a wrong value in a message."""
_FIRST_YEAR, _LAST_YEAR = 1970, 2999

Parser = Callable[[Any], Any]
"""Turns a string, or a YAML value, into a setting; raises ``ValueError`` with what it accepts."""


class WrongWordError(ValueError):
    """A word that is not one of the choices: the message names it, and is a complete sentence.

    ``meant`` is the setting that takes such a value, if another one does.
    """

    def __init__(self, message: str, meant: str | None = None) -> None:
        super().__init__(message)
        self.meant = meant


def read_text(value: Any) -> str:
    """Take a string; numbers are written as one."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("expected a string")
    return str(value)


def read_folder(value: Any) -> str:
    """Take the path of a folder."""
    if not (text := read_text(value)).strip():
        raise ValueError("expected a folder (the current one is '.')")
    return text


def shown(value: Any) -> str:
    """Return a wrong value as a message shows it."""
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def read_switch(value: Any) -> bool:
    """Take true or false."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    raise ValueError("expected true or false")


def read_cache(value: Any) -> str:
    """Take auto or off; a switch, which it was at first, is on or off."""
    text = "auto" if value is True else "off" if value is False else read_text(value).strip().lower()
    words = {"auto": "auto", "true": "auto", "off": "off", "false": "off"}
    if text not in words:
        raise WrongWordError(not_one_of(text, ("auto", "off")))
    return words[text]


def read_switch_or_folder(value: Any) -> bool | str:
    """Take true, false or a folder."""
    if isinstance(value, bool) or (isinstance(value, str) and value.strip().lower() in {"true", "false", ""}):
        return read_switch(value if isinstance(value, bool) else value.strip().lower() or "false")
    return read_text(value).strip()


def whole_number(least: int, most: int) -> Parser:
    """Return a parser of whole numbers within these bounds."""

    def parse(value: Any) -> int:
        if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,18}", value.strip()):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"expected a whole number from {least} to {most}")
        return value

    return parse


def one_of(*choices: str) -> Parser:
    """Return a parser of one of these words."""

    def parse(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise WrongWordError(not_one_of(read_text(value), choices))
        return value

    return parse


def read_items(value: Any, separator: str) -> tuple[str, ...]:
    """A list as YAML has it, or as an input has it: one per line, or separated."""
    values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return tuple(item.strip() for text in values for item in re.split(separator, read_text(text)) if item.strip())


def read_lines(value: Any) -> tuple[str, ...]:
    """Take lines, or a mapping of names to limits."""
    lines: list[Any] = []
    for entry in value if isinstance(value, Sequence) and not isinstance(value, str) else [value]:
        if isinstance(entry, Mapping):  # `nlu.intents.f1: 0.01` in turncheck.yml is a mapping, as an input a line
            lines += [f"{name}: {read_text(limit)}" for name, limit in entry.items()]
        else:
            lines.append(entry)
    return read_items(lines, r"\n")


def read_paths(value: Any) -> tuple[str, ...]:
    """Take paths, one per line."""
    return read_items(value, r"\n")


def words_of(*choices: str) -> Parser:
    """Return a parser of several of these words; of any words if none are given."""

    def parse(value: Any) -> tuple[str, ...]:
        words = read_items(value, r"[\s,]+")
        for word in words:
            if choices and word not in choices:
                raise WrongWordError(not_one_of(word, choices))
        return tuple(dict.fromkeys(words))

    return parse


def read_fail_on(value: Any) -> tuple[str, ...]:
    """Take what fails a run."""
    try:
        words: tuple[str, ...] = words_of(*FAIL_ON)(value)
    except WrongWordError as error:
        raise WrongWordError(str(error), _meant_by(str(value))) from None
    if NONE in words and len(words) > 1:
        others = " and ".join(f"'{word}'" for word in words if word != NONE)
        raise WrongWordError(f"'{NONE}' cannot be combined with {others}")
    return words


def _meant_by(gate: str) -> str | None:
    """Return the setting that takes a gate which is not one of `fail-on`."""
    if re.search("[<>=]", gate):
        return "thresholds"
    if re.search(r"\w\.\w", gate):  # the name of a metric
        return "max-regression" if re.search(r":\s*[\d.]+", gate) else "thresholds"
    return "fail-on-warnings" if re.search(r"\bwarnings?\b", gate) else None


def read_evaluations(value: Any) -> tuple[str, ...]:
    """Take evaluations: our own, and those of the plugins in use."""
    return tuple(words_of(*EVALUATIONS, *added_names("turncheck.evaluations"))(value))


def read_output_formats(value: Any) -> tuple[str, ...]:
    """Take formats of output: our own, and those of the plugins in use."""
    return tuple(words_of(*OUTPUT_FORMATS, *added_names("turncheck.outputs"))(value))


def read_engine(value: Any) -> str:
    """Take the name of an engine; whoever names a kind of bots learns where that is written."""
    try:
        return str(one_of(*ENGINES)(value))
    except WrongWordError as error:
        kind = str(value).lower()
        if kind not in PRESETS:
            raise
        raise WrongWordError(f"{error} A bot of that kind is 'http', with `kind: {kind}` under `bot:`.") from None


def read_artifact_name(value: Any) -> str:
    """Take a name that GitHub accepts for an artifact."""
    text = read_text(value)
    if not text.strip() or re.search(r'["<>|*?:\\/\r\n]', text):
        raise ValueError("""expected a name without any of " < > | * ? : \\ / and line breaks""")
    return text


def read_state(value: Any) -> str:
    """Take a branch, a tag or a commit."""
    text = read_text(value).strip()
    if not text or text.startswith("-") or re.search(r"[\x00-\x20\x7f]", text):
        raise ValueError("expected the name of a branch, a tag or a commit")
    return text


def read_pairs(value: Any) -> tuple[tuple[str, str], ...]:
    """Take lines NAME=VALUE; the values may be secrets."""
    pairs = []
    for line in read_items(value, r"\n"):
        name, equals, text = line.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name.strip()):
            raise ValueError("expected lines NAME=VALUE")
        remember_guessed(text)
        pairs.append((name.strip(), text))
    return tuple(pairs)


def read_hosts(value: Any) -> tuple[str, ...]:
    """Take names and numbers of hosts."""
    from turncheck.web.addresses import named_host  # every command imports this module, and few read hosts

    words: tuple[str, ...] = words_of()(value)
    for word in words:
        if named_host(word) is None:
            raise WrongWordError(f"{shown(word)} is not a host: expected names of hosts, without a scheme and a port")
    return words


def read_notes(value: Any) -> str:
    """Take notes on a run."""
    text = read_text(value)
    if len(text) > MAX_NOTES:
        raise WrongWordError(f"has {len(text):,} characters; at most {MAX_NOTES:,} are allowed")
    return text


def read_day(value: Any) -> str:
    """Take a day, written as 2025-01-31."""
    try:
        day = value if type(value) is date else date.fromisoformat(read_text(value).strip())
    except ValueError:
        raise ValueError("expected a date, written as 2025-01-31") from None
    if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
        raise ValueError(f"expected a date between {_FIRST_YEAR} and {_LAST_YEAR}")
    return day.isoformat()


def read_addresses(value: Any) -> str:
    """One address, or several separated by blanks."""
    return " ".join(read_items(value, r"\s+"))


def read_trace_url(value: Any) -> str:
    """Take the address of a trace, with a place for its id."""
    text = read_text(value).strip()
    if not re.fullmatch(r"https?://[^\s<>\"\\^`|\x00-\x20\x7f-\U0010ffff]{1,2000}", text) or "{trace}" not in text:
        raise ValueError("expected an address with {trace} in place of the id, such as https://traces.example/{trace}")
    return text


def read_typed_bot(value: Any) -> Any:
    """Take what :func:`turncheck.settings.bot.read_bot` has read: its places are in a file."""
    from turncheck.settings.bot import Bot  # few projects have one

    if not isinstance(value, Bot):
        raise ValueError("expected what `bot:` in turncheck.yml is read as")
    return value


def read_hidden(value: Any) -> Secret:
    """Take a secret, which is never shown."""
    return read_secret(read_text(value))


# Which part of a run is measured if a run is spread over several jobs.

MOST_SHARDS: Final = 1000


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """The ``number``-th of ``count`` parts, counted from 1."""

    number: int
    count: int

    def __str__(self) -> str:
        """As it is written: ``2/8``."""
        return f"{self.number}/{self.count}"

    def holds(self, unit: str) -> bool:
        """Whether a unit of answers belongs to this part: folds in turn, all others by a hash of their name.

        A unit stays in its part when others are added or removed.
        """
        return part_of(unit, self.count) == self.number


def part_of(unit: str, count: int) -> int:
    """Return the number of the part that a unit of answers belongs to, from 1 to ``count``."""
    kind, _, name = unit.partition(":")
    is_fold = kind == "fold" and name.isdecimal() and name.isascii()
    number = int(name) if is_fold else int.from_bytes(_digest(unit))
    return number % count + 1


def parse_shard(value: Any) -> Shard:
    """Read ``2/8``.

    Raises:
        ValueError: it is not such a string.
    """
    match = re.fullmatch(r"\s*([0-9]{1,4})\s*/\s*([0-9]{1,4})\s*", value) if isinstance(value, str) else None
    if match is None or not 1 <= int(match[1]) <= int(match[2]) <= MOST_SHARDS:
        raise ValueError(f"expected a part and the number of parts, such as 2/8 (at most {MOST_SHARDS})")
    return Shard(int(match[1]), int(match[2]))


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
