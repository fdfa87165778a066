"""The evaluation from end to end, with a small engine of the tests' own."""

from __future__ import annotations

import dataclasses

import pytest
from golden_texts import Golden
from msgspec.structs import replace
from nlu_fakes import ScriptedEngine, WordTrainer, example_of, fallen_back, project_of

from turncheck.engines.conversation import Parse, PredictedEntity, PredictedIntent, SelectedResponse
from turncheck.evaluations.nlu.judging import cross_validate, evaluate_held_out, why_not_testable
from turncheck.messages.finding import Location
from turncheck.project.model import Component, Config
from turncheck.project.nlu_data import Example, NluData
from turncheck.report.model import Nlu
from turncheck.work.workplace import Local

NOWHERE = Location("")


def greetings_and_orders(count: int = 12) -> list[tuple[str, str]]:
    greetings = [("greet", f"hello dear friend {number}") for number in range(count)]
    orders = [("order", f"bring me [pizza] number {number} please") for number in range(count)]
    return greetings + orders


def test_cross_validation_judges_every_sentence_once_by_an_engine_that_did_not_see_it() -> None:
    nlu = cross_validate(project_of(greetings_and_orders()), WordTrainer(), folds=4).section
    assert (nlu.mode, nlu.folds, nlu.examples) == ("cross-validation", 4, 24)
    assert [prediction.text for prediction in nlu.predictions][:2] == ["hello dear friend 0", "hello dear friend 1"]
    assert nlu.on_training_sentences == 0
    assert nlu.intents is not None
    assert nlu.intents.accuracy == 1.0
    assert nlu.intents.folds["f1"].mean == 1.0
    assert nlu.entities["WordExtractor"].f1 == 1.0
    spans = nlu.entities["WordExtractor"].spans
    assert spans is not None
    assert spans.f1 == 1.0


def test_a_message_that_says_its_intent_itself_has_no_tokens_to_score() -> None:
    texts = {"greet you": 0, '/inform{"city": "Bonn"}': 7}
    answers = {
        text: Parse(
            text,
            PredictedIntent("inform", 1.0),
            entities=(PredictedEntity(start, len(text), "city", "Bonn", "RegexMessageHandler"),) if start else (),
        )
        for text, start in texts.items()
    }
    annotated = example_of("inform", "in [Bonn]")
    answers["in Bonn"] = Parse("in Bonn", PredictedIntent("inform", 1.0))
    engine = ScriptedEngine(answers, ("CRFEntityExtractor",))
    test_data = NluData(
        examples=(*(dataclasses.replace(annotated, text=text, entities=()) for text in texts), annotated)
    )
    nlu = evaluate_held_out(project_of(greetings_and_orders()), engine, test_data).section
    assert {name: scores.tokens for name, scores in nlu.entities.items()} == {
        "CRFEntityExtractor": 4,
        "RegexMessageHandler": 4,
    }


def test_the_result_does_not_depend_on_the_number_of_workers() -> None:
    project = project_of(greetings_and_orders())
    one = cross_validate(project, WordTrainer(), folds=3).section
    assert one == cross_validate(project, WordTrainer(), folds=3, work=Local(2)).section


def test_progress_counts_the_engines() -> None:
    seen: list[tuple[int, int]] = []
    cross_validate(project_of(greetings_and_orders()), WordTrainer(), folds=3, progress=lambda *at: seen.append(at))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_an_intent_with_too_few_examples_trains_but_is_never_judged() -> None:
    nlu = cross_validate(
        project_of([*greetings_and_orders(), ("rare", "quite another thing")]), WordTrainer(), folds=4
    ).section
    assert [(entry.intent, entry.examples) for entry in nlu.unjudged] == [("rare", 1)]
    assert nlu.examples == 24
    assert len(nlu.training) == 25


def test_wrong_sentences_have_neighbours_among_the_sentences_their_engine_was_trained_on() -> None:
    odd = ("order", "hello dear friend and waiter")
    project = project_of([*greetings_and_orders(), odd])
    nlu = cross_validate(project, WordTrainer(), folds=4).section
    wrong = [prediction for prediction in nlu.predictions if not prediction.correct]
    assert [prediction.text for prediction in wrong] == [odd[1]]
    near = [nlu.training[neighbour.training] for neighbour in wrong[0].neighbours]
    assert len(near) == 3
    assert all(sentence.text.startswith("hello") and sentence.text != odd[1] for sentence in near)
    assert all(not prediction.neighbours for prediction in nlu.predictions if prediction.correct)


