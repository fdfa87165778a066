"""The stand-in's entity tagger where sentences are few: what it finds of an example in sentences it has not seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from turncheck.engines.embedded.nlu import entity_model
from turncheck.engines.embedded.nlu.entity_model import EntityModel
from turncheck.engines.embedded.nlu.tokenizers import WhitespaceTokenizer
from turncheck.project.reader import read_project

PIZZERIA = Path(__file__).parents[2] / "examples/pizzeria"


def found_in_folds(count: int = 5) -> tuple[int, int, int]:
    """How many entities are found with type and borders, how many are said to be found, how many are annotated."""
    examples = read_project(PIZZERIA).nlu.examples
    tokens = [WhitespaceTokenizer(None).tokenize(one.text) for one in examples]
    right = said = there = 0
    for fold in range(count):
        kept = [row for row in range(len(examples)) if row % count != fold]
        model = EntityModel.train(
            [examples[row] for row in kept],
            [tokens[row] for row in kept],
            [[(str(examples[row].intent), 1.0)] for row in kept],
            seed=0,
        )
        assert model is not None
        for row in range(fold, len(examples), count):
            found = model.find(tokens[row], [(str(examples[row].intent), 1.0)], split_by_comma=True)
            spans = {(one.start, one.end, one.entity) for one in found}
            truth = {(one.start, one.end, one.entity) for one in examples[row].entities}
            right, said, there = right + len(spans & truth), said + len(spans), there + len(truth)
    return right, said, there


def test_entities_of_few_sentences_are_not_left_out_for_want_of_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    right, said, there = found_in_folds()
    monkeypatch.setattr(entity_model, "_FEW", 0)
    right_without, said_without, _ = found_in_folds()
    assert right > right_without
    assert 2 * right / (said + there) > 2 * right_without / (said_without + there) + 0.03
