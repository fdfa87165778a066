"""The stand-in for a Kore.ai assistant, trained from its export: it understands, and has no dialogues."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self

from msgspec import Struct

from turncheck import __version__
from turncheck.engines.base import Capabilities, Engine, Part
from turncheck.engines.conversation import Parse, PredictedEntity, PredictedIntent
from turncheck.engines.embedded.engines import EmbeddedEngine
from turncheck.engines.embedded.nlu.batch import NO_INTENT, Tokenizer, Tokens, WhitespaceTokenizer
from turncheck.engines.embedded.nlu.classifiers import rank
from turncheck.engines.embedded.nlu.crf import as_predicted
from turncheck.engines.embedded.nlu.engine import as_model_parse
from turncheck.engines.embedded.nlu.entity_model import EntityModel
from turncheck.engines.embedded.nlu.intent_model import LIKELY, IntentModel, Ranking, out_of_fold_rankings
from turncheck.engines.embedded.nlu.trainer import ENGINE_NAME, unique_examples
from turncheck.engines.ngrams import Neighbour, TrainingSentences
from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import count
from turncheck.platforms.kore.model import KoreBot, KoreEntity, KoreIntent, KoreTrait, bot_of
from turncheck.platforms.rows.kore import KORE
from turncheck.process.one_thread import one_thread
from turncheck.project.batch.model import comparable
from turncheck.project.story_sentences import with_story_sentences
from turncheck.report.model import ConfiguredComponent, EngineInfo, Substitution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors
    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import Example
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.trust import ConfidenceMap, Trust


# What is known here of an assistant's entities: by lists, regular expressions and annotations.

EXTRACTOR: Final = "NER"
"""All entities are judged together: ``found_by`` says how each of them is found."""

BY_LIST: Final = {"found_by": "list"}
BY_PATTERN: Final = {"found_by": "regular expression"}
_MOST_WORDS: Final = 50_000
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")


class _Words(Struct, frozen=True):
    """The words of all lists: by first word, the longest first, with entity and value."""

    by_first: Mapping[str, tuple[tuple[tuple[str, ...], str, str], ...]]

    @classmethod
    def of(cls, entities: Sequence[KoreEntity]) -> Self:
        collected: dict[str, list[tuple[tuple[str, ...], str, str]]] = {}
        phrases = (
            (phrase, entity.name, value)
            for entity in entities
            for value, phrases in entity.values
            for phrase in phrases
        )
        for _, (phrase, name, value) in zip(range(_MOST_WORDS), phrases, strict=False):
            words = tuple(_TOKEN.findall(phrase.casefold()))
            if words:
                collected.setdefault(words[0], []).append((words, name, value))
        by_first = {first: tuple(sorted(found, key=lambda one: -len(one[0]))) for first, found in collected.items()}
        return cls(by_first)

    def find(self, text: str) -> Iterator[PredictedEntity]:
        """Yield the phrases in a message; of an entity's phrases that begin at the same word only the longest."""
        matches = list(_TOKEN.finditer(text))
        words = [match[0].casefold() for match in matches]
        ends: dict[str, int] = {}
        for index, word in enumerate(words):
            for phrase, name, value in self.by_first.get(word, ()):
                last = index + len(phrase)
                if index >= ends.get(name, 0) and tuple(words[index:last]) == phrase:
                    ends[name] = last
                    yield PredictedEntity(
                        matches[index].start(), matches[last - 1].end(), name, value, EXTRACTOR, extra=BY_LIST
                    )


