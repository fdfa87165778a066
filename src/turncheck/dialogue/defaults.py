"""The names that every Rasa 3 assistant has by default: intents, actions, slots."""

from typing import Final

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

SLOT_REQUESTED: Final = "requested_slot"
SLOT_SESSION_METADATA: Final = "session_started_metadata"
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