def test_held_out_sentences_that_were_trained_on_are_counted() -> None:
    project = project_of(greetings_and_orders())
    test_data = NluData((example_of("greet", "hello dear friend 0"), example_of("order", "bring me something")))
    nlu = evaluate_held_out(project, WordTrainer().fit(project), test_data).section
    assert (nlu.mode, nlu.folds, nlu.on_training_sentences) == ("held-out", None, 1)
    assert nlu.insights.mislabelled == ()


def held_out(examples: list[Example], *parses: Parse, config: Config | None = None) -> Nlu:
    project = dataclasses.replace(project_of([]), config=config or Config())
    engine = ScriptedEngine({parse.text: parse for parse in parses}, ("A",))
    return evaluate_held_out(project, engine, NluData(tuple(examples))).section


def parse_of(text: str, *ranking: tuple[str, float]) -> Parse:
    intents = tuple(PredictedIntent(*entry) for entry in ranking)
    return Parse(text, intents[0], intents)


def test_intents_are_judged_before_the_fallback_and_understood_after_it() -> None:
    unsure = fallen_back(parse_of("hm", ("greet", 0.25), ("bye", 0.2)), 0.3)
    config = Config(pipeline=(Component("FallbackClassifier", {"threshold": 0.3}, NOWHERE),))
    nlu = held_out(
        [Example("hm", "greet"), Example("see you", "bye")], unsure, parse_of("see you", ("bye", 0.9)), config=config
    )
    first = nlu.predictions[0]
    assert (first.predicted.intent, first.predicted.confidence, first.predicted.fallback) == ("greet", 0.25, True)
    assert [entry.name for entry in first.predicted.ranking] == ["greet", "bye"]
    assert first.correct
    assert nlu.understood is not None
    assert (nlu.understood.right, nlu.understood.not_understood) == (1, 1)
    assert (nlu.understood.threshold, nlu.understood.ambiguity_threshold) == (0.3, 0.1)


@pytest.mark.parametrize("keys", [("pipeline",), ("language", "recipe"), ()])
def test_without_a_pipeline_a_project_of_rasa_has_the_thresholds_of_its_default_one(keys: tuple[str, ...]) -> None:
    config = Config(keys=dict.fromkeys(keys, NOWHERE))
    understood = held_out([Example("hm", "greet")], parse_of("hm", ("greet", 0.9)), config=config).understood
    assert understood is not None
    assert (understood.threshold, understood.ambiguity_threshold) == ((0.3, 0.1) if keys else (None, None))


def test_after_a_fallback_a_ranking_is_as_long_as_any_other() -> None:
    names = [("greet", 0.25), ("bye", 0.2), ("order", 0.15), ("ask", 0.1), ("stop", 0.05)]
    nlu = held_out(
        [Example("hm", "greet"), Example("hi", "greet"), Example("see you", "bye")],
        fallen_back(parse_of("hm", *names), 0.3),
        parse_of("hi", *names),
        parse_of("see you", ("bye", 0.9)),
    )
    unsure, sure, _ = (one.predicted for one in nlu.predictions)
    assert unsure.ranking == sure.ranking
    assert [entry.name for entry in sure.ranking] == ["greet", "bye", "order"]


def test_a_fallback_that_is_alone_in_the_ranking_is_the_prediction() -> None:
    alone = fallen_back(Parse("hm", PredictedIntent(None, 0.0)), 0.3)
    nlu = held_out([Example("hm", "greet"), Example("bye", "bye")], alone, parse_of("bye", ("bye", 0.9)))
    assert nlu.predictions[0].predicted.intent == "nlu_fallback"
    assert not nlu.predictions[0].correct


def test_fewer_than_two_intents_are_not_scored_and_that_is_said(golden: Golden) -> None:
    nlu = held_out([Example("hi", "greet")], parse_of("hi", ("greet", 0.9)))
    assert nlu.intents is None
    golden(*nlu.remarks)


