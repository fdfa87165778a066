"""The domain as a conversation sees it: with the default actions, intents and slots, and those that NLU data imply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.dialogue.events import SlotSet
from turncheck.messages.finding import NOWHERE
from turncheck.project.model import BotStep, Domain, Intent, Project, Slot, SlotMapping

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


# The names that every Rasa 3 assistant has by default: intents, actions, slots.

INTENT_RESTART: Final = "restart"
INTENT_BACK: Final = "back"
INTENT_OUT_OF_SCOPE: Final = "out_of_scope"
INTENT_SESSION_START: Final = "session_start"
INTENT_NLU_FALLBACK: Final = "nlu_fallback"

DEFAULT_INTENTS: Final = (
    INTENT_RESTART,
    INTENT_BACK,
    INTENT_OUT_OF_SCOPE,
    INTENT_SESSION_START,
    INTENT_NLU_FALLBACK,
)

ACTION_DEACTIVATE_FORM: Final = "action_deactivate_form"
"""Rasa 1's name of ``action_deactivate_loop``."""

ACTION_LISTEN: Final = "action_listen"
ACTION_RESTART: Final = "action_restart"
ACTION_SESSION_START: Final = "action_session_start"
ACTION_DEFAULT_FALLBACK: Final = "action_default_fallback"
ACTION_DEACTIVATE_LOOP: Final = "action_deactivate_loop"
ACTION_REVERT_FALLBACK_EVENTS: Final = "action_revert_fallback_events"
ACTION_DEFAULT_ASK_AFFIRMATION: Final = "action_default_ask_affirmation"
ACTION_DEFAULT_ASK_REPHRASE: Final = "action_default_ask_rephrase"
ACTION_TWO_STAGE_FALLBACK: Final = "action_two_stage_fallback"
ACTION_UNLIKELY_INTENT: Final = "action_unlikely_intent"
ACTION_BACK: Final = "action_back"
ACTION_RULE_SNIPPET: Final = "..."
"""Stands in a rule's tracker for "anything may come before, or follow"."""
ACTION_EXTRACT_SLOTS: Final = "action_extract_slots"
ACTION_VALIDATE_SLOT_MAPPINGS: Final = "action_validate_slot_mappings"
ACTION_QUERY_KNOWLEDGE_BASE: Final = "action_query_knowledge_base"

DEFAULT_ACTIONS: Final = (
    ACTION_LISTEN,
    ACTION_RESTART,
    ACTION_SESSION_START,
    ACTION_DEFAULT_FALLBACK,
    ACTION_DEACTIVATE_LOOP,
    ACTION_REVERT_FALLBACK_EVENTS,
    ACTION_DEFAULT_ASK_AFFIRMATION,
    ACTION_DEFAULT_ASK_REPHRASE,
    ACTION_TWO_STAGE_FALLBACK,
    ACTION_UNLIKELY_INTENT,
    ACTION_BACK,
    ACTION_RULE_SNIPPET,
    ACTION_EXTRACT_SLOTS,
)
"""In Rasa's order: the first of them is taken when no policy predicts anything."""

ACTION_RESET_ROUTING: Final = "action_reset_routing"
"""A default action where flows and what is beside them (intents, rules, stories) share a conversation (Rasa Pro)."""

SAID_BY_DEFAULT_ACTIONS: Final = frozenset({"utter_restart", "utter_back", "utter_default", "utter_ask_rephrase"})
"""Responses that default actions say if the domain has them."""

SLOT_REQUESTED: Final = "requested_slot"
SLOT_SESSION_METADATA: Final = "session_started_metadata"
SLOT_ROUTED_TO_FLOWS: Final = "route_session_to_calm"
"""The slot that a domain has for that."""
KNOWLEDGE_BASE_SLOTS: Final = (
    "knowledge_base_listed_objects",
    "knowledge_base_last_object",
    "knowledge_base_last_object_type",
)
DEFAULT_SLOTS: Final = frozenset({SLOT_REQUESTED, SLOT_SESSION_METADATA, *KNOWLEDGE_BASE_SLOTS})

OTHER_VALUE: Final = "__other__"
"""The value of a categorical slot that stands for all values that the domain does not list."""

SHOULD_NOT_BE_SET: Final = "should_not_be_set"
"""The value that a rule gives to a slot or loop which must be empty for the rule to apply."""


