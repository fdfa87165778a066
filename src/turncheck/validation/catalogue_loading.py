"""The checks that Rasa 3.6 has too, while it loads a project: the same faults, levels, effects on the exit code.

Facts about Rasa's behaviour come from running Rasa 3.6.21; the texts are our own.
"""

from turncheck.validation.checks import error_check, info_check, warning_check

ARGUMENTS = (
    error_check(
        "domain-not-found",
        "arguments",
        "There is no domain file",
        "Neither the path given by `--domain` nor `domain.yml` exists. Give the path of the domain file or folder.",
    ),
    error_check(
        "config-not-found",
        "arguments",
        "There is no configuration file",
        "Neither the path given by `--config` nor `config.yml` exists. Rasa 3.6 ends with a traceback here. Give the"
        " path of the configuration, or write a `config.yml`.",
    ),
    warning_check(
        "path-not-found",
        "arguments",
        "A path that was given does not exist",
        "The default is used in its place. Correct the path, so that the files you mean are the ones that are read.",
    ),
    error_check(
        "max-history-invalid",
        "stories",
        "`--max-history` is not a positive integer",
        "It says how many turns the story structure check looks back at. Give 1 or more.",
    ),
)

READING = (
    error_check(
        "file-not-utf8",
        "load",
        "A file is not UTF-8",
        "Training data, domain and configuration must be stored as UTF-8. Convert the file: `iconv -f LATIN1 -t UTF-8`.",
    ),
    error_check(
        "yaml-syntax",
        "load",
        "A file is not valid YAML",
        "The parser stopped at this place. Look for tabs, wrong indentation, an open quote or bracket at or above it.",
    ),
    error_check(
        "yaml-duplicate-key",
        "load",
        "A key stands twice in one mapping",
        "YAML would keep just one of the two. Merge their contents, or remove one.",
    ),
    error_check(
        "schema-violation",
        "load",
        "A value is not what the file format wants",
        "A wrong type, a missing key, or a key that the format does not know. The message names the path in the file.",
    ),
    error_check(
        "value-unreadable",
        "load",
        "A value without quotes cannot be read",
        "Rasa takes `${NAME}` without quotes for an environment variable, which must be set, and `2024-02-31` for a date,"
        " which must exist; else it ends here. Put quotes around what is meant as text.",
    ),
    error_check(
        "yaml-limit",
        "load",
        "A file nests too deeply or grows without bounds",
        "Aliases that contain each other (“billion laughs”) and hundreds of nested levels are not read.",
    ),
    error_check(
        "file-unreadable",
        "load",
        "A file cannot be read",
        "It is a folder, a device, or its permissions forbid reading it.",
    ),
    error_check(
        "file-too-large",
        "load",
        "A file is too large to be read",
        "Split it into several files.",
    ),
    info_check(
        "version-missing",
        "load",
        "A file has no `version` key",
        'It is read as version 3.1. Put `version: "3.1"` at its top.',
    ),
    warning_check(
        "version-too-low",
        "load",
        "A file has an older format version",
        'It is read as version 3.1. Check it against the migration guide and write `version: "3.1"`.',
    ),
    warning_check(
        "version-too-high",
        "load",
        "A file has a newer format version and is skipped",
        "Nothing of the file is used, unless it is one of several files of a domain, which Rasa reads all the same. Write"
        ' `version: "3.1"`, or use a newer Rasa.',
    ),
    warning_check(
        "domain-file-unread",
        "load",
        "One of the files in the domain's folder cannot be read",
        "It is not YAML or not UTF-8. Rasa passes it by, and the assistant is trained without what it defines. Correct it.",
    ),
    warning_check(
        "version-invalid",
        "load",
        "The `version` of a file is not a version number",
        'It is read as version 3.1. Write `version: "3.1"`, with the quotes.',
    ),
    warning_check(
        "importer-not-found",
        "load",
        "An importer of the configuration is not known",
        "Its data are not read. Custom importers are not run by turncheck; with Rasa, check the module path.",
    ),
)

