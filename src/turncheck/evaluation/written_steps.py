"""The steps of a judged story as they are written to Rasa's story files."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from turncheck.evaluation.annotated import annotated
from turncheck.report.model import WrittenStep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.dialogue.events import UserUttered


def user_step(event: UserUttered) -> dict[str, Any]:
    """Write a message as in the story."""
    step: dict[str, Any] = {}
    if event.intent_name and not event.use_text:
        step["intent"] = event.intent.get("full_retrieval_intent_name") or event.intent_name
    if event.entities:
        step["entities"] = [_written_entity(entity) for entity in event.entities]
    if event.text and event.use_text:
        step["user"] = annotated(event.text, event.entities)
    return step


def _written_entity(entity: Mapping[str, Any]) -> Any:
    return {entity["entity"]: entity["value"]} if "value" in entity else entity["entity"]


def wrong_user_step(event: UserUttered, intent: str | None, predicted: Sequence[Mapping[str, Any]]) -> WrittenStep:
    """Write a misunderstood message with only those entities where something was found, along with what was found."""
    step: dict[str, Any] = {}
    if event.intent_name and not event.use_text:
        step["intent"] = event.intent_name
    comments: dict[str, str] = {}
    entities: list[Any] = []
    for entity in event.entities:
        if "value" not in entity:
            entities.append(entity["entity"])
            continue
        for found in predicted:
            if found.get("start") == entity.get("start"):
                if found["entity"] != entity["entity"]:
                    comments[str(len(entities))] = f"predicted: {found['entity']}: {found.get('value')}"
                entities.append(_written_entity(entity))
    if event.entities:
        step["entities"] = entities
    if event.text and event.use_text:
        step["user"] = annotated(event.text, event.entities)
    comment = None
    # Rasa attaches the comment to the intent: a step with only a text gets none.
    if "intent" in step and (not entities or intent != event.intent_name):
        comment = f"predicted: {intent}: {annotated(event.text or '', predicted)}".replace("\n", " ")
    return WrittenStep(step=step, comment=comment, entity_comments=comments)


@lru_cache(maxsize=4096)
def written_action(name: str | None, text: str | None, comment: str | None = None) -> WrittenStep:
    """Write an action. The same object is returned for the same action: thousands of stories use the same few."""
    return WrittenStep(step={"action": name} if name else {"bot": text}, comment=comment)
