"""The kinds of steps in a plan: how each is trained, and read back from a model."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final, Literal, NotRequired, Self, TypedDict

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from turncheck.engines.conversation import PredictedEntity, SelectedResponse
from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter, ensure_dimensions
from turncheck.engines.embedded.nlu import classifiers, featurizers
from turncheck.engines.embedded.nlu.batch import NO_INTENT, Batch, Component, Lessons, Training
from turncheck.engines.embedded.nlu.calibration import UNCALIBRATED, fit_factor
from turncheck.engines.embedded.nlu.crf import CRFEntityExtractor, as_predicted
from turncheck.engines.embedded.nlu.custom_code import CustomComponent
from turncheck.engines.embedded.nlu.duckling import DucklingEntityExtractor
from turncheck.engines.embedded.nlu.entity_model import EntityModel
from turncheck.engines.embedded.nlu.intent_model import IntentModel, Ranking, likely, out_of_fold_rankings
from turncheck.engines.embedded.nlu.patterns import collect_patterns
from turncheck.engines.embedded.nlu.spacy_model import SpacyEntityExtractor, SpacyFeaturizer
from turncheck.engines.ngrams import NgramFeatures, on_grid
from turncheck.messages.errors import MachineError, UserError
from turncheck.project.rasa_version import NEWEST, OLDEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from turncheck.engines.embedded.nlu.plan import Step
    from turncheck.project.nlu_data import Example


# The stand-in for ResponseSelector: the intent model over response keys.

DEFAULT_SELECTOR: Final = "default"


class ResponseSelectorStandIn(Struct, frozen=True):
    """Chooses among the responses of one retrieval intent (its ``selector``), or of all (``default``)."""

    selector: str
    model: IntentModel
    ranking_length: int

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Lessons) -> Self | None:
        """Train on the sentences of retrieval intents; ``None`` (and a note) if there are none."""
        intent = parameters["retrieval_intent"]
        chosen = [example for example in training.examples if selects(parameters, example)]
        if not chosen:
            of = f"of the retrieval intent {intent!r}" if intent else "of a retrieval intent"
            training.notes.append(f"ResponseSelector was left out: there are no examples {of}")
            return None
        keys = [str(example.intent) for example in chosen]
        texts = [example.text for example in chosen]
        model = IntentModel.train(texts, keys, training.seed, vectors=training.vectors)
        return cls(intent or DEFAULT_SELECTOR, model, parameters["ranking_length"])

    def process(self, batch: Batch) -> None:
        """Add this selector's choice for every text, whatever its intent, as Rasa does."""
        confidences = self.model.confidences(batch.texts)
        for row, text in enumerate(batch.texts):
            if text:
                best, ranking = classifiers.rank(self.model.names, confidences[row], self.ranking_length)
                choice = SelectedResponse(self.selector, best.name, best.confidence, ranking)
            else:
                choice = SelectedResponse(self.selector, None, 0.0)
            batch.responses[row][self.selector] = choice

    def save(self, members: MemberWriter) -> None:
        """Write the model."""
        self.model.save(members)

    @classmethod
    def load(cls, parameters: Mapping[str, Any], members: MemberReader) -> Self:
        """Read the model."""
        selector = parameters["retrieval_intent"] or DEFAULT_SELECTOR
        return cls(selector, IntentModel.load(members), parameters["ranking_length"])


def selects(parameters: Mapping[str, Any], example: Example) -> bool:
    """Whether a response selector learns from this sentence."""
    label, intent = example.intent or "", parameters.get("retrieval_intent")
    return bool(example.text) and "/" in label and intent in {None, example.base_intent}


# Rule-based components that find or rewrite entities: RegexEntityExtractor and EntitySynonymMapper.


class RegexEntityExtractor(featurizers.OfPatterns, frozen=True):
    """Rasa's RegexEntityExtractor: every match of a regex or lookup table with an annotated entity's name."""

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Training) -> Self:
        """Take the patterns; add a note if none is left."""
        patterns = collect_patterns(training.project.nlu, parameters, training.entity_names)
        if not patterns:
            training.notes.append(
                "RegexEntityExtractor: no regex or lookup table bears the name of an annotated entity"
            )
        return cls(patterns)

    def process(self, batch: Batch) -> None:
        """Append all matches, overlapping ones as well."""
        for text, entities in zip(batch.texts, batch.entities, strict=True):
            for named in self.patterns:
                for start, end in named.spans(text):
                    entities.append(PredictedEntity(start, end, named.name, text[start:end], "RegexEntityExtractor"))


