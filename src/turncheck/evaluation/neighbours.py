"""The nearest training sentences of those that were judged wrong: they often say why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.project.nlu_data import Example

NEIGHBOURS: Final = 3
"""How many are shown for a wrong sentence."""

Neighbours = tuple[tuple[int, float], ...]
"""Index into the project's examples, and similarity (0 to 1), the nearest first."""


def find_neighbours(
    examples: Sequence[Example], wrong: Mapping[int, str], may_be: Callable[[int, int], bool]
) -> dict[int, Neighbours]:
    """Return the neighbours of wrong sentences by their key, near by the cosine of word and character n-grams.

    Sentences are compared as such, whatever the engine: one index serves all folds. Of equal ones the first is named.

    Args:
        examples: the project's training examples.
        wrong: the wrong sentences by a key of the caller's.
        may_be: whether the engine that judged ``key`` was trained on the example with this index.
    """
    if not wrong or not examples:
        return {}
    from turncheck.engines.embedded.nlu.neighbours import TrainingSentences  # imports numpy

    place: dict[str, list[int]] = {}
    for index, example in enumerate(examples):
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
        # These have too many neighbours in their own fold, which their engine did not know: ask for more of them.
        missing = cut_off
        count *= 8
    return found
