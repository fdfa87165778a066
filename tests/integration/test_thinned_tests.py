"""An example whose tests are thinned out by half scores lower, and suggested tests bring the score back."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.engines.embedded.workshop import EmbeddedWorkshop
from turncheck.evaluations.strength.behaviour import Behaviour
from turncheck.evaluations.strength.bench import Mutant
from turncheck.evaluations.strength.measure import StrengthRun, evaluate_strength
from turncheck.evaluations.strength.suggested import cases_text
from turncheck.project.e2e.cases import read_cases
from turncheck.project.reader import read_project, read_story_files
from turncheck.validation.facts import ProjectTests

if TYPE_CHECKING:
    from turncheck.engines.base import Trained

PIZZERIA = Path(__file__).parents[2] / "examples" / "pizzeria"
OF_STORIES_GLUED_TOGETHER = """\
  - name: TEDPolicy
    max_history: 5
    epochs: 100
    constrain_similarities: true
"""


@pytest.fixture
def pizzeria(tmp_path: Path) -> Path:
    """One whose policies are soon trained: they decide by the stories as they are."""
    copy = shutil.copytree(PIZZERIA, tmp_path / "pizzeria")
    config = (copy / "config.yml").read_text(encoding="utf-8")
    assert OF_STORIES_GLUED_TOGETHER in config
    (copy / "config.yml").write_text(config.replace(OF_STORIES_GLUED_TOGETHER, ""), encoding="utf-8")
    return copy


@pytest.fixture
def _trained_once(pizzeria: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All evaluations here try the same mutants of the same project: each is trained, and told from it, once."""
    workshop = EmbeddedWorkshop(EmbeddedNluTrainer(), 42)
    original = workshop.trained(read_project(pizzeria))
    behaviour = Behaviour(original)
    monkeypatch.setattr(EmbeddedWorkshop, "trained", lambda *_: original)
    monkeypatch.setattr("turncheck.evaluations.strength.measure.Behaviour", lambda _: behaviour)
    trained: dict[tuple[str, str, str], Trained] = {}
    alike: dict[tuple[str, str, str], bool] = {}
    train, compare = Mutant.trained, Behaviour.is_that_of

    def train_once(mutant: Mutant, original: Trained) -> Trained:
        if mutant.key not in trained:
            trained[mutant.key] = train(mutant, original)
        return trained[mutant.key]

    def compare_once(behaviour: Behaviour, mutated: Trained, mutant: Mutant) -> bool:
        if mutant.key not in alike:
            alike[mutant.key] = compare(behaviour, mutated, mutant)
        return alike[mutant.key]

    monkeypatch.setattr(Mutant, "trained", train_once)
    monkeypatch.setattr(Behaviour, "is_that_of", compare_once)


@pytest.mark.slow
@pytest.mark.usefixtures("_trained_once")
def test_half_of_the_tests_are_weaker_and_suggestions_bring_it_back(pizzeria: Path, tmp_path: Path) -> None:
    project = read_project(pizzeria)
    workshop = EmbeddedWorkshop(EmbeddedNluTrainer(), 42)
    stories = read_story_files([pizzeria / "tests/test_stories.yml"], pizzeria)[0]
    cases = read_cases(pizzeria, [pizzeria / "tests/e2e_test_cases.yml"]).cases
    # Nothing or the policies alone are trained again for these, which keeps this short.
    lines = dict.fromkeys(("domain.yml", "data/rules.yml"), range(1, 1000))
    some = StrengthRun(suggest=True, changed=lines, most=20)

    full = evaluate_strength(project, workshop, ProjectTests(stories, (), cases), replace(some, suggest=False))
    assert full.score is not None
    assert full.by_tests is not None
    for first in (0, 1):  # the first half, the second half
        kept = ProjectTests(stories[first::2], (), cases[first::2])
        half = evaluate_strength(project, workshop, kept, some)
        path = tmp_path / f"suggested-{first}.yml"
        path.write_text(cases_text([one for one in half.suggested if one.kind == "case"]), encoding="utf-8")
        more = kept._replace(cases=(*kept.cases, *read_cases(tmp_path, [path]).cases))
        mended = evaluate_strength(project, workshop, more, replace(some, suggest=False))

        assert half.score is not None
        assert mended.score is not None
        assert half.by_tests is not None
        assert mended.by_tests is not None
        assert half.score < full.score
        assert half.by_tests < 0.9 * full.by_tests
        assert mended.score >= full.score
        assert mended.by_tests >= full.by_tests