class EntitySynonymMapper(Struct, frozen=True):
    """Rasa's EntitySynonymMapper: values whose lower case is among the synonyms are replaced, and marked as such."""

    synonyms: Mapping[str, str]

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Training) -> Self:
        """Collect the synonyms of the data, then the values from annotations; the last one counts."""
        pairs = [(synonym.synonym, synonym.value) for synonym in training.project.nlu.synonyms]
        pairs += (
            (example.text[entity.start : entity.end], str(entity.value))
            for example in training.project.nlu.examples  # in the order of the files
            for entity in example.entities
        )
        synonyms: dict[str, str] = {}
        for text, value in pairs:
            if text != value:
                synonyms[text.lower()] = value
            if parameters["rasa"] == NEWEST:  # since Rasa 3 a value maps to itself, whatever its case
                synonyms.setdefault(value.lower(), value)
        return cls(synonyms)

    def process(self, batch: Batch) -> None:
        """Replace the values of the entities found so far."""
        for entities in batch.entities:
            for index, entity in enumerate(entities):
                value = self.synonyms.get(str(entity.value).lower())
                if value is not None:
                    processors = [*entity.extra.get("processors", ()), "EntitySynonymMapper"]
                    entities[index] = replace(entity, value=value, extra={**entity.extra, "processors": processors})

    def save(self, members: MemberWriter) -> None:
        """Write the synonyms."""
        members.json("synonyms", dict(self.synonyms))

    @classmethod
    def load(cls, parameters: Mapping[str, Any], members: MemberReader) -> Self:  # noqa: ARG003  # the common protocol
        """Read the synonyms."""
        return cls(members.json("synonyms", dict[str, str]))


# The stand-in for neural or foreign classifiers: a linear intent model and an entity CRF, with their own features.
#
# It answers under the name of what it replaces: DIETClassifier, MitieIntentClassifier, MitieEntityExtractor.


class DietStandIn(Struct, frozen=True):
    """Sets intents and finds entities under ``name``."""

    name: str
    intents: IntentModel | None
    entities: EntityModel | None
    ranking_length: int
    renormalize: bool
    split_by_comma: bool | Mapping[str, bool]

    @classmethod
    def train(cls, name: str, parameters: Mapping[str, Any], training: Lessons) -> Self:
        """Train what ``intent_classification`` and ``entity_recognition`` request and the data allow."""
        rows = training.intent_rows
        texts = [training.examples[row].text for row in rows]
        labels = [str(training.examples[row].base_intent) for row in rows]
        intents = None
        if parameters["intent_classification"] and rows:
            intents = IntentModel.train(texts, labels, training.seed, training.label_split, training.vectors)
        entities = None
        if parameters["entity_recognition"] and any(example.entities for example in training.examples):
            guessed: list[Ranking] = [()] * len(training.examples)
            if intents is not None:
                for row, ranking in zip(
                    rows,
                    out_of_fold_rankings(texts, labels, training.seed, training.label_split, training.vectors),
                    strict=True,
                ):
                    guessed[row] = ranking
            entities = EntityModel.train(training.examples, training.batch.tokens, guessed, training.seed)
        return cls(
            name,
            intents,
            entities,
            parameters["ranking_length"],
            parameters["renormalize_confidences"],
            parameters["split_entities_by_comma"],
        )

    def process(self, batch: Batch) -> None:
        """Set intents and rankings, append entities."""
        confidences = None if self.intents is None else self._process_intents(self.intents, batch)
        if self.entities is None:
            return
        rankings: Sequence[Ranking] = [()] * len(batch.texts)
        if self.intents is not None and confidences is not None:
            rankings = likely(self.intents.names, confidences)
        for row, text in enumerate(batch.texts):
            if text:
                tagged_entities = self.entities.find(batch.tokens[row], rankings[row], self.split_by_comma)
                batch.entities[row].extend(as_predicted(text, entity, self.name) for entity in tagged_entities)

    def _process_intents(self, intents: IntentModel, batch: Batch) -> NDArray[np.float64]:
        """Return the confidences of each text before they are renormalized."""
        confidences = intents.confidences(batch.texts)
        for row, text in enumerate(batch.texts):
            if not text:
                batch.intents[row], batch.rankings[row] = NO_INTENT, ()
                continue
            values = confidences[row]
            if self.renormalize and 0 < self.ranking_length < len(values):
                values = values / np.sort(values)[-self.ranking_length :].sum()
            batch.intents[row], batch.rankings[row] = classifiers.rank(intents.names, values, self.ranking_length)
        return confidences

    def save(self, members: MemberWriter) -> None:
        """Write both models."""
        if self.intents is not None:
            self.intents.save(members.below("intents"))
        if self.entities is not None:
            self.entities.save(members.below("entities"))
        members.json("parts", {"intents": self.intents is not None, "entities": self.entities is not None})

    @classmethod
    def load(cls, name: str, parameters: Mapping[str, Any], members: MemberReader) -> Self:
        """Read both models."""
        parts = members.json("parts", dict[Literal["intents", "entities"], bool])
        return cls(
            name,
            IntentModel.load(members.below("intents")) if parts["intents"] else None,
            EntityModel.load(members.below("entities")) if parts["entities"] else None,
            parameters["ranking_length"],
            parameters["renormalize_confidences"],
            parameters["split_entities_by_comma"],
        )


# Dense sentence features for pipelines whose language model is not available, and components that need them.

_DIMENSIONS: Final = 100
_DEPENDENT: Final = 1e-6
"""What is left of a sentence that says nothing new, at most."""
_RANKING_LENGTH: Final = 10


