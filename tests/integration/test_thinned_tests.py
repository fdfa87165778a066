"""An example whose tests are thinned out by half scores lower, and suggested tests bring the score back."""

from __future__ import annotations

from pathlib import Path

import pytest

from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.engines.embedded.workshop import EmbeddedWorkshop
from turncheck.evaluation.strength.strength import StrengthRun, evaluate_strength
from turncheck.evaluation.strength.suggested_files import cases_text
from turncheck.project.e2e.cases import read_cases
from turncheck.project.reader import read_project, read_story_files
from turncheck.validation.project_tests import ProjectTests

PIZZERIA = Path(__file__).parents[2] / "examples" / "pizzeria"


@pytest.mark.slow
def test_half_of_the_tests_are_weaker_and_suggestions_bring_it_back(tmp_path: Path) -> None:
    project = read_project(PIZZERIA)
    workshop = EmbeddedWorkshop(EmbeddedNluTrainer(), 42)
    stories = read_story_files([PIZZERIA / "tests/test_stories.yml"], PIZZERIA)[0]
    cases = read_cases(PIZZERIA, [PIZZERIA / "tests/e2e_test_cases.yml"]).cases
    # Responses, slots and forms: nothing is trained again for them, which keeps this short.
    domain = StrengthRun(suggest=True, changed={"domain.yml": range(1, 1000)})

    full = evaluate_strength(project, workshop, ProjectTests(stories, (), cases), domain)
    half = evaluate_strength(project, workshop, ProjectTests(stories[1::2], (), cases[1::2]), domain)
    path = tmp_path / "suggested.yml"
    path.write_text(cases_text([one for one in half.suggested if one.kind == "case"]), encoding="utf-8")
    more = (*cases[1::2], *read_cases(tmp_path, [path]).cases)
    mended = evaluate_strength(project, workshop, ProjectTests(stories[1::2], (), more), domain)

    assert full.score is not None
    assert half.score is not None
    assert mended.score is not None
    assert half.score < full.score - 0.1
    assert mended.score >= full.score