class EntityFinder(Struct, frozen=True):
    """Finds the entities that can be known here."""

    words: _Words
    patterns: tuple[tuple[str, Any], ...]
    learnt: EntityModel | None

    @property
    def is_able(self) -> bool:
        """Whether there is anything that it could find."""
        return bool(self.words.by_first or self.patterns) or self.learnt is not None

    @classmethod
    def train(
        cls,
        bot: KoreBot,
        examples: Sequence[Example],
        tokens: Sequence[Tokens],
        guessed: Sequence[Ranking],
        seed: int,
    ) -> Self:
        """Learn from the annotations of examples; ``guessed``: their intents, by models that have not seen them."""
        unknown = unknown_entities(bot)
        found_by_form = {entity.name for entity in bot.entities if entity.values or entity.pattern is not None}
        kept = [_without(example, unknown.keys() | found_by_form) for example in examples]
        learnt = None
        if any(example.entities for example in kept):
            learnt = EntityModel.train(kept, tokens, guessed, seed)
        patterns = tuple(
            (entity.name, pattern)
            for entity in bot.entities
            if entity.pattern is not None and (pattern := compiled(entity.pattern)) is not None
        )
        words = _Words.of(bot.entities)
        return cls(words, patterns, learnt)

    def find(self, text: str, tokens: Tokens, ranking: Ranking) -> tuple[PredictedEntity, ...]:
        """Find the entities of a sentence, in order; ``ranking`` are its likely intents."""
        predicted_entities = list(self.words.find(text))
        for name, pattern in self.patterns:
            predicted_entities += (
                PredictedEntity(start, end, name, text[start:end], EXTRACTOR, extra=BY_PATTERN)
                for start, end in matches(pattern, text)
            )
        if self.learnt is not None and text:
            taken = [(entity.start, entity.end) for entity in predicted_entities]
            learnt = (
                as_predicted(text, tagged_entity, EXTRACTOR)
                for tagged_entity in self.learnt.find(tokens, ranking, split_by_comma=True)
            )
            predicted_entities += (
                predicted_entity
                for predicted_entity in learnt
                if all(predicted_entity.end <= start or end <= predicted_entity.start for start, end in taken)
            )
        return tuple(sorted(predicted_entities, key=lambda one: (one.start, one.end, one.entity)))


def _without(example: Example, names: frozenset[str] | set[str]) -> Example:
    kept = tuple(entity for entity in example.entities if entity.entity not in names)
    return example if len(kept) == len(example.entities) else replace(example, entities=kept)


# Regular expressions of an export, which a pull request may have changed: matched within limits.

_LONGEST_PATTERN: Final = 1_000
_LONGEST_TEXT: Final = 3_000
"""Longer utterances are refused by the platform."""
_SECONDS: Final = 0.2
"""The time limit of an expression for one sentence; an ordinary one takes a millionth of that."""


def compiled(pattern: str) -> Any | None:
    """Return a compiled expression, ``None`` if it is not valid here.

    JavaScript's syntax is nearly Python's.
    """
    if len(pattern) > _LONGEST_PATTERN:
        return None
    import regex  # most assistants have none

    try:
        return regex.compile(pattern)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError):
        return None


def matches(pattern: Any, text: str) -> Iterator[tuple[int, int]]:
    """Yield where an expression matches, within the time limit; empty matches are skipped."""
    if len(text) > _LONGEST_TEXT:
        return
    try:
        for match in pattern.finditer(text, timeout=_SECONDS):
            if match[0]:
                yield match.span()
    except TimeoutError:
        return


_FREE_TEXT: Final = frozenset({"label", "string", "none", "description", "custom"})
"""Types without a form of their own: they are learnt from annotations."""
_LISTS: Final = frozenset({"list_of_values", "list_of_items_lookup", "list_of_items_enumerated"})


def unknown_intents(bot: KoreBot) -> dict[str, str]:
    """Return why an intent cannot be recognised here, by each of its names, folded."""
    reasons: dict[str, str] = {}
    known = {comparable(intent.name) for intent in bot.intents if _why_unknown(intent) is None}
    for intent in bot.intents:
        if (reason := _why_unknown(intent)) is not None:
            for name in (intent.name, *intent.aliases):
                if comparable(name) not in known:
                    reasons.setdefault(comparable(name), reason)
    return reasons


