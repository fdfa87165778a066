"""Entity tags: annotations → tags of tokens, and predicted tags → entities, by Rasa's BILOU scheme and its repairs.

A tag is ``O``, or (with BILOU) a prefix ``B-``, ``I-``, ``L-``, ``U-`` and the entity's name, or the bare name.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.engines.embedded.nlu.batch import Tokens
    from turncheck.project.nlu_data import EntityAnnotation

OUTSIDE: Final = "O"
_PREFIXES: Final = frozenset({"B-", "I-", "L-", "U-"})

Attribute = Literal["entity", "role", "group"]
ATTRIBUTES: Final[tuple[Attribute, ...]] = ("entity", "role", "group")
"""In the order in which Rasa trains their taggers."""


def prefix_of(tag: str) -> str:
    """``B-`` of ``B-city``; "" if there is none."""
    return tag[:2] if tag[:2] in _PREFIXES else ""


def name_of(tag: str) -> str:
    """``city`` of ``B-city``."""
    return tag[2:] if tag[:2] in _PREFIXES else tag


def tags_of(
    entities: Sequence[EntityAnnotation], tokens: Tokens, attribute: Attribute, *, bilou: bool
) -> tuple[str, ...]:
    """Return the tag of each token for one attribute of its entity."""
    return _bilou_tags(entities, tokens, attribute) if bilou else _plain_tags(entities, tokens, attribute)


def _bilou_tags(entities: Sequence[EntityAnnotation], tokens: Tokens, attribute: Attribute) -> tuple[str, ...]:
    """An entity whose borders are not token borders gets no tags; if several share a token the last counts."""
    tags = [OUTSIDE] * len(tokens.spans)
    starts = {start: index for index, (start, _) in enumerate(tokens.spans)}
    ends = {end: index for index, (_, end) in enumerate(tokens.spans)}
    for entity in entities:
        name = getattr(entity, attribute)
        first, last = starts.get(entity.start), ends.get(entity.end)
        if not name or first is None or last is None:
            continue
        if first == last:
            tags[first] = f"U-{name}"
            continue
        tags[first] = f"B-{name}"
        tags[first + 1 : last] = [f"I-{name}"] * max(0, last - first - 1)
        tags[last] = f"L-{name}"
    return tuple(tags)


def _plain_tags(entities: Sequence[EntityAnnotation], tokens: Tokens, attribute: Attribute) -> tuple[str, ...]:
    """A token is tagged by the entity it shares most characters with, the first of equals."""
    tags = []
    for start, end in tokens.spans:
        shared = [(min(end, entity.end) - max(start, entity.start), entity) for entity in entities]
        best = max(shared, key=lambda pair: pair[0], default=(0, None))
        tags.append((best[1] is not None and best[0] > 0 and getattr(best[1], attribute)) or OUTSIDE)
    return tuple(tags)


def repair_bilou(tags: Sequence[str], confidences: Sequence[float]) -> tuple[list[str], list[float]]:
    """Make predicted BILOU tags consistent: every entity is closed and has one name.

    The name is the one with the highest harmonic mean of average confidence and share of tokens (each rounded to two
    digits); a token whose name changes takes that score as confidence. So does Rasa.
    """
    tags, confidences = list(tags), list(confidences)
    for first, tag in enumerate(tags):
        if prefix_of(tag) != "B-":
            continue
        last = _end_of_run(tags, first)
        names = [name_of(other) for other in tags[first : last + 1]]
        name = names[0]
        if any(other != name for other in names):
            name, score = _most_plausible(names, confidences[first : last + 1])
            for index in range(first, last + 1):
                if name_of(tags[index]) != name:
                    confidences[index] = round(score, 2)
        if first == last:
            tags[first] = f"U-{name}"
        else:
            tags[first : last + 1] = [f"B-{name}", *[f"I-{name}"] * (last - first - 1), f"L-{name}"]
    return tags, confidences


def _end_of_run(tags: Sequence[str], first: int) -> int:
    """The index where the entity that begins at ``first`` ends: at an ``L-``, or before the first tag outside."""
    index = first + 1
    while index < len(tags) and prefix_of(tags[index]) == "I-":
        index += 1
    if index < len(tags) and prefix_of(tags[index]) == "L-":
        return index
    return index - 1


def _most_plausible(names: Sequence[str], confidences: Sequence[float]) -> tuple[str, float]:
    best: tuple[str, float] | None = None
    for name, count in Counter(names).items():
        own = [confidence for other, confidence in zip(names, confidences, strict=True) if other == name]
        average, share = round(sum(own) / len(own), 2), round(count / len(names), 2)
        score = 2 * average * share / (average + share) if average + share else 0.0
        if best is None or score > best[1]:
            best = name, score
    if best is None:  # an entity has at least one token
        raise AssertionError("no names")
    return best


@dataclass(slots=True)
class TaggedEntity:
    """An entity read off the tags; a confidence is the lowest over its tokens."""

    start: int
    end: int
    entity: str
    confidence: float
    role: str | None = None
    role_confidence: float | None = None
    group: str | None = None
    group_confidence: float | None = None


@dataclass(frozen=True, slots=True)
class TagColumn:
    """The predicted tags of one attribute, and how sure the tagger is of each."""

    tags: Sequence[str]
    confidences: Sequence[float]


def read_entities(
    tokens: Tokens, columns: Mapping[Attribute, TagColumn], split_by_comma: bool | Mapping[str, bool]
) -> list[TaggedEntity]:
    """Join tokens into entities.

    Adjacent tokens are one entity if the tags continue and at most one character is between them; with two or three
    between, only if ``split_by_comma`` is off for that entity. Another role or group begins a new one.
    """
    found: list[TaggedEntity] = []
    before = OUTSIDE, OUTSIDE, OUTSIDE
    last_end = -1
    for index, (start, end) in enumerate(tokens.spans):
        tag = _tag(columns, "entity", index)
        if tag == OUTSIDE:
            before = OUTSIDE, before[1], before[2]
            last_end = end
            continue
        role, group = name_of(_tag(columns, "role", index)), name_of(_tag(columns, "group", index))
        name = name_of(tag)
        begins = _begins(tag, before[0]) or (role, group) != before[1:]
        if not begins and _joins(last_end, start, _splits(split_by_comma, name)):
            _extend(found[-1], columns, index, end)
        else:
            found.append(_new_entity(columns, index, (start, end), (name, role, group)))
        before = tag, role, group
        last_end = end
    return found


def _tag(columns: Mapping[Attribute, TagColumn], attribute: Attribute, index: int) -> str:
    column = columns.get(attribute)
    return OUTSIDE if column is None else column.tags[index]


def _begins(tag: str, before: str) -> bool:
    prefix = prefix_of(tag)
    if not prefix:
        return before != tag
    return before == OUTSIDE or prefix == "U-" or (prefix == "B-" and before != tag)


def _splits(split_by_comma: bool | Mapping[str, bool], name: str) -> bool:
    return split_by_comma if isinstance(split_by_comma, bool) else bool(split_by_comma.get(name, True))


def _joins(last_end: int, start: int, split: bool) -> bool:
    # Rasa intends to only allow full stops, commas and blanks between, but its check accepts any characters.
    return start - last_end <= (1 if split else 3)


def _new_entity(
    columns: Mapping[Attribute, TagColumn], index: int, span: tuple[int, int], names: tuple[str, str, str]
) -> TaggedEntity:
    name, role, group = names
    entity = TaggedEntity(*span, name, columns["entity"].confidences[index])
    if role != OUTSIDE:
        entity.role, entity.role_confidence = role, columns["role"].confidences[index]
    if group != OUTSIDE:
        entity.group, entity.group_confidence = group, columns["group"].confidences[index]
    return entity


def _extend(entity: TaggedEntity, columns: Mapping[Attribute, TagColumn], index: int, end: int) -> None:
    entity.end = end
    entity.confidence = min(entity.confidence, columns["entity"].confidences[index])
    if entity.role_confidence is not None:
        entity.role_confidence = min(entity.role_confidence, columns["role"].confidences[index])
    if entity.group_confidence is not None:
        entity.group_confidence = min(entity.group_confidence, columns["group"].confidences[index])
