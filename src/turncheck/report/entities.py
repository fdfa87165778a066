"""Entities in the report, and the scheme by which they are scored: each token has the label of one entity.

The scheme is Rasa's (``rasa test nlu``): a token's entity is the one with which it shares the most characters.
Splitting one entity into two of the same type, or borders within a word, makes no difference. It is here because both
the scores and the files made from a report need it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from turncheck.report.part import Figure, Part, Whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


NO_ENTITY: Final = "no_entity"
_OUTSIDE: Final = "O"
"""Rasa's tag for "no entity": an entity, role or group with this very name counts as none."""
WRITTEN_TOKENS: Final = r"^([0-9]{1,9}-[0-9]{1,9}( [0-9]{1,9}-[0-9]{1,9})*)?(?!\n)$"
"""What :func:`write_tokens` writes."""
Tokens = tuple[tuple[int, int], ...]
"""``(start, end)`` of each token in code points."""
EXTRACTORS_WITH_CONFIDENCE: Final = ("CRFEntityExtractor", "DIETClassifier")
"""Rasa only draws a histogram of confidences for these."""
_WORD: Final = re.compile(r"\S+")
_DIMENSION: Final = re.compile(r"(Duckling\w+) \((.+)\)", re.DOTALL)


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


def words_of(text: str) -> Tokens:
    """Return the words of a message as tokens, none of one that names its intent itself: it skips every tokenizer.

    >>> words_of("to Bonn")
    ((0, 2), (3, 7))
    >>> words_of('/inform{"city": "Bonn"}')
    ()
    """
    return () if text.lstrip().startswith("/") else tuple(word.span() for word in _WORD.finditer(text))


def label_of(entity: EntitySpan) -> str:
    """Return the label that is scored: entity, group, role, joined by dots (``city.departure``, ``topping.1.extra``).

    >>> from turncheck.report.understanding import EntitySpan
    >>> label_of(EntitySpan(start=0, end=4, entity="topping", value="feta", role="extra", group="1"))
    'topping.1.extra'
    """
    parts = [part for part in (entity.entity, entity.group, entity.role) if part and part != _OUTSIDE]
    return ".".join(parts) if parts else NO_ENTITY


def of_dimension(extractor: str, dimension: str) -> str:
    """Return what one dimension of Duckling is called, which is judged like an extractor of its own.

    >>> of_dimension("DucklingEntityExtractor", "time")
    'DucklingEntityExtractor (time)'
    """
    return f"{extractor} ({dimension})"


def found_by(extractor: str, entity_spans: Iterable[EntitySpan]) -> list[EntitySpan]:
    """Return what an extractor found, or one dimension of Duckling."""
    named = _DIMENSION.fullmatch(extractor)
    component, dimension = named.groups() if named else (extractor, None)
    return [span for span in entity_spans if span.extractor == component and dimension in {None, span.entity}]


def to_find(extractor: str, expected: Sequence[EntitySpan], scored: Iterable[str]) -> Sequence[EntitySpan]:
    """Return what an extractor should find of what is expected: all of it, but of Duckling only what it knows.

    ``scored``: all that is scored; what Duckling knows are its dimensions among that.
    """
    named = _DIMENSION.fullmatch(extractor)
    if named is not None:
        return [span for span in expected if span.entity == named[2]]
    dimensions = {match[2] for name in scored if (match := _DIMENSION.fullmatch(name)) and match[1] == extractor}
    return [span for span in expected if span.entity in dimensions] if dimensions else expected


def overlapping(entities: Sequence[EntitySpan]) -> list[tuple[EntitySpan, EntitySpan]]:
    """Return the pairs of different findings that share a part of the sentence.

    The same span with the same type and value, found by two extractors, is one finding, not an overlap, although one of
    them may also have a role or group.
    """
    ordered = sorted(entities, key=lambda entity: (entity.start, entity.end))
    return [
        (span, other)
        for place, span in enumerate(ordered)
        for other in ordered[place + 1 :]
        if other.start < span.end and _finding(span) != _finding(other)
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


class EntitySpan(Part, frozen=True, kw_only=True):
    """An entity in a sentence; ``extractor`` and ``confidence`` only where it was predicted."""

    start: Whole
    """The index of its first character in the sentence."""
    end: Whole
    """The index after its last character."""
    entity: str
    """Its type."""
    value: Any
    """What it stands for: the text itself, or what a synonym makes of it."""
    role: str | None = None
    """Its role, where it has one."""
    group: str | None = None
    """Its group, where it has one."""
    extractor: str | None = None
    """The component that found it; ``None`` for one that is expected."""
    confidence: Figure | None = None
    """How sure the extractor is, 0 to 1, where it says so."""
    extra: dict[str, Any] | None = None
    """Further keys of Rasa's entity dictionary (``confidence_role``, ``processors`` …) as the engine gave them."""