class DialogueDomain(Struct, frozen=True):
    """What states and predictions are made of.

    ``slots`` by name in Rasa's order; ``actions`` as Rasa numbers them (the default ones, custom and response actions,
    forms, texts of end-to-end actions); ``used_entities``: of each intent, the entity names that its messages show (an
    entity with a role ``origin`` also shows as ``city#origin``); ``bot_texts``: the actions that are end-to-end texts.
    """

    domain: Domain
    slots: Mapping[str, Slot]
    actions: tuple[str, ...]
    used_entities: Mapping[str, frozenset[str]]
    retrieval_intents: frozenset[str] = frozenset()
    bot_texts: frozenset[str] = frozenset()

    @classmethod
    def of(cls, project: Project) -> DialogueDomain:
        """Build it from the project's domain and what its NLU data (retrieval intents) and stories (bot texts) add."""
        retrieval = {
            example.base_intent: None
            for example in project.nlu.examples
            if example.base_intent is not None and example.base_intent != example.intent
        }
        texts = {
            step.text: None
            for story in (*project.stories, *project.rules)
            for step in story.steps
            if isinstance(step, BotStep)
        }
        return cls.from_domain(project.domain, retrieval_intents=list(retrieval), bot_texts=tuple(texts))

    @classmethod
    def from_domain(
        cls, domain: Domain, *, retrieval_intents: Iterable[str] = (), bot_texts: Sequence[str] = ()
    ) -> DialogueDomain:
        """Build it from a domain and these additions."""
        retrieval = sorted(retrieval_intents)
        actions = _actions(domain, retrieval, bot_texts)
        intents = {**dict.fromkeys((*DEFAULT_INTENTS, *retrieval)), **domain.intents}
        return cls(
            domain=domain,
            slots=_slots(domain, actions),
            actions=actions,
            used_entities={name: _used_entities(domain, intent) for name, intent in intents.items()},
            retrieval_intents=frozenset(retrieval),
            bot_texts=frozenset((*domain.end_to_end_actions, *bot_texts)),
        )

    @property
    def is_older(self) -> bool:
        """Whether dialogues follow Rasa 1, which keeps all turns of a form."""
        return self.domain.rasa < 2

    def action_number(self, action: str) -> int:
        """Return the index of an action in :attr:`actions`; an unknown one comes after all others."""
        try:
            return self.actions.index(action)
        except ValueError:
            return len(self.actions)

    def shows_something(self, action: str, *, generated: bool = False) -> bool:
        """Whether an action can be done, and, if it is a response, has something to say.

        Rasa raises on an action that the domain does not know, and says nothing for a response without variations. With
        ``generated`` a server generates the texts of the responses, so that they need none here.
        """
        if not action.startswith("utter_") or action in self.bot_texts:
            return action in self.actions
        name, slash, _ = action.partition("/")
        if generated:
            return name in self.actions
        if name.removeprefix("utter_") in self.retrieval_intents and not slash:
            return any(one.variations for key, one in self.domain.responses.items() if key.startswith(f"{name}/"))
        response = self.domain.responses.get(action)
        return response is not None and bool(response.variations)

    def slots_for_entities(self, entities: Sequence[Mapping[str, Any]]) -> list[SlotSet]:
        """Return the slots that these entities fill by themselves in a story: ``from_entity``, tied to no loop."""
        events = []
        for slot in self.slots.values():
            values = [
                entity.get("value")
                for mapping in slot.mappings
                if _fills_anywhere(mapping)
                for entity in entities
                if (entity.get("entity"), entity.get("role"), entity.get("group"))
                == (mapping.entity, mapping.role, mapping.group)
            ]
            if values:
                events.append(SlotSet(slot.name, values if slot.type == "list" else values[-1]))
        return events


def _fills_anywhere(mapping: SlotMapping) -> bool:
    return mapping.type == "from_entity" and not (mapping.conditions and mapping.conditions[0].active_loop is not None)


def _actions(domain: Domain, retrieval: Sequence[str], bot_texts: Sequence[str]) -> tuple[str, ...]:
    custom = [*domain.actions, *(f"utter_{name}" for name in retrieval if f"utter_{name}" not in domain.actions)]
    responses = sorted(name for name in domain.responses if name not in custom)
    if domain.rasa < 2:
        custom += [name for name in (ACTION_DEACTIVATE_FORM,) if name not in custom]
    if SLOT_ROUTED_TO_FLOWS in domain.slots:
        custom += [name for name in (ACTION_RESET_ROUTING,) if name not in custom]
    own = [name for name in (*custom, *responses) if name not in DEFAULT_ACTIONS]
    forms = [name for name in domain.forms if name not in custom]
    texts = (*domain.end_to_end_actions, *(text for text in bot_texts if text not in domain.end_to_end_actions))
    return (*DEFAULT_ACTIONS, *own, *forms, *texts)


def _slots(domain: Domain, actions: Sequence[str]) -> dict[str, Slot]:
    slots = dict(domain.slots)
    hidden = [SLOT_REQUESTED] if domain.forms else []
    if ACTION_QUERY_KNOWLEDGE_BASE in actions:
        hidden.extend(KNOWLEDGE_BASE_SLOTS)
    for name in hidden:
        slots.setdefault(name, Slot(name, "text", NOWHERE, influence_conversation=False))
    slots[SLOT_SESSION_METADATA] = Slot(SLOT_SESSION_METADATA, "any", NOWHERE)
    return slots


def _used_entities(domain: Domain, intent: Intent | None) -> frozenset[str]:
    ignored_by_default = {e.name for e in domain.entities.values() if e.influence_conversation is False}
    use = True if intent is None else intent.use_entities
    if use is True:
        # Rasa adds every role and group here, even those of entities that are ignored by default.
        used = {e.name for e in domain.entities.values()} - ignored_by_default
        used |= {label for name in domain.entities for label in _role_labels(domain, name)}
    else:
        used = _with_roles(domain, use or ())
    ignored = ignored_by_default if intent is None or not intent.ignore_entities else set(intent.ignore_entities)
    return frozenset(used - _with_roles(domain, ignored))


def _with_roles(domain: Domain, names: Iterable[str]) -> set[str]:
    return {label for name in names for label in (name, *_role_labels(domain, name))}


def _role_labels(domain: Domain, name: str) -> list[str]:
    entity = domain.entities.get(name)
    return [] if entity is None else [f"{name}#{label}" for label in (*entity.roles, *entity.groups)]
