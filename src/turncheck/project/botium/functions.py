"""The functions of BotiumScript's scripting memory, such as ``$date_add(2,days)``: which there are, and their calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.project.botium.vocabulary import VARIABLE
from turncheck.web.json_path import PathError, compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

_ARGUMENTS: Final = {
    **dict.fromkeys(("$date_add", "$date_subtract"), 3),
    **dict.fromkeys(("$date", "$tomorrow", "$yesterday", "$random", "$env", "$cap", "$msg"), 1),
}
"""How many arguments functions take; with more than one, commas separate them."""
FUNCTIONS: Final = frozenset(
    {
        *_ARGUMENTS,
        *(
            f"${name}"
            for name in (
                "now", "now_EN", "now_DE", "now_ISO", "date_EN", "date_DE", "date_ISO", "time", "time_EN", "time_DE",
                "time_ISO", "time_HH_MM", "time_HH", "time_H_A", "timestamp", "year", "month", "month_MM",
                "day_of_month", "day_of_week", "random10", "uniqid", "projectname", "testsessionname", "testcasename",
            )
        ),
    }
)  # fmt: skip
"""Names that are not variables but computed, unless a variable has the same name."""
ANSWERED: Final = FUNCTIONS - {"$env"}
"""Those that are computed here."""
_CALLED: Final = r"(\(.+?(?<!\\)\))?"
CALL: Final = {name: re.compile(f"{re.escape(name)}{_CALLED}") for name in FUNCTIONS}
"""What finds the calls of a function in a line; the group is its arguments with their parentheses."""
_ANY_CALL: Final = re.compile(f"({'|'.join(map(re.escape, sorted(FUNCTIONS, key=len, reverse=True)))}){_CALLED}")


def arguments(name: str, written: str | None) -> list[str]:
    """Return the arguments of a call, without quotes around them; ``written`` is what follows its name."""
    if not written:
        return []
    inside = written[1:-1].replace("\\)", ")")
    parts = inside.split(",") if _ARGUMENTS.get(name, 0) > 1 else [inside]
    return [part[1:-1] if len(part) > 1 and part[0] == part[-1] == '"' else part for part in map(str.strip, parts)]


def has_call(text: str) -> bool:
    """Whether a line has a call of a function, rather than a longer name that begins like one."""
    return any(name in FUNCTIONS for name in VARIABLE.findall(text))


def refused_calls(
    text: str, variables: frozenset[str], settings: Mapping[str, Any], *, of_bot: bool
) -> Iterator[tuple[str, str]]:
    """Yield the calls in a line that are not answered here, each with the reason.

    Args:
        text: what a user says, what is expected, or an argument.
        variables: the names that are variables of the conversation, which go before functions.
        settings: the capabilities of ``botium.json``.
        of_bot: whether there is a message of the assistant's at this place.
    """
    for match in _ANY_CALL.finditer(text):
        name, args = match[1], arguments(match[1], match[2])
        word = VARIABLE.match(text, match.start())
        if name in variables or (word is not None and word[0] in variables):
            continue
        if why := _why_refused(name, args[0] if args else "", settings, of_bot=of_bot):
            yield name, why


def _why_refused(name: str, first: str, settings: Mapping[str, Any], *, of_bot: bool) -> str | None:
    match name:
        case "$env":
            return "variables of this machine, which may be secrets, are not told to a bot"
        case "$random" if not re.fullmatch(r"0*(?:[1-9]\d{0,2}|1000)", first, re.ASCII) and "$" not in first:
            return "it needs the number of digits, at most 1000: $random(5)"
        case "$cap" if not first or (first not in settings and "$" not in first):
            return f"botium.json does not set '{first}'" if first else "it needs the name of a capability"
        case "$msg" if not of_bot:
            return "there is no message of the bot's at this place"
        case "$msg":
            try:
                compiled(first)
            except PathError as error:
                return None if "$" in first[1:] else f"'{first}' is not a JSONPath by RFC 9535: {error}"
        case _:
            pass
    return None
