"""Rasa's intent classifiers that need no foreign model."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any, Final, Self, TypedDict

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from turncheck.engines.conversation import PredictedIntent
from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter, ensure_dimensions
from turncheck.messages.errors import UserError
from turncheck.project.rasa_version import OLDEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from turncheck.engines.embedded.nlu.batch import Batch, Lessons, Training

FALLBACK_INTENT: Final = "nlu_fallback"


class _Names(TypedDict):
    names: tuple[str, ...]
    one_vs_rest: bool
    length: int


def stack_features(blocks: Sequence[Any]) -> Any:
    """Concatenate blocks of sentence features: the sparse ones first, then the dense, as Rasa does; CSR."""
    from scipy import sparse

    ordered = [block for block in blocks if sparse.issparse(block)]
    ordered += [sparse.csr_matrix(block) for block in blocks if not sparse.issparse(block)]
    return sparse.hstack(ordered, format="csr")


def union(*sets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row numbers that are in any of these, in order; NumPy's own way loads masked arrays."""
    present = np.zeros(1 + max(int(rows.max(initial=-1)) for rows in sets), dtype=bool)
    for rows in sets:
        present[rows] = True
    return np.flatnonzero(present)


def without(rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row numbers that are not among the others, in order; as :func:`union`."""
    present = np.zeros(1 + max(int(each.max(initial=-1)) for each in (rows, others)), dtype=bool)
    present[rows] = True
    present[others] = False
    return np.flatnonzero(present)


def rank(
    names: Sequence[str], confidences: NDArray[np.float64], length: int
) -> tuple[PredictedIntent, tuple[PredictedIntent, ...]]:
    """Order intents by confidence (equal ones in the order of ``names``); cut the ranking to ``length`` (0: all)."""
    columns = _foremost(confidences, length)
    values = settled(confidences[columns])
    order = np.argsort(-values, kind="stable")
    if length > 0:
        order = order[:length]
    ranking = tuple(PredictedIntent(names[columns[index]], float(values[index])) for index in order)
    return ranking[0], ranking


_SORTED: Final = 64
"""Of more confidences than this, only the highest are sorted."""


def _foremost(confidences: NDArray[np.float64], length: int) -> NDArray[np.int64]:
    """Return columns, in order, among which are the first ``length`` of a ranking (0: all), and all that they count as
    equal to, up to those that come later by their names."""
    if not 0 < length < _SORTED < len(confidences):
        return np.arange(len(confidences))
    highest = np.argpartition(confidences, -_SORTED)[-_SORTED:]
    descending = np.sort(confidences[highest])[::-1]
    borders = np.flatnonzero(descending[:-1] - descending[1:] > NEAR)  # none counts as equal to the next
    behind = borders[borders >= length - 1]
    if len(behind):
        return np.flatnonzero(confidences >= descending[behind[0]])
    if descending[-1] > NEAR:
        return np.arange(len(confidences))
    begin = borders[-1] + 1 if len(borders) else 0  # from here on, all others count as equal
    return union(highest, np.flatnonzero(confidences <= descending[begin])[:length])


NEAR: Final = 1e-6
"""Scores or confidences nearer to each other than this count as equal. Their last digits, of which a sum has some
thousand times less, differ between processors."""


DECIMALS: Final = 6
"""Those of a confidence."""


def best_columns(scores: NDArray[Any]) -> NDArray[np.int64]:
    """The column with the highest score in each row; of those that count as equal the first."""
    return np.asarray((scores >= scores.max(axis=1, keepdims=True) - NEAR).argmax(axis=1))


def settled(confidences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to what can be compared; confidences that count as equal become equal, so that their order is the names'.

    >>> settled(np.array([0.2499998, 0.5000001, 0.2500002])).tolist()
    [0.25, 0.5, 0.25]
    """
    order = np.argsort(-confidences, kind="stable")
    descending = confidences[order]
    places = np.arange(len(descending))
    begins = np.append(True, descending[:-1] - descending[1:] > NEAR)
    result = np.empty_like(descending)
    result[order] = descending[np.maximum.accumulate(np.where(begins, places, 0))].round(DECIMALS)
    return result


class LogisticRegressionClassifier(Struct, frozen=True):
    """Rasa's LogisticRegressionClassifier: multinomial, balanced classes, C = 1, over all sentence features."""

    names: tuple[str, ...]
    weights: NDArray[np.float64]
    """Shape (features, intents)."""
    intercepts: NDArray[np.float64]
    one_vs_rest: bool
    ranking_length: int

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Lessons) -> Self | None:
        """Fit it; ``None`` if no example has an intent.

        Raises:
            UserError: nothing before it in the pipeline gives features, or the solver is unknown.
        """
        rows = training.intent_rows
        if not rows:
            return None
        if not training.batch.sentence_features:
            raise UserError(
                "LogisticRegressionClassifier cannot learn: no featurizer before it gives sentence features"
            )
        labels = [str(training.examples[row].base_intent) for row in rows]
        if len(set(labels)) == 1:
            width = sum(block.shape[1] for block in training.batch.sentence_features)
            return cls((labels[0],), np.zeros((width, 1)), np.zeros(1), one_vs_rest=False, ranking_length=1)
        features = stack_features(training.batch.sentence_features)[rows]
        model = _fit_logistic_regression(features, labels, parameters)
        names, weights, intercepts, one_vs_rest = _weights(model)
        return cls(names, weights, intercepts, one_vs_rest, parameters["ranking_length"])

    def process(self, batch: Batch) -> None:
        """Set the intents and their ranking."""
        scores = stack_features(batch.sentence_features) @ self.weights + self.intercepts
        for row, confidences in enumerate(self._confidences(np.asarray(scores))):
            batch.intents[row], batch.rankings[row] = rank(self.names, confidences, self.ranking_length)

    def _confidences(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.one_vs_rest:
            with np.errstate(over="ignore"):
                each = 1.0 / (1.0 + np.exp(-scores))
            shares: NDArray[np.float64] = each / each.sum(axis=1, keepdims=True)
            return shares
        return softmax(scores)

    def save(self, members: MemberWriter) -> None:
        """Write names and weights."""
        members.json("names", {"names": self.names, "one_vs_rest": self.one_vs_rest, "length": self.ranking_length})
        members.arrays("weights", {"weights": self.weights, "intercepts": self.intercepts})

    @classmethod
    def load(cls, parameters: Mapping[str, Any], members: MemberReader) -> Self:  # noqa: ARG003  # the common protocol
        """Read names and weights."""
        head, arrays = members.json("names", _Names), members.arrays("weights")
        intercepts = ensure_dimensions(arrays["intercepts"], len(head["names"]))
        weights = ensure_dimensions(arrays["weights"], len(arrays["weights"]), len(head["names"]))
        return cls(head["names"], weights, intercepts, head["one_vs_rest"], head["length"])


def softmax(scores: NDArray[Any]) -> NDArray[Any]:
    """Softmax of each row."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    result: NDArray[Any] = shifted / shifted.sum(axis=1, keepdims=True)
    return result


def _fit_logistic_regression(features: Any, labels: list[str], parameters: Mapping[str, Any]) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    model = LogisticRegression(
        solver=parameters["solver"],
        max_iter=parameters["max_iter"],
        tol=parameters["tol"],
        class_weight="balanced",
        random_state=parameters["random_state"],
    )
    # Rasa leaves the scheme to scikit-learn, which used one-versus-rest for this solver; today it must be requested.
    wrapped = OneVsRestClassifier(model) if parameters["solver"] == "liblinear" and len(set(labels)) > 2 else model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # Rasa's 100 iterations often end early, and so do these
        try:
            return wrapped.fit(features, labels)
        except ValueError as error:
            raise UserError(f"LogisticRegressionClassifier could not be trained: {error}") from error


def _weights(model: Any) -> tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.float64], bool]:
    names = tuple(str(name) for name in model.classes_)
    if hasattr(model, "estimators_"):
        weights = np.vstack([estimator.coef_ for estimator in model.estimators_]).T
        return names, weights, np.concatenate([estimator.intercept_ for estimator in model.estimators_]), True
    weights, intercepts = model.coef_.T, model.intercept_
    if len(names) == 2:  # one column for two classes: the second against the first
        weights, intercepts = np.hstack([np.zeros_like(weights), weights]), np.concatenate([[0.0], intercepts])
    return names, np.ascontiguousarray(weights), intercepts, False


_WORDS_OF_RASA_0: Final = (("hello|hi|hey", "greet"), ("bye|goodbye", "goodbye"), ("", None))
"""The keywords of Rasa NLU 0.x, also found within words, and its answer to all other messages: surely no intent."""


class KeywordIntentClassifier(Struct, frozen=True):
    """Rasa's KeywordIntentClassifier: each training text is the body of a regular expression; the first that fits.

    That of Rasa NLU 0.x is not trained: it has its own words.
    """

    keywords: tuple[tuple[re.Pattern[str], str | None], ...]

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Training) -> Self:
        """Collect the keywords; one with two intents, or within one of another intent, is left out with a note.

        Raises:
            UserError: a training text is not a regular expression.
        """
        if parameters["rasa"] == OLDEST:
            return cls(tuple((re.compile(words, re.IGNORECASE), intent) for words, intent in _WORDS_OF_RASA_0))
        flags = 0 if parameters["case_sensitive"] else re.IGNORECASE
        intents: dict[str, str] = {}
        ambiguous: set[str] = set()
        patterns: dict[str, re.Pattern[str]] = {}
        for example in training.project.nlu.examples:  # in the order of the files
            if not example.intent or not example.text:
                continue
            intent = str(example.base_intent)
            if intents.setdefault(example.text, intent) != intent:
                ambiguous.add(example.text)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", FutureWarning)  # Python's own notes on style
                    patterns[example.text] = re.compile(rf"\b{example.text}\b", flags)
            except (re.error, OverflowError, RecursionError) as error:
                raise UserError(
                    "KeywordIntentClassifier takes training texts as regular expressions, and "
                    f"{example.text!r} is not one: {error}",
                    location=example.location,
                ) from None
        kept = {text: intent for text, intent in intents.items() if text not in ambiguous}
        contained = _contained_keywords(kept, patterns)
        for text in sorted(ambiguous | contained):
            training.notes.append(
                f"KeywordIntentClassifier left out the keyword {text!r}: it fits more than one intent"
            )
        return cls(tuple((patterns[text], intent) for text, intent in kept.items() if text not in contained))

    def process(self, batch: Batch) -> None:
        """Set the intent; if no keyword fits, an existing intent stays."""
        for row, text in enumerate(batch.texts):
            predicted_intent = next(
                (PredictedIntent(intent, 1.0) for word, intent in self.keywords if word.search(text)), None
            )
            if predicted_intent is not None:
                batch.intents[row] = predicted_intent

    def save(self, members: MemberWriter) -> None:
        """Write the keywords."""
        members.json("keywords", [(pattern.pattern, pattern.flags, intent) for pattern, intent in self.keywords])

    @classmethod
    def load(cls, parameters: Mapping[str, Any], members: MemberReader) -> Self:  # noqa: ARG003  # the common protocol
        """Read the keywords."""
        stored = members.json("keywords", list[tuple[str, int, str | None]])
        return cls(
            tuple((re.compile(pattern, flags & int(re.IGNORECASE)), intent) for pattern, flags, intent in stored)
        )


def _contained_keywords(intents: Mapping[str, str], patterns: Mapping[str, re.Pattern[str]]) -> set[str]:
    """Return the keywords that are found within a keyword of another intent."""
    return {
        text
        for text, intent in intents.items()
        if any(other != intent and patterns[text].search(keyword) for keyword, other in intents.items())
    }


class FallbackClassifier(Struct, frozen=True):
    """Rasa's FallbackClassifier: ``nlu_fallback`` if the answer is too weak, or the best two are too close."""

    threshold: float
    ambiguity_threshold: float

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Training) -> Self:  # noqa: ARG003  # the common protocol
        """Take the thresholds."""
        return cls(parameters["threshold"], parameters["ambiguity_threshold"])

    def process(self, batch: Batch) -> None:
        """Put ``nlu_fallback`` in front, its confidence being the threshold."""
        fallback = PredictedIntent(FALLBACK_INTENT, float(self.threshold))
        for row, (intent, ranking) in enumerate(zip(batch.intents, batch.rankings, strict=True)):
            team = batch.team_confidences
            confidence = intent.confidence if team is None else team.of(intent.confidence)
            if self._is_weak(confidence, ranking):
                batch.intents[row] = fallback
                batch.rankings[row] = (replace(fallback), *ranking)

    def _is_weak(self, confidence: float, ranking: tuple[PredictedIntent, ...]) -> bool:
        if confidence < self.threshold:
            return True
        return len(ranking) >= 2 and ranking[0].confidence - ranking[1].confidence < self.ambiguity_threshold

    def save(self, members: MemberWriter) -> None:
        """Nothing beyond the parameters."""

    @classmethod
    def load(cls, parameters: Mapping[str, Any], members: MemberReader) -> Self:  # noqa: ARG003  # the common protocol
        """Take the thresholds."""
        return cls(parameters["threshold"], parameters["ambiguity_threshold"])
