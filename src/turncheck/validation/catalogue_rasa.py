"""The checks that Rasa 3.6 has too: the same faults, the same levels, the same effect on the exit code.

Facts about Rasa's behaviour come from running Rasa 3.6.21; the texts are our own.
"""

from turncheck.validation.checks import Check, Fails, Stage

_EMPTIED = (
    " Rasa goes on with an empty domain after this, so that every intent, action and response of the data would be"
    " reported as unknown; those messages are left out here."
)


def _error(code: str, stage: Stage, title: str, text: str) -> Check:
    return Check(code, "error", "always", stage, title, text)


def _emptying(code: str, title: str, text: str) -> Check:
    return Check(code, "error", "always", "load", title, text + _EMPTIED, fails_stories="never")


def _warning(  # noqa: PLR0917 - the rows of a table
    code: str, stage: Stage, title: str, text: str, fails: Fails = "never", fails_stories: Fails | None = None
) -> Check:
    return Check(code, "warning", fails, stage, title, text, fails_stories=fails_stories)


def _info(code: str, stage: Stage, title: str, text: str) -> Check:
    return Check(code, "info", "never", stage, title, text)


ARGUMENTS = (
    _error(
        "domain-not-found",
        "arguments",
        "There is no domain file",
        "Neither the path given by `--domain` nor `domain.yml` exists. Give the path of the domain file or folder.",
    ),
    _error(
        "config-not-found",
        "arguments",
        "There is no configuration file",
        "Neither the path given by `--config` nor `config.yml` exists. Rasa 3.6 ends with a traceback here. Give the"
        " path of the configuration, or write a `config.yml`.",
    ),
    _warning(
        "path-not-found",
        "arguments",
        "A path that was given does not exist",
        "The default is used in its place. Correct the path, so that the files you mean are the ones that are read.",
    ),
    _error(
        "max-history-invalid",
        "stories",
        "`--max-history` is not a positive integer",
        "It says how many turns the story structure check looks back at. Give 1 or more.",
    ),
)

READING = (
    _error(
        "file-not-utf8",
        "load",
        "A file is not UTF-8",
        "Training data, domain and configuration must be stored as UTF-8. Convert the file: `iconv -f LATIN1 -t UTF-8`.",
    ),
    _error(
        "yaml-syntax",
        "load",
        "A file is not valid YAML",
        "The parser stopped at this place. Look for tabs, wrong indentation, an open quote or bracket at or above it.",
    ),
    _error(
        "yaml-duplicate-key",
        "load",
        "A key stands twice in one mapping",
        "YAML would keep just one of the two. Merge their contents, or remove one.",
    ),
    _error(
        "schema-violation",
        "load",
        "A value is not what the file format wants",
        "A wrong type, a missing key, or a key that the format does not know. The message names the path in the file.",
    ),
    _error(
        "yaml-limit",
        "load",
        "A file nests too deeply or grows without bounds",
        "Aliases that contain each other (“billion laughs”) and hundreds of nested levels are not read.",
    ),
    _error(
        "file-unreadable",
        "load",
        "A file cannot be read",
        "It is a folder, a device, or its permissions forbid reading it.",
    ),
    _error(
        "file-too-large",
        "load",
        "A file is too large to be read",
        "Split it into several files.",
    ),
    _error(
        "file-outside-project",
        "load",
        "A symbolic link leads out of the project",
        "It is not followed, since a pull request could point it anywhere. Put the file itself into the project.",
    ),
    _info(
        "version-missing",
        "load",
        "A file has no `version` key",
        'It is read as version 3.1. Put `version: "3.1"` at its top.',
    ),
    _warning(
        "version-too-low",
        "load",
        "A file has an older format version",
        'It is read as version 3.1. Check it against the migration guide and write `version: "3.1"`.',
    ),
    _warning(
        "version-too-high",
        "load",
        "A file has a newer format version and is skipped",
        'Nothing of the file is used. Write `version: "3.1"`, or use a newer Rasa.',
    ),
    _warning(
        "version-invalid",
        "load",
        "The `version` of a file is not a version number",
        'It is read as version 3.1. Write `version: "3.1"`, with the quotes.',
    ),
    _warning(
        "importer-not-found",
        "load",
        "An importer of the configuration is not known",
        "Its data are not read. Custom importers are not run by turncheck; with Rasa, check the module path.",
    ),
)

