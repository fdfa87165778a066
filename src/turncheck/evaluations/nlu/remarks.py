"""What a reader of an NLU evaluation needs to know: what was not scored, overlaps, covered intents, insights."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.evaluations.nlu.scores import PRETRAINED_EXTRACTORS
from turncheck.messages.phrasing import count
from turncheck.project.batch.model import KINDS, KnownNames
from turncheck.report.entities import found_by, overlapping
from turncheck.report.model import ConfusedPair, EntityScores, Insights, IntentHarm, NluPrediction
from turncheck.report.understanding import CoveredIntents, CoveredKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from turncheck.evaluations.nlu.splits import Folds
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import Example


def without_entities(examples: tuple[Example, ...], unknown: Mapping[str, str]) -> tuple[Example, ...]:
    """Return the examples without the annotations that cannot be compared with any answer."""
    if not unknown:
        return examples
    return tuple(
        replace(example, entities=tuple(entity for entity in example.entities if entity.entity not in unknown))
        if any(entity.entity in unknown for entity in example.entities)
        else example
        for example in examples
    )


def remarks_on_unknown(examples: Sequence[Example], unknown: Mapping[str, str]) -> list[str]:
    """Say which annotations were not judged, and why."""
    names = sorted({entity.entity for example in examples for entity in example.entities} & unknown.keys())
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
    if not project.platform.selects_responses:
        pass  # nobody expects these scores
    elif len({entry.expected.response for entry in predictions} - {None}) < 2:
        remarks.append("Responses are not scored: the sentences have fewer than two different ones.")
    elif not any(entry.predicted.response for entry in predictions):
        remarks.append("No response was selected for any of the sentences: the pipeline has no selector for them.")
    idle = [
        name
        for name, scores in entities.items()
        if not scores.says_nothing
        and not any(found_by(name, prediction.predicted.entities) for prediction in predictions)
    ]
    remarks += [f"{name} found no entity in any of the sentences." for name in idle]
    remarks += _named_otherwise(predictions, PRETRAINED_EXTRACTORS & set(entities))
    remarks += [f"{name} is pretrained and was not scored." for name in extractors if name in left_out]
    return remarks


def _named_otherwise(predictions: Sequence[NluPrediction], extractors: AbstractSet[str]) -> list[str]:
    """Say where an extractor that does not learn finds what is annotated under a name of the project's own."""
    places = Counter[tuple[str, str, str]]()
    for prediction in predictions:
        annotated = {(span.start, span.end): span.entity for span in prediction.expected.entities}
        for found in prediction.predicted.entities:
            name = annotated.get((found.start, found.end), found.entity)
            if found.extractor in extractors and name != found.entity:
                places[found.extractor or "", found.entity, name] += 1
    return [
        f"{extractor} gives '{found}' where '{name}' is annotated ({count(number, 'entity', 'entities')}): it is not"
        " trained, and counts as right only if the entity has the name that it gives."
        for (extractor, found, name), number in sorted(places.items())
    ]


# Which judged sentences the engine was trained on: with the same intent they make scores optimistic, with another one
# they mislead.
#
# Two sentences are the same here if they differ at most in case, punctuation and white space: no engine distinguishes
# more.

_NOT_HEARD = "PZC"
"""Unicode's categories of punctuation, separators and control characters."""
_KEPT = "#+"
"""``C#`` and ``C++`` are not ``C``."""


class Overlap(Struct, frozen=True):
    """Indexes of judged sentences that were trained on with only their own intent, and with another one."""

    copies: frozenset[int] = frozenset()
    contradicted: frozenset[int] = frozenset()

    @property
    def all(self) -> frozenset[int]:
        """All judged sentences that the engine was trained on."""
        return self.copies | self.contradicted


