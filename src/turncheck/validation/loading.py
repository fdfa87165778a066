"""What Rasa refuses or warns about while it reads a project's files, besides what the reader could not read at all.

Names that several files define are those of a domain folder, or of the domain and NLU data or stories.

``rasa data validate`` stops at the first file that it cannot read, and goes on with an empty domain after the first
fault that makes a domain invalid. A drop-in does the same; whatever follows is kept under ``hidden-by-load-error``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from turncheck.messages.finding import Finding, Location, Name
from turncheck.messages.phrasing import suggestion
from turncheck.project.config import IMPORTERS
from turncheck.project.model import CheckpointStep, Project
from turncheck.project.project_file import DOMAIN_KEYS, ProjectFile
from turncheck.project.rasa_version import SUPPORTED, parse_version
from turncheck.validation import schemas
from turncheck.validation.checks import error_check, info_check, own_check, warning_check
from turncheck.validation.domain_loading import check_domain_file
from turncheck.validation.facts import UTTER, Facts, read_data_files
from turncheck.validation.findings import found, gathered, places_of
from turncheck.validation.schemas import Fault, faults_of
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence
from turncheck.yaml_tree.unquoted import SET_IT, unreadable_values, written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Names = Mapping[str, Mapping[str, Location]]
    """Where each section defines each name."""


CHECKS: Final = (
    error_check(
        "schema-violation",
        "load",
        "A value does not match the file format",
        "A wrong type, a missing key, or a key that the format does not know. The message names the path in the file.",
        then="stops",
        step="schema",
        about=("place",),
    ),
    error_check(
        "value-unreadable",
        "load",
        "A value without quotes cannot be read",
        "Rasa takes `${NAME}` without quotes for an environment variable, which must be set (`--env`, or the action's"
        " input `env`), and `2024-02-31` for a date, which must exist; otherwise Rasa stops here. Put other strings in"
        " quotes.",
        then="stops",
        step="schema",
        about=("place",),
    ),
    info_check(
        "version-missing",
        "load",
        "A file has no `version` key",
        'Put `version: "3.1"` at its top.',
        step="version",
        about=("file",),
    ),
    warning_check(
        "version-too-low",
        "load",
        "A file has an older format version",
        'Check it against the migration guide and write `version: "3.1"`.',
        step="version",
        about=("file",),
    ),
    warning_check(
        "version-invalid",
        "load",
        "The `version` of a file is not a version number",
        'It is read as version 3.1. Write `version: "3.1"`, with the quotes.',
        step="version",
        about=("file",),
    ),
    warning_check(
        "importer-not-found",
        "load",
        "An importer of the configuration is not known",
        "Its data are not read. Custom importers are not run by turncheck; with Rasa, check the module path.",
        about=("place",),
    ),
    warning_check(
        "synonym-conflict",
        "load",
        "One word has two synonym values",
        "The last value silently wins. Keep one of them.",
        about=("synonym", "value"),
    ),
    warning_check(
        "retrieval-intent-full-name",
        "load",
        "A story names a key of a retrieval intent",
        "Stories only use the intent: write `faq` for `faq/opening_hours`. Full names belong in test stories.",
        with_stories=True,
        about=("intent",),
    ),
    warning_check(
        "slot-without-value",
        "load",
        "A slot whose type needs a value is named without one",
        "Only text and list slots may be named without a value (“set to something”). Write the value.",
        with_stories=True,
        about=("slot",),
    ),
    error_check(
        "intent-name-invalid",
        "load",
        "The name of an intent has more than one slash, or begins with one",
        "A retrieval intent has one slash, between intent and key: `faq/opening_hours`.",
        then="stops",
        about=("intent",),
    ),
    error_check(
        "step-list-empty",
        "load",
        "There is nothing after a key of a step that takes a list or a string",
        "Rasa 3.6 ends with a traceback here. Write the list or the string, or remove the key.",
        then="stops",
        with_stories=True,
        about=("place",),
    ),
    warning_check(
        "checkpoint-condition-ignored",
        "load",
        "A checkpoint in the middle or at the end of a story has conditions",
        "Only those at the beginning may have some. Move the slots there.",
        with_stories=True,
        about=("checkpoint", "story"),
    ),
    error_check(
        "slot-named-undefined",
        "load",
        "A story names a slot without a value, and the domain does not define it",
        "Rasa 3.6 ends with a traceback here. Define the slot, or correct its name.",
        needs=("domain",),
        then="stops",
        with_stories=True,
        about=("slot",),
    ),
    error_check(
        "response-is-form",
        "load",
        "A response in an NLU file has the name of a form",
        "Both would be actions of that name, and Rasa refuses to load the domain. Rename one of them.",
        then="stops",
        about=("response",),
    ),
    warning_check(
        "domain-merge-duplicate",
        "load",
        "A name is defined in more than one file",
        "One definition silently wins over the other. Keep one. Names defined in the domain and in an NLU file count"
        " as well.",
        about=("section", "name"),
    ),
    own_check(
        "key-unknown",
        "warning",
        "A file has a top-level key that nothing reads",
        "What is below it is silently ignored. Correct the spelling.",
        "stroies:\n- story: greet",
        "stories:\n- story: greet",
        about=("place",),
    ),
    own_check(
        "file-without-data",
        "info",
        "A file of the data folder holds nothing that Rasa reads",
        "Rasa looks for a line that begins with `nlu:`, `responses:`, `stories:` or `rules:`, and skips the file"
        " silently.",
        "notes:\n- ask about the greeting",
        "nlu:\n- intent: greet",
        about=("file",),
    ),
)


# Unquoted values that Rasa cannot read, as findings.


def check_unreadable_values(root: YamlNode) -> Iterator[Finding]:
    """Values anywhere in a file that make Rasa fail while it reads it."""
    for node, reason, reading in unreadable_values(root):
        finding = found("value-unreadable", f"Rasa cannot read '{written(node)[:60]}': {reason}.", node.location)
        yield replace(finding, hint=SET_IT) if reading == "variable" else finding


_BEFORE_RELEASE: Final = r"(?i:(?:a|b|c|rc|alpha|beta|pre|preview|dev)[-_.]?\d*['\"]*\s*$)"
_TOP_KEYS: Final = frozenset({"version", "nlu", "responses", "stories", "rules"})
_DOMAIN_TOP_KEYS: Final = frozenset(
    {
        *("version", "intents", "entities", "slots", "forms", "responses", "actions", "e2e_actions"),
        *("session_config", "config"),
    }
)
_SCHEMA_OF_PRO: Final = "/slots/|/responses/[^/]+/[0-9]+/condition"
"""Where Rasa Pro accepts more in a CALM project than Rasa's schema does."""
_KEYS_OF_PRO: Final = frozenset({"translation", "allow_interruptions"})
"""Keys of responses that only Rasa Pro reads."""
_CALM_TOP_KEYS: Final = frozenset({"flows", "e2e_tests", "test_cases", "fixtures", "metadata"})


