"""What of a project cannot be read, and which findings are therefore not reported: a base hides what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.project.e2e.cases import read_cases
from turncheck.project.formats.rasa_yaml import FILE_EMPTY
from turncheck.report.model import Unread
from turncheck.run.reading import read_configured, read_tests
from turncheck.validation.before_training import all_unreadable
from turncheck.validation.catalogue import CHECKS
from turncheck.validation.facts import missing_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.messages.finding import Finding
    from turncheck.process.environment import FileVariables
    from turncheck.project.model import Project
    from turncheck.project.project_file import ProjectFile
    from turncheck.run.reading import Tests
    from turncheck.settings.options import Settings

_TESTS: Final = "tests"
_FLOWS: Final = "flows"
_NO_LOSS: Final = frozenset({"file-without-data", FILE_EMPTY})
"""The codes of files in which no test was ever, or none is left: that is seen, not hidden."""


def unread_of(project: Project, tests: Tests, of_cases: Iterable[Finding]) -> tuple[Unread, ...]:
    """Return where something of a project and its tests cannot be read, by place; ``of_cases``: end-to-end cases."""
    found = {Unread(location=one.location, code=one.code, part=part) for part, one in _faults(project, tests, of_cases)}
    return tuple(sorted(found, key=lambda one: (one.location.sort_key, one.code, one.part)))


def unread_now(settings: Settings, variables: FileVariables | None) -> tuple[Unread, ...]:
    """Read what the settings name, only to know what of it cannot be read; ``variables`` as in :func:`read_configured`.

    Raises:
        UserError: a given path is missing.
    """
    project, tests = read_configured(settings, variables=variables), read_tests(settings, variables)
    return unread_of(project, tests, read_cases(project.root, tests.e2e).findings)


def unchecked_of(project: Project) -> tuple[str, ...]:
    """Return the codes of the findings that may be wrong if a part of the project is missing, and are left out."""
    missing = missing_parts(project)
    return tuple(sorted(code for code, check in CHECKS.items() if not missing.isdisjoint(check.needs)))


def _may_have_flows(file: ProjectFile) -> bool:
    """Whether a file cannot be read and has flows, or nobody knows what it has."""
    return file.mapping is None and not file.has_nlu and not file.has_stories


def _faults(project: Project, tests: Tests, of_cases: Iterable[Finding]) -> Iterator[tuple[str, Finding]]:
    yield from all_unreadable(project)
    roles = {file.path: file.role for file in project.files if file.role in {"domain", "config"}}
    for finding in project.findings:  # also of an older Rasa, for which the schemas of these files do not count
        if finding.severity == "error" and finding.code.startswith("yaml-") and finding.location.path in roles:
            yield roles[finding.location.path], finding
    in_flows = {file.path for file in project.files if file.role == "data" and _may_have_flows(file)}
    yield from ((_FLOWS, one) for one in project.findings if one.severity == "error" and one.location.path in in_flows)
    for finding in (*tests.findings, *of_cases):
        is_closed = finding.code.startswith(("file-", "yaml-")) and finding.code not in _NO_LOSS
        if finding.severity == "error" or is_closed:
            yield _TESTS, finding
