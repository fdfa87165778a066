"""The schemas of Rasa 3.6: domain, NLU data, stories and rules, configuration."""

from typing import Final

from turncheck.validation.schema_rules import Keys, ListOf, Rule, Scalar

_TEXT: Final = Scalar("str")
_BOOL: Final = Scalar("bool")
_ANY: Final = Scalar("any")
_TEXTS: Final = ListOf((_TEXT,))
_LETTER: Final = "[A-Za-z]+"
_OPEN: Final = Keys(None)

# --- responses, in the domain and in NLU files -----------------------------------------------------------------------

_BUTTONS: Final = ListOf((Keys({"title": _TEXT, "payload": _TEXT}, others=True),))
_CONDITION: Final = Keys({"type": _TEXT, "name": _TEXT, "value": _ANY})
_VARIATION: Final = Keys(
    {
        "id": _TEXT,
        "text": _TEXT,
        "image": _TEXT,
        "custom": _OPEN,
        "buttons": _BUTTONS,
        "button_type": _TEXT,
        "quick_replies": _BUTTONS,
        "attachment": _OPEN,
        "elements": ListOf((_OPEN,)),
        "channel": _TEXT,
        "metadata": _ANY,
        "condition": ListOf((_CONDITION,)),
    },
    must_exist=True,
)
_RESPONSES: Final = Keys({}, others=ListOf((_VARIATION,), responses=True), others_named=".+")

# --- domain ----------------------------------------------------------------------------------------------------------

_MAPPING: Final = Keys(
    {
        "type": _TEXT,
        "intent": _ANY,
        "not_intent": _ANY,
        "entity": _TEXT,
        "role": _TEXT,
        "group": _TEXT,
        "value": _ANY,
        "action": _TEXT,
        "conditions": ListOf((Keys({"active_loop": _TEXT, "requested_slot": _TEXT}),)),
    },
    others=True,
)
_SLOT: Final = Keys(
    {
        "influence_conversation": _BOOL,
        "type": _ANY,
        "values": ListOf((_ANY,)),
        "min_value": Scalar("number"),
        "max_value": Scalar("number"),
        "initial_value": _ANY,
        "mappings": ListOf((_MAPPING,)),
    },
    required=("type", "mappings"),
    others=True,
)
DOMAIN: Final[Rule] = Keys(
    {
        "version": _TEXT,
        "intents": ListOf((Keys({"use_entities": _ANY, "ignore_entities": _ANY}, others=True), _TEXT)),
        "entities": ListOf((Keys({"roles": _TEXTS, "groups": _TEXTS}, others=True), _TEXT)),
        "actions": ListOf((_TEXT, Keys({}, others=Keys({"send_domain": _BOOL}), others_named=_LETTER))),
        "responses": _RESPONSES,
        "slots": Keys({}, others=_SLOT, others_named=_LETTER),
        "forms": Keys({}, others=Keys({"required_slots": _TEXTS, "ignored_intents": _ANY}), others_named=_LETTER),
        "config": Keys({"store_entities_as_slots": _BOOL}, others=True),
        "session_config": Keys(
            {"session_expiration_time": Scalar("number", least=0), "carry_over_slots_to_new_session": _BOOL},
            others=True,
        ),
    },
    others=True,
)

# --- NLU data --------------------------------------------------------------------------------------------------------

_LIST_EXAMPLES: Final = ListOf((Keys({"text": _TEXT, "metadata": _ANY}),))
NLU: Final[Rule] = Keys(
    {
        "version": _TEXT,
        "nlu": ListOf(
            (
                Keys({"intent": _TEXT, "metadata": _ANY, "examples": _TEXT}),
                Keys({"intent": _TEXT, "metadata": _ANY, "examples": _LIST_EXAMPLES}),
                Keys({"synonym": _TEXT, "examples": _TEXT}),
                Keys({"regex": _TEXT, "examples": _TEXT}),
                Keys({"lookup": _TEXT, "examples": _TEXT}),
            )
        ),
        "responses": _RESPONSES,
    },
    others=True,
)

# --- stories and rules -----------------------------------------------------------------------------------------------

_ENTITIES: Final = ListOf((Keys({"role": _TEXT, "group": _TEXT}, others=_ANY), _TEXT))
_USER: Final = Keys({"intent": _TEXT, "user": _TEXT, "entities": _ENTITIES})
_LOOP: Final = Keys({"active_loop": _TEXT})
_ACTION: Final = Keys({"action": _TEXT})
# The last of pykwalify's alternatives is a mapping without any rule, so every list passes.
_SLOT_LIST: Final = ListOf((_OPEN,))
_SLOTS: Final = Keys({"slot_was_set": _SLOT_LIST})
_OR: Final = Keys({"or": ListOf((_USER, _SLOTS))})

STORIES: Final[Rule] = Keys(
    {
        "version": _TEXT,
        "stories": ListOf(
            (
                Keys(
                    {
                        "story": _TEXT,
                        "metadata": _ANY,
                        "steps": ListOf(
                            (
                                _USER,
                                _LOOP,
                                _ACTION,
                                Keys({"bot": _TEXT}),
                                _SLOTS,
                                Keys({"checkpoint": _TEXT, "slot_was_set": _SLOT_LIST}),
                                _OR,
                            )
                        ),
                    }
                ),
            )
        ),
        "rules": ListOf(
            (
                Keys(
                    {
                        "rule": _TEXT,
                        "metadata": _ANY,
                        "steps": ListOf((_USER, _ACTION, _LOOP, _SLOTS, _OR)),
                        "condition": ListOf((_LOOP, _SLOTS)),
                        "conversation_start": _BOOL,
                        "wait_for_user_input": _BOOL,
                    }
                ),
            )
        ),
    },
    others=True,
)

# --- configuration ---------------------------------------------------------------------------------------------------

_NAMED: Final = ListOf((Keys({"name": _TEXT}, required=("name",), others=True),))
CONFIG: Final[Rule] = Keys(
    {
        "version": _TEXT,
        "language": _TEXT,
        "assistant_id": _TEXT,
        "pipeline": _NAMED,
        "policies": _NAMED,
        "spaces": _NAMED,
    },
    others=True,
)
