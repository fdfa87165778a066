"""Which judged sentences the engine was trained on: with the same intent they make scores optimistic, with another one
they mislead.

Two sentences are the same here if they differ at most in case, punctuation and white space: no engine distinguishes
more.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from turncheck.evaluation.splits import Folds
    from turncheck.project.nlu_data import Example

_NOT_HEARD = "PZC"
"""Unicode's categories of punctuation, separators and control characters."""
_KEPT = "#+"
"""``C#`` and ``C++`` are not ``C``."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Indexes of judged sentences that were trained on with only their own intent, and with another one."""

    copies: frozenset[int] = frozenset()
    contradicted: frozenset[int] = frozenset()

    @property
    def all(self) -> frozenset[int]:
        """All judged sentences that the engine was trained on."""
        return self.copies | self.contradicted


def overlap_of_folds(examples: Sequence[Example], plan: Folds) -> Overlap:
    """Return the overlap of a cross-validation: each fold's engine is trained on all other folds.

    The indexes count only the judged sentences, in the order of the examples.
    """
    met: dict[str, set[tuple[int | None, str | None]]] = defaultdict(set)
    for fold, example in zip(plan.fold_of, examples, strict=True):
        met[as_heard(example.text)].add((fold, example.base_intent))
    judged = [(example, fold) for example, fold in zip(examples, plan.fold_of, strict=True) if fold is not None]
    return _sorted(
        [
            (example, {intent for other, intent in met[as_heard(example.text)] if other != fold})
            for example, fold in judged
        ]
    )


def overlap_with(examples: Sequence[Example], trained: Sequence[Example], texts: Collection[str]) -> Overlap:
    """Return the overlap of held-out sentences.

    Args:
        examples: the judged sentences.
        trained: the sentences that the engine was trained on, as far as their intents are known.
        texts: all texts that it was trained on.
    """
    met: dict[str, set[str | None]] = defaultdict(set)
    for example in trained:
        met[as_heard(example.text)].add(example.base_intent)
    heard = {as_heard(text) for text in texts}
    return _sorted(
        [
            (example, met.get(words) or ({example.base_intent} if words in heard else set()))
            for example in examples
            for words in [as_heard(example.text)]
        ]
    )


def _sorted(met: Sequence[tuple[Example, set[str | None]]]) -> Overlap:
    copies, contradicted = set(), set()
    for place, (example, intents) in enumerate(met):
        if example.base_intent and intents - {example.base_intent}:
            contradicted.add(place)
        elif intents:
            copies.add(place)
    return Overlap(frozenset(copies), frozenset(contradicted))


def as_heard(text: str) -> str:
    """Normalise case, punctuation and white space of a sentence; return it unchanged if nothing would be left.

    >>> as_heard("Hello,  World!"), as_heard(":)")
    ('hello world', ':)')
    """
    kept = "".join(
        character if character in _KEPT or unicodedata.category(character)[0] not in _NOT_HEARD else " "
        for character in text.casefold()
    )
    return " ".join(kept.split()) or text.strip()