NLU_LOADING = (
    warning_check("intent-name-empty", "load", "An intent block has no name", "The block is skipped. Name it."),
    warning_check(
        "intent-block-empty",
        "load",
        "An intent block has no examples",
        "Write examples, one a line, each with a dash before it.",
    ),
    warning_check(
        "example-without-dash",
        "load",
        "A line of examples does not start with a dash",
        "The line is skipped. Put `- ` before it.",
    ),
    warning_check("synonym-name-empty", "load", "A synonym block has no name", "The block is skipped. Name it."),
    warning_check("synonym-without-examples", "load", "A synonym has no examples", "The block is skipped."),
    warning_check("regex-name-empty", "load", "A regex block has no name", "The block is skipped. Name it."),
    warning_check("regex-without-examples", "load", "A regex block has no pattern", "The block is skipped."),
    warning_check("lookup-name-empty", "load", "A lookup table has no name", "The block is skipped. Name it."),
    warning_check("lookup-without-examples", "load", "A lookup table has no entries", "The block is skipped."),
    warning_check(
        "nlu-block-unknown",
        "load",
        "A block of NLU data is neither intent, synonym, regex nor lookup",
        "It is skipped. Write one of these keys with its name.",
    ),
    warning_check(
        "synonym-conflict",
        "load",
        "One text has two synonym values",
        "The later value silently wins. Keep one of the two.",
    ),
    error_check(
        "annotation-not-json",
        "load",
        "The dictionary behind an annotated text is not valid JSON",
        'Use double quotes: `[Paris]{"entity": "city", "role": "to"}`.',
    ),
    error_check(
        "annotation-invalid",
        "load",
        "The dictionary behind an annotated text has wrong or missing keys",
        "`entity` is required; `entity`, `role` and `group` are texts, `value` is a text or a number.",
    ),
)

STORY_LOADING = (
    warning_check(
        "retrieval-intent-full-name",
        "load",
        "A story names a key of a retrieval intent",
        "Stories know the intent alone: write `faq` for `faq/opening_hours`. Full names belong into test stories.",
    ),
    warning_check(
        "story-name-empty", "load", "A story or rule has no name", "Name it; reports and conflicts refer to it."
    ),
    warning_check(
        "story-without-steps", "load", "A story or rule has no steps", "It is skipped. Write steps or remove it."
    ),
    warning_check(
        "step-without-intent",
        "load",
        "A user step has an empty intent",
        "Write the intent, or remove the step.",
        "on-warnings",
        "never",
    ),
    warning_check(
        "step-unexpected",
        "load",
        "A step of a story or rule is none",
        "It has none of the keys that say what happens (`intent`, `user`, `action`, …), and is skipped; and so is an `or`"
        " with an alternative that names neither intent nor slot.",
    ),
    warning_check(
        "intent-leading-slash",
        "load",
        "The intent of a user step begins with a slash",
        "It is read without. Remove the slash.",
    ),
    warning_check(
        "step-without-action", "load", "A bot step has an empty action", "The step is skipped. Name the action."
    ),
    warning_check(
        "slot-without-value",
        "load",
        "A slot is named without a value where its type needs one",
        "Only text and list slots may be given by name alone (“set to something”). Write the value.",
    ),
    error_check(
        "intent-name-invalid",
        "load",
        "The name of an intent has more than one slash, or begins with one",
        "The one slash of a retrieval intent stands between intent and key: `faq/opening_hours`.",
    ),
    error_check(
        "step-list-empty",
        "load",
        "There is nothing behind a key of a step that takes a list or a text",
        "Rasa 3.6 ends with a traceback here. Write the list or the text, or remove the key.",
    ),
    warning_check(
        "checkpoint-slot-invalid",
        "load",
        "A checkpoint names a slot without a value",
        "The checkpoint is skipped. Write the value that the slot must have.",
    ),
    warning_check(
        "checkpoint-condition-ignored",
        "load",
        "A checkpoint in the middle or at the end of a story has conditions",
        "Only those at the beginning may have some. Move the slots there.",
    ),
    error_check(
        "slot-named-undefined",
        "load",
        "A story names a slot without a value, and the domain does not define it",
        "Rasa 3.6 ends with a traceback here. Define the slot, or correct its name.",
    ),
    warning_check(
        "checkpoint-undefined",
        "stories",
        "A story starts with a checkpoint that no story ends with",
        "It can never be reached. Correct the name, or end a story with the checkpoint.",
    ),
    warning_check(
        "checkpoint-unused",
        "stories",
        "A story ends with a checkpoint that no story starts with",
        "The conversation cannot go on from there. Correct the name, or remove the checkpoint.",
    ),
    warning_check(
        "story-start-missing",
        "stories",
        "No story can start a conversation",
        "All stories start with a checkpoint. Write one that does not.",
    ),
)
