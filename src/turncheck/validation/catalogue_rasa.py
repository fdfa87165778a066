"""Checks that Rasa has too: of a loaded project, of its domain, of the formats of older versions.

Facts about Rasa's behaviour come from running Rasa 3.6.21; the wording is our own.
"""

from __future__ import annotations

from turncheck.validation.catalogue_loading import ARGUMENTS, NLU_LOADING, READING, STORY_LOADING
from turncheck.validation.checks import emptying_check, error_check, info_check, warning_check
from turncheck.validation.checks import own_check as _check

# Checks that Rasa 3.6 has too, of the domain while it is loaded: same faults, levels and effects on the exit code.
#
# Facts about Rasa's behaviour come from running Rasa 3.6.21; the wording is our own.

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


CROSS_REFERENCES = (
    error_check(
        "domain-empty",
        "domain",
        "The domain is empty",
        "There is nothing to check the data against. Write intents, actions, responses into it.",
        needs=("domain", "nlu", "stories"),
        then="stops",
    ),
    error_check(
        "intent-triggers-removed",
        "domain",
        "An intent uses the removed `triggers` key",
        "It belonged to the MappingPolicy. Write a rule: the intent, then the action.",
    ),
    error_check(
        "action-not-in-domain",
        "domain",
        "A story or rule uses an action that the domain does not list",
        "List it below `actions`, or correct its name.",
        needs=("domain",),
        position=1,
        about_domain=True,
    ),
    error_check(
        "form-not-in-domain",
        "domain",
        "A story or rule activates a form that the domain does not define",
        "Define it below `forms`, or correct its name.",
        needs=("domain",),
        position=2,
        about_domain=True,
    ),
    error_check(
        "form-slot-undefined",
        "domain",
        "A form requires a slot that the domain does not define",
        "Define it below `slots`, or correct its name.",
        needs=("domain",),
        position=3,
    ),
    error_check(
        "mapping-conditions-empty",
        "domain",
        "There is nothing below `conditions` of a slot mapping",
        "Rasa 3.6 ends with a traceback here. Write the conditions, or remove the key.",
        then="stops",
        position=4,
    ),
    error_check(
        "required-slots-empty",
        "domain",
        "There is nothing below `required_slots` of a form",
        "Rasa 3.6 ends with a traceback here. Write the slots, or an empty list: `required_slots: []`.",
        then="stops",
        position=3,
    ),
    error_check(
        "mapping-form-undefined",
        "domain",
        "A slot mapping's condition names an unknown form",
        "Define the form below `forms`, or correct its name.",
        needs=("domain",),
        position=4,
    ),
    error_check(
        "mapping-slot-not-required",
        "domain",
        "A slot mapping's condition names a form that does not require the slot",
        "Add the slot to the form's `required_slots`, or remove the condition.",
        position=4,
    ),
    warning_check(
        "intent-without-examples",
        "nlu",
        "An intent of the domain has no examples",
        "It can never be predicted. Write examples, or remove it.",
        needs=("nlu", "stories"),
    ),
    warning_check(
        "intent-not-in-domain",
        "nlu",
        "An intent of the NLU data is not listed in the domain",
        "Add it to the domain's `intents`, or correct its name.",
        "on-warnings",
        needs=("domain",),
        about_domain=True,
    ),
    warning_check(
        "example-in-several-intents",
        "nlu",
        "The same sentence appears under different intents",
        "No classifier can tell them apart. Keep it in one.",
        "on-warnings",
    ),
    warning_check(
        "story-intent-undefined",
        "nlu",
        "A story or rule uses an intent that the domain does not list",
        "Add it to the domain's `intents`, or correct its name.",
        "on-warnings",
        "never",
        needs=("domain",),
        with_stories=True,
        about_domain=True,
    ),
    warning_check(
        "intent-unused",
        "nlu",
        "An intent of the domain is used in no story or rule",
        "Nothing says what the assistant should do then. Write a rule or story, or remove it.",
        needs=("stories",),
    ),
    warning_check(
        "response-undefined",
        "nlu",
        "A story or rule uses a response that is defined nowhere",
        "Write the response, or correct its name.",
        "on-warnings",
        details="A key of a retrieval intent (`utter_faq/hours`) is chosen by the response selector: stories name"
        " `utter_faq`. If a change renamed or removed the response, see the top of this page.",
        needs=("domain", "responses"),
        about_domain=True,
    ),
    warning_check(
        "response-unused",
        "nlu",
        "A response is used in no story or rule",
        "Remove it, or use it.",
        details="Questions of forms (`utter_ask_<slot>`) and responses that a string of the project's Python code names"
        " are not reported. A custom action that runs elsewhere, or puts the name together, may still use it.",
        needs=("domain", "stories"),
    ),
    warning_check(
        "story-conflict",
        "stories",
        "Stories disagree about what comes next",
        "After the same turns, two stories continue with different actions; a policy cannot learn both. Make them"
        " agree, or make what differs visible: a slot, an entity, a longer `max_history`.",
        "on-warnings",
    ),
    warning_check(
        "config-key-missing",
        "config",
        "The configuration lacks a mandatory key",
        "`language` and `assistant_id` are mandatory since Rasa 3.5.",
    ),
    info_check(
        "assistant-id-placeholder",
        "config",
        "`assistant_id` still has the placeholder",
        "Give your assistant an identifier of its own.",
    ),
)

