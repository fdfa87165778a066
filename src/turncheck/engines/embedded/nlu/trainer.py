"""The trained pipeline, which understands sentences in batches, and how it is trained from a project's files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from threadpoolctl import threadpool_limits

from turncheck import __version__
from turncheck.engines.conversation import (
    NluEngine,
    Parse,
    PredictedEntity,
    PredictedIntent,
    SelectedResponse,
    read_direct_message,
)
from turncheck.engines.embedded.model_archive import keep, read_kept
from turncheck.engines.embedded.nlu.batch import NO_INTENT, Batch, Component, DucklingAccess, Tokenizer, Training
from turncheck.engines.embedded.nlu.duckling import EXTRACTOR as DUCKLING
from turncheck.engines.embedded.nlu.duckling import DucklingEntityExtractor
from turncheck.engines.embedded.nlu.linear import LabelSplit
from turncheck.engines.embedded.nlu.ngrams import Neighbour, TrainingSentences
from turncheck.engines.embedded.nlu.plan import READS_SENTENCE_FEATURES, READS_TOKEN_FEATURES, Plan, Step, make_plan
from turncheck.engines.embedded.nlu.spacy_model import make_tokenizer
from turncheck.engines.embedded.nlu.steps import FEATURIZERS, extractor_of, load_step, train_step
from turncheck.engines.embedded.training_key import NoDigestError, digest_of, nlu_inputs
from turncheck.process.cache import Cache, surroundings
from turncheck.project.model import Config, Domain, Project, Response
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors
    from turncheck.project.nlu_data import EntityAnnotation, Example
    from turncheck.report.trust import ConfidenceMap


class EmbeddedNlu(NluEngine, Protocol):
    """What the embedded engine understands sentences with, of whatever platform the assistant is."""

    @property
    def sentences(self) -> TrainingSentences:
        """The sentences that it learnt."""

    def model_parse(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Understand each text, and answer in the form of a server's ``/model/parse``."""


class EmbeddedTrainer(Protocol):
    """What trains it."""

    def fit(self, project: Project) -> EmbeddedNlu:
        """See :class:`turncheck.engines.conversation.NluTrainer`."""


# The result of understanding, in the shape of a Rasa server's answer to ``POST /model/parse``.


def as_model_parse(
    parse: Parse, responses: Mapping[str, Response], retrieval_intents: Collection[str] = ()
) -> dict[str, Any]:
    """Return ``parse`` as Rasa 3.6 writes it, ready for JSON.

    ``responses`` are the domain's, for the texts a response selector chose; ``retrieval_intents`` those of the training
    data. Empty keys are absent if they are absent in Rasa's.
    """
    answer: dict[str, Any] = {
        "text": parse.text,
        "intent": _intent(parse.intent),
        "entities": [_entity(entity) for entity in parse.entities],
    }
    if parse.tokens is not None:
        answer["text_tokens"] = [list(span) for span in parse.tokens]
    if parse.ranking:
        answer["intent_ranking"] = [_intent(intent) for intent in parse.ranking]
    if parse.responses:
        answer["response_selector"] = {
            "all_retrieval_intents": sorted(retrieval_intents),
            **{name: _choice(choice, responses) for name, choice in parse.responses.items()},
        }
        if parse.intent.name in retrieval_intents:
            own = parse.responses.get(str(parse.intent.name))
            full = own.intent_response_key if own else None
            for intent in (answer["intent"], *answer.get("intent_ranking", ())):
                if intent["name"] == parse.intent.name:
                    intent["full_retrieval_intent_name"] = full
    return answer


def _intent(intent: PredictedIntent) -> dict[str, Any]:
    return {"name": intent.name, "confidence": intent.confidence}


def _entity(entity: PredictedEntity) -> dict[str, Any]:
    extra = dict(entity.extra)
    written: dict[str, Any] = {"entity": entity.entity, "start": entity.start, "end": entity.end}
    if entity.confidence is not None:
        written["confidence" if entity.extractor == DUCKLING else "confidence_entity"] = entity.confidence
    for name, value in (("role", entity.role), ("group", entity.group)):
        if value is not None:
            written[name] = value
            if (confidence := extra.pop(f"confidence_{name}", None)) is not None:
                written[f"confidence_{name}"] = confidence
    return {**written, "value": entity.value, "extractor": entity.extractor, **extra}


def _choice(choice: SelectedResponse, responses: Mapping[str, Response]) -> dict[str, Any]:
    key = choice.intent_response_key
    known = responses.get(f"utter_{key}")
    texts = [dict(variation.content) for variation in known.variations] if known else [{"text": key}]
    return {
        "response": {
            "responses": texts,
            "confidence": choice.confidence,
            "intent_response_key": key,
            "utter_action": f"utter_{key}",
        },
        "ranking": [{"confidence": ranked.confidence, "intent_response_key": ranked.name} for ranked in choice.ranking],
    }


