"""The nearest training sentences of misclassified sentences, which often explain the error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.project.nlu_data import Example

NEIGHBOURS: Final = 3
"""How many are shown for a wrong sentence."""

Neighbours = tuple[tuple[int, float], ...]
"""Indexes into the project's examples, and similarities (0 to 1), the nearest first."""


def find_neighbours(
    examples: Sequence[Example], wrong: Mapping[int, str], may_be: Callable[[int, int], bool]
) -> dict[int, Neighbours]:
    """Return the neighbours of wrong sentences by their key, by the cosine similarity of word and character n-grams.

    The comparison does not depend on the engine: one index serves all folds. Of equal sentences the one is named whose
    intent sorts first.

    Args:
        examples: the project's training examples.
        wrong: the wrong sentences by a key of the caller's choice.
        may_be: whether the engine that judged ``key`` was trained on the example with this index.
    """
    if not wrong or not examples:
        return {}
    from turncheck.engines.embedded.nlu.neighbours import TrainingSentences  # imports numpy

    place: dict[str, list[int]] = {}
    for index, example in sorted(enumerate(examples), key=lambda pair: pair[1].place_in_order):
        place.setdefault(example.text, []).append(index)
    sentences = TrainingSentences(tuple(place))
    found: dict[int, Neighbours] = {}
    missing = dict(wrong)
    count = 4 * NEIGHBOURS
    while missing:
        cut_off: dict[int, str] = {}
        for key, near in zip(missing, sentences.nearest(list(missing.values()), count), strict=True):
            trained = (
                (next((index for index in place[one.text] if may_be(key, index)), None), one.similarity) for one in near
            )
            found[key] = tuple((index, similarity) for index, similarity in trained if index is not None)[:NEIGHBOURS]
            if len(found[key]) < NEIGHBOURS and len(near) == count:
                cut_off[key] = missing[key]
        # These have too many neighbours in their own fold, on which their engine was not trained: ask for more.
        missing = cut_off
        count *= 8
    return found