def _why_unknown(intent: KoreIntent) -> str | None:
    if intent.examples:
        return None
    if intent.parent is not None:
        return f"'{intent.name}' follows up other small talk, which only a conversation can"
    if intent.kind == "small_talk":
        return f"only patterns lead to '{intent.name}', which the platform alone runs"
    if intent.kind == "trait":
        return f"the trait '{intent.name}' has no sentences"
    return f"'{intent.name}' has no utterances: only its name and patterns lead to it, on the platform alone"


def unknown_entities(bot: KoreBot) -> dict[str, str]:
    """Return why an entity cannot be found here, by its name."""
    annotated = {annotation.entity for example in bot.utterances for annotation in example.entities}
    reasons = {}
    for entity in bot.entities:
        if (reason := _why_not_found(entity, is_annotated=entity.name in annotated)) is not None:
            reasons[entity.name] = reason
    for entity in bot.entities:  # of two with the same name the one that can be found counts
        if reasons.get(entity.name) and _why_not_found(entity, is_annotated=entity.name in annotated) is None:
            del reasons[entity.name]
    return reasons


def _why_not_found(entity: KoreEntity, *, is_annotated: bool) -> str | None:
    if entity.pattern is not None and compiled(entity.pattern) is None:
        return "its regular expression is not one that can be looked for here"
    if entity.values or entity.pattern is not None:
        return None
    if entity.type in _LISTS:
        return "its values are not in the export"
    if entity.type not in _FREE_TEXT:
        return f"the platform finds it ({entity.type.replace('_', ' ')})"
    return None if is_annotated else "no sentence has it annotated"


# The trained stand-in for a Kore.ai assistant: understands sentences in batches.

THRESHOLD: Final = 0.3
"""Below this confidence nothing is matched; the platform's default for its machine learning."""
NEAR_ENOUGH: Final = 0.4
"""A phrase with a lower similarity does not match. Of the phrases of four public assistants nine in ten have one this
near in their own FAQ; of sentences about something else one in ten has."""
MARGIN: Final = 0.05
"""A phrase must be this much nearer than the nearest utterance. In five public assistants fewer sentences of dialogs
are lost than without, and hardly one of an FAQ."""
STRANGE: Final = 0.2
"""A sentence that is no nearer than this to any other is about something else: it does not match, however sure the
classifier is, which only knows its dialogs. In three public assistants this loses one right answer in forty."""
_NEAREST: Final = 30
_RANKED: Final = 10