DOMAIN_LOADING = (
    _emptying("intent-duplicate", "An intent is listed twice in the domain", "Remove one of the two."),
    _emptying(
        "action-duplicate",
        "An action is listed twice in the domain",
        "Remove one of the two. Forms and default actions count as actions too.",
    ),
    _emptying("slot-duplicate", "A slot is defined twice in the domain", "Remove or rename one of the two."),
    _emptying("entity-duplicate", "An entity is listed twice in the domain", "Remove one of the two."),
    _emptying(
        "intent-trailing-colon",
        "An intent of the domain is followed by a colon and nothing",
        "Remove the colon, or write `use_entities` or `ignore_entities` below it.",
    ),
    _emptying(
        "entity-trailing-colon",
        "An entity of the domain is followed by a colon and nothing",
        "Remove the colon, or write `roles`, `groups` or `influence_conversation` below it.",
    ),
    _emptying(
        "trigger-action-undefined",
        "The `triggers` key of an intent names an unknown action",
        "The key is from Rasa 1 and was removed. Write a rule instead.",
    ),
    _emptying("mapping-malformed", "A slot mapping is not a mapping of keys", "Write `- type: from_entity` and so on."),
    _emptying(
        "mapping-type-unknown",
        "A slot mapping has an unknown type",
        "Known are `from_entity`, `from_intent`, `from_trigger_intent`, `from_text` and `custom`.",
    ),
    _emptying(
        "mapping-key-missing",
        "A slot mapping lacks a key that its type needs",
        "`from_entity` needs `entity`; `from_intent` and `from_trigger_intent` need `value`.",
    ),
    _emptying(
        "form-malformed",
        "The forms of the domain are not written as mappings",
        "Write the form's name, and below it `required_slots` with a list.",
    ),
    _emptying(
        "form-without-required-slots",
        "A form has `ignored_intents` and no `required_slots`",
        "Add `required_slots`, an empty list at least.",
    ),
    _error(
        "slot-type-unknown",
        "load",
        "A slot has an unknown type",
        "Known are `text`, `bool`, `categorical`, `float`, `list` and `any`. A custom class is named by its module path"
        " and must be importable where Rasa runs.",
    ),
    _error(
        "slot-key-unknown",
        "load",
        "A slot has a key that its type does not know",
        "Rasa 3.6 ends with a traceback here. Remove the key or correct its spelling; `values` belongs to categorical"
        " slots, `min_value` and `max_value` to float slots.",
    ),
    _error(
        "slot-range-invalid",
        "load",
        "The minimum of a float slot is not below its maximum",
        "Without keys the range is 0 to 1. Set `min_value` and `max_value`.",
    ),
    _error(
        "section-empty",
        "load",
        "A section of the domain is empty",
        "Rasa 3.6 ends with a traceback here. Remove the key, or write an empty list: `intents: []`.",
    ),
    _error(
        "slot-any-influences",
        "load",
        "A slot of type `any` is to influence the conversation",
        "It cannot; Rasa refuses to load the domain. Remove `influence_conversation`, or use another type.",
    ),
    _warning(
        "slot-initial-value-outside",
        "load",
        "The initial value of a float slot lies outside its range",
        "Correct the value, or set `min_value` and `max_value`.",
    ),
    _warning(
        "slot-value-null",
        "load",
        "A categorical slot lists `null` as a value",
        'It is left out, since it stands for “not set”. Write `"null"` with quotes, or another word.',
    ),
    _warning(
        "entity-used-and-ignored",
        "load",
        "An intent uses and ignores the same entity",
        "Ignoring wins. Remove the entity from `use_entities` or from `ignore_entities`.",
    ),
    _warning(
        "domain-merge-duplicate",
        "load",
        "A name is defined in more than one file",
        "One definition silently wins over the other. Keep one. Names defined in the domain and in an NLU file count"
        " as well.",
    ),
    _warning(
        "listed-response-undefined",
        "load",
        "An `utter_` action of the domain has no response",
        "Nothing would be said. Write the response, or remove the action.",
    ),
)