def overlap_of_folds(examples: Sequence[Example], plan: Folds) -> Overlap:
    """Return the overlap of a cross-validation: each fold's engine is trained on all other folds.

    The indexes count only the judged sentences, in the order of the examples.
    """
    met: dict[str, set[tuple[int | None, str | None]]] = defaultdict(set)
    for fold, example in zip(plan.fold_of, examples, strict=True):
        met[as_heard(example.text)].add((fold, example.base_intent))
    judged = [(example, fold) for example, fold in zip(examples, plan.fold_of, strict=True) if fold is not None]
    return _sorted(
        [
            (example, {intent for other, intent in met[as_heard(example.text)] if other != fold})
            for example, fold in judged
        ]
    )


def overlap_with(examples: Sequence[Example], trained: Sequence[Example], texts: Collection[str]) -> Overlap:
    """Return the overlap of held-out sentences.

    Args:
        examples: the judged sentences.
        trained: the sentences that the engine was trained on, as far as their intents are known.
        texts: all texts that it was trained on.
    """
    met: dict[str, set[str | None]] = defaultdict(set)
    for example in trained:
        met[as_heard(example.text)].add(example.base_intent)
    heard = {as_heard(text) for text in texts}
    return _sorted(
        [
            (example, met.get(words) or ({example.base_intent} if words in heard else set()))
            for example in examples
            for words in [as_heard(example.text)]
        ]
    )


def _sorted(met: Sequence[tuple[Example, set[str | None]]]) -> Overlap:
    copies, contradicted = set(), set()
    for place, (example, intents) in enumerate(met):
        if example.base_intent and intents - {example.base_intent}:
            contradicted.add(place)
        elif intents:
            copies.add(place)
    return Overlap(frozenset(copies), frozenset(contradicted))


def as_heard(text: str) -> str:
    """Normalise case, punctuation and white space of a sentence; return it unchanged if nothing would be left.

    >>> as_heard("Hello,  World!"), as_heard(":)")
    ('hello world', ':)')
    """
    kept = "".join(
        character if character in _KEPT or unicodedata.category(character)[0] not in _NOT_HEARD else " "
        for character in text.casefold()
    )
    return " ".join(kept.split()) or text.strip()


# What a designer looks at first, derived from the judged sentences: pure functions, every list worst first.

MISLABELLED_CONFIDENCE: Final = 0.8
"""An engine that contradicts a label with this confidence, without being trained on the sentence, is often right."""

LONGEST_LIST: Final = 25
"""Nobody reads further; ``predictions`` has the complete list."""


def find_insights(predictions: Sequence[NluPrediction], *, seen: Container[int]) -> Insights:
    """Collect the insights.

    Args:
        predictions: the judged sentences.
        seen: the indexes of those that the engine was trained on; a confident contradiction says something about the
            label only for the others.
    """
    return Insights(
        confused=most_confused(predictions),
        mislabelled=likely_mislabelled(predictions, seen),
        harmful=most_harmful(predictions),
        least_sure=least_sure(predictions),
        overlapping=tuple(
            index
            for index, prediction in enumerate(predictions)
            if len(prediction.predicted.entities) > 1 and overlapping(prediction.predicted.entities)
        )[:LONGEST_LIST],
    )