def check_files(facts: Facts) -> Iterator[Finding]:
    """Schema, version and keys of every file, and all faults of the domain files."""
    project, is_calm = facts.project, facts.project.calm is not None
    for file in project.files:
        if file.document is None or file.document.root is None or file.document.findings:
            continue
        if file.role == "domain" and not is_domain_file(project, file):
            yield found("file-without-data", f"'{file.path}' has no key of a domain.", Location(file.path, 1, 1))
            continue
        faults = list(_schema_faults(file, file.document.root, is_calm=is_calm))
        yield from faults
        if file.role == "config" and file.mapping is not None:
            yield from importer_faults(file.mapping)
        is_trained = (
            not is_calm or file.role != "config"
        )  # variables are set where Rasa Pro runs, and nothing is trained
        if (file.role in {"domain", "config"} and is_trained) or file.has_nlu or file.has_stories:
            yield from check_unreadable_values(file.document.root)
        if file.mapping is not None and file.role in {"domain", "data"}:
            if set(file.mapping.items) != {"flows"}:  # Rasa's own examples of flows have no version
                yield from _version(file.mapping)
            yield from _top_keys(file.mapping, file)
            if file.role == "domain" and not faults:
                yield from check_domain_file(file.mapping, project.root, is_calm=is_calm)


def is_domain_file(project: Project, file: ProjectFile) -> bool:
    """In a folder, Rasa treats files with one of its keys as the domain; a single file is the domain anyway."""
    if project.domain.location.path == file.path:
        return True
    data = file.document.root.data if file.document and file.document.root else ()
    return isinstance(data, str | list | dict) and any(key in data for key in DOMAIN_KEYS)


