"""What a reader of an NLU evaluation needs to know: what was not scored, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.evaluation.splits import Folds
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import Example
    from turncheck.report.model import EntityScores, NluPrediction


def without_entities(examples: tuple[Example, ...], unknown: Mapping[str, str]) -> tuple[Example, ...]:
    """Return the examples without the annotations that cannot be compared with any answer."""
    if not unknown:
        return examples
    return tuple(
        replace(example, entities=tuple(one for one in example.entities if one.entity not in unknown))
        if any(one.entity in unknown for one in example.entities)
        else example
        for example in examples
    )


def remarks_on_unknown(examples: Sequence[Example], unknown: Mapping[str, str]) -> list[str]:
    """Say which annotations were not judged, and why."""
    names = sorted({one.entity for example in examples for one in example.entities} & unknown.keys())
    return [f"The entity {name} is not evaluated: {unknown[name]}." for name in names]


def remarks_on(
    project: Project,
    predictions: Sequence[NluPrediction],
    *,
    no_intents: bool,
    entities: dict[str, EntityScores],
    folds: Folds | None,
    extractors: Sequence[str],
    left_out: frozenset[str],
) -> list[str]:
    """Say how the evaluation was done, and what was not scored.

    Args:
        project: the training data.
        predictions: the judged sentences.
        no_intents: intents are not scored.
        entities: the scores of entities by extractor.
        folds: those of a cross-validation, ``None`` for held-out sentences.
        extractors: the extractors in the pipeline.
        left_out: the extractors that are not scored.
    """
    remarks = []
    if folds is not None:
        remarks.append(
            f"Cross-validation: each sentence was judged by the one of {folds.count} engines that had not been trained "
            "on its fold. Pooled figures count all sentences together; mean of folds ± spread is the mean of each "
            "fold's own figure and its standard deviation."
        )
    else:
        trained = {example.base_intent for example in project.nlu.examples}
        unknown = sorted({entry.expected.intent for entry in predictions if entry.expected.intent} - trained - {None})
        if unknown and trained:
            remarks.append(f"The engine was not trained on these intents of the test data: {', '.join(unknown)}.")
    if no_intents:
        remarks.append("Intents are not scored: the sentences have fewer than two different ones.")
    if not entities:
        remarks.append("Entities are not scored: none of the sentences has one.")
    if not project.kind.selects_responses:
        pass  # nobody expects these scores
    elif len({entry.expected.response for entry in predictions} - {None}) < 2:
        remarks.append("Responses are not scored: the sentences have fewer than two different ones.")
    elif not any(entry.predicted.response for entry in predictions):
        remarks.append("No response was selected for any of the sentences: the pipeline has no selector for them.")
    found = {entity.extractor for entry in predictions for entity in entry.predicted.entities}
    remarks += [f"{name} found no entity in any of the sentences." for name in entities if name not in found]
    remarks += [f"{name} is pretrained and was not scored." for name in extractors if name in left_out]
    return remarks
