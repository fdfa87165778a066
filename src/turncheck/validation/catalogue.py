"""All checks by code: the rows of the ``catalogue_*`` modules, of ``own/``, and of the platforms."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Final

from turncheck.platforms.registry import parts
from turncheck.registry import Registry
from turncheck.validation import own
from turncheck.validation.catalogue_names import NAME_CHECKS
from turncheck.validation.catalogue_rasa import OLDER_CHECKS, RASA_CHECKS
from turncheck.validation.catalogue_suites import CASE_CHECKS, QUARANTINE_CHECKS, SUITE_CHECKS
from turncheck.validation.catalogue_training import TRAINING_CHECKS
from turncheck.validation.checks import CATALOGUE, KNOWN, Check, declared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.messages.finding import Finding
    from turncheck.validation.facts import Part


def _beside_their_functions() -> Iterator[Check]:
    for module in iter_modules(own.__path__, f"{own.__name__}."):
        yield from (row for row in vars(import_module(module.name)).values() if isinstance(row, Check))


OWN_CHECKS: Final = (*NAME_CHECKS, *TRAINING_CHECKS, *_beside_their_functions(), *OLDER_CHECKS)

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
