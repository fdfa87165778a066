"""Trained pipeline steps in a cache, with keys made only of what each step learns from.

A cached step only gets that, and its key is made of it. Steps that only copy their input are not cached:
doing it again is as fast as reading it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.engines.embedded.cached_members import keep, read_kept
from turncheck.engines.embedded.nlu.batch import Batch, Training
from turncheck.engines.embedded.nlu.plan import READS_SENTENCE_FEATURES, READS_TOKEN_FEATURES
from turncheck.engines.embedded.nlu.steps import load_step, train_step
from turncheck.engines.embedded.training_key import NoDigestError, digest_of
from turncheck.process.cache import surroundings
from turncheck.project.model import Project

if TYPE_CHECKING:
    from turncheck.engines.embedded.nlu.batch import Component
    from turncheck.engines.embedded.nlu.plan import Step
    from turncheck.process.cache import Cache
    from turncheck.project.nlu_data import Example

LEARNS: Final = frozenset(
    {
        *("DietStandIn", "IntentStandIn", "EntityStandIn", "ResponseSelectorStandIn"),
        *("LogisticRegressionClassifier", "SklearnIntentClassifier", "CRFEntityExtractor"),
    }
)
"""Slow kinds: they learn from annotated sentences, their words, and features of the previous steps."""
_KIND: Final = "trained component"
_NO_PROJECT: Final = Project(Path(), "")


def kept_step(cache: Cache | None, step: Step, training: Training) -> Component | None:
    """Return a step as :func:`train_step` does; one that learns comes from the cache if it learnt from the same before.

    Raises:
        UserError: as there.
    """
    if cache is None or step.kind not in LEARNS or training.vectors is not None:
        return train_step(step, training)
    learnt = learnt_by(step, training)
    key = step_key(step, learnt)
    found = read_kept(cache, key, _KIND, lambda members: load_step(step, members))
    if found is not None:
        return found
    component = train_step(step, learnt)
    if component is not None and not learnt.notes and not learnt.left_out:  # notes are not cached
        keep(cache, key, _KIND, component.save)
    training.notes += learnt.notes
    training.left_out += learnt.left_out
    return component


def learnt_by(step: Step, training: Training) -> Training:
    """Return the input of a step that learns: no synonyms, no patterns, no features that it does not read."""
    whole = training.batch
    batch = Batch.of(whole.texts, whole.tokens)
    if step.kind in READS_SENTENCE_FEATURES:
        batch.sentence_features = whole.sentence_features
    if step.kind in READS_TOKEN_FEATURES:
        batch.patterns, batch.dense_token_features = whole.patterns, whole.dense_token_features
    examples = tuple(map(_as_annotated, training.examples))
    return Training(_NO_PROJECT, examples, batch, training.seed, training.label_split)


def step_key(step: Step, learnt: Training) -> str | None:
    """Return the key of a step, ``None`` if what it learns from has no digest."""
    batch = learnt.batch  # its other columns are filled in prediction
    columns = batch.tokens, batch.sentence_features, batch.patterns, batch.dense_token_features
    inputs = learnt.examples, columns, learnt.seed, learnt.label_split
    try:
        return digest_of((step.kind, step.component.name, step.parameters, inputs, surroundings()))
    except (NoDigestError, RecursionError):
        return None


def _as_annotated(example: Example) -> Example:
    """A sentence without its entities' values and without metadata: no step that learns reads them."""
    entities = tuple(replace(entity, value=None) for entity in example.entities)
    return replace(example, entities=entities, metadata=None)
