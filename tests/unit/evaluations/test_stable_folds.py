"""Folds follow from text and intent: even, and still when the data change."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from turncheck.evaluations.nlu.splits import stable_folds
from turncheck.project.nlu_data import Example

SENTENCES = st.lists(
    st.tuples(st.sampled_from(["greet", "bye", "faq/hours", "faq/price", None]), st.text(max_size=6)), max_size=60
)
FOLDS = st.integers(2, 10)


def examples_of(sentences: list[tuple[str | None, str]]) -> list[Example]:
    return [Example(text, intent) for intent, text in sentences]


def placed(examples: list[Example], folds: int) -> Counter[tuple[str | None, str, int | None]]:
    plan = stable_folds(examples, folds, seed=42)
    return Counter((one.intent, one.text, fold) for one, fold in zip(examples, plan.fold_of, strict=True))


@given(SENTENCES, FOLDS)
def test_within_a_label_the_folds_are_even(sentences: list[tuple[str | None, str]], folds: int) -> None:
    examples = examples_of(sentences)
    plan = stable_folds(examples, folds, seed=42)
    for label in {example.intent for example in examples}:
        own = [fold for one, fold in zip(examples, plan.fold_of, strict=True) if one.intent == label]
        if None not in own:
            sizes = [own.count(fold) for fold in range(folds)]
            assert max(sizes) - min(sizes) <= 1


@given(SENTENCES, st.tuples(st.sampled_from(["greet", "faq/hours"]), st.text(max_size=6)), FOLDS)
def test_one_sentence_more_or_less_moves_at_most_as_many_others_as_there_are_folds(
    sentences: list[tuple[str | None, str]], new: tuple[str, str], folds: int
) -> None:
    before = examples_of(sentences)
    base = new[0].partition("/")[0]
    if sum(one.base_intent == base for one in before) < folds:
        return  # the intent becomes judged (or stops being so), which places all of its sentences
    after = [*before, Example(new[1], new[0])]
    moved = placed(before, folds) - placed(after, folds)
    assert moved.total() <= folds
    assert all(intent == new[0] for intent, _, _ in moved)


@given(SENTENCES, FOLDS, st.randoms(use_true_random=False))
def test_the_order_of_the_file_does_not_matter(
    sentences: list[tuple[str | None, str]], folds: int, random: Random
) -> None:
    shuffled = list(sentences)
    random.shuffle(shuffled)
    assert placed(examples_of(sentences), folds) == placed(examples_of(shuffled), folds)


@given(SENTENCES, FOLDS)
def test_intents_with_fewer_examples_than_folds_are_listed_and_never_judged(
    sentences: list[tuple[str | None, str]], folds: int
) -> None:
    examples = examples_of(sentences)
    plan = stable_folds(examples, folds, seed=1)
    sizes = Counter(example.base_intent for example in examples if example.base_intent)
    assert {entry.intent: entry.examples for entry in plan.unjudged} == {
        intent: size for intent, size in sizes.items() if size < folds
    }
    for example, fold in zip(examples, plan.fold_of, strict=True):
        base = example.base_intent
        assert (fold is None) == (base is None or sizes[base] < folds)


def test_every_example_is_judged_by_one_fold_and_trained_on_by_the_others() -> None:
    examples = [Example(f"sentence {number}", "greet") for number in range(23)]
    plan = stable_folds(examples, 5, seed=42)
    judged = [index for fold in range(5) for index in plan.judged(fold)]
    assert sorted(judged) == list(range(23))
    for fold in range(5):
        assert sorted(plan.judged(fold) + plan.trained(fold)) == list(range(23))


def test_another_seed_makes_other_folds() -> None:
    examples = [Example(f"sentence {number}", "greet") for number in range(50)]
    assert stable_folds(examples, 5, seed=1).fold_of != stable_folds(examples, 5, seed=2).fold_of


def test_labels_with_few_examples_do_not_all_begin_with_the_same_fold() -> None:
    examples = [
        Example(f"{word} {key}", f"faq/{key}") for key in range(40) for word in ("what is", "tell me", "explain")
    ]
    plan = stable_folds(examples, 5, seed=42)
    assert min(Counter(plan.fold_of).values()) > 10