NLU_LOADING = (
    _warning("intent-name-empty", "load", "An intent block has no name", "The block is skipped. Name it."),
    _warning(
        "intent-block-empty",
        "load",
        "An intent block has no examples",
        "Write examples, one a line, each with a dash before it.",
    ),
    _warning(
        "example-without-dash",
        "load",
        "A line of examples does not start with a dash",
        "The line is skipped. Put `- ` before it.",
    ),
    _warning("synonym-name-empty", "load", "A synonym block has no name", "The block is skipped. Name it."),
    _warning("synonym-without-examples", "load", "A synonym has no examples", "The block is skipped."),
    _warning("regex-name-empty", "load", "A regex block has no name", "The block is skipped. Name it."),
    _warning("regex-without-examples", "load", "A regex block has no pattern", "The block is skipped."),
    _warning("lookup-name-empty", "load", "A lookup table has no name", "The block is skipped. Name it."),
    _warning("lookup-without-examples", "load", "A lookup table has no entries", "The block is skipped."),
    _warning(
        "synonym-conflict",
        "load",
        "One text has two synonym values",
        "The later value silently wins. Keep one of the two.",
    ),
    _error(
        "annotation-not-json",
        "load",
        "The dictionary behind an annotated text is not valid JSON",
        'Use double quotes: `[Paris]{"entity": "city", "role": "to"}`.',
    ),
    _error(
        "annotation-invalid",
        "load",
        "The dictionary behind an annotated text has wrong or missing keys",
        "`entity` is required; `entity`, `role` and `group` are texts, `value` is a text or a number.",
    ),
)

STORY_LOADING = (
    _warning(
        "retrieval-intent-full-name",
        "load",
        "A story names a key of a retrieval intent",
        "Stories know the intent alone: write `faq` for `faq/opening_hours`. Full names belong into test stories.",
    ),
    _warning("story-name-empty", "load", "A story or rule has no name", "Name it; reports and conflicts refer to it."),
    _warning("story-without-steps", "load", "A story or rule has no steps", "It is skipped. Write steps or remove it."),
    _warning(
        "step-without-intent",
        "load",
        "A user step has an empty intent",
        "Write the intent, or remove the step.",
        "on-warnings",
        "never",
    ),
    _warning("step-without-action", "load", "A bot step has an empty action", "The step is skipped. Name the action."),
    _warning(
        "slot-without-value",
        "load",
        "A slot is named without a value where its type needs one",
        "Only text and list slots may be given by name alone (“set to something”). Write the value.",
    ),
    _error(
        "intent-name-invalid",
        "load",
        "The name of an intent has more than one slash",
        "The one slash of a retrieval intent stands between intent and key: `faq/opening_hours`.",
    ),
    _error(
        "step-list-empty",
        "load",
        "There is nothing behind a key of a step that takes a list",
        "Rasa 3.6 ends with a traceback here. Write the list, or remove the key.",
    ),
    _warning(
        "checkpoint-slot-invalid",
        "load",
        "A checkpoint names a slot without a value",
        "The checkpoint is skipped. Write the value that the slot must have.",
    ),
    _warning(
        "checkpoint-condition-ignored",
        "load",
        "A checkpoint in the middle or at the end of a story has conditions",
        "Only those at the beginning may have some. Move the slots there.",
    ),
    _error(
        "slot-named-undefined",
        "load",
        "A story names a slot without a value, and the domain does not define it",
        "Rasa 3.6 ends with a traceback here. Define the slot, or correct its name.",
    ),
    _warning(
        "checkpoint-undefined",
        "stories",
        "A story starts with a checkpoint that no story ends with",
        "It can never be reached. Correct the name, or end a story with the checkpoint.",
    ),
    _warning(
        "checkpoint-unused",
        "stories",
        "A story ends with a checkpoint that no story starts with",
        "The conversation cannot go on from there. Correct the name, or remove the checkpoint.",
    ),
    _warning(
        "story-start-missing",
        "stories",
        "No story can start a conversation",
        "All stories start with a checkpoint. Write one that does not.",
    ),
)