class KoreNluEngine(Struct, frozen=True):
    """Dialogs by a classifier, FAQs and small talk by their nearest phrase, and whichever of the two is nearer.

    ``labels``: the intent of each of ``sentences``; ``of_dialogs``: which of these the classifier learnt.
    """

    info: EngineInfo
    tokenizer: Tokenizer
    sentences: TrainingSentences
    labels: tuple[str, ...]
    of_dialogs: frozenset[str]
    dialogs: IntentModel | None
    entities: EntityFinder
    traits: TraitFinder

    @property
    def extractors(self) -> tuple[str, ...]:
        """The name by which entities are reported, if any can be found."""
        return (EXTRACTOR,) if self.entities.is_able else ()

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text."""
        if not texts:
            return []
        confidences = None if self.dialogs is None else self.dialogs.confidences(texts)
        near = self.sentences.nearest(texts, _NEAREST)
        return [
            self._parse(text, None if confidences is None else confidences[row], near[row])
            for row, text in enumerate(texts)
        ]

    def model_parse(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Understand each text, as JSON: the shape of a Rasa server's answer, and ``traits``."""
        return [
            as_model_parse(parse, {})
            | {"traits": [{"name": trait.name, "confidence": trait.confidence} for trait in parse.traits]}
            for parse in self.parse(texts)
        ]

    def neighbours(self, texts: Sequence[str], k: int = 3) -> list[tuple[Neighbour, ...]]:
        """For each text the ``k`` training sentences nearest to it."""
        return self.sentences.nearest(texts, k)

    def _parse(self, text: str, confidences: NDArray[Any] | None, near: Sequence[Neighbour]) -> Parse:
        tokens = self.tokenizer.tokenize(text)
        ranking = self._ranking(confidences, near) if text.strip() else ()
        intent = ranking[0] if ranking else NO_INTENT
        enough = THRESHOLD if intent.name in self.of_dialogs else NEAR_ENOUGH
        if intent.confidence < enough or not near or near[0].similarity < STRANGE:
            intent = NO_INTENT
        of_dialogs = [
            (predicted_intent.name, predicted_intent.confidence)
            for predicted_intent in ranking
            if predicted_intent.name in self.of_dialogs
        ]
        is_dialog = bool(of_dialogs) and of_dialogs[0][0] == ranking[0].name
        return Parse(
            text,
            intent,
            ranking,
            self.entities.find(text, tokens, of_dialogs[:LIKELY] if is_dialog else ()),
            tokens=tokens.spans,
            traits=self.traits.find(text),
        )

    def _ranking(self, confidences: NDArray[Any] | None, near: Sequence[Neighbour]) -> tuple[PredictedIntent, ...]:
        """Rank the intents: first those of the nearer side, then the others, with no higher confidence."""
        dialogs = _ranked(self.dialogs, confidences)
        nearest_dialog = 0.0
        phrases: dict[str, float] = {}
        for neighbour in near:
            label = self.labels[neighbour.index]
            if label in self.of_dialogs:
                nearest_dialog = max(nearest_dialog, neighbour.similarity)
            else:
                phrases.setdefault(label, neighbour.similarity)
        known = [PredictedIntent(name, similarity) for name, similarity in phrases.items()]
        if not known or not dialogs:
            return tuple((dialogs or known)[:_RANKED])
        sides = (known, dialogs) if known[0].confidence > nearest_dialog + MARGIN else (dialogs, known)
        best = sides[0][0]
        rest = sorted((*sides[0][1:], *sides[1]), key=lambda predicted_intent: -predicted_intent.confidence)
        capped = (PredictedIntent(intent.name, min(intent.confidence, best.confidence)) for intent in rest)
        return (best, *capped)[:_RANKED]


def _ranked(model: IntentModel | None, confidences: NDArray[Any] | None) -> list[PredictedIntent]:
    if model is None or confidences is None:
        return []
    return list(rank(model.names, confidences, _RANKED)[1])


# What replaces which of the platform's engines, and what is left out: a reader must know.

_SIMILARITY: Final = "the nearest phrase by the cosine of word and character n-grams"
_NOT_EXPORTED: Final = "the platform's model is not in the export"
_MOST_NAMED: Final = 10


def substitutions(bot: KoreBot, threshold: float, near_enough: float) -> Iterator[Substitution]:
    """Yield the substitutions for what the assistant has."""
    kinds = {intent.kind for intent in bot.intents}
    if "dialog" in kinds:
        used = "a linear model over word and character n-grams (intents), and a CRF, lists and patterns (entities)"
        yield Substitution(component="Machine Learning engine", used=used, reason=_NOT_EXPORTED)
    if "faq" in kinds:
        reason = "terms, tags and synonyms of the graph are not used here"
        yield Substitution(component="Knowledge Graph (FAQs)", used=_SIMILARITY, reason=reason)
    if "small_talk" in kinds:
        patterns = sum(intent.patterns for intent in bot.of_kind("small_talk"))
        reason = f"{count(patterns, 'pattern')} of it run only on the platform" if patterns else _NOT_EXPORTED
        yield Substitution(component="Small talk", used=_SIMILARITY, reason=reason)
    if "trait" in kinds:
        rules = f"; {count(bot.rules, 'trait rule')} of intents not applied" if bot.rules else ""
        used = "the overlap with the words of a trait's own sentences"
        yield Substitution(component="Trait engine", used=used, reason=f"{_NOT_EXPORTED}{rules}")
    if bot.patterns or bot.concepts:
        counted = ((bot.patterns, "pattern"), (bot.concepts, "concept"))
        what = [count(number, name) for number, name in counted if number]
        verb = "run" if bot.patterns + bot.concepts > 1 else "runs"
        reason = f"{' and '.join(what)} {verb} only on the platform"
        yield Substitution(component="Fundamental Meaning engine", used=None, reason=reason)
    if {"faq", "small_talk"} & kinds or "dialog" in kinds:
        used = f"the nearer of dialogs (from a confidence of {threshold:g} on) and phrases (from {near_enough:g} on)"
        reason = "scores and thresholds of the platform's engines are not reproduced"
        yield Substitution(component="Ranking and Resolver", used=used, reason=reason)
    yield from _not_found(bot)


