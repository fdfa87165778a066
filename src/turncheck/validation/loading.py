"""What Rasa refuses or warns about while it reads a project's files, besides what the reader could not read at all.

Names that several files define are those of a domain folder, or of the domain and NLU data or stories.

``rasa data validate`` stops at the first file that it cannot read, and goes on with an empty domain after the first
fault that makes a domain invalid. A drop-in does the same; whatever follows is kept under ``hidden-by-load-error``.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

from msgspec.structs import replace

from turncheck.messages.finding import Finding, Location, Name
from turncheck.messages.phrasing import suggestion
from turncheck.project.config import IMPORTERS
from turncheck.project.model import CheckpointStep, Domain, Project
from turncheck.project.project_file import DOMAIN_KEYS, ProjectFile
from turncheck.project.rasa_version import SUPPORTED, parse_version
from turncheck.validation import references, schemas
from turncheck.validation.catalogue import CHECKS, reliable_findings
from turncheck.validation.checks import Step
from turncheck.validation.domain_loading import check_domain_file
from turncheck.validation.facts import UTTER, Facts, read_data_files
from turncheck.validation.findings import found, gathered, places_of
from turncheck.validation.schemas import Fault, faults_of
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence
from turncheck.yaml_tree.unquoted import SET_IT, unreadable_values, written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Names = Mapping[str, Mapping[str, Location]]
    """Where each section defines each name."""

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


HIDDEN: Final = "hidden-by-load-error"

_LAST_PATH: Final = "\U0010ffff"
"""Sorts after every path."""

Rank = tuple[int, str, int, int, int]
"""Stage, file, part of reading it, and two numbers for the order within."""

ARGUMENTS, CONFIG_SYNTAX, ENCODING, DOMAIN, NLU, MERGING, STORIES, CONFIG_SCHEMA = range(8)
STAGES: Final = {"domain": 9, "nlu": 10, "stories": 11, "config": 12, "own": 13}
EMPTY_CHECK: Final = 8
_STEPS: Final = get_args(Step)[1:]
"""The steps within a file, for what is read as text."""


class LoadOrder:
    """Ranks findings of a project in Rasa's order of work."""

    def __init__(self, project: Project) -> None:
        self._stages: Mapping[str, _Stages] = {file.path: _stages_of(file) for file in project.files}
        domain = (file.path for file in project.files if file.role == "domain")
        self._domain_files = {path: f"{number:09}" for number, path in enumerate(domain)}

    def rank(self, finding: Finding) -> Rank:
        """Return a sort key: the order in which Rasa would find them."""
        stage, path, part, one, other = self._rank(finding)
        # The files of a domain folder are not read in the order of their names.
        return (stage, self._domain_files.get(path, path) if stage == DOMAIN else path, part, one, other)

    def _rank(self, finding: Finding) -> Rank:
        check = CHECKS[finding.code]
        path = finding.location.path
        if check.code == "domain-empty":
            return (EMPTY_CHECK, path, 0, 0, 0)
        if check.stage == "arguments":
            return (ARGUMENTS, "", 0, 0, 0)
        if check.stage == "domain":
            return (STAGES["domain"], "", check.position, finding.location.line or 0, 0)
        if check.stage != "load" and not check.with_stories:
            return (STAGES[check.stage], "" if check.code == "max-history-invalid" else path, 0, 0, 0)
        if finding.code in {"domain-merge-duplicate", "listed-response-undefined"}:
            return (MERGING, "", 0, 0, 0)
        content = _STEPS.index("content")
        if finding.code == "synonym-conflict":
            return (NLU, _LAST_PATH, content, 0, 0)  # the files are merged when all of them are read
        if finding.code == "importer-not-found":
            return (CONFIG_SYNTAX, path, _STEPS.index("schema"), 0, 0)
        return self._rank_while_loading(finding, path)

    def _rank_while_loading(self, finding: Finding, path: str) -> Rank:
        if finding.code == "domain-file-unread":
            return (DOMAIN, path, 0, 0, 0)
        check = CHECKS[finding.code]
        stages = self._stages.get(path, _UNREAD)
        line = finding.location.line or 0
        if check.step == "text":
            early = stages.first in {CONFIG_SYNTAX, DOMAIN}
            return (stages.first if early else ENCODING, path, 0, line, 0)
        step = _STEPS.index(check.step)
        if finding.code == "schema-violation":
            return (stages.schema, path, step, 0, 0)
        if finding.code == "value-unreadable":
            return (stages.first, path, step, 1, line)
        if check.step == "duplicates":
            # The whole file is parsed before its mappings are created, the outer ones first.
            return (stages.first, path, step, finding.location.column or 0, line)
        if check.step == "syntax":
            return (stages.first, path, step, line, 0)
        if check.step == "version":
            return (stages.first, path, step, 0, 0)
        if stages.first == DOMAIN:
            return (DOMAIN, path, step, check.position, line)
        return (stages.last if check.with_stories else stages.first, path, step, line, 0)


