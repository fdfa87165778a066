"""The stand-in's entity tagger: sentences it has not seen, if it learnt from few and if their intents are unsure."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from turncheck.engines.embedded.nlu import entity_model
from turncheck.engines.embedded.nlu.batch import WhitespaceTokenizer
from turncheck.engines.embedded.nlu.crf import train_tagger
from turncheck.engines.embedded.nlu.crf_file import with_weights_times
from turncheck.engines.embedded.nlu.entity_model import EntityModel
from turncheck.engines.embedded.nlu.intent_model import IntentModel, likely, out_of_fold_rankings
from turncheck.project.nlu_data import EntityAnnotation, Example
from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.engines.embedded.nlu.batch import Tokens
    from turncheck.engines.embedded.nlu.crf import TaggedEntity
    from turncheck.engines.embedded.nlu.intent_model import Ranking

PIZZERIA = Path(__file__).parents[3] / "examples/pizzeria"


@cache
def folds(count: int = 4) -> list[tuple[list[tuple[Example, Ranking]], list[tuple[Example, Ranking]]]]:
    """For each fold what is learnt and what is judged: sentences with their likely intents."""
    examples = read_project(PIZZERIA).nlu.examples
    made = []
    for fold in range(count):
        kept, judged = [one for row, one in enumerate(examples) if row % count != fold], examples[fold::count]
        texts, labels = [one.text for one in kept], [str(one.intent) for one in kept]
        intents = IntentModel.train(texts, labels, seed=0)
        guessed = likely(intents.names, intents.confidences([one.text for one in judged]))
        learnt = out_of_fold_rankings(texts, labels, seed=0)
        made.append((list(zip(kept, learnt, strict=True)), list(zip(judged, guessed, strict=True))))
    return made


@cache
def found_with(
    bias: tuple[float, float] | None = None, sure: float | None = None, counts: tuple[int, ...] = (4,)
) -> tuple[int, int, int]:
    """What is found in so many folds, with these settings of the tagger instead of its own."""
    with pytest.MonkeyPatch.context() as changed:
        if bias is not None:
            changed.setattr(entity_model, "_BIAS_IN_USE", bias)
        if sure is not None:
            changed.setattr(entity_model, "_SURE", sure)
        return found_in_folds(counts)


def found_in_folds(counts: Iterable[int]) -> tuple[int, int, int]:
    """How many words are found with their type, how many are said to be in one, how many are."""
    right = said = there = 0
    for learnt, judged in (fold for count in counts for fold in folds(count)):
        model = EntityModel.train(
            [one for one, _ in learnt],
            [split(one.text) for one, _ in learnt],
            [ranking for _, ranking in learnt],
            seed=0,
        )
        assert model is not None
        for one, ranking in judged:
            tokens = split(one.text)
            found = words_of(model.find(tokens, ranking, split_by_comma=True), tokens)
            truth = words_of(one.entities, tokens)
            right, said, there = right + len(found & truth), said + len(found), there + len(truth)
    return right, said, there


def split(text: str) -> Tokens:
    return WhitespaceTokenizer(None).tokenize(text)


def words_of(entities: Iterable[EntityAnnotation | TaggedEntity], tokens: Tokens) -> set[tuple[int, str]]:
    return {
        (start, one.entity) for one in entities for start, end in tokens.spans if one.start <= start and end <= one.end
    }


@pytest.mark.slow
def test_entities_of_few_sentences_are_not_left_out_for_want_of_evidence() -> None:
    counts = (3, 4, 5, 6)  # which sentences one tagger learns from says little
    right, said, there = found_with(counts=counts)
    right_without, said_without, _ = found_with(bias=(1.0, 1.0), counts=counts)
    assert right > right_without
    assert 2 * right / (said + there) > 2 * right_without / (said_without + there) + 0.01


@pytest.mark.slow
def test_unsure_intents_are_weighed_against_each_other_to_good_effect() -> None:
    right, said, there = found_with()
    right_of_best, said_of_best, _ = found_with(sure=0.0)
    assert 2 * right / (said + there) > 2 * right_of_best / (said_of_best + there) + 0.005


@cache
def of_three_intents() -> EntityModel:
    """The same words are a film for one intent, a drink for two others."""
    examples = [
        Example(
            f"{first} {name} {last}", intent, (EntityAnnotation(len(first) + 1, len(f"{first} {name}"), entity, name),)
        )
        for name in ("blue moon", "sunrise", "white lady", "sidecar")
        for intent, entity in (("watch", "film"), ("order", "drink"), ("cancel", "drink"))
        for first, last in (("the", "please"), ("a", "now"), ("that", "thanks"))
    ]
    tokens = [split(one.text) for one in examples]
    model = EntityModel.train(examples, tokens, [[(str(one.intent), 1.0)] for one in examples], seed=0)
    assert model is not None
    return model


@pytest.mark.parametrize(
    ("ranking", "expected"),
    [
        ([("watch", 0.9), ("order", 0.06), ("cancel", 0.04)], "film"),
        ([("watch", 0.45), ("order", 0.3), ("cancel", 0.25)], "drink"),
        ([("order", 0.45), ("cancel", 0.3), ("watch", 0.25)], "drink"),
        ([("watch", 0.6), ("order", 0.2), ("cancel", 0.2)], "film"),
        ([("watch", 0.09), ("order", 0.06), ("cancel", 0.05)], "drink"),
    ],
)
def test_an_unsure_intent_does_not_decide_alone(ranking: list[tuple[str, float]], expected: str) -> None:
    tokens = split("the sunrise now")
    found = of_three_intents().find(tokens, ranking, split_by_comma=True)
    assert [(one.start, one.end, one.entity) for one in found] == [(4, 11, expected)]


def test_where_intents_disagree_the_marginal_is_lower() -> None:
    tokens = split("the sunrise now")
    model = of_three_intents()
    (agreed,) = model.marked(tokens, [("order", 0.6), ("cancel", 0.4)], split_by_comma=True)
    (disputed,) = model.marked(tokens, [("order", 0.6), ("watch", 0.4)], split_by_comma=True)
    assert agreed.entity == disputed.entity == "drink"
    assert agreed.confidence > 0.8 > disputed.confidence


def test_without_a_known_intent_entities_are_found_all_the_same() -> None:
    tokens = split("the sunrise now")
    assert [(one.start, one.end) for one in of_three_intents().find(tokens, (), split_by_comma=True)] == [(4, 11)]


def test_a_saved_tagger_finds_the_same() -> None:
    model = of_three_intents()
    copied = pickle.loads(pickle.dumps(model))
    tokens = split("the sunrise now")
    for ranking in ((), [("watch", 0.45), ("order", 0.3), ("cancel", 0.25)]):
        assert copied.find(tokens, ranking, split_by_comma=True) == model.find(tokens, ranking, split_by_comma=True)
    assert copied.bias == model.bias == 0.6


@pytest.mark.parametrize(("sentences", "bias"), [(1, 0.6), (2_000, 0.6), (10_000, 0.85), (100_000, 0.85)])
def test_the_more_sentences_the_more_a_missing_tag_needs_evidence(sentences: int, bias: float) -> None:
    assert entity_model._bias_in_use(sentences) == pytest.approx(bias)
    assert 0.6 < entity_model._bias_in_use(5_000) < 0.85


def test_a_tagger_with_multiplied_weights_finds_the_same_and_is_surer() -> None:
    sequences = [([[f"w{row % 7}"], [f"w{row % 5}"]], ("X" if row % 7 < 3 else "O", "O")) for row in range(40)]
    tagger = train_tagger(sequences, "pa", {"max_iterations": 5})
    sharp = tagger.sharpened(16.0)
    for words, _ in sequences:
        tags, marginals = tagger.best(words)
        assert sharp.best(words)[0] == tags
        if "X" in tags:
            assert min(sharp.best(words)[1]) > min(marginals)
    assert sharp.sharpened(1 / 16).content == tagger.content


def test_weights_of_what_is_not_a_model_are_not_multiplied() -> None:
    with pytest.raises(ValueError, match="CRFsuite model"):
        with_weights_times(2.0, b"")
    tagger = train_tagger([([["a"]], ("X",)), ([["b"]], ("O",))], "pa", {"max_iterations": 2})
    with pytest.raises(ValueError, match="no features"):
        with_weights_times(2.0, tagger.content.replace(b"FEAT", b"FATE"))
