"""An example whose tests are thinned out by half scores lower, and suggested tests bring the score back."""

from __future__ import annotations

from dataclasses import replace
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
@pytest.mark.parametrize("first", [0, 1], ids=["first half", "second half"])
def test_half_of_the_tests_are_weaker_and_suggestions_bring_it_back(first: int, tmp_path: Path) -> None:
    project = read_project(PIZZERIA)
    workshop = EmbeddedWorkshop(EmbeddedNluTrainer(), 42)
    stories = read_story_files([PIZZERIA / "tests/test_stories.yml"], PIZZERIA)[0]
    cases = read_cases(PIZZERIA, [PIZZERIA / "tests/e2e_test_cases.yml"]).cases
    # Nothing or the policies alone are trained again for these, which keeps this short.
    lines = dict.fromkeys(("domain.yml", "data/rules.yml"), range(1, 1000))
    some = StrengthRun(suggest=True, changed=lines, most=40)

    full = evaluate_strength(project, workshop, ProjectTests(stories, (), cases), replace(some, suggest=False))
    kept = ProjectTests(stories[first::2], (), cases[first::2])
    half = evaluate_strength(project, workshop, kept, some)
    path = tmp_path / "suggested.yml"
    path.write_text(cases_text([one for one in half.suggested if one.kind == "case"]), encoding="utf-8")
    more = replace(kept, cases=(*kept.cases, *read_cases(tmp_path, [path]).cases))
    mended = evaluate_strength(project, workshop, more, replace(some, suggest=False))

    assert full.score is not None
    assert half.score is not None
    assert mended.score is not None
    assert full.by_tests is not None
    assert half.by_tests is not None
    assert mended.by_tests is not None
    assert half.score < full.score
    assert half.by_tests < 0.9 * full.by_tests
    assert mended.score >= full.score
    assert mended.by_tests >= full.by_tests
