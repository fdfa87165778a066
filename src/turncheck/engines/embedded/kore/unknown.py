"""What cannot be known here about a Kore.ai assistant, patterns included: not evaluated, never counted as wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.project.batch.model import comparable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.project.kore.model import KoreBot, KoreEntity, KoreIntent


# Regular expressions of an export, which a pull request may have changed: matched within limits.

_LONGEST_PATTERN: Final = 1_000
_LONGEST_TEXT: Final = 3_000
"""Longer utterances are refused by the platform."""
_SECONDS: Final = 0.2
"""The time limit of an expression for one sentence; an ordinary one takes a millionth of that."""


def compiled(pattern: str) -> Any | None:
    """Return a compiled expression, ``None`` if it is not valid here.

    JavaScript's syntax is nearly Python's.
    """
    if len(pattern) > _LONGEST_PATTERN:
        return None
    import regex  # most assistants have none

    try:
        return regex.compile(pattern)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError):
        return None


def matches(pattern: Any, text: str) -> Iterator[tuple[int, int]]:
    """Yield where an expression matches, within the time limit; empty matches are skipped."""
    if len(text) > _LONGEST_TEXT:
        return
    try:
        for match in pattern.finditer(text, timeout=_SECONDS):
            if match[0]:
                yield match.span()
    except TimeoutError:
        return


_FREE_TEXT: Final = frozenset({"label", "string", "none", "description", "custom"})
"""Types without a form of their own: they are learnt from annotations."""
_LISTS: Final = frozenset({"list_of_values", "list_of_items_lookup", "list_of_items_enumerated"})


def unknown_intents(bot: KoreBot) -> dict[str, str]:
    """Return why an intent cannot be recognised here, by each of its names, folded."""
    reasons: dict[str, str] = {}
    known = {comparable(intent.name) for intent in bot.intents if _why_unknown(intent) is None}
    for intent in bot.intents:
        if (reason := _why_unknown(intent)) is not None:
            for name in (intent.name, *intent.aliases):
                if comparable(name) not in known:
                    reasons.setdefault(comparable(name), reason)
    return reasons


def _why_unknown(intent: KoreIntent) -> str | None:
    if intent.examples:
        return None
    if intent.parent is not None:
        return f"'{intent.name}' follows up other small talk, which only a conversation can"
    if intent.kind == "small_talk":
        return f"only patterns lead to '{intent.name}', which the platform alone runs"
    if intent.kind == "trait":
        return f"the trait '{intent.name}' has no sentences"
    return f"'{intent.name}' has no utterances: only its name and patterns lead to it, on the platform alone"


def unknown_entities(bot: KoreBot) -> dict[str, str]:
    """Return why an entity cannot be found here, by its name."""
    annotated = {annotation.entity for example in bot.utterances for annotation in example.entities}
    reasons = {}
    for entity in bot.entities:
        if (reason := _why_not_found(entity, is_annotated=entity.name in annotated)) is not None:
            reasons[entity.name] = reason
    for entity in bot.entities:  # of two with the same name the one that can be found counts
        if reasons.get(entity.name) and _why_not_found(entity, is_annotated=entity.name in annotated) is None:
            del reasons[entity.name]
    return reasons


def _why_not_found(entity: KoreEntity, *, is_annotated: bool) -> str | None:
    if entity.pattern is not None and compiled(entity.pattern) is None:
        return "its regular expression is not one that can be looked for here"
    if entity.values or entity.pattern is not None:
        return None
    if entity.type in _LISTS:
        return "its values are not in the export"
    if entity.type not in _FREE_TEXT:
        return f"the platform finds it ({entity.type.replace('_', ' ')})"
    return None if is_annotated else "no sentence has it annotated"
