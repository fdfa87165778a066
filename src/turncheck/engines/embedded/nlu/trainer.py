"""Trains the embedded NLU engine from a project's files."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from hashlib import sha256
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from turncheck import __version__
from turncheck.engines.embedded.model_archive import keep, read_kept
from turncheck.engines.embedded.nlu.batch import Batch, Component, DucklingAccess, Lessons, Tokenizer, Training
from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
from turncheck.engines.embedded.nlu.linear import LabelSplit
from turncheck.engines.embedded.nlu.plan import READS_SENTENCE_FEATURES, READS_TOKEN_FEATURES, Plan, Step, make_plan
from turncheck.engines.embedded.nlu.spacy_model import make_tokenizer
from turncheck.engines.embedded.nlu.steps import FEATURIZERS, extractor_of, load_step, selects, train_step
from turncheck.engines.embedded.training_key import NoDigestError, digest_of, nlu_inputs
from turncheck.engines.ngrams import TrainingSentences
from turncheck.process.one_thread import one_thread
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors
    from turncheck.process.cache import Cache
    from turncheck.project.model import Config, Project
    from turncheck.project.nlu_data import EntityAnnotation, Example
    from turncheck.report.model import Substitution
    from turncheck.report.trust import ConfidenceMap


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


def kept_step(cache: Cache | None, step: Step, training: Training) -> Component | None:
    """Return a step as :func:`train_step` does; one that learns comes from the cache if it learnt from the same before.

    Raises:
        UserError: as there.
    """
    if step.kind not in LEARNS:
        return train_step(step, training)
    learnt = learnt_by(step, training)  # without a cache, too: so that both learn the same
    key = None if cache is None else step_key(cache, step, learnt)
    if cache is not None:
        found = read_kept(cache, key, _KIND, lambda members: _tried(load_step(step, members), learnt.batch))
        if found is not None:
            return found
    component = train_step(step, learnt)
    if cache is not None and component is not None and not learnt.notes:  # notes are not cached
        keep(cache, key, _KIND, component.save)
    training.notes += learnt.notes
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


def learnt_by(step: Step, training: Training) -> Lessons:
    """Return the input of a step that learns: no synonyms, no patterns, no features or sentences it does not read."""
    if step.kind == "ResponseSelectorStandIn":
        return _learnt_by_selector(step, training)
    whole = training.batch
    batch = Batch.of(whole.texts, whole.tokens)
    if step.kind in READS_SENTENCE_FEATURES:
        batch.sentence_features = whole.sentence_features
    if step.kind in READS_TOKEN_FEATURES:
        batch.patterns, batch.dense_token_features = whole.patterns, whole.dense_token_features
    examples = tuple(map(_as_annotated, training.examples))
    return Lessons(examples, batch, training.seed, training.label_split, training.vectors)


def _learnt_by_selector(step: Step, training: Training) -> Lessons:
    """Only its own sentences, and none of their entities: what else is edited does not train it again."""
    rows = [row for row, example in enumerate(training.examples) if selects(step.parameters, example)]
    examples = tuple(dataclasses.replace(training.examples[row], entities=(), metadata=None) for row in rows)
    batch = Batch.of([example.text for example in examples], [training.batch.tokens[row] for row in rows])
    return Lessons(examples, batch, training.seed, training.label_split, training.vectors)


def step_key(cache: Cache, step: Step, learnt: Lessons) -> str | None:
    """Return the key of a step, ``None`` if it is not cached: what it learns from has no digest, or is very large."""
    if learnt.vectors is not None:
        return None
    batch = learnt.batch  # its other columns are filled in prediction
    columns = batch.sentence_features, batch.patterns, batch.dense_token_features
    inputs = _written(learnt), columns, learnt.seed, learnt.label_split
    try:
        return digest_of((step.kind, step.component.name, step.parameters, inputs, cache.surroundings()))
    except (NoDigestError, RecursionError):
        return None


def _written(learnt: Lessons) -> Any:
    """Return the sentences, their annotations and words for a digest: at once, which takes a tenth of the time."""
    examples = [(example.text, example.intent, example.entities) for example in learnt.examples]
    try:
        return sha256(msgspec.msgpack.encode((examples, learnt.batch.tokens))).hexdigest()
    except UnicodeEncodeError:  # half of a surrogate pair
        return learnt.examples, learnt.batch.tokens


def _as_annotated(example: Example) -> Example:
    """A sentence without its entities' values and without metadata: no step that learns reads them."""
    entities = tuple(replace(entity, value=None) for entity in example.entities)
    return dataclasses.replace(example, entities=entities, metadata=None)


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
        with one_thread("blas"):
            return self._fit(project)

    def _fit(self, project: Project) -> EmbeddedNluEngine:
        learnt = nlu_inputs(project)
        plan, tokenizer = self._prepare(project.config, learnt)
        examples = unique_examples(project.nlu.examples)
        texts = [example.text for example in examples]
        batch = Batch.of(texts, [tokenizer.tokenize(text) for text in texts])
        split = LabelSplit.of(plan.tokenizer.parameters)
        training = Training(examples, batch, self.seed, split, self.vectors, project=learnt, duckling=self.duckling)
        components: list[tuple[Step, Component]] = []
        untrained: set[str] = set()
        for step in plan.steps if examples else ():
            noted = len(training.notes)
            component = kept_step(self.cache, step, training)
            if component is None:
                if len(training.notes) > noted:
                    untrained.add(step.component.written)
                continue
            if step.kind in FEATURIZERS:
                component.process(batch)
            components.append((step, component))
        names = dict.fromkeys(name for step, component in components if (name := extractor_of(step, component)))
        return EmbeddedNluEngine(
            info=EngineInfo(
                name=ENGINE_NAME,
                version=__version__,
                substitutions=(*_used(plan.substitutions, untrained, components), *training.left_out),
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
        training = Training(examples, batch, self.seed, split, self.vectors, project=learnt, duckling=self.duckling)
        steps = iter(plan.steps)
        components: list[tuple[Step, Component]] = []
        for old, component in engine.components:
            step = next(one for one in steps if one.kind == old.kind)
            new = kept_step(None, step, training) if step.kind in kinds else component
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


def _used(
    substitutions: Iterable[Substitution], untrained: Collection[str], components: Iterable[tuple[Step, Component]]
) -> Iterator[Substitution]:
    """Yield the substitutions, without those of components that a note calls left out: nothing replaces them."""
    trained = {step.component.written for step, _ in components}
    return (one for one in substitutions if one.component not in untrained or one.component in trained)


def unique_examples(examples: Iterable[Example]) -> tuple[Example, ...]:
    """Drop exact repetitions (same text, intent and entities), as Rasa does, and sort the others.

    So what is learnt does not depend on how sentences are ordered in files, and spread over them.
    """
    unique: dict[tuple[str, str | None, tuple[EntityAnnotation, ...]], Example] = {}
    for example in sorted(examples, key=attrgetter("place_in_order")):
        unique.setdefault((example.text, example.intent, example.entities), example)
    return tuple(unique.values())