class LatentFeaturizer(Struct, frozen=True):
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


class SklearnIntentClassifier(Struct, frozen=True):
    """Rasa's SklearnIntentClassifier: a support vector machine over dense features, with C chosen by a grid search.

    Confidences are a softmax over its scores, fitted to held-out sentences. Rasa's come from scikit-learn's
    ``SVC(probability=True)``, which scikit-learn deprecates.
    """

    names: tuple[str, ...]
    model: Any
    factor: float
    reads_counts: bool = False
    """Whether it reads sparse features: Rasa NLU 0.x and the first of Rasa 1.x did not distinguish between the two."""

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Lessons) -> Self | None:
        """Search and fit; ``None`` (and a note) for fewer than two intents.

        Raises:
            UserError: no featurizer before it gives dense features (Rasa refuses such a pipeline).
        """
        rows = training.intent_rows
        blocks = training.batch.sentence_features
        reads_counts = parameters["rasa"] == OLDEST
        if parameters["rasa"] == 1 and _dense(blocks, counts=False) is None:
            reads_counts = True  # no later Rasa 1 trains this pipeline
        features = _dense(blocks, counts=reads_counts)
        if features is None:
            raise UserError(
                "SklearnIntentClassifier needs dense features, and no featurizer before it gives any",
                hint="Put a dense featurizer before it, or use LogisticRegressionClassifier.",
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
        confidences = classifiers.softmax(_scores(self.model.decision_function(features)) * self.factor)
        for row, of_text in enumerate(confidences):
            batch.intents[row], batch.rankings[row] = classifiers.rank(self.names, of_text, _RANKING_LENGTH)

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
    return search.best_estimator_, fit_factor(_scores(held_out), classifiers.best_columns(_scores(held_out)) == truth)


_PLAIN: Final[Mapping[str, Any]] = {
    kind.__name__: kind
    for kind in (
        featurizers.RegexFeaturizer,
        featurizers.CountVectorsFeaturizer,
        LatentFeaturizer,
        SpacyFeaturizer,
        SpacyEntityExtractor,
        classifiers.LogisticRegressionClassifier,
        SklearnIntentClassifier,
        DucklingEntityExtractor,
        classifiers.KeywordIntentClassifier,
        classifiers.FallbackClassifier,
        CRFEntityExtractor,
        RegexEntityExtractor,
        EntitySynonymMapper,
        ResponseSelectorStandIn,
    )
}

_STAND_INS: Final[Mapping[str, Mapping[str, Any]]] = {
    "DietStandIn": {},
    "IntentStandIn": {"intent_classification": True, "entity_recognition": False},
    "EntityStandIn": {"intent_classification": False, "entity_recognition": True},
}
_STAND_IN_DEFAULTS: Final[Mapping[str, Any]] = {
    "ranking_length": 10,
    "renormalize_confidences": False,
    "split_entities_by_comma": True,
}

FEATURIZERS: Final = frozenset({"RegexFeaturizer", "CountVectorsFeaturizer", "LatentFeaturizer", "SpacyFeaturizer"})
"""Kinds whose output later steps are trained on."""

EXTRACTORS: Final = frozenset(
    {
        "DietStandIn",
        "EntityStandIn",
        "CRFEntityExtractor",
        "RegexEntityExtractor",
        "DucklingEntityExtractor",
        "SpacyEntityExtractor",
        "CustomComponent",
    }
)


def extractor_of(step: Step, component: Component) -> str | None:
    """The name under which this step's entities are reported, if it can find any."""
    if step.kind not in EXTRACTORS or (isinstance(component, DietStandIn) and component.entities is None):
        return None
    return step.kind if step.kind in _PLAIN else _stand_in_name(step)


def train_step(step: Step, training: Lessons) -> Component | None:
    """Train one step; ``None`` if there is nothing to learn. What is not cached is given a whole :class:`Training`.

    Raises:
        UserError: the data or the parameters do not allow it; the message has the component's location.
    """
    try:
        if step.kind == "CustomComponent" and isinstance(training, Training):
            return CustomComponent.train(step, training)
        if step.kind in _STAND_INS:
            return DietStandIn.train(_stand_in_name(step), _stand_in_parameters(step), training)
        trained: Component | None = _PLAIN[step.kind].train(step.parameters, training)
    except MachineError:
        raise  # it says nothing of the component
    except UserError as error:
        if error.location is None:
            raise UserError(error.message, location=step.component.location, hint=error.hint) from None
        raise
    return trained


def load_step(step: Step, members: MemberReader) -> Component:
    """Read a trained step back."""
    if step.kind in _STAND_INS:
        return DietStandIn.load(_stand_in_name(step), _stand_in_parameters(step), members)
    loaded: Component = _PLAIN[step.kind].load(step.parameters, members)
    return loaded


def _stand_in_name(step: Step) -> str:
    return step.component.name.rpartition(".")[2]


def _stand_in_parameters(step: Step) -> Mapping[str, Any]:
    return {**_STAND_IN_DEFAULTS, **step.parameters, **_STAND_INS[step.kind]}
