"""A remark for when judged sentences were trained on: in which direction the figures are off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turncheck.comparison.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.comparison.model import Overlap
    from turncheck.report.model import Nlu


@dataclass(frozen=True, slots=True)
class OverlapRemark:
    """A sentence on one kind of overlap, and whether the change brought any of it."""

    in_words: str
    new: bool


def overlap_remarks(nlu: Nlu, base: Overlap | None = None) -> Iterator[OverlapRemark]:
    """Yield a sentence for each kind of overlap; without a ``base`` all of it is new."""
    copies, contradicted = nlu.on_training_sentences, nlu.under_other_intents
    more_copies = base is None or copies > base.on_training_sentences
    more_contradicted = base is None or contradicted > base.under_other_intents
    folded = nlu.mode == "cross-validation"
    if copies:
        of = f"{copies:,} of {count(nlu.examples, 'sentence' if folded else 'test sentence')}"
        if folded:
            has = "has a copy" if copies == 1 else "have copies"
            words = f"{of} {has} in other folds (same words, same intent): the figures are optimistic."
        else:
            verb = "appears" if copies == 1 else "appear"
            words = f"{of} also {verb} in the training data: the figures are optimistic."
        yield OverlapRemark(words, more_copies)
    if contradicted:
        of = f"{contradicted:,} of {count(nlu.examples, 'sentence' if folded else 'test sentence')}"
        verb = "appears" if contradicted == 1 else "appear"
        where = "in the data" if folded else "in the training data"
        words = f"{of} also {verb} {where} under another intent: no model can get all of these right."
        yield OverlapRemark(words, more_contradicted)
