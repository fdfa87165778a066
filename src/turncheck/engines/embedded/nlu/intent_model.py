"""The stand-in's intent classifier: a linear multi-class SVM (Crammer and Singer) with calibrated confidences.

If there are few sentences, the names of intents are sentences, too (:mod:`.few_sentences`), and a second classifier
contributes (:mod:`.second_opinion`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Self, TypedDict

import numpy as np
from msgspec import Struct

from turncheck.engines.embedded.nlu import few_sentences
from turncheck.engines.embedded.nlu.calibration import (
    UNCALIBRATED,
    BestAnswer,
    HeldOutScores,
    Reliability,
    fit_factor,
    held_out,
    shuffled,
)
from turncheck.engines.embedded.nlu.classifiers import best_columns, settled, softmax
from turncheck.engines.embedded.nlu.linear import FeatureRows, LabelSplit, LinearModel
from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors
from turncheck.engines.ngrams import NgramFeatures, all_terms, count_known, count_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter


# A second classifier for few sentences: its terms, plain counts of words and characters, and weights.


class _Terms(TypedDict):
    terms: list[str]
    factor: float


class SecondOpinion(Struct, frozen=True):
    """Scores that are added to those of the first classifier."""

    columns: dict[str, int]
    """Term → column of its count."""
    linear: LinearModel
    factor: float
    """The factor on its scores, which is its weight."""

    def scores(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return what is added, shape (texts, intents)."""
        rows = FeatureRows(count_known(texts, all_terms, self.columns))
        return self.linear.scores(rows).astype(np.float64) * self.factor

    def save(self, members: MemberWriter) -> None:
        """Write terms, weights and factor."""
        members.json("terms", {"terms": list(self.columns), "factor": self.factor})
        self.linear.save(members)

    @classmethod
    def load(cls, members: MemberReader) -> Self:
        """Inverse of :meth:`save`."""
        head = members.json("terms", _Terms)
        columns = {term: column for column, term in enumerate(head["terms"])}
        return cls(columns, LinearModel.load(members, len(columns)), head["factor"])


def count(texts: Sequence[str]) -> tuple[dict[str, int], FeatureRows]:
    """Learn the terms of texts; return their columns with the counts."""
    columns, rows = count_terms(texts, all_terms, 1)
    return columns, FeatureRows(rows)


# What the stand-ins learn from: n-grams and, if enabled, sentence vectors.

_LENGTH: Final = 2.0
"""The length of a sentence vector; word part and character part have length 1 each. Of 1, 1.5, 2 and 3, few sentences
need more and many need less; this one is within a point and a half of the best on each of banking77, SNIPS and NLU++,
with all sentences as well as with 5 or 13 per intent."""

_LENGTH_OF_LEVEL: Final = 1.75
"""The same for each of the two vectors of few sentences."""


class SentenceFeatures(Struct, frozen=True):
    """Sentence → one row of features.

    For few sentences both levels of the encoder are used, each minus its mean: what all sentences of an assistant share
    does not distinguish intents. Unknown terms show that a text is far from all sentences, and count in its
    n-grams.
    """

    ngrams: NgramFeatures
    vectors: SentenceVectors | None = None
    means: NDArray[np.float32] | None = None
    """The mean vectors of both levels one after the other, if there are few sentences."""

    @classmethod
    def fit(cls, texts: Sequence[str], vectors: SentenceVectors | None, *, few: bool) -> tuple[Self, FeatureRows]:
        """Learn the n-grams and, for few sentences, the vectors' means; return the features with those of ``texts``."""
        ngrams, rows = NgramFeatures.fit(texts, unknown_count=few)
        means = np.hstack(vectors.of_levels(texts)).mean(axis=0) if few and vectors is not None else None
        features = cls(ngrams, vectors, means)
        return features, FeatureRows(rows, features._vectors(texts))

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.ngrams.width if self.vectors is None else self.transform(("",)).width

    def transform(self, texts: Sequence[str]) -> FeatureRows:
        """Return the features of ``texts``."""
        return FeatureRows(self.ngrams.transform(texts), self._vectors(texts))

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        if self.vectors is None:
            return None
        if self.means is None:
            return self.vectors.of(texts) * np.float32(_LENGTH)
        levels = self.vectors.of_levels(texts)
        means = np.split(self.means, [levels[0].shape[1]])
        return np.hstack([_apart(level, mean) for level, mean in zip(levels, means, strict=True)])

    def save(self, members: MemberWriter) -> None:
        """Write the n-grams, and which vectors are needed."""
        self.ngrams.save(members)
        if self.vectors is not None:
            self.vectors.save(members)
            if self.means is not None:
                members.arrays("means", {"means": self.means})

    @classmethod
    def load(cls, members: MemberReader) -> Self:
        """Inverse of :meth:`save`.

        Raises:
            UserError: the vectors that are needed are not installed.
        """
        means = members.arrays("means")["means"].reshape(-1) if members.has("means.npz") else None
        return cls(NgramFeatures.load(members), SentenceVectors.load(members), means)