CROSS_REFERENCES = (
    _error(
        "domain-empty",
        "domain",
        "The domain is empty",
        "There is nothing to check the data against. Write intents, actions, responses into it.",
    ),
    _error(
        "intent-triggers-removed",
        "domain",
        "An intent uses the removed `triggers` key",
        "It belonged to the MappingPolicy. Write a rule: the intent, then the action.",
    ),
    _error(
        "action-not-in-domain",
        "domain",
        "A story or rule uses an action that the domain does not list",
        "List it below `actions`, or correct its name.",
    ),
    _error(
        "form-not-in-domain",
        "domain",
        "A story or rule activates a form that the domain does not define",
        "Define it below `forms`, or correct its name.",
    ),
    _error(
        "form-slot-undefined",
        "domain",
        "A form requires a slot that the domain does not define",
        "Define it below `slots`, or correct its name.",
    ),
    _error(
        "required-slots-empty",
        "domain",
        "There is nothing below `required_slots` of a form",
        "Rasa 3.6 ends with a traceback here. Write the slots, or an empty list: `required_slots: []`.",
    ),
    _error(
        "mapping-form-undefined",
        "domain",
        "A slot mapping's condition names an unknown form",
        "Define the form below `forms`, or correct its name.",
    ),
    _error(
        "mapping-slot-not-required",
        "domain",
        "A slot mapping's condition names a form that does not require the slot",
        "Add the slot to the form's `required_slots`, or remove the condition.",
    ),
    _warning(
        "intent-without-examples",
        "nlu",
        "An intent of the domain has no examples",
        "It can never be understood. Write examples, or remove it.",
    ),
    _warning(
        "intent-not-in-domain",
        "nlu",
        "An intent of the NLU data is not listed in the domain",
        "Add it to the domain's `intents`, or correct its name.",
        "on-warnings",
    ),
    _warning(
        "example-in-several-intents",
        "nlu",
        "The same sentence stands under different intents",
        "No classifier can tell them apart. Keep it in one.",
        "on-warnings",
    ),
    _warning(
        "story-intent-undefined",
        "nlu",
        "A story or rule uses an intent that the domain does not list",
        "Add it to the domain's `intents`, or correct its name.",
        "on-warnings",
        "never",
    ),
    _warning(
        "intent-unused",
        "nlu",
        "An intent of the domain is used in no story or rule",
        "Nothing says what the assistant shall do then. Write a rule or story, or remove it.",
    ),
    _warning(
        "response-undefined",
        "nlu",
        "A story or rule uses a response that is defined nowhere",
        "Write the response, or correct its name. `utter_faq/hours` is chosen by the response selector: write `utter_faq`.",
        "on-warnings",
    ),
    _warning(
        "response-unused",
        "nlu",
        "A response is used in no story or rule",
        "Questions of forms (`utter_ask_<slot>`) are not reported. An action of yours may still say it; else remove it.",
    ),
    _warning(
        "story-conflict",
        "stories",
        "Stories disagree about what comes next",
        "After the same turns, two stories go on with different actions; a policy cannot learn both. Make them agree, or"
        " make what differs visible: a slot, an entity, a longer `max_history`.",
        "on-warnings",
    ),
    _warning(
        "config-key-missing",
        "config",
        "The configuration lacks a mandatory key",
        "`language` and `assistant_id` are mandatory since Rasa 3.5.",
    ),
    _info(
        "assistant-id-placeholder",
        "config",
        "`assistant_id` still has the placeholder",
        "Give your assistant an identifier of its own.",
    ),
)

RASA_CHECKS = (
    *ARGUMENTS,
    *READING,
    *DOMAIN_LOADING,
    *NLU_LOADING,
    *STORY_LOADING,
    *CROSS_REFERENCES,
)
