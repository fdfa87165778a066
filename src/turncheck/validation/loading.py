"""What Rasa refuses or warns about while it reads a project's files, besides what the reader could not read at all."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Location
from turncheck.messages.phrasing import suggestion
from turncheck.project.model import CheckpointStep
from turncheck.project.project_file import DOMAIN_KEYS
from turncheck.project.rasa_version import SUPPORTED, parse_version
from turncheck.validation import schemas
from turncheck.validation.domain_loading import check_domain_file
from turncheck.validation.facts import read_data_files
from turncheck.validation.findings import found, gathered, places_of
from turncheck.validation.schemas import faults_of
from turncheck.yaml_tree.tree import YamlMapping, YamlScalar, YamlSequence
from turncheck.yaml_tree.unquoted import unreadable_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.messages.finding import Finding
    from turncheck.project.model import Project
    from turncheck.project.project_file import ProjectFile
    from turncheck.validation.facts import Facts
    from turncheck.validation.schemas import Fault
    from turncheck.yaml_tree.tree import YamlNode


# Unquoted values that Rasa cannot read, as findings.


def check_unreadable_values(root: YamlNode) -> Iterator[Finding]:
    """Values anywhere in a file that make Rasa fail while it reads it."""
    for node, reason, _ in unreadable_values(root):
        yield found("value-unreadable", f"Rasa cannot read '{str(node.value)[:60]}': {reason}.", node.location)


_BEFORE_RELEASE: Final = r"(?i:(?:a|b|c|rc|alpha|beta|pre|preview|dev)[-_.]?\d*['\"]*\s*$)"
_IMPORTERS: Final = frozenset({"RasaFileImporter", "MultiProjectImporter"})
_TOP_KEYS: Final = frozenset({"version", "nlu", "responses", "stories", "rules"})
_DOMAIN_TOP_KEYS: Final = frozenset(
    {
        *("version", "intents", "entities", "slots", "forms", "responses", "actions", "e2e_actions"),
        *("session_config", "config"),
    }
)
_SCHEMA_OF_PRO: Final = "/slots/|/responses/[^/]+/[0-9]+/condition"
"""Where Rasa Pro accepts more in a CALM project than Rasa's schema does."""
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
        if file.role in {"domain", "config"} or file.has_nlu or file.has_stories:
            yield from check_unreadable_values(file.document.root)
        if file.mapping is not None and file.role in {"domain", "data"}:
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
    for fault in _faults_by_schema(file, root):
        if is_calm and re.match(_SCHEMA_OF_PRO, fault.path):
            continue
        place = f" (at {fault.path})" if fault.path else ""
        near = suggestion(fault.unknown, fault.keys) if fault.unknown else ""
        finding = found("schema-violation", f"In '{file.path}' {fault.message}{place}.", fault.location, near)
        yield replace(finding, hint=fault.hint)


def lost_by_schema(file: ProjectFile) -> list[Finding]:
    """Return what a file has that is not read: unknown keys, values of another type, components without a name."""
    document = file.document
    if document is None or document.root is None or document.findings:
        return []
    losing = {
        fault.location for fault in _faults_by_schema(file, document.root) if fault.loses or file.role == "config"
    }
    return [finding for finding in _schema_faults(file, document.root) if finding.location in losing] if losing else []


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
            yield found("version-too-low", message, node.location)


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
        if importer.name not in _IMPORTERS:
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
            yield found("synonym-conflict", message, last, others=others, subject=text)


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
        yield found("retrieval-intent-full-name", message, first, others=others)
    yield from _ignored_conditions(facts)
    for name, (step, *_) in gathered((step.slot, step) for _, step in facts.slot_steps() if step.named_only).items():
        location = step.location
        slot = domain.slots.get(name)
        if slot is None and name in facts.default_slots:
            continue
        if slot is None:
            message = f"The slot '{name}' is named without a value, and the domain does not define it."
            yield found("slot-named-undefined", message, location)
        elif slot.type in {"categorical", "bool", "float"} and slot.influence_conversation is not False:
            message = f"The slot '{name}' of type '{slot.type}' is named without a value."
            yield found("slot-without-value", message, location)


def _ignored_conditions(facts: Facts) -> Iterator[Finding]:
    for block in facts.blocks:
        begun = False
        for step in block.steps:
            if not isinstance(step, CheckpointStep):
                begun = True
            elif begun and step.slots:
                message = f"The conditions of the checkpoint '{step.name}' in '{block.name}' are ignored."
                yield found("checkpoint-condition-ignored", message, step.location)


def check_intent_names(facts: Facts) -> Iterator[Finding]:
    """Intents with more than one slash, or with nothing before it, which Rasa cannot split."""
    for example in facts.project.nlu.examples:
        if example.intent and example.intent.count("/") > 1:
            yield _two_slashes(example.intent, example.location)
        elif example.intent and example.intent.startswith("/"):
            message = f"The name of the intent '{example.intent}' has nothing before its slash."
            yield found("intent-name-invalid", message, example.location)
    for _, step in facts.user_steps():
        if step.intent and step.intent.count("/") > 1:
            yield _two_slashes(step.intent, step.location)


def _two_slashes(intent: str, location: Location) -> Finding:
    return found("intent-name-invalid", f"The name of the intent '{intent}' has more than one slash.", location)


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
