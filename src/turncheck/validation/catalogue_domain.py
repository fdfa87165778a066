"""Checks that Rasa 3.6 has too, of the domain while it is loaded: same faults, levels and effects on the exit code.

Facts about Rasa's behaviour come from running Rasa 3.6.21; the wording is our own.
"""

from turncheck.validation.checks import emptying_check, error_check, warning_check

DOMAIN_LOADING = (
    emptying_check("intent-duplicate", "An intent is listed twice in the domain", "Remove one of the two.", position=5),
    emptying_check(
        "action-duplicate",
        "An action is listed twice in the domain",
        "Remove one of the two. Forms and default actions count as actions too.",
        position=7,
    ),
    emptying_check(
        "slot-duplicate", "A slot is defined twice in the domain", "Remove or rename one of the two.", position=8
    ),
    emptying_check("entity-duplicate", "An entity is listed twice in the domain", "Remove one of the two.", position=9),
    emptying_check(
        "intent-trailing-colon",
        "An intent of the domain is followed by a colon and nothing else",
        "Remove the colon, or write `use_entities` or `ignore_entities` below it.",
        position=4,
    ),
    emptying_check(
        "entity-trailing-colon",
        "An entity of the domain is followed by a colon and nothing else",
        "Remove the colon, or write `roles`, `groups` or `influence_conversation` below it.",
        position=3,
    ),
    emptying_check(
        "trigger-action-undefined",
        "The `triggers` key of an intent names an unknown action",
        "The key is from Rasa 1 and was removed. Write a rule instead.",
        position=10,
    ),
    emptying_check(
        "mapping-malformed", "A slot mapping is not a mapping of keys", "Write `- type: from_entity` and so on."
    ),
    emptying_check(
        "mapping-type-unknown",
        "A slot mapping has an unknown type",
        "Known are `from_entity`, `from_intent`, `from_trigger_intent`, `from_text` and `custom`.",
    ),
    emptying_check(
        "mapping-key-missing",
        "A slot mapping lacks a key that its type needs",
        "`from_entity` needs `entity`; `from_intent` and `from_trigger_intent` need `value`.",
    ),
    emptying_check(
        "form-malformed",
        "The forms of the domain are not written as mappings",
        "Write the form's name, and below it `required_slots` with a list.",
        position=2,
    ),
    emptying_check(
        "form-without-required-slots",
        "A form has `ignored_intents` but no `required_slots`",
        "Add `required_slots`, at least as an empty list.",
        position=2,
    ),
    error_check(
        "slot-type-unknown",
        "load",
        "A slot has an unknown type",
        "Known are `text`, `bool`, `categorical`, `float`, `list` and `any`. A custom class is named by its module path"
        " and must be importable where Rasa runs.",
        then="stops",
        position=1,
    ),
    error_check(
        "slot-key-unknown",
        "load",
        "A slot has a key that its type does not know",
        "Rasa 3.6 ends with a traceback here. Remove the key or correct its spelling; `values` belongs to categorical"
        " slots, `min_value` and `max_value` to float slots.",
        then="stops",
        position=1,
    ),
    error_check(
        "slot-range-invalid",
        "load",
        "The minimum of a float slot is not below its maximum",
        "Without keys the range is 0 to 1. Set `min_value` and `max_value`.",
        then="stops",
        position=1,
    ),
    error_check(
        "section-empty",
        "load",
        "A section of the domain is empty",
        "Rasa 3.6 ends with a traceback here. Remove the key, or write an empty list: `intents: []`.",
        then="stops",
        position=6,
    ),
    error_check(
        "intent-malformed",
        "load",
        "The properties of an intent are not written as a mapping, or its entities not as a list",
        "Rasa 3.6 ends with a traceback here. Write `use_entities` or `ignore_entities` below the intent, or only its"
        " name.",
        then="stops",
        position=4,
    ),
    error_check(
        "entity-malformed",
        "load",
        "The roles or groups of an entity are not written as a list",
        "Rasa 3.6 ends with a traceback here. Write a list, or remove the key.",
        then="stops",
        position=4,
    ),
    error_check(
        "name-not-text",
        "load",
        "A name in the domain is not a string",
        "A number, a date or a Boolean cannot be compared with the other names, and Rasa 3.6 ends with a traceback."
        " Put it in quotes.",
        then="stops",
        position=4,
    ),
    error_check(
        "response-is-form",
        "load",
        "A response in an NLU file has the name of a form",
        "Both would be actions of that name, and Rasa refuses to load the domain. Rename one of them.",
        then="stops",
    ),
    error_check(
        "slot-any-influences",
        "load",
        "A slot of type `any` is set to influence the conversation",
        "It cannot; Rasa refuses to load the domain. Remove `influence_conversation`, or use another type.",
        then="stops",
        position=1,
    ),
    warning_check(
        "slot-initial-value-outside",
        "load",
        "The initial value of a float slot is outside its range",
        "Correct the value, or set `min_value` and `max_value`.",
    ),
    warning_check(
        "slot-value-null",
        "load",
        "A categorical slot lists `null` as a value",
        'It is left out, since `null` means “not set”. Write `"null"` in quotes, or another word.',
    ),
    warning_check(
        "entity-used-and-ignored",
        "load",
        "An intent uses and ignores the same entity",
        "Ignoring wins. Remove the entity from `use_entities` or from `ignore_entities`.",
        position=4,
    ),
    warning_check(
        "domain-merge-duplicate",
        "load",
        "A name is defined in more than one file",
        "One definition silently wins over the other. Keep one. Names defined in the domain and in an NLU file count"
        " as well.",
    ),
    warning_check(
        "listed-response-undefined",
        "load",
        "An `utter_` action of the domain has no response",
        "Nothing would be said. Write the response, or remove the action.",
        needs=("domain", "responses"),
        about_domain=True,
    ),
)
