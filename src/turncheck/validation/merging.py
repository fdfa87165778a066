"""Names that several files define: those of a domain folder, or the domain and NLU data or stories."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turncheck.validation import loading, references
from turncheck.validation.facts import UTTER, read_data_files
from turncheck.validation.findings import found, reliable_findings
from turncheck.validation.loading import is_domain_file
from turncheck.yaml_tree.tree import YamlMapping, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.messages.finding import Finding, Location
    from turncheck.project.model import Project
    from turncheck.project.project_file import ProjectFile
    from turncheck.validation.facts import Facts

    Names = Mapping[str, Mapping[str, Location]]
    """Where each section defines each name."""


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
            yield found("response-is-form", f"The response '{name}' has the name of a form.", location)


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
    ours = [*loading.check_files(facts), *check_merged_actions(facts)]
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
    loading.check_importers,
    loading.check_empty_lists,
    loading.check_intent_names,
    loading.check_synonym_merging,
    loading.check_story_loading,
)
LOADING_DOMAIN: Final = (check_merging, references.check_listed_responses, references.check_story_intents)
"""Checks that need a loaded domain."""
