"""What the stand-in knows of a Kore.ai assistant: its entities by lists, regular expressions and annotations.

What cannot be known here, patterns of intents included, is not evaluated, and never counted as wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self

from turncheck.engines.embedded.nlu.crf_extractor import as_predicted
from turncheck.engines.embedded.nlu.entity_model import EntityModel
from turncheck.engines.parse import PredictedEntity
from turncheck.project.batch.model import comparable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.engines.embedded.nlu.batch import Tokens
    from turncheck.engines.embedded.nlu.intent_model import Ranking
    from turncheck.platforms.kore.model import KoreBot, KoreEntity, KoreIntent
    from turncheck.project.nlu_data import Example

EXTRACTOR: Final = "NER"
"""All entities are judged together: ``found_by`` says how each of them is found."""

BY_LIST: Final = {"found_by": "list"}
BY_PATTERN: Final = {"found_by": "regular expression"}
_MOST_WORDS: Final = 50_000
_WORD: Final = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class _Words:
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
            words = tuple(_WORD.findall(phrase.casefold()))
            if words:
                collected.setdefault(words[0], []).append((words, name, value))
        by_first = {first: tuple(sorted(found, key=lambda one: -len(one[0]))) for first, found in collected.items()}
        return cls(by_first)

    def find(self, text: str) -> Iterator[PredictedEntity]:
        """Yield the phrases in a message; of an entity's phrases that begin at the same word only the longest."""
        matches = list(_WORD.finditer(text))
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


@dataclass(frozen=True, slots=True)
class EntityFinder:
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
        found = list(self.words.find(text))
        for name, pattern in self.patterns:
            found += (
                PredictedEntity(start, end, name, text[start:end], EXTRACTOR, extra=BY_PATTERN)
                for start, end in matches(pattern, text)
            )
        if self.learnt is not None and text:
            taken = [(entity.start, entity.end) for entity in found]
            learnt = (
                as_predicted(text, one, EXTRACTOR) for one in self.learnt.find(tokens, ranking, split_by_comma=True)
            )
            found += (one for one in learnt if all(one.end <= start or end <= one.start for start, end in taken))
        return tuple(sorted(found, key=lambda one: (one.start, one.end, one.entity)))


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