RASA_CHECKS = (*ARGUMENTS, *READING, *DOMAIN_LOADING, *NLU_LOADING, *STORY_LOADING, *CROSS_REFERENCES)


# Our own checks of the formats of Rasa 0.x, 1.x and 2.x: what they drop, refuse, or misread.

OLDER_CHECKS = (
    _check(
        "markdown-ignored",
        "warning",
        "A line of training data is ignored",
        "Rasa silently skips it: it is neither a header nor an item, comes before the first header, or belongs"
        " to another kind of file. Correct the line, or convert the file: in YAML nothing is skipped silently.",
        "## intent:greet\nhello\n- hi there",
        "## intent:greet\n- hello\n- hi there",
        matters_always=True,
    ),
    _check(
        "markdown-refused",
        "error",
        "Rasa ends at a line of training data",
        "Nothing is trained or tested while it is there. Correct the line as the finding says, or convert the file.",
        "## intent :greet\n- hello",
        "## intent:greet\n- hello",
        matters_always=True,
    ),
    _check(
        "markdown-read-otherwise",
        "warning",
        "A line of training data means something else than it seems to",
        "Rasa finds a header in an item, keeps a blank in a name, drops a condition, or reads a comment as text. Write"
        " it so that it says what it means, or convert the file.",
        "## intent:ask\n- what does ## intent:greet mean",
        "## intent:ask\n- what does intent:greet mean",
        matters_always=True,
    ),
    _check(
        "lookup-file-missing",
        "error",
        "The file of a lookup table does not exist",
        "Training ends with an error. The path is relative to the folder in which Rasa is started.",
        "## lookup:town\ndata/town.txt",
        "## lookup:town\ndata/towns.txt",
        matters_always=True,
    ),
    _check(
        "data-not-json",
        "error",
        "A file of NLU data is not JSON",
        "Rasa silently skips the whole file, so that its sentences are missing. Correct it, or convert it.",
        '{"rasa_nlu_data": {"common_examples": [],}}',
        '{"rasa_nlu_data": {"common_examples": []}}',
        matters_always=True,
    ),
    _check(
        "data-format-unknown",
        "error",
        "A JSON file of an older project is of no known format",
        "Its keys are not those of Rasa, LUIS, Wit.ai or Dialogflow. Rasa 0 ends at it, Rasa 1 and 2 silently skip"
        " the whole file. Export it again, correct its keys, or move it out of the data folder.",
        '{"sentences": [{"text": "hello", "intent": "greet"}]}',
        '{"rasa_nlu_data": {"common_examples": [{"text": "hello", "intent": "greet"}]}}',
        matters_always=True,
    ),
    _check(
        "markdown-of-form",
        "info",
        "A line of a story was written while a form was active",
        "Interactive learning writes what was said and done within a form as `* form: …` and `- form: …`. Rasa skips"
        " such lines; the form's own events count.",
        '* form: inform{"drink": "tea"}',
        '- form{"name": "order_form"}',
    ),
    _check(
        "entity-out-of-range",
        "warning",
        "An entity is outside its sentence",
        "Rasa does not check offsets, and learns nothing from such an entity. Offsets count characters from 0, the end"
        " exclusive; other tools count bytes, or include the end.",
        '{"text": "to Rome", "entities": [{"start": 3, "end": 9, "entity": "city"}]}',
        '{"text": "to Rome", "entities": [{"start": 3, "end": 7, "entity": "city"}]}',
        matters_always=True,
    ),
)
