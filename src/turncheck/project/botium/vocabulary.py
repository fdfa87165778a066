"""The words of BotiumScript: asserters, logic hooks, user inputs and functions that Botium has without plug-ins."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.web.json_path import PathError, compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

TEXTS_ANY: Final = (
    "TEXT",
    "TEXT_EQUALS",
    "TEXT_CONTAINS_ANY",
    "TEXT_WILDCARD_ANY",
    "TEXT_WILDCARDEXACT_ANY",
    "TEXT_REGEXP_ANY",
)
TEXTS_ALL: Final = ("TEXT_CONTAINS_ALL", "TEXT_WILDCARD_ALL", "TEXT_WILDCARDEXACT_ALL", "TEXT_REGEXP_ALL")
IGNORES_CASE: Final = "_IC"
TEXTS: Final = frozenset(f"{name}{end}" for name in (*TEXTS_ANY, *TEXTS_ALL) for end in ("", IGNORES_CASE))
"""Asserters about a message's text."""
NLU: Final = frozenset({"INTENT", "INTENT_CONFIDENCE", "INTENT_UNIQUE", "ENTITIES", "ENTITY_VALUES", "ENTITY_CONTENT"})
"""Asserters about how the user's message was understood."""
_COUNTED: Final = ("BUTTONS", "MEDIA", "CARDS")
FORMS: Final = "FORMS"
SHOWN: Final = (*_COUNTED, FORMS)
"""Asserters about what a message shows besides its text."""
COUNTS: Final = frozenset(f"{name}_COUNT{end}" for name in _COUNTED for end in ("", "_REC"))
PATHS: Final = frozenset({"JSON_PATH", "JSON_PATH_COUNT"})
"""Asserters about the answer that a message came in."""
QUEUE: Final = frozenset({"BOT_CONSUMED", "BOT_UNCONSUMED_COUNT"})
"""Asserters about messages that no section has read."""
JUDGED: Final = TEXTS | NLU | COUNTS | PATHS | QUEUE | {"TEXT_WER", "RESPONSE_LENGTH", *SHOWN}
"""Asserters that are judged here."""
ASSERTERS_NOT_JUDGED: Final = {"PAUSE_ASSERTER": ""}
"""Why asserters are not judged; with an empty reason, because there is nothing to judge."""
ASSERTERS: Final = JUDGED | ASSERTERS_NOT_JUDGED.keys()

ASSIGN: Final = "ASSIGN_SCRIPTING_MEMORY"
MEMORY_HOOKS: Final = ("SET_SCRIPTING_MEMORY", "CLEAR_SCRIPTING_MEMORY", ASSIGN)
CONDITION: Final = "CONDITIONAL_STEP"
CONDITIONS: Final = tuple(
    f"{CONDITION}_{name}" for name in ("TIME_BASED", "BUSINESS_HOURS", "CAPABILITY_VALUE_BASED", "JSON_PATH_BASED")
)
LIST_HOOK: Final = "ORDERED_LIST_TO_BUTTON"
ORDERED_LIST: Final = r"^\s*(\d+)\."
"""Where its points begin, if it does not say so itself."""
WAITING_HOOKS: Final = ("PAUSE", "WAITFORBOT")
"""They wait for the bot to finish, as turncheck does before each message."""
HOOKS_NOT_RUN: Final = {
    "UPDATE_CUSTOM": "it is for one of Botium's connectors",
}
"""Why logic hooks are not run."""
HOOKS: Final = frozenset(
    (
        *(*MEMORY_HOOKS, *WAITING_HOOKS, *CONDITIONS, *HOOKS_NOT_RUN, LIST_HOOK),
        *("INCLUDE", "CONVO_STEP_PARAMETERS", "SKIP_BOT_UNCONSUMED"),
    )
)
INPUTS: Final = frozenset({"BUTTON", "MEDIA", "FORM"})
INPUTS_NOT_SENT: Final = {"MEDIA": "it sends a file", "FORM": "it fills in a form"}

ARGUMENTS: Final = {
    "INTENT": (1, 1),
    "INTENT_CONFIDENCE": (1, 1),
    "INTENT_UNIQUE": (0, 0),
    "ENTITY_CONTENT": (2, None),
    "TEXT_WER": (2, 2),
    "SET_SCRIPTING_MEMORY": (2, 2),
    "CLEAR_SCRIPTING_MEMORY": (1, 1),
    "ASSIGN_SCRIPTING_MEMORY": (2, 2),
    "JSON_PATH": (1, 2),
    "JSON_PATH_COUNT": (1, 2),
    "BUTTON": (1, 2),
    "INCLUDE": (1, 1),
}
"""How many arguments are needed, at least and at most, of those that need a certain number."""

MODES: Final = (
    "equals",
    "equalsIgnoreCase",
    "include",
    "includeIgnoreCase",
    "includeLowerCase",
    "regexp",
    "regexpIgnoreCase",
    "wildcard",
    "wildcardIgnoreCase",
    "wildcardLowerCase",
    "wildcardExact",
    "wildcardExactIgnoreCase",
    "wer",
)
"""How texts can be compared."""

VARIABLE: Final = re.compile(r"\$[A-Za-z]\w+", re.ASCII)

# Functions of the scripting memory, such as ``$date_add(2,days)``.

_FUNCTION_ARGUMENTS: Final = {
    **dict.fromkeys(("$date_add", "$date_subtract"), 3),
    **dict.fromkeys(("$date", "$tomorrow", "$yesterday", "$random", "$env", "$cap", "$msg"), 1),
}
"""How many arguments functions take; with more than one, commas separate them."""
FUNCTIONS: Final = frozenset(
    {
        *_FUNCTION_ARGUMENTS,
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
    parts = inside.split(",") if _FUNCTION_ARGUMENTS.get(name, 0) > 1 else [inside]
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
