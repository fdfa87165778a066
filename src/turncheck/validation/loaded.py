"""Findings from loading a project: the reader's, and those in what it has read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turncheck.validation import loading, merging, references
from turncheck.validation.incomplete import standing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Finding
    from turncheck.validation.facts import Facts


def read_findings(facts: Facts) -> list[Finding]:
    """What the reader found, with Rasa's verdict on types in place of the reader's."""
    project = facts.project
    ours = [*loading.check_files(facts), *merging.check_merged_actions(facts)]
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
    return standing((finding for find in functions for finding in find(facts)), facts.missing)


LOADING: Final = (
    loading.check_importers,
    loading.check_empty_lists,
    loading.check_intent_names,
    loading.check_synonym_merging,
    loading.check_story_loading,
)
LOADING_DOMAIN: Final = (merging.check_merging, references.check_listed_responses, references.check_story_intents)
"""Checks that need a loaded domain."""
