"""A project of an older Rasa: what its own version checked and, as one finding, what Rasa 3 would refuse."""

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
"""Codes about what Rasa 3 changed, which do not apply to an older one."""
_OF_RASA_2: Final = frozenset({"entity-role-undefined"})
"""Codes that do not apply to Rasa 1, whose domain does not list roles and groups."""
_SCHEMA: Final = "schema-violation"
_WITH_SCHEMA: Final = frozenset({"domain", "config"})
_SHOWN: Final = 3


def split_for(project: Project, findings: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Return the findings that apply to an older version of Rasa too, and those that only apply to Rasa 3."""
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
    """Return everything that Rasa 3 would refuse or read differently as one finding, with the place of each.

    ``targets_3``: the project is meant for Rasa 3, so this is an error.
    """
    places = list(dict.fromkeys([*(sign.location for sign in version.signs), *(one.location for one in refused)]))
    message = f"{version.message}: Rasa 3 would refuse it at {count(len(places), 'place')}."
    group = found("legacy-project", message, places[0], others=places[1:])
    return replace(group, severity="error" if targets_3 else "info")
