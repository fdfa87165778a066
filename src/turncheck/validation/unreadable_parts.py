"""What is lost of a project because it cannot be read: nothing that needs an incomplete part is judged.

Rasa refuses to train on such files. What it refuses although all of it could be read here (a slot without mappings, an
intent that is listed twice) is an error in the data, but not a reason to skip judging.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding, Location
from turncheck.project.components import refused
from turncheck.validation.loading import lost_by_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from turncheck.project.model import Project
    from turncheck.project.project_file import ProjectFile

PARTS: Final[Mapping[str, str]] = {
    "domain": "the domain",
    "nlu": "the NLU data",
    "responses": "the responses",
    "stories": "the stories and rules",
    "sentences": "the sentences of the stories",
    "config": "the configuration",
    "pipeline": "the pipeline",
    "endpoints": "the endpoints",
}
"""The parts of a project, as messages call them. ``sentences``: what users say in stories, which NLU learns from."""

_ABSENT: Final = {"domain-not-found": "domain", "config-not-found": "config", "domain-file-unread": "domain"}
NOT_THERE: Final = {"domain-not-found": "there is no domain", "config-not-found": "there is no configuration"}
"""Codes that say all by themselves: there is nothing else to tell of what cannot be read."""
_OF_KEY: Final = {"nlu": "nlu", "responses": "responses", "stories": "stories", "rules": "stories"}
"""The part that a key of a data file holds."""
_UNSEEN: Final = "data-key-unseen"
"""What is below a key in quotes is left out, as in Rasa; what is below a misspelt one is lost."""
_UNREAD_JSON: Final = "format-not-read"


def unreadable_parts(project: Project) -> dict[str, Finding]:
    """Return, for each part of which something is lost, the first finding that says what and where."""
    lost: dict[str, Finding] = {}
    for part, finding in sorted(_all_unreadable(project), key=lambda finding: finding[1].location.sort_key):
        lost.setdefault(part, finding)
    return lost


def first_unreadable(lost: Mapping[str, Finding], parts: AbstractSet[str]) -> tuple[str, Finding] | None:
    """Return the first of these parts (in the order of :data:`PARTS`) of which something is lost, and the finding."""
    return next(((part, lost[part]) for part in PARTS if part in parts and part in lost), None)


def cause_of_loss(part: str, finding: Finding) -> str:
    """Say in short why anything that needs this part is not judged."""
    if finding.code in NOT_THERE:
        return NOT_THERE[finding.code]
    return "Rasa refuses to train the pipeline" if part == "pipeline" else f"{PARTS[part]} cannot be read completely"


def unread_tests(findings: Iterable[Finding], files: Iterable[ProjectFile]) -> tuple[Finding, ...]:
    """Return the findings on test files, including losses that the reader did not report, by place.

    A file of a version that is too high, which Rasa skips, is a fault here: its tests would be lost.
    """
    read = [
        replace(finding, severity="error") if finding.code == "version-too-high" else finding for finding in findings
    ]
    said = {(finding.location.path, finding.location.line) for finding in read if finding.severity == "error"}
    ours = [
        finding
        for file in files
        for finding in lost_by_schema(file)
        if (finding.location.path, finding.location.line) not in said
    ]
    return tuple(sorted((*read, *ours), key=lambda finding: finding.location.sort_key))


def _all_unreadable(project: Project) -> Iterator[tuple[str, Finding]]:
    faults: dict[str, list[Finding]] = {}
    for finding in project.findings:
        if finding.code in _ABSENT:
            yield _ABSENT[finding.code], finding
        elif finding.code == _UNREAD_JSON and finding.location.path.endswith(".json"):
            yield "nlu", finding
        elif finding.location.path in project.misnamed_files:
            yield _OF_KEY[project.misnamed_files[finding.location.path]], finding
        elif finding.severity == "error" and finding.code != _UNSEEN:
            faults.setdefault(finding.location.path, []).append(finding)
    for component, why in refused(project):
        message = f"The component '{component.name}' {why}."
        yield "pipeline", Finding("component-order", "error", message, component.location)
    for file in project.files:
        if project.older is not None and file.role in {"domain", "config"}:
            continue  # what the schemas of Rasa 3 do not know is read as in its own version
        for finding in _lost_of(file, faults.get(file.path, ())):
            yield from ((part, finding) for part in _parts_of(file))


def _lost_of(file: ProjectFile, faults: Iterable[Finding]) -> list[Finding]:
    """Return what is lost of one file: what the reader could not read, unknown keys, values of another type.

    On types Rasa's schemas are decisive, if there is one.
    """
    has_schema = file.role != "endpoints" and file.document is not None and file.document.root is not None
    lost = [fault for fault in faults if not has_schema or fault.code != "schema-violation"] + lost_by_schema(file)
    if file.source is None and not lost:
        return [Finding("file-unreadable", "error", f"'{file.path}' cannot be read.", Location(file.path, 1, 1))]
    return lost


def _parts_of(file: ProjectFile) -> Iterator[str]:
    if file.role != "data":
        yield file.role
    if file.has_nlu:
        yield "nlu"
    if file.role == "data" and "responses" in file.kinds:
        yield "responses"
    if file.has_stories:
        yield "stories"
        if file.document is None or "user:" in file.document.source.text:
            yield "sentences"