def _not_found(bot: KoreBot) -> Iterator[Substitution]:
    by_reason: dict[str, list[str]] = {}
    for name, reason in unknown_entities(bot).items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        component = f"Recognition of {', '.join(names[:_MOST_NAMED])}{more}"
        yield Substitution(component=component, used=None, reason=f"{reason}; not evaluated")


def notes(bot: KoreBot) -> Iterator[str]:
    """Yield further remarks: which parts of the assistant are not judged."""
    for language, sentences in bot.others.items():
        yield f"Not judged: {count(len(sentences), 'sentence')} in '{language}'; --language {language} judges them."
    if bot.is_universal:
        linked = f" ({', '.join(bot.links[:_MOST_NAMED])})" if bot.links else ""
        yield f"A universal bot: the bots that it asks{linked} have exports of their own."


# Traits: each is found independently, if a sentence has most of the words of one of its training sentences.

TRAIT_THRESHOLD: Final = 0.7
"""The share of a sentence's words, weighted by rarity, from which a trait is found."""
_WORD: Final = re.compile(r"\w+")


class TraitFinder(Struct, frozen=True):
    """``phrases``: for each trait, the words of its sentences; ``weights``: for each word, by its rarity."""

    phrases: tuple[tuple[str, tuple[frozenset[str], ...]], ...]
    weights: Mapping[str, float]

    @classmethod
    def train(cls, traits: Sequence[KoreTrait], sentences: Iterable[str]) -> Self:
        """Take the sentences of the traits; ``sentences``: all others, for the rarity of words."""
        phrases = tuple(
            (trait.name, tuple(words for example in trait.examples if (words := _words(example.text))))
            for trait in traits
        )
        if not phrases:
            return cls((), {})
        documents = [*map(_words, sentences), *(words for _, of_one in phrases for words in of_one)]
        counted = Counter(word for words in documents for word in words)
        count = len(documents)
        return cls(phrases, {word: math.log((1 + count) / (1 + number)) + 1 for word, number in counted.items()})

    def find(self, text: str) -> tuple[PredictedIntent, ...]:
        """Return the traits of a sentence, the surest first; one may have several."""
        said = _words(text)
        found = []
        for name, of_one in self.phrases:
            best = max((self._share(words, said) for words in of_one), default=0.0)
            if best >= TRAIT_THRESHOLD:
                found.append(PredictedIntent(name, best))
        return tuple(
            sorted(found, key=lambda predicted_intent: (-predicted_intent.confidence, predicted_intent.name or ""))
        )

    def _share(self, words: frozenset[str], said: frozenset[str]) -> float:
        return sum(self.weights[word] for word in words & said) / sum(self.weights[word] for word in words)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