def test_an_extractor_that_found_nothing_scores_zero_and_that_is_said(golden: Golden) -> None:
    nlu = held_out([example_of("order", "a [pizza]")], parse_of("a pizza", ("order", 0.9)))
    assert nlu.entities["A"].f1 == 0.0
    golden(*nlu.remarks)


@pytest.mark.follows(page="rasa-1", sentence="spaCy and Duckling are not evaluated.")
@pytest.mark.follows(page="rasa-3", sentence="Pretrained extractors are not evaluated.")
@pytest.mark.parametrize("name", ["DucklingEntityExtractor", "SpacyEntityExtractor"])
def test_pretrained_extractors_are_left_out_unless_asked_for(name: str) -> None:
    found = PredictedEntity(2, 7, "thing", "pizza", name)
    parse = replace(parse_of("a pizza", ("order", 0.9)), entities=(found,))
    assert name not in held_out([example_of("order", "a [pizza]")], parse).entities
    engine = ScriptedEngine({"a pizza": parse})
    data = NluData((example_of("order", "a [pizza]"),))
    with_them = evaluate_held_out(project_of([]), engine, data, pretrained=True).section
    assert with_them.entities[name].f1 == 1.0


def test_each_selector_is_scored_on_the_intents_it_answers_for() -> None:
    def selected(text: str, label: str, **chosen: str) -> Parse:
        responses = {name: SelectedResponse(name, key, 0.9) for name, key in chosen.items()}
        return replace(parse_of(text, (label.partition("/")[0], 0.9)), responses=responses)

    examples = [Example("a", "faq/hours"), Example("b", "chat/joke"), Example("c", "chat/name"), Example("d", "bye")]
    nlu = held_out(
        examples,
        selected("a", "faq/hours", default="faq/hours", chat="chat/joke"),
        selected("b", "chat/joke", default="faq/hours", chat="chat/joke"),
        selected("c", "chat/name", default="faq/hours", chat="chat/joke"),
        selected("d", "bye", default="faq/hours", chat="chat/joke"),
    )
    assert sorted(nlu.responses) == ["chat", "default"]
    assert nlu.responses["default"].accuracy == 1.0
    assert nlu.responses["chat"].accuracy == 0.5
    assert nlu.response_selection is not None
    assert nlu.response_selection.accuracy == pytest.approx(2 / 3)


def test_insights_name_what_stands_out() -> None:
    examples = [Example("one", "a"), Example("two", "a"), Example("three", "b"), Example("four", "c")]
    nlu = held_out(
        examples,
        parse_of("one", ("b", 0.95)),
        parse_of("two", ("b", 0.6)),
        parse_of("three", ("a", 0.5)),
        parse_of("four", ("c", 0.4)),
    )
    pair = nlu.insights.confused[0]
    assert (pair.first, pair.second, pair.first_as_second, pair.second_as_first) == ("a", "b", 2, 1)
    assert pair.sentences == (0, 1, 2)
    assert nlu.insights.mislabelled == (0,)
    assert [(entry.intent, entry.missed, entry.taken) for entry in nlu.insights.harmful] == [("a", 2, 1), ("b", 1, 2)]
    assert nlu.insights.least_sure[0] == 3


@pytest.mark.parametrize(
    ("examples", "reason"),
    [
        ([], "the project has no NLU examples"),
        (
            [("greet", "hi")],
            "no intent has as many examples as there are folds (5): each has one, which cannot be judged",
        ),
        (
            [("greet", "hi"), ("greet", "hello"), ("bye", "ciao")],
            "no intent has as many examples as there are folds (5): --folds 2 would work",
        ),
    ],
)
def test_nothing_to_judge_has_a_reason(examples: list[tuple[str, str]], reason: str) -> None:
    assert why_not_testable(project_of(examples), None, folds=5) == reason
    with pytest.raises(ValueError, match="no"):
        cross_validate(project_of(examples), WordTrainer(), folds=5)


def test_an_empty_test_set_has_a_reason(golden: Golden) -> None:
    golden(why_not_testable(project_of([]), NluData(), folds=5))
