"""Near-duplicates among many sentences: found all the same, and without a bucket for each sentence's own signatures."""

from __future__ import annotations

from itertools import permutations
from random import Random
from typing import TYPE_CHECKING

import pytest

from turncheck.project.nlu_data import Example
from turncheck.render.plots import Matrix, draw_matrix
from turncheck.validation.similarity import _SharedSignatures, near_duplicates, plain_words

if TYPE_CHECKING:
    from collections.abc import Sequence


def _sentences(number: int) -> list[Example]:
    """Sentences of ten intents, each with a word of its own."""
    chance = Random(1)
    words = ["".join(chance.choices("abdegiklmnoprstu", k=chance.randint(3, 8))) for _ in range(3000)]
    return [Example(f"{' '.join(chance.choices(words, k=7))} {index}", f"i{index % 10}") for index in range(number)]


@pytest.mark.slow
@pytest.mark.parametrize("number", [2_000, 10_000, 20_000])
def test_few_signatures_of_different_sentences_are_kept(number: int) -> None:
    examples = _sentences(number)
    shared = _SharedSignatures(examples)
    kept = sum(len(shared.of(plain_words(example.text))) for example in examples)
    assert kept < 0.1 * 10 * number, "each sentence has ten signatures"


@pytest.mark.slow
def test_near_duplicates_are_found_among_ten_thousand_sentences() -> None:
    examples = _sentences(10_000)
    rivals = [_changed(example) for example in examples[::500]]
    found = list(near_duplicates([*examples, *rivals]))
    assert {frozenset(one.text for one in pair) for pair in found} == {
        frozenset((example.text, rival.text)) for example, rival in zip(examples[::500], rivals, strict=True)
    }


def test_which_near_duplicates_are_named_does_not_depend_on_their_order() -> None:
    texts = (("Rasa NLu", "nlu_info"), ("rasa nlu", "enter_data"), ("rasa NLU", "enter_data"), ("Rasa nlu", "greet"))
    examples = [Example(text, intent) for text, intent in texts]
    found = [{(one.text, rival.text) for one, rival in near_duplicates(some)} for some in permutations(examples)]
    assert len(found[0]) > 1
    assert all(one == found[0] for one in found)


def _changed(example: Example) -> Example:
    words = example.text.split()
    words[0], words[1] = words[1], words[0]
    return Example(" ".join(words), "another")


def _picture(labels: Sequence[str]) -> tuple[int, int, bytes]:
    drawn = draw_matrix(Matrix.of({(label, label): 1 for label in labels}), ["Title"])
    return drawn.width, drawn.height, drawn.lines


def test_a_picture_is_the_same_in_whatever_bands_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = [f"utter_gjy_{number}" for number in range(45)]
    in_one = None
    for lines in (10_000, 512, 37):
        monkeypatch.setattr("turncheck.render.plots._BAND", lines)
        in_one = in_one or _picture(labels)
        assert _picture(labels) == in_one