_BLOCK: Final = 4_096
"""This many texts go through the pipeline at once: the features and scores of a hundred thousand fill gigabytes."""


@dataclass(frozen=True, slots=True)
class EmbeddedNluEngine:
    """A trained pipeline. Its answers do not depend on how sentences are batched."""

    info: EngineInfo
    extractors: tuple[str, ...]
    tokenizer: Tokenizer
    components: tuple[tuple[Step, Component], ...]
    domain: Domain
    sentences: TrainingSentences
    retrieval_intents: tuple[str, ...] = ()
    """The intents whose examples have response keys, sorted."""
    trained: bool = True
    """``False`` for a project without NLU data: then only ``/intent`` messages are understood, as in Rasa."""
    team_confidences: ConfidenceMap | None = None
    """How sure the team's own model would be, if the two were compared: for the fallback."""

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text."""
        direct = [read_direct_message(text, self.domain) if text.lstrip().startswith("/") else None for text in texts]
        plain = [row for row, parse in enumerate(direct) if parse is None]
        blocks = (plain[first : first + _BLOCK] for first in range(0, len(plain), _BLOCK))
        understood = {
            row: parse
            for block in blocks
            for row, parse in zip(block, self._understand([texts[row] for row in block]), strict=True)
        }
        return [understood[row] if parse is None else parse for row, parse in enumerate(direct)]

    def on_the_day_of(self, reference_time: int) -> EmbeddedNluEngine:
        """Return the same engine with relative dates counted from this time, in milliseconds since 1970."""
        if not any(isinstance(component, DucklingEntityExtractor) for _, component in self.components):
            return self
        components = tuple(
            (
                step,
                replace(component, reference_time=reference_time)
                if isinstance(component, DucklingEntityExtractor)
                else component,
            )
            for step, component in self.components
        )
        return replace(self, components=components)

    def _understand(self, texts: Sequence[str]) -> list[Parse]:
        if not self.trained:
            return [Parse(text, NO_INTENT) for text in texts]
        batch = Batch.of(texts, [self.tokenizer.tokenize(text) for text in texts])
        batch.team_confidences = self.team_confidences
        if texts:
            for _, component in self.components:
                component.process(batch)
        return [
            Parse(text, intent, ranking, tuple(entities), responses, tokens.spans)
            for text, intent, ranking, entities, responses, tokens in zip(
                texts, batch.intents, batch.rankings, batch.entities, batch.responses, batch.tokens, strict=True
            )
        ]

    def model_parse(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Understand each text, and answer as a Rasa server's ``/model/parse`` does."""
        return [as_model_parse(parse, self.domain.responses, self.retrieval_intents) for parse in self.parse(texts)]

    def neighbours(self, texts: Sequence[str], k: int = 3) -> list[tuple[Neighbour, ...]]:
        """For each text the ``k`` training sentences nearest to it, by the cosine of their n-gram features."""
        return self.sentences.nearest(texts, k)


# Trained pipeline steps in a cache, with keys made only of what each step learns from.
#
# A cached step only gets that, and its key is made of it. Steps that only copy their input are not cached:
# doing it again is as fast as reading it.

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
    found = read_kept(cache, key, _KIND, lambda members: _tried(load_step(step, members), learnt.batch))
    if found is not None:
        return found
    component = train_step(step, learnt)
    if component is not None and not learnt.notes and not learnt.left_out:  # notes are not cached
        keep(cache, key, _KIND, component.save)
    training.notes += learnt.notes
    training.left_out += learnt.left_out
    return component


def _tried(component: Component, learnt: Batch) -> Component:
    """Return the component if it takes the first sentence that it learnt from: its own widths show only then.

    Raises:
        Exception: of any kind.
    """
    first = Batch.of(learnt.texts[:1], learnt.tokens[:1])
    first.sentence_features = [block[:1] for block in learnt.sentence_features]
    first.dense_token_features = learnt.dense_token_features and learnt.dense_token_features[:1]
    first.patterns = learnt.patterns and learnt.patterns[:1]
    component.process(first)
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


ENGINE_NAME = "embedded"


