"""Dense sentence features for pipelines whose language model is not available, and components that need them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NotRequired, Self, TypedDict

import numpy as np

from turncheck.engines.embedded.model_archive import ensure_dimensions
from turncheck.engines.embedded.nlu.calibration import UNCALIBRATED, fit_factor
from turncheck.engines.embedded.nlu.classifiers import best_columns, rank, softmax
from turncheck.engines.embedded.nlu.ngrams import NgramFeatures, on_grid
from turncheck.messages.errors import UserError
from turncheck.project.rasa_version import OLDEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.engines.embedded.nlu.batch import Batch, Training

_DIMENSIONS: Final = 100
_DEPENDENT: Final = 1e-6
"""What is left of a sentence that says nothing new, at most."""
_RANKING_LENGTH: Final = 10


@dataclass(frozen=True, slots=True)
class LatentFeaturizer:
    """A stand-in for a pretrained featurizer: latent semantic analysis of the project's own sentences.

    The n-gram features are projected onto the directions of largest variance (Deerwester et al. 1990), with length 1;
    those of few sentences onto all that they span. Which of two directions of equal variance would be dropped, or how
    they are turned, would depend on a processor's last digits.
    """

    ngrams: NgramFeatures
    projection: NDArray[np.float32]
    """Shape (n-grams, dimensions)."""

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Training) -> Self | None:  # noqa: ARG003  # common protocol
        """Fit it to all training sentences; ``None`` if there are fewer than three."""
        texts = [example.text for example in training.examples]
        if len(texts) < 3:
            return None
        ngrams, rows = NgramFeatures.fit(texts)
        if len(texts) <= _DIMENSIONS:
            return cls(ngrams, _spanned(rows.to_scipy().toarray()))
        from sklearn.utils.extmath import randomized_svd

        dimensions = min(_DIMENSIONS, rows.width)
        _, _, components = randomized_svd(rows.to_scipy(), dimensions, random_state=training.seed)
        return cls(ngrams, np.ascontiguousarray(components.T, dtype=np.float32))

    def process(self, batch: Batch) -> None:
        """Add the dense block."""
        projected = self.ngrams.transform(batch.texts).times(self.projection).astype(np.float64)
        lengths = np.linalg.norm(projected, axis=1, keepdims=True)
        batch.sentence_features.append(on_grid(projected / np.maximum(lengths, 1e-12)))

    def save(self, members: MemberWriter) -> None:
        """Write vocabulary and projection."""
        self.ngrams.save(members)
        members.arrays("projection", {"projection": self.projection})

    @classmethod
    def load(cls, parameters: Mapping[str, Any], members: MemberReader) -> Self:  # noqa: ARG003  # the common protocol
        """Inverse of :meth:`save`."""
        ngrams, projection = NgramFeatures.load(members), members.arrays("projection")["projection"]
        return cls(ngrams, ensure_dimensions(projection, ngrams.width, projection.shape[-1]))


class _Head(TypedDict):
    names: tuple[str, ...]
    factor: float
    reads_counts: NotRequired[bool]


def _spanned(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return orthonormal directions that span the rows, shape (width, directions), by Gram and Schmidt's process."""
    found: list[NDArray[np.float64]] = []
    for row in rows:
        rest = row.copy()
        for direction in found:
            rest -= (rest * direction).sum() * direction
        length = np.sqrt((rest**2).sum())
        if length > _DEPENDENT:
            found.append(rest / length)
    return np.array(found, dtype=np.float32).reshape(-1, rows.shape[1]).T.copy()


