"""Traits: each is found independently, if a sentence has most of the words of one of its training sentences."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from turncheck.engines.parse import PredictedIntent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.project.kore.model import KoreTrait

THRESHOLD: Final = 0.7
"""The share of a sentence's words, weighted by rarity, from which a trait is found."""
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class TraitFinder:
    """``phrases``: for each trait, the words of its sentences; ``weights``: for each word, by its rarity."""

    phrases: tuple[tuple[str, tuple[frozenset[str], ...]], ...]
    weights: Mapping[str, float]

    @classmethod
    def train(cls, traits: Sequence[KoreTrait], sentences: Iterable[str]) -> Self:
        """Take the sentences of the traits; ``sentences``: all others, for the rarity of words."""
        phrases = tuple(
            (trait.name, tuple(words for one in trait.examples if (words := _words(one.text)))) for trait in traits
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
            if best >= THRESHOLD:
                found.append(PredictedIntent(name, best))
        return tuple(sorted(found, key=lambda one: (-one.confidence, one.name or "")))

    def _share(self, words: frozenset[str], said: frozenset[str]) -> float:
        return sum(self.weights[word] for word in words & said) / sum(self.weights[word] for word in words)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
