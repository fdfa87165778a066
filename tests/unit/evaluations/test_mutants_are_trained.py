"""A mutant that is trained in part decides as one trained from scratch: an operator names all that learns from it."""

from __future__ import annotations

from pathlib import Path

from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.engines.embedded.workshop import EmbeddedWorkshop
from turncheck.evaluations.strength.bench import outcomes_of_stories
from turncheck.evaluations.strength.faults import mutants_of
from turncheck.messages.errors import UserError
from turncheck.project.reader import read_project, read_story_files

ROOT = Path(__file__).parents[2] / "oracle" / "conversations" / "or_checkpoints" / "project"
SEED = 42


def test_every_mutant_decides_as_if_all_of_it_were_trained() -> None:
    """Its stories have entities that fill a slot: what is learnt from them depends on the slot's mappings."""
    project = read_project(ROOT)
    stories = read_story_files(sorted((ROOT / "tests").glob("test_*.yml")), ROOT)[0]
    workshop = EmbeddedWorkshop(EmbeddedNluTrainer(), SEED)
    original = workshop.trained(project)
    tried = 0
    for mutant in mutants_of(project, SEED):
        try:
            whole = workshop.trained(mutant.project)
        except UserError:
            continue
        tried += 1
        in_part = mutant.trained(original)
        assert outcomes_of_stories(in_part, stories) == outcomes_of_stories(whole, stories), mutant.what
    assert tried
