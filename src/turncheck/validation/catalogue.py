"""All checks by code: each row stands beside its function, those of readers in ``catalogue_*``, on their own floor."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Final

from turncheck.platforms.registry import parts
from turncheck.registry import Registry
from turncheck.validation import (
    annotation_slips,
    catalogue_reading,
    code,
    configuration,
    conflicts,
    domain_loading,
    examples,
    loading,
    mappings,
    memorised_tests,
    names,
    own,
    payloads,
    references,
    regexes,
    repeated_stories,
    response_variables,
    similarity,
    unused,
)
from turncheck.validation.catalogue_suites import CASE_CHECKS, QUARANTINE_CHECKS, SUITE_CHECKS
from turncheck.validation.checks import CATALOGUE, KNOWN, Check, declared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.messages.finding import Finding
    from turncheck.validation.facts import Part

_FAMILIES: Final = (
    annotation_slips,
    code,
    configuration,
    conflicts,
    domain_loading,
    examples,
    loading,
    mappings,
    names,
    payloads,
    references,
    regexes,
    repeated_stories,
    response_variables,
    similarity,
    memorised_tests,
    unused,
)


def _own() -> Iterator[Check]:
    for module in iter_modules(own.__path__, f"{own.__name__}."):
        yield from (row for row in vars(import_module(module.name)).values() if isinstance(row, Check))


def _by_code(rows: Iterable[Check]) -> tuple[Check, ...]:
    return tuple(sorted(rows, key=lambda row: row.code))


_OF_RASA_PROJECTS: Final = _by_code(
    (
        *(row for family in _FAMILIES for row in family.CHECKS),
        *catalogue_reading.READING_CHECKS,
        *catalogue_reading.OLDER_CHECKS,
        *_own(),
    )
)
RASA_CHECKS: Final = tuple(row for row in _OF_RASA_PROJECTS if not row.own)
"""Those that Rasa has too."""
OWN_CHECKS: Final = tuple(row for row in _OF_RASA_PROJECTS if row.own)

_OF_PLATFORMS: Final[tuple[Check, ...]] = tuple(check for part in parts(CATALOGUE).values() for check in part.CHECKS)

KNOWN.update(
    (check.code, declared(check))
    for check in (*RASA_CHECKS, *OWN_CHECKS, *CASE_CHECKS, *SUITE_CHECKS, *QUARANTINE_CHECKS, *_OF_PLATFORMS)
)

CHECKS: Final = Registry("turncheck.checks", KNOWN, Check)
"""Those, and the plugins'."""


# Which findings hold for a project if a part of it could not be read.
#
# A fault between two things that could be read is kept. What assumes that something is absent ("used nowhere",
# "defined nowhere") may be wrong: it may be in the missing part.


def reliable_findings(findings: Iterable[Finding], missing: frozenset[Part]) -> Iterator[Finding]:
    """Leave out what might be wrong because of the missing parts."""
    return (finding for finding in findings if missing.isdisjoint(CHECKS[finding.code].needs))