class _Stages(NamedTuple):
    """When Rasa reads a file for the first and the last time, and when it validates it against the schema."""

    first: int
    last: int
    schema: int


_UNREAD: Final = _Stages(ENCODING, ENCODING, ENCODING)


def _stages_of(file: ProjectFile) -> _Stages:
    if file.role == "config":
        # Whatever is not a mapping is found immediately; the rest is checked when everything else is loaded.
        is_early = not file.mapping or any(importer_faults(file.mapping))
        return _Stages(CONFIG_SYNTAX, CONFIG_SYNTAX, CONFIG_SYNTAX if is_early else CONFIG_SCHEMA)
    if file.role == "domain":
        return _Stages(DOMAIN, DOMAIN, DOMAIN)
    first = NLU if file.has_nlu else STORIES
    last = STORIES if file.has_stories else first
    root = file.document.root if file.document else None
    is_nlu_fault = file.has_nlu and root is not None and bool(faults_of(root, schemas.NLU))
    return _Stages(first, last, first if is_nlu_fault else last)


def seen_by_rasa(order: LoadOrder, findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Split findings into those that Rasa sees and those that an earlier fault hides.

    If it stops, the other unreadable files are shown nevertheless, each with its first fault.
    """
    ranked = sorted(((order.rank(finding), number) for number, finding in enumerate(findings)))
    seen: list[Finding] = []
    hidden: list[Finding] = []
    stop: tuple[Rank, str] | None = None
    emptied: Rank | None = None
    unread: set[str] = set()
    for rank, number in ranked:
        finding = findings[number]
        check = CHECKS[finding.code]
        empties = check.then == "empties the domain"
        is_after = stop is not None and not (finding.code == stop[1] == "schema-violation" and rank[:3] == stop[0][:3])
        is_second = empties and emptied is not None
        skipped_domain = emptied is not None and rank[0] == DOMAIN and rank > emptied
        is_behind = is_after or is_second or skipped_domain
        if is_behind:
            is_unread_file = check.unreadable and finding.location.path not in unread
            (seen if check.own or is_unread_file else hidden).append(finding)
        else:
            seen.append(finding)
        if check.unreadable:
            unread.add(finding.location.path)
        if not is_behind and check.then == "stops" and not check.own:
            stop = stop or (rank, finding.code)
        elif not is_behind and empties:
            emptied = rank
    return seen, hidden


def as_hidden(finding: Finding) -> Finding:
    """Return the finding under the code for what Rasa does not see."""
    message = f"{finding.code}: {finding.message}"
    names = (Name("code", finding.code), *finding.names)
    about = (names[0], *(finding.about or finding.names))
    return Finding(HIDDEN, "info", message, finding.location, finding.hint, names=names, about=about)


def with_emptied_domain(project: Project) -> Project:
    """Return the project as Rasa sees it after an invalid domain: only what NLU files define is left."""
    nlu_paths = {file.path for file in project.files if file.has_nlu}
    responses = {
        name: response for name, response in project.domain.responses.items() if response.location.path in nlu_paths
    }
    domain = Domain(responses=responses, location=project.domain.location)
    files = tuple(file._replace(document=None) if file.role == "domain" else file for file in project.files)
    return dataclasses.replace(project, domain=domain, files=files)


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


# Findings from loading a project: the reader's, and those in what it has read.


def read_findings(facts: Facts) -> list[Finding]:
    """What the reader found, with Rasa's verdict on types in place of the reader's."""
    project = facts.project
    ours = [*check_files(facts), *check_merged_actions(facts)]
    judged = {finding.location.path for finding in ours if finding.code == "schema-violation"}
    parsed = {file.path for file in project.files if file.document is not None and file.document.root is not None}
    kept = []
    for finding in project.findings:
        if finding.code != "schema-violation" or finding.location.path not in parsed:
            kept.append(finding)
        elif finding.location.path not in judged:
            kept.append(replace(finding, code="type-unexpected", severity="warning"))
    return [*kept, *ours]


def loading_findings(facts: Facts, *, emptied: bool) -> Iterator[Finding]:
    """What Rasa reports while loading, beyond single files; ``emptied``: it goes on with an empty domain."""
    functions = LOADING if emptied else (*LOADING, *LOADING_DOMAIN)
    return reliable_findings((finding for find in functions for finding in find(facts)), facts.missing)


LOADING: Final = (
    check_importers,
    check_empty_lists,
    check_intent_names,
    check_synonym_merging,
    check_story_loading,
)
LOADING_DOMAIN: Final = (check_merging, references.check_listed_responses, references.check_story_intents)
"""Checks that need a loaded domain."""
