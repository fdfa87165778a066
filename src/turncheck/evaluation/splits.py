"""Folds for cross-validation that are stable when the data change.

Each example's fold follows from its own text and label: within a label the examples are sorted by a hash of their
text, and the sorted list is cut into ``folds`` even parts. A new sentence shifts each of the cuts by at most one
position, so it moves at most ``folds - 1`` others, and a pull request can be compared with its base by sentence.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from turncheck.report.model import UnjudgedIntent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.project.nlu_data import Example


@dataclass(frozen=True, slots=True)
class Folds:
    """``fold_of`` has, for each example, the fold that judges it; ``None`` if it is only used for training."""

    count: int
    fold_of: tuple[int | None, ...]
    unjudged: tuple[UnjudgedIntent, ...]

    def judged(self, fold: int) -> list[int]:
        """Return the indexes of the examples that this fold judges."""
        return [index for index, own in enumerate(self.fold_of) if own == fold]

    def trained(self, fold: int) -> list[int]:
        """Return the indexes of the examples that the engine of this fold is trained on."""
        return [index for index, own in enumerate(self.fold_of) if own != fold]


def stable_folds(examples: Sequence[Example], folds: int, seed: int) -> Folds:
    """Assign each example its fold.

    Labels are the full ones (``faq/hours``), as in Rasa's cross-validation; the number of a label's examples differs by
    at most one between folds. Intents with fewer examples than folds (counted without the response key, as in Rasa) are
    used for training in every fold and never judged; so are examples without an intent.
    """
    sizes = Counter(example.base_intent for example in examples if example.base_intent)
    by_label: dict[str, list[int]] = defaultdict(list)
    for index, example in enumerate(examples):
        if example.intent and example.base_intent and sizes[example.base_intent] >= folds:
            by_label[example.intent].append(index)

    fold_of: list[int | None] = [None] * len(examples)
    for label, members in by_label.items():
        key = _digest(f"{seed}:{label}")
        places = {index: (_digest(examples[index].text, key), examples[index].place_in_order) for index in members}
        ordered = sorted(members, key=places.__getitem__)
        # With few examples per label the same folds would always get the extra one: begin at another one each time.
        first = int.from_bytes(key) % folds
        for place, index in enumerate(ordered):
            fold_of[index] = (place * folds // len(ordered) + first) % folds
    unjudged = [UnjudgedIntent(intent=intent, examples=size) for intent, size in sizes.items() if size < folds]
    unjudged.sort(key=lambda entry: entry.intent)
    return Folds(folds, tuple(fold_of), tuple(unjudged))


def _digest(text: str, key: bytes = b"") -> bytes:
    """Hash a text; a lone surrogate, which only a broken file can contain, is hashed as it is."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
