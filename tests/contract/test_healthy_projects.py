"""Projects that real Rasa validates, trains and tests have no error of our own; those it refuses to train have one."""

from __future__ import annotations

from pathlib import Path

import pytest

from turncheck.project.reader import read_project
from turncheck.validation.catalogue import CHECKS
from turncheck.validation.pipeline import validate

TESTS = Path(__file__).parents[1]
SHARED = TESTS.parent.parent / "shared" / "oracle"
REFUSED = "train_error_"


def projects() -> list[Path]:
    """All recorded projects that Rasa does not refuse, and those that it refuses to train, wherever they lie."""
    oracle = SHARED if SHARED.is_dir() else TESTS / "oracle"
    kinds = ("core/*/project", "conversations/*/project", "nlu/*/project", "validate/bot_rasa_init/project")
    folders = sorted(folder for kind in kinds for folder in oracle.glob(kind))
    return [folder for folder in folders if (folder / "domain.yml").exists() and "sparse_only" not in str(folder)]


def named(folder: Path) -> str:
    return f"{folder.parents[1].name}/{folder.parent.name}"


HEALTHY = [folder for folder in projects() if REFUSED not in str(folder)]
REFUSED_PROJECTS = [folder for folder in projects() if REFUSED in str(folder)]


@pytest.mark.parametrize("folder", HEALTHY, ids=named)
def test_a_healthy_project_has_no_error_of_our_own(folder: Path) -> None:
    errors = [f for f in validate(read_project(folder)).findings if f.severity == "error" and CHECKS[f.code].own]
    # Rasa's own helpdesk bot has sentences that are no regular expressions: KeywordIntentClassifier raises on them.
    assert [error for error in errors if error.code != "keyword-not-regex"] == []


@pytest.mark.parametrize("folder", REFUSED_PROJECTS, ids=named)
def test_what_rasa_refuses_to_train_is_an_error_with_its_place(folder: Path) -> None:
    found = [f for f in validate(read_project(folder)).findings if f.code == "rule-contradiction"]
    assert found
    assert all(f.severity == "error" and f.location.line for f in found)
    noted = validate(read_project(folder), drop_in=True)
    assert {f.severity for f in noted.findings if f.code == "rule-contradiction"} == {"info"}
