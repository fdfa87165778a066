"""Rasa's tag scheme: each token has the label of the entity with which it shares the most characters.

The scheme is Rasa's (``rasa test nlu``): splitting one entity into two of the same type, or borders within a word,
makes no difference. It is here because both the scores and the files made from a report need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.report.model import EntitySpan

NO_ENTITY: Final = "no_entity"
_OUTSIDE: Final = "O"
"""Rasa's tag for "no entity": an entity, role or group with this very name counts as none."""

WRITTEN_TOKENS: Final = r"^([0-9]{1,9}-[0-9]{1,9}( [0-9]{1,9}-[0-9]{1,9})*)?(?!\n)$"
"""What :func:`write_tokens` writes."""

Tokens = tuple[tuple[int, int], ...]
"""``(start, end)`` of each token in code points."""

EXTRACTORS_WITH_CONFIDENCE: Final = ("CRFEntityExtractor", "DIETClassifier")
"""Rasa only draws a histogram of confidences for these."""


def write_tokens(tokens: Tokens) -> str:
    """Write token borders in one line.

    >>> write_tokens(((0, 5), (6, 11)))
    '0-5 6-11'
    """
    return " ".join(f"{start}-{end}" for start, end in tokens)


def read_tokens(text: str) -> Tokens:
    """Read what :func:`write_tokens` wrote.

    >>> read_tokens("0-5 6-11")
    ((0, 5), (6, 11))
    """
    borders = (token.split("-") for token in text.split())
    return tuple((int(start), int(end)) for start, end in borders)


def label_of(entity: EntitySpan) -> str:
    """Return the label that is scored: entity, group, role, joined by dots (``city.departure``, ``topping.1.extra``).

    >>> from turncheck.report.model import EntitySpan
    >>> label_of(EntitySpan(start=0, end=4, entity="topping", value="feta", role="extra", group="1"))
    'topping.1.extra'
    """
    parts = [part for part in (entity.entity, entity.group, entity.role) if part and part != _OUTSIDE]
    return ".".join(parts) if parts else NO_ENTITY


def overlapping(entities: Sequence[EntitySpan]) -> list[tuple[EntitySpan, EntitySpan]]:
    """Return the pairs of different findings that share a part of the sentence.

    The same span with the same type and value, found by two extractors, is one finding, not an overlap, although one of
    them may also have a role or group.
    """
    ordered = sorted(entities, key=lambda entity: (entity.start, entity.end))
    return [
        (one, other)
        for place, one in enumerate(ordered)
        for other in ordered[place + 1 :]
        if other.start < one.end and _finding(one) != _finding(other)
    ]


def _finding(entity: EntitySpan) -> tuple[int, int, str, str]:
    return entity.start, entity.end, entity.entity, str(entity.value)


def entity_at(token: tuple[int, int], entities: Iterable[EntitySpan]) -> EntitySpan | None:
    """Return the entity that shares the most characters with the token; the first of equals, ``None`` if none does."""
    best, most = None, 0
    for entity in entities:
        shared = min(token[1], entity.end) - max(token[0], entity.start)
        if shared > most:
            best, most = entity, shared
    return best


def token_labels(tokens: Tokens, entities: Sequence[EntitySpan]) -> list[str]:
    """Return the label of each token (:data:`NO_ENTITY` where no entity touches it)."""
    if not entities:
        return [NO_ENTITY] * len(tokens)
    touching = (entity_at(token, entities) for token in tokens)
    return [NO_ENTITY if entity is None else label_of(entity) for entity in touching]


def token_confidences(tokens: Tokens, entities: Sequence[EntitySpan]) -> list[float]:
    """Return for each token how sure the extractor was: the least of its entity's confidences, 0 where there is none.

    Type, role and group may each have a confidence; one that is missing or 0 counts as 1, as in Rasa.
    """
    confidences = []
    for token in tokens:
        entity = entity_at(token, entities)
        if entity is None or entity.extractor not in EXTRACTORS_WITH_CONFIDENCE:
            confidences.append(0.0)
            continue
        extra = entity.extra or {}
        named = (entity.confidence, extra.get("confidence_role"), extra.get("confidence_group"))
        confidences.append(min((one for one in named if isinstance(one, int | float) and one), default=1.0))
    return confidences
