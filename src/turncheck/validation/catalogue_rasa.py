"""Checks that Rasa 3.6 has too, once a project is loaded: same faults, levels and effects on the exit code.

Facts about Rasa's behaviour come from running Rasa 3.6.21; the wording is our own.
"""

from turncheck.validation.catalogue_domain import DOMAIN_LOADING
from turncheck.validation.catalogue_loading import ARGUMENTS, NLU_LOADING, READING, STORY_LOADING
from turncheck.validation.checks import error_check, info_check, warning_check

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
        "Questions of forms (`utter_ask_<slot>`) are not reported. A custom action may still use it; otherwise remove"
        " it.",
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
