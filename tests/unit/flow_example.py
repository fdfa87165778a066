"""The example assistant of flows, copied with edits, and what is found in the copy."""

from __future__ import annotations

import shutil
from pathlib import Path

from turncheck.project.e2e.cases import read_cases
from turncheck.project.reader import read_project
from turncheck.validation.facts import ProjectTests
from turncheck.validation.pipeline import Validated, validate

EXAMPLE = Path(__file__).parents[2] / "examples" / "appointment"
F, D, C, E = "data/flows.yml", "domain.yml", "config.yml", "endpoints.yml"
T, U = "tests/e2e_test_cases.yml", "dialogue_understanding_tests/booking.yml"

Edit = tuple[str, str, str]


def example(folder: Path, *edits: Edit) -> Path:
    """Copy the example, with text replaced in its files."""
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for file, old, new in edits:
        text = (folder / file).read_text(encoding="utf-8")
        assert old in text
        (folder / file).write_text(text.replace(old, new), encoding="utf-8")
    return folder


def checked(folder: Path) -> Validated:
    """Check what is in a folder, with its tests."""
    cases = read_cases(folder, [folder / "tests"]).cases
    return validate(read_project(folder), strict=True, tests=ProjectTests(cases=cases))


def found_in(folder: Path, *edits: Edit) -> dict[str, list[str]]:
    """The places of what is found in the example with these edits, by code."""
    found: dict[str, list[str]] = {}
    for finding in checked(example(folder, *edits)).findings:
        found.setdefault(finding.code, []).append(str(finding.location))
    return found
