"""A project of an older Rasa: what its own version checked, and, as one finding, what Rasa 3 would refuse."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turncheck.messages.plurals import count
from turncheck.validation.findings import found

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.messages.finding import Finding
    from turncheck.project.model import Project
    from turncheck.project.rasa_version import RasaVersion

_OF_RASA_3: Final = frozenset(
    {
        *("config-key-missing", "version-missing", "version-too-low", "key-unknown", "policy-unknown"),
        *("format-deprecated", "intent-triggers-removed", "mapping-entity-undefined"),
    }
)
"""Codes that say what Rasa 3 wants otherwise, and that mean nothing to an older one."""
_OF_RASA_2: Final = frozenset({"entity-role-undefined"})
"""Codes that mean nothing to Rasa 1, whose domain lists no roles and groups."""
_SCHEMA: Final = "schema-violation"
_WITH_SCHEMA: Final = frozenset({"domain", "config"})
_SHOWN: Final = 3


def split_for(project: Project, findings: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Return what an older version of Rasa minds too, and what Rasa 3 alone does."""
    codes = _OF_RASA_3 | _OF_RASA_2 if project.domain.rasa < 2 else _OF_RASA_3
    schema_files = {file.path for file in project.files if file.role in _WITH_SCHEMA}
    ours = {finding for finding in project.findings if finding.code == _SCHEMA}
    kept: list[Finding] = []
    refused: list[Finding] = []
    for finding in findings:
        of_schema = finding.code == _SCHEMA and finding.location.path in schema_files and finding not in ours
        (refused if of_schema or finding.code in codes else kept).append(finding)
    return kept, refused


def refusals_of_rasa_3(version: RasaVersion, refused: Iterable[Finding], *, targets_3: bool) -> Finding:
    """Return all that Rasa 3 would refuse or read otherwise as one finding, with the place of each.

    ``targets_3``: the project is to run with Rasa 3, so that this is an error.
    """
    places = list(dict.fromkeys([*(sign.location for sign in version.signs), *(one.location for one in refused)]))
    message = f"{version.message}: Rasa 3 would refuse it at {count(len(places), 'place')}."
    group = found("legacy-project", message, places[0], others=places[1:])
    return replace(group, severity="error" if targets_3 else "info")