@dataclass(frozen=True, slots=True)
class SklearnIntentClassifier:
    """Rasa's SklearnIntentClassifier: a support vector machine over dense features, with C chosen by a grid search.

    Confidences are a softmax over its scores, fitted to held-out sentences. Rasa's come from scikit-learn's
    ``SVC(probability=True)``, which scikit-learn deprecates.
    """

    names: tuple[str, ...]
    model: Any
    factor: float
    reads_counts: bool = False
    """Whether it reads sparse features: Rasa NLU 0.x did not distinguish between the two."""

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Training) -> Self | None:
        """Search and fit; ``None`` (and a note) for fewer than two intents.

        Raises:
            UserError: no featurizer before it gives dense features (Rasa refuses such a pipeline).
        """
        rows = training.intent_rows
        reads_counts = training.project.major == OLDEST
        features = _dense(training.batch.sentence_features, counts=reads_counts)
        if features is None:
            raise UserError(
                "SklearnIntentClassifier needs dense features, and no featurizer before it gives any",
                remedy="Put a dense featurizer before it, or use LogisticRegressionClassifier.",
            )
        labels = [str(training.examples[row].base_intent) for row in rows]
        names = sorted(set(labels))
        if len(names) < 2:
            training.notes.append("SklearnIntentClassifier was left out: it needs at least two intents")
            return None
        column = {name: index for index, name in enumerate(names)}
        truth = np.array([column[label] for label in labels])
        model, factor = _search(features[rows], truth, parameters)
        return cls(tuple(names), model, factor, reads_counts)

    def process(self, batch: Batch) -> None:
        """Set the intents and their ranking."""
        features = _dense(batch.sentence_features, counts=self.reads_counts)
        confidences = softmax(_scores(self.model.decision_function(features)) * self.factor)
        for row, of_text in enumerate(confidences):
            batch.intents[row], batch.rankings[row] = rank(self.names, of_text, _RANKING_LENGTH)

    def save(self, members: MemberWriter) -> None:
        """Write the support vector machine."""
        members.json("head", {"names": self.names, "factor": self.factor, "reads_counts": self.reads_counts})
        members.estimator("svc", self.model)

    @classmethod
    def load(cls, parameters: Mapping[str, Any], members: MemberReader) -> Self:  # noqa: ARG003  # the common protocol
        """Inverse of :meth:`save`."""
        head = members.json("head", _Head)
        model = members.estimator("svc")
        ensure_dimensions(model.classes_, len(head["names"]))
        return cls(head["names"], model, head["factor"], head.get("reads_counts", False))


def _dense(blocks: Sequence[Any], *, counts: bool) -> NDArray[np.float64] | None:
    dense = [
        block if isinstance(block, np.ndarray) else block.toarray()
        for block in blocks
        if counts or isinstance(block, np.ndarray)
    ]
    return np.hstack(dense) if dense else None


def _scores(decision: NDArray[np.float64]) -> NDArray[np.float64]:
    """One column per label, also for two labels."""
    return np.stack([-decision / 2, decision / 2], axis=1) if decision.ndim == 1 else decision


def _search(
    features: NDArray[np.float64], truth: NDArray[np.int64], parameters: Mapping[str, Any]
) -> tuple[Any, float]:
    from sklearn.model_selection import GridSearchCV, cross_val_predict
    from sklearn.svm import SVC

    folds = max(2, min(parameters["max_cross_validation_folds"], int(np.min(np.bincount(truth))) // 5))
    grid = {"C": parameters["C"], "gamma": parameters["gamma"], "kernel": parameters["kernels"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of every intent with fewer sentences than folds
        try:
            search = GridSearchCV(
                SVC(class_weight="balanced"), grid, cv=folds, scoring=parameters["scoring_function"]
            ).fit(features, truth)
        except (ValueError, TypeError) as error:
            raise UserError(f"SklearnIntentClassifier could not be trained: {error}") from error
        if np.min(np.bincount(truth)) < folds:
            return search.best_estimator_, UNCALIBRATED
        held_out = cross_val_predict(search.best_estimator_, features, truth, cv=folds, method="decision_function")
    return search.best_estimator_, fit_factor(_scores(held_out), best_columns(_scores(held_out)) == truth)