def _schema_faults(file: ProjectFile, root: YamlNode, *, is_calm: bool = False) -> Iterator[Finding]:
    # A key that is like none of Rasa's may be one of a later version of Rasa Pro.
    for fault in _faults_by_schema(file, root):
        if is_calm and (re.match(_SCHEMA_OF_PRO, fault.path) or fault.unknown in _KEYS_OF_PRO):
            continue
        place = f" (at {fault.path})" if fault.path else ""
        near = suggestion(fault.unknown, fault.keys) if fault.unknown else ""
        finding = found("schema-violation", f"In '{file.path}' {fault.message}{place}.", fault.location, near)
        is_later = is_calm and bool(fault.unknown) and not near
        yield replace(finding, hint=fault.hint, severity="warning" if is_later else finding.severity)


def lost_by_schema(file: ProjectFile, *, is_calm: bool = False) -> list[Finding]:
    """Return what a file has that is not read: unknown keys, values of another type, components without a name."""
    document = file.document
    if document is None or document.root is None or document.findings:
        return []
    losing = {
        fault.location for fault in _faults_by_schema(file, document.root) if fault.loses or file.role == "config"
    }
    if not losing:
        return []
    return [one for one in _schema_faults(file, document.root, is_calm=is_calm) if one.location in losing]


def _faults_by_schema(file: ProjectFile, root: YamlNode) -> Iterator[Fault]:
    rules = {
        "domain": [schemas.DOMAIN],
        "config": [schemas.CONFIG],
        "data": [schemas.NLU] * file.has_nlu + [schemas.STORIES] * file.has_stories,
    }
    for rule in rules.get(file.role, ()):
        yield from faults_of(root, rule)


def _version(root: YamlMapping) -> Iterator[Finding]:
    node = root.items.get("version")
    path = root.source.path
    written = node.value if isinstance(node, YamlScalar) else None
    if not written:
        location = root.location if node is None else node.location
        yield found("version-missing", f"The file '{path}' has no version; it is read as 3.1.", location)
    elif node is not None and isinstance(written, str):
        version = parse_version(written)
        if version is None:
            yield found("version-invalid", f"'{written}' in '{path}' is not a version.", node.location)
        elif version < SUPPORTED or (version == SUPPORTED and re.search(_BEFORE_RELEASE, written)):
            message = f"The version {written} of '{path}' is lower than 3.1; it is read as 3.1."
            yield found("version-too-low", message, node.location, names=(Name("version", written),))


def _top_keys(root: YamlMapping, file: ProjectFile) -> Iterator[Finding]:
    known = _DOMAIN_TOP_KEYS if file.role == "domain" else _TOP_KEYS
    for key in root.items:
        if key not in known and key not in _CALM_TOP_KEYS:
            message = f"Nothing reads the key '{key}' of '{file.path}'."
            yield found("key-unknown", message, root.key_location(key), suggestion(str(key), known))


def importer_faults(root: YamlMapping) -> Iterator[Finding]:
    """``importers`` that are not a list of names; no schema forbids it, but Rasa ends with a traceback."""
    node = root.items.get("importers")
    if node is None:
        return
    if not isinstance(node, YamlSequence):
        yield found("schema-violation", "The 'importers' of the configuration are not a list.", node.location)
        return
    for item in node.items:
        if not isinstance(item.at("name"), YamlScalar) or not isinstance(item.data["name"], str):
            yield found("schema-violation", "An importer of the configuration has no name.", item.location)


def check_importers(facts: Facts) -> Iterator[Finding]:
    """Importers that are not Rasa's; turncheck does not import a project's code, so it does not look for them."""
    project = facts.project
    for importer in project.config.importers:
        if importer.name not in IMPORTERS:
            yield found("importer-not-found", f"The importer '{importer.name}' is not known.", importer.location)


