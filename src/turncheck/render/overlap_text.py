"""What a reader must know where judged sentences were trained on: which way the figures are off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.comparison.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import Nlu


def overlap_remarks(nlu: Nlu) -> Iterator[str]:
    """Yield a sentence for each kind of overlap that there is."""
    copies, contradicted = nlu.on_training_sentences, nlu.under_other_intents
    folded = nlu.mode == "cross-validation"
    if copies:
        of = f"{copies:,} of {count(nlu.examples, 'sentence' if folded else 'test sentence')}"
        if folded:
            has = "has a copy" if copies == 1 else "have copies"
            yield f"{of} {has} in other folds (same words, same intent): the figures are optimistic."
        else:
            verb = "appears" if copies == 1 else "appear"
            yield f"{of} also {verb} in the training data: the figures are optimistic."
    if contradicted:
        of = f"{contradicted:,} of {count(nlu.examples, 'sentence' if folded else 'test sentence')}"
        verb = "appears" if contradicted == 1 else "appear"
        where = "in the data" if folded else "in the training data"
        yield f"{of} also {verb} {where} under another intent: no model can get all of these right."
