"""The words of BotiumScript: asserters, logic hooks and user inputs that Botium has without plug-ins."""

from __future__ import annotations

import re
from typing import Final

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


_JAVASCRIPT: Final = re.compile(
    r"(?P<group>\(\?<(?![=!]))|\\(?P<escaped>.)|\[(?P<characters>\^?(?:\\.|[^\]\\])*)\]|(?P<any>\.)|(?P<end>\$(?![A-Za-z]\w))",
    re.DOTALL,
)
_WORD: Final = "0-9A-Za-z_"
_SETS: Final = {"d": "0-9", "w": _WORD}
_WITHOUT: Final = {**{name.upper(): f"[^{characters}]" for name, characters in _SETS.items()}, "S": r"\S"}
_ESCAPED: Final = {
    **{name: f"[{characters}]" for name, characters in _SETS.items()},
    **_WITHOUT,
    "b": f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))",
    "B": f"(?:(?<=[{_WORD}])(?=[{_WORD}])|(?<![{_WORD}])(?![{_WORD}]))",
}


def as_pattern(pattern: str, *, multiline: bool = False) -> str:
    """Return a regular expression of JavaScript's as Python writes it.

    There digits, words and their boundaries are those of ASCII, ``.`` is no end of a line, and ``$``, unless
    ``multiline``, only the end of the text; groups are named in another way.
    """

    def as_python_reads(match: re.Match[str]) -> str:
        match match.lastgroup:
            case "group":
                return "(?P<"
            case "escaped":
                return _ESCAPED.get(match["escaped"], match[0])
            case "characters":
                return _set_of(match["characters"])
            case "any":
                return r"[^\n\r\u2028\u2029]"
            case _:
                return "$" if multiline else r"\Z"

    return _JAVASCRIPT.sub(as_python_reads, pattern)


def _set_of(characters: str) -> str:
    """Return what matches one of the characters of a set; a hyphen beside ``\\w`` and its like is one of them."""
    negated = characters.startswith("^")
    parts = re.findall(r"\\.|.", characters[negated:], re.DOTALL)
    named = [part in {r"\d", r"\D", r"\w", r"\W", r"\s", r"\S"} for part in ("", *parts, "")]
    written = "".join(
        r"\-" if part == "-" and (before or after) else _SETS.get(part[1:], part) if part[0] == "\\" else part
        for before, part, after in zip(named, parts, named[2:], strict=False)
        if part[1:] not in _WITHOUT
    )
    without = [_WITHOUT[part[1:]] for part in parts if part[1:] in _WITHOUT]
    if not without:
        return f"[^{written}]" if negated else f"[{written}]"
    either = "|".join([f"[{written}]"] * bool(written) + without)
    return rf"(?:(?!{either})[\s\S])" if negated else f"(?:{either})"


_OTHERWISE: Final = re.compile(r"\\[AZaGhHKRXpP]|\(\?(?![:=!]|<[=!A-Za-z_$])|\[\^?\]|[*+?}]\+")


def reads_otherwise(pattern: str) -> str:
    """Return a part that JavaScript reads otherwise than Python, or refuses; "" if there is none.

    ``\\A`` is a letter there, ``[^]`` any character, ``(?i)`` and ``a*+`` are errors.
    """
    found = _OTHERWISE.search(pattern.replace("\\\\", ""))
    return found[0] if found else ""
