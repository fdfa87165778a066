"""The parts of platforms: each is there, and has what its room asks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turncheck.commands.import_results import IMPORTED, ImportedModule
from turncheck.engines.embedded.engines import STAND_IN, StandInModule
from turncheck.evaluations.coverage import PLATFORM_COVERAGE, CoverageModule
from turncheck.platforms.registry import PLATFORMS
from turncheck.project.formats.format import EXPORT, ExportModule
from turncheck.run.evaluated_project import CONSISTENCY, ConsistencyModule
from turncheck.validation.checks import CATALOGUE, CatalogueModule
from turncheck.validation.pipeline import MORE_CHECKS, PLATFORM_CHECKS, ChecksModule, MoreChecksModule

if TYPE_CHECKING:
    from turncheck.platforms.base import Part

PARTS: dict[str, tuple[Part[Any], type]] = {
    part.name: (part, protocol)
    for part, protocol in (
        (EXPORT, ExportModule),
        (CATALOGUE, CatalogueModule),
        (PLATFORM_CHECKS, ChecksModule),
        (MORE_CHECKS, MoreChecksModule),
        (CONSISTENCY, ConsistencyModule),
        (STAND_IN, StandInModule),
        (PLATFORM_COVERAGE, CoverageModule),
        (IMPORTED, ImportedModule),
    )
}


@pytest.mark.parametrize(("platform", "name"), [(name, part) for name, row in PLATFORMS.items() for part in row.brings])
def test_a_platform_has_what_its_row_says_that_it_brings(platform: str, name: str) -> None:
    part, protocol = PARTS[name]
    module = PLATFORMS[platform].part(part)
    members = {member for member in vars(protocol) if not member.startswith("_")}
    assert members <= vars(module).keys()


def test_what_a_platform_does_not_bring_is_as_for_rasa() -> None:
    for row in PLATFORMS.values():
        for name, (part, _) in PARTS.items():
            assert (row.part(part) is None) == (name not in row.brings)


if TYPE_CHECKING:  # what mypy holds against the protocols
    from turncheck.platforms.bot import checks as http_checks
    from turncheck.platforms.bot import coverage as http_coverage
    from turncheck.platforms.bot import export as http_export
    from turncheck.platforms.kore import catalogue, checks, coverage, export, imported, stand_in
    from turncheck.platforms.rasa.flows import catalogue as rasa_catalogue
    from turncheck.platforms.rasa.flows import consistency, more_checks

    EXPORTS: tuple[ExportModule, ...] = (export, http_export)
    CATALOGUES: tuple[CatalogueModule, ...] = (catalogue, rasa_catalogue)
    CHECKS: tuple[ChecksModule, ...] = (checks, http_checks)
    MORE: MoreChecksModule = more_checks
    CONSISTENT: ConsistencyModule = consistency
    STANDS_IN: StandInModule = stand_in
    COVERAGES: tuple[CoverageModule, ...] = (coverage, http_coverage)
    READS_RESULTS: ImportedModule = imported