@dataclass(frozen=True, slots=True)
class EmbeddedNluTrainer:
    """Fits engines; many of them on one project share the tokenizer and what it has tokenized."""

    seed: int = 0
    allow_custom_code: bool = False
    duckling: DucklingAccess = field(default_factory=DucklingAccess)
    vectors: SentenceVectors | None = None
    """What the stand-ins learn from besides n-grams, if enabled."""
    team_confidences: ConfidenceMap | None = None
    """How sure the team's own model would be, if the two were compared."""
    cache: Cache | None = field(default=None, repr=False, compare=False)
    """The cache for steps that learn; ``None``: they are trained each time."""
    _prepared: dict[int, tuple[Config, Plan, Tokenizer]] = field(default_factory=dict, repr=False, compare=False)

    def __reduce__(self) -> tuple[type[EmbeddedNluTrainer], tuple[object, ...]]:
        """Pickle without what was prepared here."""
        return EmbeddedNluTrainer, (
            *(self.seed, self.allow_custom_code, self.duckling, self.vectors),
            *(self.team_confidences, self.cache),
        )

    def fit(self, project: Project) -> EmbeddedNluEngine:
        """Train on the project's NLU examples.

        Raises:
            UserError: the pipeline or the data do not allow it.
        """
        # On such small matrices several threads of BLAS spend many times the CPU time, waiting for each other; and the
        # last digit of their sums depends on how many there are.
        with threadpool_limits(limits=1, user_api="blas"):
            return self._fit(project)

    def _fit(self, project: Project) -> EmbeddedNluEngine:
        learnt = nlu_inputs(project)
        plan, tokenizer = self._prepare(project.config, learnt)
        examples = unique_examples(project.nlu.examples)
        texts = [example.text for example in examples]
        batch = Batch.of(texts, [tokenizer.tokenize(text) for text in texts])
        split = LabelSplit.of(plan.tokenizer.parameters)
        training = Training(learnt, examples, batch, self.seed, split, self.duckling, self.vectors)
        components: list[tuple[Step, Component]] = []
        for step in plan.steps if examples else ():
            component = kept_step(self.cache, step, training)
            if component is None:
                continue
            if step.kind in FEATURIZERS:
                component.process(batch)
            components.append((step, component))
        names = dict.fromkeys(name for step, component in components if (name := extractor_of(step, component)))
        return EmbeddedNluEngine(
            info=EngineInfo(
                name=ENGINE_NAME,
                version=__version__,
                substitutions=(*plan.substitutions, *training.left_out),
                notes=(*plan.notes, *training.notes),
            ),
            extractors=tuple(names),
            tokenizer=tokenizer,
            components=tuple(components),
            domain=project.domain,
            sentences=TrainingSentences(tuple(texts)),
            retrieval_intents=tuple(
                sorted({str(example.base_intent) for example in examples if "/" in (example.intent or "")})
            ),
            trained=bool(examples),
            team_confidences=self.team_confidences,
        )

    def refit(self, engine: EmbeddedNluEngine, project: Project, kinds: Collection[str]) -> EmbeddedNluEngine:
        """Return an engine whose steps of these kinds learn from another state of the project, the others unchanged.

        That is what :meth:`fit` would return if only these steps learn from what changed.

        Raises:
            UserError: as :meth:`fit`.
        """
        learnt = nlu_inputs(project)
        plan, tokenizer = self._prepare(project.config, learnt)
        examples = unique_examples(project.nlu.examples)
        batch = Batch.of(
            [example.text for example in examples], [tokenizer.tokenize(example.text) for example in examples]
        )
        split = LabelSplit.of(plan.tokenizer.parameters)
        training = Training(learnt, examples, batch, self.seed, split, self.duckling, self.vectors)
        steps = iter(plan.steps)
        components: list[tuple[Step, Component]] = []
        for old, component in engine.components:
            step = next(one for one in steps if one.kind == old.kind)
            new = train_step(step, training) if step.kind in kinds else component
            if new is not None:
                components.append((step, new))
        return replace(engine, components=tuple(components))

    def _prepare(self, config: Config, learnt: Project) -> tuple[Plan, Tokenizer]:
        """Return steps and tokenizer, created once per configuration."""
        prepared = self._prepared.get(id(config))
        if prepared is None or prepared[0] is not config:
            plan = make_plan(
                learnt.config,
                rasa=learnt.major,
                allow_custom_code=self.allow_custom_code,
                vectors=self.vectors.in_words if self.vectors else None,
            )
            tokenizer = make_tokenizer(plan.tokenizer, learnt.root)
            prepared = self._prepared[id(config)] = config, plan, tokenizer
        return prepared[1], prepared[2]


def unique_examples(examples: Iterable[Example]) -> tuple[Example, ...]:
    """Drop exact repetitions (same text, intent and entities), as Rasa does, and sort the others.

    So what is learnt does not depend on how sentences are ordered in files, and spread over them.
    """
    unique: dict[tuple[str, str | None, tuple[EntityAnnotation, ...]], Example] = {}
    for example in sorted(examples, key=attrgetter("place_in_order")):
        unique.setdefault((example.text, example.intent, example.entities), example)
    return tuple(unique.values())
