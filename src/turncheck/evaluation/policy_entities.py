"""Entities annotated in test stories, compared with those that policies find in the texts: ``TEDPolicy_report.json``.

Only Rasa's TEDPolicy, trained on end-to-end stories with entities, finds any; no stand-in does, and a server does not
report what its policies found. So all of them count as missed, as they do in Rasa with any other policy.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from turncheck.dialogue.events import ActionExecuted, SlotSet, UserUttered
from turncheck.evaluation.scores import score_pairs
from turncheck.report.model import Confusion, EntitySpan, PolicyEntities
from turncheck.report.tags import NO_ENTITY, Tokens, token_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.dialogue.tracker import Tracker


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """A message with its entities as in the story: ``{start, end, entity, value}``, optionally role and group."""

    text: str
    entities: tuple[Mapping[str, Any], ...]


def annotated_text(tracker: Tracker) -> AnnotatedText | None:
    """Return the message right before the next prediction, if it has annotated entities.

    Slots may be set between the two; if there is anything else, Rasa ignores the entities.
    """
    last = tracker.events[-1] if tracker.events else None
    if isinstance(last, SlotSet):
        last = tracker.last_applied(UserUttered, ActionExecuted)
    if not isinstance(last, UserUttered) or not last.text:
        return None
    entities = tuple(entity for entity in last.entities if "start" in entity and "end" in entity)
    return AnnotatedText(last.text, entities) if entities else None


def score_policy_entities(judged: Sequence[AnnotatedText], tokens: Mapping[str, Tokens]) -> PolicyEntities:
    """Score by Rasa's tag scheme; a text whose tokens are not known does not count."""
    pairs: Counter[tuple[str, str]] = Counter()
    errors = []
    for one in judged:
        labels = token_labels(tokens.get(one.text, ()), [_span(entity) for entity in one.entities])
        pairs.update((label, NO_ENTITY) for label in labels)
        if any(label != NO_ENTITY for label in labels):
            entities = [dict(entity) for entity in one.entities]
            errors.append({"text": one.text, "entities": entities, "predicted_entities": []})
    return PolicyEntities(
        report=score_pairs(pairs, excluded=NO_ENTITY).report,
        errors=tuple(errors),
        labels=tuple(
            Confusion(expected=expected, predicted=predicted, count=count)
            for (expected, predicted), count in sorted(pairs.items())
        ),
    )


def _span(entity: Mapping[str, Any]) -> EntitySpan:
    return EntitySpan(
        start=entity["start"],
        end=entity["end"],
        entity=entity["entity"],
        value=entity.get("value"),
        role=entity.get("role"),
        group=entity.get("group"),
    )
