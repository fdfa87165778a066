"""Training sentences that this change moved to another intent, or copied or nearly copied to another one.

Two intents that share sentences confuse each other, whether or not a held-out sentence shows it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from turncheck.comparison.explanations import words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.comparison.changes import TrainingChange
    from turncheck.comparison.explanations import TrainingDifference
    from turncheck.comparison.model import Renamed
    from turncheck.report.model import TrainingSentence

_NEARLY: Final = 0.75
"""Two sentences are nearly the same if the Jaccard index of their words is at least this."""
_COMMON_WORD: Final = 200
"""A word that occurs in more sentences than this says nothing about any one of them."""


def relabelled(
    difference: TrainingDifference, training: Sequence[TrainingSentence], renamed: Iterable[Renamed] = ()
) -> tuple[TrainingChange, ...]:
    """Return the sentences of this change that now belong to another intent, or to two; moved ones first.

    Args:
        difference: what the change did to the training sentences.
        training: all training sentences of this side, by the index used in ``difference``.
        renamed: items that were renamed: the sentences of such an intent have not moved.
    """
    same = {(one.old, one.new) for one in renamed if one.kind == "intents"}
    relabels = [change for change in difference.changed.values() if change.change == "relabelled"]
    moved = [one for one in relabels if ((one.was or "").partition("/")[0], one.intent.partition("/")[0]) not in same]
    added = {index: change for index, change in difference.changed.items() if change.change == "added"}
    words = [words_of(sentence.text) for sentence in training] if added else []
    by_word: dict[str, list[int]] = defaultdict(list)
    for index, of_one in enumerate(words):
        if index not in difference.changed:
            for word in sorted(of_one):
                by_word[word].append(index)
    copied = []
    for index, change in added.items():
        near = Counter(
            other for word in words[index] if len(found := by_word.get(word, ())) <= _COMMON_WORD for other in found
        )
        likest = [
            (common / len(words[index] | words[other]), other)
            for other, common in near.items()
            if training[other].intent != change.intent
        ]
        share, other = max(likest, key=lambda one: (one[0], -one[1]), default=(0.0, 0))
        if share >= _NEARLY:
            copied.append(replace(change, change="copied", was=training[other].intent, similarity=round(share, 4)))
    return (*moved, *sorted(copied, key=lambda change: -change.similarity))
