"""Checks that Rasa 3.6 has too, while it loads a project: same faults, levels and effects on the exit code.

Facts about Rasa's behaviour come from running Rasa 3.6.21; the wording is our own.
"""

from turncheck.validation.checks import error_check, info_check, warning_check

ARGUMENTS = (
    error_check(
        "domain-not-found",
        "arguments",
        "There is no domain file",
        "Neither the path given by `--domain` nor `domain.yml` exists. Give the path of the domain file or folder.",
        then="stops",
    ),
    error_check(
        "config-not-found",
        "arguments",
        "There is no configuration file",
        "Neither the path given by `--config` nor `config.yml` exists. Rasa 3.6 ends with a traceback here. Give the"
        " path of the configuration, or write a `config.yml`.",
        then="stops",
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
        "It is the number of turns that the story structure check looks back. Give 1 or more.",
        then="stops",
    ),
)

READING = (
    error_check(
        "file-not-utf8",
        "load",
        "A file is not UTF-8",
        "Training data, domain and configuration must be stored as UTF-8. Convert the file: `iconv -f LATIN1 -t UTF-8`.",
        then="stops",
        step="text",
    ),
    error_check(
        "yaml-syntax",
        "load",
        "A file is not valid YAML",
        "The parser stopped at this place. Look for tabs, wrong indentation, an open quote or bracket at or above it.",
        then="stops",
        step="syntax",
    ),
    error_check(
        "yaml-duplicate-key",
        "load",
        "A key appears twice in one mapping",
        "YAML would keep just one of the two. Merge their contents, or remove one.",
        then="stops",
        step="duplicates",
    ),
    error_check(
        "schema-violation",
        "load",
        "A value does not match the file format",
        "A wrong type, a missing key, or a key that the format does not know. The message names the path in the file.",
        then="stops",
        step="schema",
    ),
    error_check(
        "value-unreadable",
        "load",
        "A value without quotes cannot be read",
        "Rasa takes `${NAME}` without quotes for an environment variable, which must be set, and `2024-02-31` for a date,"
        " which must exist; otherwise Rasa stops here. Put strings in quotes.",
        then="stops",
        step="schema",
    ),
    error_check(
        "yaml-limit",
        "load",
        "A file nests too deeply or grows without bounds",
        "Aliases that contain each other (“billion laughs”) and hundreds of nested levels are not read.",
        then="stops",
        step="syntax",
    ),
    error_check(
        "file-unreadable",
        "load",
        "A file cannot be read",
        "It is a folder, a device, or its permissions forbid reading it.",
        then="stops",
        step="text",
    ),
    error_check(
        "file-not-as-named",
        "load",
        "A file is something else than its name says",
        "A pointer of Git LFS, a file with git's conflict markers, an HTML page in place of a download. Rasa may read"
        " some of it, and train without the rest. Nothing that needs the file is judged until it is there.",
        then="stops",
        step="text",
    ),
    warning_check(
        "file-empty",
        "load",
        "A file is empty",
        "It may have been cut off or never been written. It is an error if nothing can be learned without it: the"
        " configuration, or a file named after NLU data or stories in a project that has none elsewhere.",
        step="text",
    ),
    error_check(
        "file-too-large",
        "load",
        "A file is too large to be read",
        "Split it into several files.",
        then="stops",
        step="text",
    ),
    info_check(
        "version-missing",
        "load",
        "A file has no `version` key",
        'It is read as version 3.1. Put `version: "3.1"` at its top.',
        step="version",
    ),
    warning_check(
        "version-too-low",
        "load",
        "A file has an older format version",
        'It is read as version 3.1. Check it against the migration guide and write `version: "3.1"`.',
        step="version",
    ),
    warning_check(
        "version-too-high",
        "load",
        "A file has a newer format version and is skipped",
        "Nothing of the file is used, unless it is one of several files of a domain, which Rasa reads anyway. Write"
        ' `version: "3.1"`, or use a newer Rasa.',
        step="version",
    ),
    warning_check(
        "domain-file-unread",
        "load",
        "One of the files in the domain's folder cannot be read",
        "It is not YAML or not UTF-8. Rasa skips it, and the assistant is trained without what it defines. Correct it.",
    ),
    warning_check(
        "version-invalid",
        "load",
        "The `version` of a file is not a version number",
        'It is read as version 3.1. Write `version: "3.1"`, with the quotes.',
        step="version",
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
        "Write examples, one per line, each with a dash before it.",
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
        "One word has two synonym values",
        "The last value silently wins. Keep one of them.",
    ),
    error_check(
        "annotation-not-json",
        "load",
        "The dictionary after an annotated text is not valid JSON",
        'Use double quotes: `[Paris]{"entity": "city", "role": "to"}`.',
        then="stops",
    ),
    error_check(
        "annotation-invalid",
        "load",
        "The dictionary after an annotated text has wrong or missing keys",
        "`entity` is required; `entity`, `role` and `group` are strings, `value` is a string or a number.",
        then="stops",
    ),
)