class KoreNluTrainer(Struct, frozen=True):
    """Fits engines on the examples of a Kore.ai assistant, or on some of them."""

    seed: int = 0
    vectors: SentenceVectors | None = None
    """What the classifier learns from besides n-grams, if enabled."""

    def fit(self, project: Project) -> KoreNluEngine:
        """Train on the project's examples; a project of another kind is the caller's error."""
        with one_thread("blas"):  # as EmbeddedNluTrainer does
            return self._fit(project)

    def _fit(self, project: Project) -> KoreNluEngine:
        bot = bot_of(project)
        if bot is None:
            raise ValueError("not a Kore.ai assistant")
        examples = unique_examples(project.nlu.examples)
        # Of two intents with one name the dialog comes first, and the classifier learns its sentences.
        dialog_names = {intent.name for intent in bot.of_kind("dialog")}
        dialogs = [example for example in examples if example.intent in dialog_names]
        texts, labels = [dialog.text for dialog in dialogs], [str(dialog.intent) for dialog in dialogs]
        tokenizer = WhitespaceTokenizer(None)
        model: IntentModel | None = None
        guessed: list[Ranking] = []
        if dialogs:
            model = IntentModel.train(texts, labels, self.seed, vectors=self.vectors)
            if any(dialog.entities for dialog in dialogs):  # entities are learnt with the predicted intents
                guessed += out_of_fold_rankings(texts, labels, self.seed, vectors=self.vectors)
        tokens = [tokenizer.tokenize(text) for text in texts]
        return KoreNluEngine(
            info=EngineInfo(
                name=ENGINE_NAME,
                version=__version__,
                substitutions=tuple(substitutions(bot, THRESHOLD, NEAR_ENOUGH)),
                notes=tuple(notes(bot)),
            ),
            tokenizer=tokenizer,
            sentences=TrainingSentences(tuple(example.text for example in examples)),
            labels=tuple(str(example.intent) for example in examples),
            of_dialogs=frozenset(labels),
            dialogs=model,
            entities=EntityFinder.train(bot, dialogs, tokens, guessed, self.seed),
            traits=TraitFinder.train(bot.traits, texts),
        )


@dataclass(eq=False)
class StandIn(EmbeddedEngine):
    """The embedded engine of an export: it is trained on its utterances each time, and has neither models nor a
    pipeline of its own."""

    @cached_property
    def capabilities(self) -> Capabilities:
        """It has no dialogues, and knows what the export only names."""
        bot = bot_of(self.project)
        return Capabilities(
            no_dialogue=KORE.no_dialogues,
            no_conversation=f"{KORE.no_dialogues}: --engine http talks to its webhook",
            no_mutants=KORE.no_dialogues,
            stands_in=True,
            knows_traits=True,
            unknown_intents={} if bot is None else unknown_intents(bot),
            unknown_entities={} if bot is None else unknown_entities(bot),
            bot="" if bot is None or bot.is_universal else bot.name,
        )

    def needs(self, evaluation: Evaluation, *, in_folds: bool = False) -> frozenset[str]:  # noqa: ARG002 - as its base
        """It is trained on the export alone."""
        return frozenset({"nlu"})

    def use_model(self, parts: Sequence[Part], screen: Console) -> bool:  # noqa: ARG002
        """There are no models of it.

        Raises:
            UserError: one is named.
        """
        if self.models is not None and self.models.named is not None:
            raise UserError("--model names a model of a Rasa project", hint="Omit it.")
        return False

    def train_parts(self, parts: Sequence[Part], screen: Console) -> None:  # noqa: ARG002
        """Train it now."""
        with screen.step("train", "Training"):
            _ = self.nlu

    @cached_property
    def nlu_trainer(self) -> KoreNluTrainer:
        """What trains the engines of folds."""
        from turncheck.engines.embedded.nlu.sentence_vectors import chosen_vectors  # imports NumPy

        return KoreNluTrainer(seed=self.seed, vectors=chosen_vectors(self.vectors, self.project.nlu))

    @cached_property
    def nlu(self) -> KoreNluEngine | None:
        """Language understanding, trained on the whole export; ``None`` if it has no utterances."""
        return self.nlu_trainer.fit(with_story_sentences(self.project)) if self.project.nlu.examples else None

    def tokenizer(self) -> Callable[[Sequence[str]], Sequence[tuple[tuple[int, int], ...]]] | None:
        """Return what its understanding finds: there is no tokenizer to be configured."""
        return Engine.tokenizer(self)

    @cached_property
    def _calibration(self) -> tuple[Trust | None, ConfidenceMap | None]:
        return None, None

    def _configured(self) -> tuple[ConfiguredComponent, ...] | None:
        return None
