"""Robustness: which sentences are no longer understood when people write them differently."""

from __future__ import annotations

import dataclasses
import math
import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, structs
from msgspec.structs import replace

from turncheck.engines.conversation import InFront, NluEngine, NluTrainer, Parse
from turncheck.evaluations.answers import COMPUTE_LOCALLY, Answers, finished_part
from turncheck.evaluations.nlu.predictions import find_neighbours
from turncheck.evaluations.nlu.scores import before_fallback
from turncheck.evaluations.nlu.splits import run_folds, stable_folds
from turncheck.evaluations.robustness.families import FAMILIES, Noise, Sentence
from turncheck.evaluations.robustness.words import base_language, words_for
from turncheck.messages.errors import EngineError, IncompleteError
from turncheck.messages.phrasing import count
from turncheck.project.nlu_data import Example, NluData
from turncheck.report.model import FailedVariant, NoiseGroup, Robustness, SentenceUnderNoise
from turncheck.work.workplace import INLINE, Executor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.project.model import Project

    AnswersAbout = Callable[[Mapping[str, Sequence[str]], Mapping[int, Sequence[str]]], Answers]


MOST_SENTENCES: Final = 400
"""At most this many sentences are varied, spread over all intents: more would hardly make the interval narrower."""
_NEARLY: Final = 0.9
"""A variant this similar to a sentence of another intent is dropped (cosine of n-grams, 0 to 1)."""
_WORST: Final = 100
"""At most this many sentences are listed."""
_BATCH: Final = 200
"""So many texts are parsed at a time: what an interrupt costs."""
_Z: Final = 1.959963984540054


class Variant(Struct, frozen=True):
    """A variant of the example with this index."""

    example: int
    family: str
    sentence: Sentence


def make_variants(examples: Sequence[Example], project: Project, seed: int) -> list[Variant]:
    """Return the variants of sentences, at most one of each family; those that may have another meaning are left out.

    Raises:
        UserError: the project's own word lists cannot be read.
    """
    language = project.language
    words = words_for(language, project.root)
    noise = Noise(base_language(language), words, project.nlu.in_order().examples)
    made = []
    for number in _sampled(examples, seed):
        example = examples[number]
        sentence = Sentence(example.text, example.base_intent or "", example.entities)
        for family in FAMILIES:
            chance = random.Random(f"{seed}/{family}/{example.text}")
            variant = noise.variant(family, sentence, chance)
            if variant is not None:
                made.append(Variant(number, family, variant))
    return _unmistakable(made, project.nlu.examples)


def _sampled(examples: Sequence[Example], seed: int) -> list[int]:
    """Return the indexes of the sentences to vary, taking turns between the intents."""
    by_intent: dict[str, list[int]] = defaultdict(list)
    for number, example in enumerate(examples):
        if example.base_intent and example.text.strip() and not example.text.lstrip().startswith("/"):
            by_intent[example.base_intent].append(number)
    queues = []
    for intent, numbers in sorted(by_intent.items()):
        random.Random(f"{seed}/{intent}").shuffle(numbers)
        queues.append(numbers)
    chosen: list[int] = []
    for turn in range(max(map(len, queues), default=0)):
        chosen += [queue[turn] for queue in queues if turn < len(queue)]
    return sorted(chosen[:MOST_SENTENCES])


def _unmistakable(variants: Sequence[Variant], training: Sequence[Example]) -> list[Variant]:
    """Leave out variants that are nearly the same as another intent's sentence."""
    near = find_neighbours(
        training,
        {number: one.sentence.text for number, one in enumerate(variants)},
        # Sentences of its own intent are often nearer, which says nothing about the others.
        lambda number, index: training[index].base_intent != variants[number].sentence.intent,
    )
    kept = []
    for number, variant in enumerate(variants):
        nearest = near.get(number, ())
        if not nearest or nearest[0][1] < _NEARLY:
            kept.append(variant)
    return kept