STORY_LOADING = (
    warning_check(
        "retrieval-intent-full-name",
        "load",
        "A story names a key of a retrieval intent",
        "Stories only use the intent: write `faq` for `faq/opening_hours`. Full names belong in test stories.",
        with_stories=True,
    ),
    warning_check(
        "story-name-empty",
        "load",
        "A story or rule has no name",
        "Name it; reports and conflicts refer to it.",
        with_stories=True,
    ),
    warning_check(
        "story-without-steps",
        "load",
        "A story or rule has no steps",
        "It is skipped. Write steps or remove it.",
        with_stories=True,
    ),
    warning_check(
        "step-without-intent",
        "load",
        "A user step has an empty intent",
        "Write the intent, or remove the step.",
        "on-warnings",
        "never",
        with_stories=True,
    ),
    warning_check(
        "step-unexpected",
        "load",
        "An entry of a story or rule is not a step",
        "It has none of the keys that say what happens (`intent`, `user`, `action`, …), and is skipped. The same"
        " applies to an `or` with an alternative that names neither intent nor slot.",
        with_stories=True,
    ),
    warning_check(
        "intent-leading-slash",
        "load",
        "The intent of a user step begins with a slash",
        "The slash is ignored. Remove it.",
        with_stories=True,
    ),
    warning_check(
        "step-without-action",
        "load",
        "A bot step has an empty action",
        "The step is skipped. Name the action.",
        with_stories=True,
    ),
    warning_check(
        "slot-without-value",
        "load",
        "A slot whose type needs a value is named without one",
        "Only text and list slots may be named without a value (“set to something”). Write the value.",
        with_stories=True,
    ),
    error_check(
        "intent-name-invalid",
        "load",
        "The name of an intent has more than one slash, or begins with one",
        "A retrieval intent has one slash, between intent and key: `faq/opening_hours`.",
        then="stops",
    ),
    error_check(
        "step-list-empty",
        "load",
        "There is nothing after a key of a step that takes a list or a string",
        "Rasa 3.6 ends with a traceback here. Write the list or the string, or remove the key.",
        then="stops",
        with_stories=True,
    ),
    warning_check(
        "checkpoint-slot-invalid",
        "load",
        "A checkpoint names a slot without a value",
        "The checkpoint is skipped. Write the value that the slot must have.",
        with_stories=True,
    ),
    warning_check(
        "checkpoint-condition-ignored",
        "load",
        "A checkpoint in the middle or at the end of a story has conditions",
        "Only those at the beginning may have some. Move the slots there.",
        with_stories=True,
    ),
    error_check(
        "slot-named-undefined",
        "load",
        "A story names a slot without a value, and the domain does not define it",
        "Rasa 3.6 ends with a traceback here. Define the slot, or correct its name.",
        needs=("domain",),
        then="stops",
        with_stories=True,
    ),
    warning_check(
        "checkpoint-undefined",
        "stories",
        "A story starts with a checkpoint that no story ends with",
        "It can never be reached. Correct the name, or end a story with the checkpoint.",
        needs=("stories",),
    ),
    warning_check(
        "checkpoint-unused",
        "stories",
        "A story ends with a checkpoint that no story starts with",
        "The conversation cannot go on from there. Correct the name, or remove the checkpoint.",
        needs=("stories",),
    ),
    warning_check(
        "story-start-missing",
        "stories",
        "No story can start a conversation",
        "All stories start with a checkpoint. Write one that does not.",
        needs=("stories",),
    ),
)