def check_synonym_merging(facts: Facts) -> Iterator[Finding]:
    """One text with several synonym values: one finding, at the last of them, which is the one that holds."""
    given: dict[str, dict[str, Location]] = {}
    for synonym in facts.project.nlu.synonyms:
        values = given.setdefault(synonym.synonym, {})
        values.pop(str(synonym.value), None)
        values[str(synonym.value)] = synonym.location
    for text, values in given.items():
        *others, last = values.values()
        if others:
            named = ", ".join(f"'{value}'" for value in sorted(values))
            message = f"'{text}' is a synonym for several values: {named}."
            about = (Name("synonym", text), *(Name("value", value) for value in values))
            yield found("synonym-conflict", message, last, others=others, subject=text, about=about)


def check_story_loading(facts: Facts) -> Iterator[Finding]:
    """Full retrieval intents in stories, and slots without the value that they need."""
    domain = facts.domain
    full_names = gathered(
        ((step.intent, step.location.path if facts.as_rasa else ""), step)
        for _, step in facts.user_steps()
        if step.intent is not None and step.intent.count("/") == 1 and not _is_test_file(step.location.path)
    )
    for (name, _), steps in full_names.items():
        message = f"A story or rule names '{name}'; stories use '{name.partition('/')[0]}'."
        first, *others = sorted(places_of(steps), key=lambda place: place.sort_key)
        named = (Name("intent", name),)
        yield found("retrieval-intent-full-name", message, first, others=others, names=named, about=named)
    yield from _ignored_conditions(facts)
    for name, (step, *_) in gathered((step.slot, step) for _, step in facts.slot_steps() if step.named_only).items():
        location = step.location
        slot = domain.slots.get(name)
        if slot is None and name in facts.default_slots:
            continue
        if slot is None:
            message = f"The slot '{name}' is named without a value, and the domain does not define it."
            yield found("slot-named-undefined", message, location, about=(Name("slot", name),))
        elif slot.type in {"categorical", "bool", "float"} and slot.influence_conversation is not False:
            message = f"The slot '{name}' of type '{slot.type}' is named without a value."
            yield found("slot-without-value", message, location, about=(Name("slot", name),))


def _ignored_conditions(facts: Facts) -> Iterator[Finding]:
    for block in facts.blocks:
        begun = False
        for step in block.steps:
            if not isinstance(step, CheckpointStep):
                begun = True
            elif begun and step.slots:
                message = f"The conditions of the checkpoint '{step.name}' in '{block.name}' are ignored."
                about = (Name("checkpoint", step.name), Name("story", block.name))
                yield found("checkpoint-condition-ignored", message, step.location, about=about)


def check_intent_names(facts: Facts) -> Iterator[Finding]:
    """Intents with more than one slash, or with nothing before it, which Rasa cannot split."""
    for example in facts.project.nlu.examples:
        if example.intent and example.intent.count("/") > 1:
            yield _two_slashes(example.intent, example.location)
        elif example.intent and example.intent.startswith("/"):
            message = f"The name of the intent '{example.intent}' has nothing before its slash."
            yield found("intent-name-invalid", message, example.location, about=(Name("intent", example.intent),))
    for _, step in facts.user_steps():
        if step.intent and step.intent.count("/") > 1:
            yield _two_slashes(step.intent, step.location)


def _two_slashes(intent: str, location: Location) -> Finding:
    message = f"The name of the intent '{intent}' has more than one slash."
    return found("intent-name-invalid", message, location, about=(Name("intent", intent),))


def check_empty_lists(facts: Facts) -> Iterator[Finding]:
    """Keys of story steps without a value, where Rasa expects a list or a string."""
    project = facts.project
    for file in read_data_files(project):
        root = file.mapping if file.has_stories else None
        for key in ("stories", "rules"):
            for block in _mappings_in(root.items.get(key) if root is not None else None):
                yield from _nothing_behind(block, ("condition",))
                for step in _mappings_in(block.items.get("steps")):
                    yield from _nothing_behind(step, ("slot_was_set", "entities", "or", "user"))
                    for yaml_mapping in _mappings_in(step.items.get("or")):
                        keys = ("entities", "user") if "intent" in yaml_mapping.items else ("slot_was_set",)
                        yield from _nothing_behind(yaml_mapping, keys)


def _mappings_in(node: YamlNode | None) -> Iterator[YamlMapping]:
    return (
        (item for item in node.items if isinstance(item, YamlMapping)) if isinstance(node, YamlSequence) else iter(())
    )


