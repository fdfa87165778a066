"""What is found while a project is loaded: by the reader, and in what it has read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from turncheck.validation import loading, merging, references
from turncheck.validation.incomplete import missing_parts, standing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.finding import Finding
    from turncheck.project.model import Project
    from turncheck.validation.facts import Facts


def read_findings(project: Project) -> list[Finding]:
    """What the reader found, with Rasa's own judgement on types in place of the reader's."""
    ours = [*loading.check_files(project), *merging.check_merged_actions(project)]
    judged = {finding.location.path for finding in ours if finding.code == "schema-violation"}
    parsed = {file.path for file in project.files if file.document is not None and file.document.root is not None}
    kept = []
    for finding in project.findings:
        if finding.code != "schema-violation" or finding.location.path not in parsed:
            kept.append(finding)
        elif finding.location.path not in judged:
            kept.append(replace(finding, code="type-unexpected", severity="warning"))
    return [*kept, *ours]


def loading_findings(project: Project, facts: Facts, *, emptied: bool) -> Iterator[Finding]:
    """What Rasa remarks while loading, beyond single files."""
    return standing(_loading_findings(project, facts, emptied=emptied), missing_parts(project))


def _loading_findings(project: Project, facts: Facts, *, emptied: bool) -> Iterator[Finding]:
    yield from loading.check_importers(project)
    yield from loading.check_empty_lists(project)
    yield from loading.check_intent_names(facts)
    yield from loading.check_synonym_merging(project)
    yield from loading.check_story_loading(facts)
    if not emptied:
        yield from merging.check_merging(project, facts)
        yield from references.check_listed_responses(facts)
        yield from references.check_story_intents(facts)