def _apart(vectors: NDArray[np.float32], mean: NDArray[np.float32]) -> NDArray[np.float32]:
    """What distinguishes each row from the mean, of one length."""
    apart = vectors - mean
    apart *= _LENGTH_OF_LEVEL / np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-9)
    return apart


LIKELY: Final = 3
"""The number of intents that are passed on to what learns from predicted intents."""

Ranking = Sequence[tuple[str, float]]
"""The most likely intents of a sentence with their confidences, best first; empty if nothing is known."""

_SCALED_BY: Final = 300
"""The number of sentences to which the temperature of out-of-fold scores is fitted."""


class _Calibration(TypedDict):
    factor: float
    shares: tuple[float, ...]
    best: tuple[float, float, float] | None
    second: bool
    reliability: tuple[float, float] | None


class IntentModel(Struct, frozen=True):
    """Sentence → confidence of each intent."""

    features: SentenceFeatures
    linear: LinearModel
    factor: float
    """What scores are multiplied by before the softmax: the inverse of the temperature."""
    shares: tuple[float, ...]
    """The share of sentences of each intent: the answer for text without any known term."""
    best: BestAnswer | None = None
    """The calibration of the highest confidence, if labels are combinations."""
    second: SecondOpinion | None = None
    """The second classifier, if there are few sentences."""
    reliability: Reliability | None = None
    """The calibration of confidences, if there are few sentences."""

    @property
    def names(self) -> tuple[str, ...]:
        """The intents, in the order of the columns."""
        return self.linear.names

    @classmethod
    def train(
        cls,
        texts: Sequence[str],
        labels: Sequence[str],
        seed: int,
        split: LabelSplit | None = None,
        vectors: SentenceVectors | None = None,
    ) -> Self:
        """Fit features and SVM on all sentences, the temperature on sentences held out for it.

        With ``split`` labels are read as combinations: see :meth:`.LinearModel.fit`.
        """
        if split is None and few_sentences.suits(labels):
            return cls._train_few(texts, labels, seed, vectors)
        features, rows = SentenceFeatures.fit(texts, vectors, few=False)
        pieces = held_out(texts, seed)
        judged = _judged(rows, labels, pieces, lambda some, of_some: LinearModel.fit(some, of_some, seed, split))
        linear = LinearModel.fit(rows, labels, seed, split)  # only now: of thousands of intents, two take gigabytes
        shares = _shares(linear.names, labels)
        if judged is None:
            return cls(features, linear, UNCALIBRATED, shares)
        factor = fit_factor(judged.scores, judged.right)
        best = BestAnswer.fit(judged.scores, judged.right) if linear.composition is not None else None
        return cls(features, linear, factor, shares, best)

    @classmethod
    def _train_few(
        cls, texts: Sequence[str], labels: Sequence[str], seed: int, vectors: SentenceVectors | None
    ) -> Self:
        """Fit two classifiers to sentences and names of intents, and factors on their scores."""
        names = sorted(set(labels))
        every = [*texts, *map(few_sentences.in_words, names)]
        features, rows = SentenceFeatures.fit(every, vectors, few=True)
        shares = _shares(names, labels)
        if vectors is not None:
            learnt = few_sentences.learn(
                [few_sentences.Machine(rows, seed), few_sentences.regression_of_varied(rows.of_vectors())],
                texts,
                labels,
                seed,
            )
            first, other = learnt.models
            return cls(features, first.added(other, learnt.factors), 1.0, shares, reliability=learnt.reliability)
        if not few_sentences.wants_second(labels):
            learnt = few_sentences.learn([few_sentences.Machine(rows, seed)], texts, labels, seed)
            return cls(features, learnt.models[0], learnt.factors[0], shares, reliability=learnt.reliability)
        columns, counts = count(every)
        seen = few_sentences.seen_by_regressions(texts, labels, seed)
        views = (
            few_sentences.Machine(rows, seed),
            few_sentences.regression_of_ngrams(rows, seen),
            few_sentences.regression_of_counts(counts, seen),
        )
        learnt = few_sentences.learn(views, texts, labels, seed)
        first, other, of_counts = learnt.models
        second = SecondOpinion(columns, of_counts, learnt.factors[2])
        linear = first.added(other, learnt.factors[:2])
        return cls(features, linear, 1.0, shares, second=second, reliability=learnt.reliability)

    def confidences(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Confidences, shape (texts, intents)."""
        rows = self.features.transform(texts)
        scores = self.linear.scores(rows).astype(np.float64)
        pooled = scores * self.factor
        if self.second is not None:
            pooled = pooled + self.second.scores(texts)
        confidences = softmax(pooled)
        if self.best is not None:
            confidences = self.best.applied(confidences, scores)
        if self.reliability is not None:
            confidences = self.reliability.applied(confidences)
        confidences[rows.empty] = self.shares
        return confidences

    def save(self, members: MemberWriter) -> None:
        """Write vocabulary, names, weights and calibration."""
        self.features.save(members)
        self.linear.save(members)
        best, reliability = self.best, self.reliability
        members.json(
            "calibration",
            {
                "factor": self.factor,
                "shares": self.shares,
                "best": best and [best.intercept, best.of_score, best.of_lead],
                "second": self.second is not None,
                "reliability": reliability and [reliability.intercept, reliability.slope],
            },
        )
        if self.second is not None:
            self.second.save(members.below("second"))

    @classmethod
    def load(cls, members: MemberReader) -> Self:
        """Inverse of :meth:`save`."""
        calibration = members.json("calibration", _Calibration)
        best = BestAnswer(*calibration["best"]) if calibration["best"] else None
        second = SecondOpinion.load(members.below("second")) if calibration["second"] else None
        reliability = Reliability(*calibration["reliability"]) if calibration["reliability"] else None
        features = SentenceFeatures.load(members)
        linear = LinearModel.load(members, features.width)
        if len(calibration["shares"]) != len(linear.names) or (second and second.linear.names != linear.names):
            raise ValueError("parts of a model have different labels")
        return cls(features, linear, calibration["factor"], calibration["shares"], best, second, reliability)


def _shares(names: Sequence[str], labels: Sequence[str]) -> tuple[float, ...]:
    counts = Counter(labels)
    return tuple(counts[name] / len(labels) for name in names)


def _judged(
    rows: FeatureRows,
    labels: Sequence[str],
    pieces: Sequence[NDArray[np.int64]],
    fit: Callable[[FeatureRows, Sequence[str]], LinearModel],
) -> HeldOutScores | None:
    """Judge models on sentences they have not seen; ``None`` if no model can be fitted."""
    count = len(labels)
    names = sorted(set(labels))
    column = {name: index for index, name in enumerate(names)}
    scores: list[NDArray[np.float64]] = []
    truth: list[int] = []
    for piece in pieces:
        kept = np.delete(np.arange(count), piece)
        kept_labels = [labels[int(row)] for row in kept]
        if len(set(kept_labels)) < 2 or not len(piece):
            continue
        model = fit(rows.take(kept), kept_labels)
        of_piece = np.full((len(piece), len(names)), -np.inf)
        of_piece[:, [column[name] for name in model.names]] = model.scores(rows.take(piece))
        scores.append(of_piece)
        truth += [column[labels[int(row)]] for row in piece]
    return HeldOutScores(np.concatenate(scores), np.array(truth)) if scores else None


def likely(names: Sequence[str], confidences: NDArray[np.float64]) -> list[Ranking]:
    """The most likely intents of each row; ``confidences`` has shape (texts, intents)."""
    rankings: list[Ranking] = []
    for row in map(settled, confidences):
        best = np.argsort(-row, kind="stable")[:LIKELY]
        rankings.append(tuple((names[column], float(row[column])) for column in best))
    return rankings


def out_of_fold_rankings(
    texts: Sequence[str],
    labels: Sequence[str],
    seed: int,
    split: LabelSplit | None = None,
    vectors: SentenceVectors | None = None,
) -> list[Ranking]:
    """The most likely intents of each sentence by a support vector machine trained without it (two folds).

    A model that learns from predicted intents must see them as wrong in training as they are later. The vocabulary is
    that of all sentences, which does not depend on the labels.
    """
    rows = SentenceFeatures.fit(texts, vectors, few=False)[1]
    halves = [np.sort(half) for half in np.array_split(shuffled(texts, seed), 2)]
    rankings: list[Ranking] = [((label, 1.0),) for label in labels]
    for judged, learned in (halves, halves[::-1]):
        if not len(learned) or not len(judged):
            return rankings
        model = LinearModel.fit(rows.take(learned), [labels[int(row)] for row in learned], seed, split)
        scores = model.scores(rows.take(judged)).astype(np.float64)
        best = best_columns(scores[:_SCALED_BY])
        right = [labels[int(row)] == model.names[column] for row, column in zip(judged, best, strict=False)]
        confidences = softmax(scores * fit_factor(scores[:_SCALED_BY], np.array(right)))
        for row, ranking in zip(judged, likely(model.names, confidences), strict=True):
            rankings[int(row)] = ranking
    return rankings
