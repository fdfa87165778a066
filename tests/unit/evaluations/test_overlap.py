"""Judged sentences that were trained on: counted where they are, and said in words that are true there."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs
from nlu_fakes import WordTrainer, example_of, project_of
from report_builder import report, story
from test_evaluate_nlu import greetings_and_orders

from turncheck.evaluations.nlu.judging import cross_validate
from turncheck.evaluations.nlu.remarks import overlap_of_folds, overlap_with
from turncheck.evaluations.nlu.splits import Folds
from turncheck.render.links import Links
from turncheck.render.markdown import render_comment
from turncheck.render.phrases import overlap_remarks
from turncheck.render.wording.gates import judge


def fold_plan(*folds: int | None) -> Folds:
    return Folds(3, folds, ())


def test_a_copy_counts_where_the_engine_that_judges_the_sentence_was_trained_on_it() -> None:
    examples = [example_of("greet", text) for text in ("Hello there", "hello there!", "hi", "HI", "hey")]

    overlap = overlap_of_folds(examples, fold_plan(0, 1, 2, 2, 0))

    assert (overlap.copies, overlap.contradicted) == (frozenset({0, 1}), frozenset())


def test_a_sentence_that_was_trained_on_under_another_intent_does_not_flatter() -> None:
    """It can only be wrong on one of its sides: nobody may call its figures optimistic."""
    data = [*greetings_and_orders(), ("order", "hello dear friend 0")]

    section = cross_validate(project_of(data), WordTrainer(), folds=3).section

    assert section.on_training_sentences == 0
    assert section.under_other_intents in (0, 2)
    split = overlap_of_folds([example_of("greet", "hi"), example_of("order", "hi")], fold_plan(0, 1))
    assert (split.copies, split.contradicted) == (frozenset(), frozenset({0, 1}))


def test_what_is_trained_on_in_every_fold_counts_too_and_places_are_those_of_the_judged() -> None:
    examples = [example_of("rare", "hello"), example_of("greet", "hi"), example_of("greet", "hello")]

    overlap = overlap_of_folds(examples, fold_plan(None, 0, 1))

    assert (overlap.copies, overlap.contradicted) == (frozenset(), frozenset({1}))


def test_held_out_sentences_are_parted_by_the_intent_they_were_trained_on_with() -> None:
    trained = [example_of("greet", "Hi!"), example_of("order", "a pizza")]
    judged = [
        example_of("greet", "hi"),
        example_of("greet", "a pizza"),
        example_of("greet", "C#"),
        example_of("x", "y"),
    ]

    overlap = overlap_with(judged, trained, {"Hi!", "a pizza", "C", "y"})

    assert (overlap.copies, overlap.contradicted) == (frozenset({0, 3}), frozenset({1}))


@pytest.mark.parametrize(
    ("mode", "copies", "others", "said"),
    [
        ("held-out", 1, 0, ["1 of 3 test sentences also appears in the training data: the figures are optimistic."]),
        ("cross-validation", 0, 0, []),
        (
            "cross-validation",
            2,
            1,
            [
                (
                    "2 of 3 sentences repeat the words of another one in the same intent, which makes them easy:"
                    " the figures are a little too good."
                ),
                "1 of 3 sentences also appears in the data under another intent: no model can get all of these right.",
            ],
        ),
    ],
)
def test_which_way_the_figures_are_off_is_said_in_words_that_are_true_there(
    mode: Any, copies: int, others: int, said: list[str]
) -> None:
    section = cross_validate(project_of(greetings_and_orders()), WordTrainer(), folds=4).section
    section = structs.replace(section, mode=mode, examples=3, on_training_sentences=copies, under_other_intents=others)
    assert [remark.in_words for remark in overlap_remarks(section)] == said


@pytest.mark.parametrize(("mode", "says"), [("held-out", True), ("cross-validation", False)])
def test_copies_in_other_folds_are_no_reason_beside_those_of_a_verdict(mode: Any, *, says: bool) -> None:
    """They belong to how cross-validation measures; a test sentence that was trained on tests nothing."""
    section = cross_validate(project_of(greetings_and_orders()), WordTrainer(), folds=4).section
    section = structs.replace(section, mode=mode, folds=4 if mode == "cross-validation" else None)
    judged = structs.replace(report(stories=[story("s", "utter_a!utter_b")]), nlu=section)
    judged = structs.replace(judged, nlu=structs.replace(section, on_training_sentences=2))
    verdict = judge(judged, None, judged.settings)
    assert ("training data" in verdict.summary) == says
    assert "folds" not in verdict.summary
    comment = str(render_comment(judged, None, verdict, Links()).content)
    remark = next(overlap_remarks(judged.nlu)).in_words if judged.nlu else ""
    in_sight, _, method = comment.partition("<summary>How it was measured")
    assert (remark in in_sight, remark in method) == (says, not says)