def most_confused(predictions: Sequence[NluPrediction]) -> tuple[ConfusedPair, ...]:
    """Return the pairs of intents that are confused most often, in either direction, with their sentences."""
    pairs: dict[tuple[str, str], list[int]] = defaultdict(list)
    one_way: Counter[tuple[str, str]] = Counter()
    for index, prediction in _wrong(predictions):
        expected, predicted = prediction.expected.intent, prediction.predicted.intent
        if expected and predicted:
            one_way[expected, predicted] += 1
            pairs[min(expected, predicted), max(expected, predicted)].append(index)
    ordered = sorted(pairs.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return tuple(
        ConfusedPair(
            first=first,
            second=second,
            first_as_second=one_way[first, second],
            second_as_first=one_way[second, first],
            sentences=tuple(sentences),
        )
        for (first, second), sentences in ordered[:LONGEST_LIST]
    )


def likely_mislabelled(predictions: Sequence[NluPrediction], seen: Container[int] = ()) -> tuple[int, ...]:
    """Return the sentences that were misclassified with high confidence, the highest first, without those ``seen``.

    The idea is that of confident learning (Northcutt et al., 2021) with one threshold for all intents.
    """
    sure = [
        (-prediction.predicted.confidence, prediction.text, index)
        for index, prediction in _wrong(predictions)
        if index not in seen
        and prediction.predicted.intent
        and prediction.predicted.confidence >= MISLABELLED_CONFIDENCE
    ]
    return tuple(index for *_, index in sorted(sure)[:LONGEST_LIST])


def most_harmful(predictions: Sequence[NluPrediction]) -> tuple[IntentHarm, ...]:
    """Rank intents by harm: their own sentences that were missed plus those of others that were predicted as theirs."""
    missed: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    examples = Counter(prediction.expected.intent for prediction in predictions if prediction.expected.intent)
    for _, prediction in _wrong(predictions):
        if prediction.expected.intent:
            missed[prediction.expected.intent] += 1
        if prediction.predicted.intent:
            taken[prediction.predicted.intent] += 1
    harm = missed + taken
    ranked = sorted(harm, key=lambda intent: (-harm[intent], intent))[:LONGEST_LIST]
    return tuple(
        IntentHarm(intent=intent, missed=missed[intent], taken=taken[intent], examples=examples[intent])
        for intent in ranked
    )


def least_sure(predictions: Sequence[NluPrediction]) -> tuple[int, ...]:
    """Return the sentences with the lowest confidence, right or wrong, for which to collect more examples next."""
    unsure = [
        (prediction.predicted.confidence, prediction.text, index)
        for index, prediction in enumerate(predictions)
        if prediction.expected.intent and prediction.predicted.intent
    ]
    return tuple(index for *_, index in sorted(unsure)[:LONGEST_LIST])


def _wrong(predictions: Sequence[NluPrediction]) -> list[tuple[int, NluPrediction]]:
    return [(index, entry) for index, entry in enumerate(predictions) if entry.misclassified]


# Which parts of a Kore.ai assistant are tested, as on the platform's health page.
#
# According to the platform's documentation, total coverage is the mean of the shares of five kinds; the page itself
# showed the pooled share of dialogs, FAQs and small talk. Both are reported.

ENTITY: Final = "entity"
_ALL_KINDS: Final = (*KINDS, ENTITY)
_POOLED: Final = ("dialog", "faq", "small_talk")


def covered_intents(known: KnownNames, tested: Callable[[str], Collection[str]]) -> CoveredIntents | None:
    """Return how much of the project is tested, ``None`` if it has neither intents nor entities.

    Args:
        known: the project's names.
        tested: maps a kind to the names that are tested, in the form of :meth:`KnownNames.canonical`.
    """
    there = {kind: names for kind in _ALL_KINDS if (names := _names(known, kind))}
    if not there:
        return None
    missed = {kind: [name for key, name in names.items() if key not in tested(kind)] for kind, names in there.items()}
    kinds = {
        kind: CoveredKind(covered=len(names) - len(missed[kind]), total=len(names)) for kind, names in there.items()
    }
    pooled = [kinds[kind] for kind in _POOLED if kind in kinds]
    return CoveredIntents(
        pooled=sum(covered.covered for covered in pooled) / sum(covered.total for covered in pooled)
        if pooled
        else None,
        mean=sum(kind.covered / kind.total for kind in kinds.values()) / len(kinds),
        kinds=kinds,
        without=tuple(kind for kind in _ALL_KINDS if kind not in there),
        uncovered=tuple(sorted(name for kind in KINDS for name in missed.get(kind, ()))),
    )


def _names(known: KnownNames, kind: str) -> dict[str, str]:
    return dict(known.entities) if kind == ENTITY else known.in_total(kind)