Heard = dict[int, tuple["Parse", dict[str, "Parse"]]]
"""Of each sentence that was parsed, by its index: its parse, and those of other texts by the same engine."""


def evaluate_robustness(project: Project, engine: NluEngine, test_data: NluData, *, seed: int = 42) -> Robustness:
    """Vary held-out sentences.

    Raises:
        UserError: the project's own word lists cannot be read.
        IncompleteError: the engine failed, or the run was interrupted; ``finished`` are the figures until then.
    """
    examples = test_data.in_order().examples
    variants = make_variants(examples, project, seed)
    asked = dict.fromkeys(
        text for variant in variants for text in (examples[variant.example].text, variant.sentence.text)
    )
    parses, stopped = finished_part(lambda: _in_batches(engine, list(asked)))
    by_text = {text: parse for text, parse in zip(asked, parses, strict=False) if parse is not None}
    heard: Heard = {
        index: (by_text[example.text], by_text) for index, example in enumerate(examples) if example.text in by_text
    }
    left = f"Not run: {len(asked) - len(by_text)} of {count(len(asked), 'sentence')} and variants."
    return _until_stopped(_section(examples, variants, heard, "held-out"), stopped, left)


def _in_batches(engine: NluEngine, texts: Sequence[str]) -> list[Parse | None]:
    """Parse texts.

    Raises:
        IncompleteError: the engine failed, or the run was interrupted; ``finished`` are the parses until then.
    """
    parses: list[Parse | None] = []
    for start in range(0, len(texts), _BATCH):
        try:
            parses += engine.parse(texts[start : start + _BATCH])
        except (EngineError, KeyboardInterrupt) as error:
            more = error.finished or () if isinstance(error, IncompleteError) else ()
            raise IncompleteError(error, [*parses, *more] or None) from error
    return parses


def _until_stopped(section: Robustness, stopped: IncompleteError | None, left: str) -> Robustness:
    """Return the figures.

    Raises:
        IncompleteError: they are those of a part; they come with it, and say what is left.
    """
    if stopped is None:
        return section
    raise IncompleteError(stopped, structs.replace(section, remarks=(*section.remarks, left)))


class _WithVariants(Struct, frozen=True):
    """Trains the engines of folds, which parse their sentences and then the variants of these."""

    trainer: NluTrainer
    variants: Mapping[str, tuple[str, ...]]

    def fit(self, project: Project) -> NluEngine:
        """Train."""
        return _Reading(self.trainer.fit(project), self.variants)