def _nothing_behind(node: YamlMapping, keys: Iterable[str]) -> Iterator[Finding]:
    for key in keys:
        value = node.items.get(key)
        if isinstance(value, YamlScalar) and value.value is None:
            yield found("step-list-empty", f"There is nothing after the key '{key}'.", node.key_location(key))


def _is_test_file(path: str) -> bool:
    return path.rpartition("/")[2].startswith("test_")


_SECTIONS = ("intents", "forms", "actions", "e2e_actions", "responses", "slots", "entities")


def check_merging(facts: Facts) -> Iterator[Finding]:
    """Names that several domain files define, or the domain and what comes from NLU data and stories."""
    project = facts.project
    domain: dict[str, dict[str, Location]] = {section: {} for section in _SECTIONS}
    for file in project.files:
        if file.role == "domain":
            yield from _merge(domain, _defined(file))
    data: dict[str, dict[str, Location]] = {"responses": {}, "actions": {}, "e2e_actions": {}}
    for file in read_data_files(project):
        if file.has_nlu:
            data["responses"].update(_defined(file).get("responses", {}))
    for intent, location in facts.retrieval_intents.items():
        data["actions"][UTTER + intent] = facts.nlu_intents.get(intent, location)
    for text, location in facts.bot_texts.items():
        data["e2e_actions"][text] = location
    yield from _shared(domain, data)
    for name, location in data["responses"].items():
        if name in domain["forms"] and name not in domain["actions"]:
            message = f"The response '{name}' has the name of a form."
            yield found("response-is-form", message, location, about=(Name("response", name),))


def check_merged_actions(facts: Facts) -> Iterator[Finding]:
    """Forms with the name of a response or of an end-to-end action that another domain file defines."""
    project = facts.project
    files = [_defined(file) for file in project.files if file.role == "domain"]
    actions = {name for file in files for name in file.get("actions", {})}
    for file in files:
        for form, location in file.get("forms", {}).items():
            for other in files if form not in actions else ():
                for section in ("responses", "e2e_actions"):
                    if other is not file and form in other.get(section, {}):
                        elsewhere = other[section][form]
                        message = f"The action '{form}' is listed twice: a form, and in the {section} ({elsewhere})."
                        yield found("action-duplicate", message, location)


def forgotten_duplicates(project: Project) -> Iterator[Finding]:
    """Names that several domain files define, about which Rasa is silent.

    With each file that it merges Rasa collects the duplicates anew (``Domain.merge_domain_dicts``): only those of the
    last one are left when all are merged.
    """
    files = [file for file in project.files if file.role == "domain" and is_domain_file(project, file)]
    domain: dict[str, dict[str, Location]] = {section: {} for section in _SECTIONS}
    for file in files[:-1]:
        yield from _merge(domain, _defined(file))


def _merge(domain: dict[str, dict[str, Location]], other: dict[str, dict[str, Location]]) -> Iterator[Finding]:
    """Merge the names of one more file: existing definitions stay. An action that has become a form is only a form."""
    actions = other.get("actions", {})
    for form in domain["forms"]:
        actions.pop(form, None)
    yield from _shared(other, domain)
    for section, names in other.items():
        domain[section] = {**names, **domain[section]}


def _shared(one: Names, other: Names) -> Iterator[Finding]:
    for section, names in one.items():
        for name in names:
            if name in other.get(section, {}):
                elsewhere = other[section][name]
                yield found(
                    "domain-merge-duplicate",
                    f"'{name}' is in the {section} of more than one file ({elsewhere}).",
                    names[name],
                    about=(Name("section", section), Name("name", name)),
                )


def _defined(file: ProjectFile) -> dict[str, dict[str, Location]]:
    """The names that each section of a file defines."""
    root = file.mapping
    if root is None:
        return {}
    defined: dict[str, dict[str, Location]] = {}
    for section in _SECTIONS:
        node = root.items.get(section)
        names = defined[section] = {}
        if isinstance(node, YamlMapping):
            names.update({str(key): node.key_location(key) for key in node.items})
        elif isinstance(node, YamlSequence):
            for item in node.items:
                if isinstance(item, YamlMapping) and item.items:
                    key = min(item.items, key=str)  # as Rasa does
                    names[str(key)] = item.key_location(key)
                elif isinstance(item, YamlScalar):
                    names[str(item.value)] = item.location
    return defined
