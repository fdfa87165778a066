"""The key of a trained step has everything that the step can learn from: nothing of it may change under one key."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.sparse import csr_matrix

from turncheck.engines.embedded.nlu.batch import Batch, Lessons, Tokens
from turncheck.engines.embedded.nlu.linear import LabelSplit
from turncheck.engines.embedded.nlu.plan import Step
from turncheck.engines.embedded.nlu.trainer import LEARNS, step_key
from turncheck.messages.finding import Location
from turncheck.messages.value_classes import field_names
from turncheck.process.cache import RunCache
from turncheck.project.model import Component
from turncheck.project.nlu_data import EntityAnnotation, Example

CACHE = RunCache()
PLACE = Location("config.yml", 1, 1)
STEP = Step("CRFEntityExtractor", Component("CRFEntityExtractor", {}, PLACE), {"max_iterations": 5})
TOKENS = Tokens(("in", "Rome"), ((0, 2), (3, 7)))
BATCH = Batch(
    ["in Rome"],
    [TOKENS],
    sentence_features=[csr_matrix([[1.0, 0.0]]), np.array([[0.5]])],
    dense_token_features=[np.array([[0.5], [0.25]])],
    patterns=[({"city": False}, {"city": True})],
)
EXAMPLE = Example("in Rome", "inform", (EntityAnnotation(3, 7, "city", "Rome"),))
LESSONS = Lessons((EXAMPLE,), BATCH, seed=1, label_split=LabelSplit("+"))

Change = Callable[[], tuple[Step, Lessons]]


def step(**changes: Any) -> Change:
    return lambda: (replace(STEP, **changes), LESSONS)


def lessons(**changes: Any) -> Change:
    return lambda: (STEP, replace(LESSONS, **changes))


def batch(**changes: Any) -> Change:
    return lambda: (STEP, replace(LESSONS, batch=replace(BATCH, **changes)))


def example(**changes: Any) -> Change:
    return lambda: (STEP, replace(LESSONS, examples=(dataclasses.replace(EXAMPLE, **changes),)))


CHANGES: dict[str, list[Change]] = {
    "Step.kind": [step(kind=kind) for kind in sorted(LEARNS - {STEP.kind})],
    "Step.component": [step(component=Component("DIETClassifier", {}, PLACE))],
    "Step.parameters": [step(parameters={}), step(parameters={"max_iterations": 6})],
    "Lessons.examples": [
        example(text="in Roma"),
        example(intent="greet"),
        example(intent=None),
        example(entities=()),
        example(entities=(EntityAnnotation(3, 7, "city", "Rome", role="to"),)),
        example(entities=(EntityAnnotation(3, 7, "town", "Rome"),)),
        lessons(examples=(EXAMPLE, EXAMPLE)),
    ],
    "Lessons.seed": [lessons(seed=2)],
    "Lessons.label_split": [lessons(label_split=None), lessons(label_split=LabelSplit("-"))],
    "Batch.tokens": [
        batch(tokens=[Tokens(("in Rome",), ((0, 7),))]),
        batch(tokens=[replace(TOKENS, lemmas=("in", "rome"))]),
        batch(tokens=[replace(TOKENS, tags=("ADP", "PROPN"))]),
    ],
    "Batch.sentence_features": [
        batch(sentence_features=[]),
        batch(sentence_features=BATCH.sentence_features[:1]),
        batch(sentence_features=BATCH.sentence_features[::-1]),
        batch(sentence_features=[csr_matrix([[0.0, 1.0]]), np.array([[0.5]])]),
        batch(sentence_features=[csr_matrix([[1.0, 0.0]]), np.array([[0.5000001]])]),
    ],
    "Batch.dense_token_features": [
        batch(dense_token_features=None),
        batch(dense_token_features=[np.array([[0.25], [0.5]])]),
    ],
    "Batch.patterns": [batch(patterns=None), batch(patterns=[({"city": True}, {"city": True})])],
}
"""By what a step is given: other lessons, each in one place."""

NOT_LEARNT = {
    *("Batch.texts", "Lessons.batch"),  # in the examples; by its columns
    *("Batch.intents", "Batch.rankings", "Batch.entities", "Batch.responses", "Batch.team_confidences"),  # predictions
    *("Lessons.vectors", "Lessons.notes"),  # with vectors no step is cached; what is said to the user
}


@pytest.mark.parametrize(("what", "number"), [(what, n) for what, all_ in CHANGES.items() for n in range(len(all_))])
def test_what_a_step_is_given_is_in_its_key(what: str, number: int) -> None:
    changed, learnt = CHANGES[what][number]()
    assert step_key(CACHE, changed, learnt) != step_key(CACHE, STEP, LESSONS) is not None


def test_the_same_lessons_have_the_same_key_wherever_they_are_written() -> None:
    moved = dataclasses.replace(EXAMPLE, index=9)
    component = Component("CRFEntityExtractor", {}, Location("config.yml", 7, 1))
    here, there = (STEP, LESSONS), (replace(STEP, component=component), replace(LESSONS, examples=(moved,)))
    assert step_key(CACHE, *here) == step_key(CACHE, *there)


def test_nothing_that_a_step_is_given_is_forgotten_here() -> None:
    given = {f"{kind.__name__}.{name}" for kind in (Step, Lessons, Batch) for name in field_names(kind) or ()}
    assert given == CHANGES.keys() | NOT_LEARNT