@dataclass(frozen=True, slots=True)
class _Reading(InFront):
    variants: Mapping[str, tuple[str, ...]]

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Parse the texts, then the variants of each."""
        return self.engine.parse(_with_variants(texts, self.variants))


def _with_variants(texts: Sequence[str], variants: Mapping[str, tuple[str, ...]]) -> list[str]:
    return [*texts, *(one for text in texts for one in variants.get(text, ()))]


def cross_validate_robustness(
    project: Project,
    trainer: NluTrainer,
    *,
    folds: int = 5,
    seed: int = 42,
    work: Executor = INLINE,
    answers_about: AnswersAbout = lambda *_: COMPUTE_LOCALLY,
) -> Robustness:
    """Vary the project's own sentences, each of which is parsed by an engine that was trained without its fold.

    ``answers_about`` takes the variants of each sentence and all that each fold is asked, and returns the known answers
    of the folds.

    Raises:
        UserError: the project's own word lists cannot be read, or it cannot be trained.
        IncompleteError: the engine failed, or the run was interrupted; ``finished`` are the figures of the folds that
            were done.
    """
    examples = project.nlu.in_order().examples
    project = dataclasses.replace(project, nlu=replace(project.nlu, examples=examples))
    variants = make_variants(examples, project, seed)
    plan = stable_folds(examples, folds, seed)
    by_text: dict[str, list[str]] = defaultdict(list)
    for variant in variants:
        by_text[examples[variant.example].text].append(variant.sentence.text)
    texts = {text: tuple(dict.fromkeys(found)) for text, found in by_text.items()}
    asked = {fold: _with_variants(judged, texts) for fold, judged in plan.texts(examples).items()}
    known = answers_about(texts, asked)
    runs, stopped = finished_part(
        lambda: run_folds(project, _WithVariants(trainer, texts), plan, work=work, answers=known)
    )
    heard: Heard = {}
    for run in runs:
        of_fold = {parse.text: parse for parse in run.parses}
        for index, parse in zip(plan.judged(run.fold), run.parses, strict=False):
            heard[index] = parse, of_fold
    left = f"Not run: {folds - len(runs)} of {count(folds, 'fold')}."
    return _until_stopped(_section(examples, variants, heard, "cross-validation"), stopped, left)


def _section(examples: Sequence[Example], variants: Sequence[Variant], heard: Heard, mode: Any) -> Robustness:
    tried: list[_Tried] = []
    for variant in variants:
        if variant.example not in heard or variant.sentence.text not in heard[variant.example][1]:
            continue
        example, (before, of_engine) = examples[variant.example], heard[variant.example]
        parse = of_engine[variant.sentence.text]
        sentence = Sentence(example.text, example.base_intent or "", example.entities)
        tried.append(
            _Tried(
                variant,
                parse,
                right=_intent(before) == sentence.intent,
                stays=_intent(parse) == sentence.intent,
                entities_right=bool(sentence.entities) and _finds(before, sentence),
                entities_stay=_finds(parse, variant.sentence),
            )
        )
    total = _group("all", tried)
    return Robustness(
        mode=mode,
        sentences=len({one.variant.example for one in tried}),
        variants=total.variants,
        failed=total.failed,
        failure_rate=total.failure_rate,
        low=total.low,
        high=total.high,
        entities=_group("entities", tried, entities=True),
        by_family=tuple(_group(name, [one for one in tried if one.variant.family == name]) for name in FAMILIES),
        entities_by_family=tuple(
            _group(name, [one for one in tried if one.variant.family == name], entities=True) for name in FAMILIES
        ),
        by_intent=_by_intent(tried),
        worst=_worst(tried, examples),
    )


class _Tried(Struct, frozen=True):
    """A variant as it was parsed, and whether intent and entities were right before and are right now."""

    variant: Variant
    parse: Parse
    right: bool
    stays: bool
    entities_right: bool
    entities_stay: bool


def _intent(parse: Parse) -> str | None:
    return before_fallback(parse)[0].name


def _finds(parse: Parse, sentence: Sentence) -> bool:
    """Whether all annotated entities are found at their positions."""
    found = {(entity.start, entity.end, entity.entity, entity.role, entity.group) for entity in parse.entities}
    return all(
        (entity.start, entity.end, entity.entity, entity.role, entity.group) in found for entity in sentence.entities
    )


def _group(name: str, tried: Iterable[_Tried], *, entities: bool = False) -> NoiseGroup:
    pairs = [(one.entities_right, one.entities_stay) if entities else (one.right, one.stays) for one in tried]
    judged = [stays for right, stays in pairs if right]
    failed = judged.count(False)
    low, high = wilson(failed, len(judged))
    return NoiseGroup(
        name=name,
        variants=len(judged),
        failed=failed,
        failure_rate=failed / len(judged) if judged else None,
        low=low,
        high=high,
    )


def wilson(failed: int, of: int) -> tuple[float | None, float | None]:
    """Return the 95 % interval of a rate (Wilson 1927); ``None`` if nothing was tried.

    >>> [round(border, 3) for border in wilson(5, 50)]
    [0.043, 0.214]
    """
    if not of:
        return None, None
    rate, square = failed / of, _Z * _Z
    middle = (rate + square / (2 * of)) / (1 + square / of)
    half = _Z / (1 + square / of) * math.sqrt(rate * (1 - rate) / of + square / (4 * of * of))
    return max(0.0, middle - half), min(1.0, middle + half)


def _by_intent(tried: Sequence[_Tried]) -> tuple[NoiseGroup, ...]:
    groups: dict[str, list[_Tried]] = defaultdict(list)
    for one in tried:
        groups[one.variant.sentence.intent].append(one)
    return tuple(_group(name, group) for name, group in sorted(groups.items()))


def _worst(tried: Sequence[_Tried], examples: Sequence[Example]) -> tuple[SentenceUnderNoise, ...]:
    """Return the sentences with the most variants that are no longer understood."""
    by_example: dict[int, list[_Tried]] = defaultdict(list)
    for one in tried:
        if (one.right and not one.stays) or (one.entities_right and not one.entities_stay):
            by_example[one.variant.example].append(one)
    ordered = sorted(by_example.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return tuple(
        SentenceUnderNoise(
            text=examples[number].text,
            intent=examples[number].base_intent or "",
            location=examples[number].location,
            failed=tuple(_failed(one) for one in group),
        )
        for number, group in ordered[:_WORST]
    )


def _failed(_tried: _Tried) -> FailedVariant:
    intent = before_fallback(_tried.parse)[0]
    return FailedVariant(
        family=_tried.variant.family,
        text=_tried.variant.sentence.text,
        predicted=intent.name,
        confidence=intent.confidence,
        intent_failed=_tried.right and not _tried.stays,
        entities_failed=_tried.entities_right and not _tried.entities_stay,
    )


# Training sentences against misunderstandings caused by noise, which are tested by training with them.

_MOST: Final = 3
"""At most this many sentences for an intent and a family."""

Group = tuple[str, str]
"""An intent and a family of noise."""


class TrainingSentences(Struct, frozen=True):
    """Sentences for one intent with one family of noise; ``before``, ``after``: numbers of misunderstood variants."""

    intent: str
    family: str
    sentences: tuple[Example, ...]
    before: int
    after: int


def training_sentences(
    project: Project, tests: NluData, robustness: Robustness, trainer: NluTrainer, seed: int
) -> tuple[TrainingSentences, ...]:
    """Return the variants of training sentences that help with the failing intents and families.

    They are made from training sentences, never from the test sentences that they are tried on. An engine is trained
    with all of them; those of groups that then fail less are kept, the most helpful first, and none if more variants
    fail altogether.

    Raises:
        UserError: the project cannot be trained.
    """
    before = _failures_by_group(robustness)
    if not before:
        return ()
    known = {example.text.casefold() for example in (*project.nlu.examples, *tests.examples)}
    own = tuple(example for example in project.nlu.examples if example.base_intent in {intent for intent, _ in before})
    made: dict[Group, list[Example]] = {}
    for variant in make_variants(own, project, seed):
        group = variant.sentence.intent, variant.family
        examples = made.setdefault(group, [])
        if group in before and len(examples) < _MOST and variant.sentence.text.casefold() not in known:
            known.add(variant.sentence.text.casefold())
            examples.append(Example(variant.sentence.text, own[variant.example].intent, variant.sentence.entities))
    added = tuple(example for found in made.values() for example in found)
    if not added:
        return ()
    more = dataclasses.replace(project, nlu=replace(project.nlu, examples=(*project.nlu.examples, *added)))
    tried = evaluate_robustness(project, trainer.fit(more), tests, seed=seed)
    if tried.failed >= robustness.failed:
        return ()
    after = _failures_by_group(tried)
    helpful = [
        TrainingSentences(intent, family, tuple(made[intent, family]), number, after[intent, family])
        for (intent, family), number in before.items()
        if made.get((intent, family)) and after[intent, family] < number
    ]
    return tuple(sorted(helpful, key=lambda one: (one.after - one.before, one.intent, one.family)))


def _failures_by_group(robustness: Robustness) -> Counter[Group]:
    """Count the misunderstood variants by intent and family."""
    return Counter(
        (sentence.intent, variant.family)
        for sentence in robustness.worst
        for variant in sentence.failed
        if variant.intent_failed
    )
