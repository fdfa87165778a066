"""Judging test stories: what is asked, and what is listed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dialogues import DIALOGUE, DOMAIN, HERE, story
from golden_texts import Golden
from msgspec.structs import replace
from nlu_fakes import ScriptedEngine

from turncheck.dialogue.domain import DialogueDomain
from turncheck.engines.conversation import Decision, Parse, PredictedEntity, PredictedIntent, SelectedResponse
from turncheck.evaluations.core.judging import evaluate_stories
from turncheck.messages.finding import Location
from turncheck.project.model import Action, Component, Project, Response, ResponseVariation, StoryEntity, UserStep
from turncheck.project.nlu_data import EntityAnnotation, Example, NluData
from turncheck.report.model import StoriesAsWritten
from turncheck.validation.learnable import Learnable, learnable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.dialogue.tracker import Tracker


class Counting:
    """Policies that always greet, and count how often they are asked."""

    def __init__(self) -> None:
        self.asked = 0

    @property
    def domain(self) -> DialogueDomain:
        return DIALOGUE

    def next(self, tracker: Tracker) -> Decision:
        self.asked += 1
        action = "action_listen" if tracker.latest_action_name == "utter_hi" else "utter_hi"
        return Decision(action, "Counting", 1.0)


def test_stories_that_are_the_same_are_asked_about_once_and_listed_each() -> None:
    policies = Counting()
    core = evaluate_stories(policies, [story("one", "greet", "utter_hi"), story("two", "ask", "utter_answer")])
    assert policies.asked == 4
    again = Counting()
    copies = [story(name, "greet", "utter_hi") for name in ("one", "same", "same again")]
    more = evaluate_stories(again, [*copies, story("two", "ask", "utter_answer")])
    assert again.asked == 4
    assert [(one.name, one.passed, one.duplicate) for one in more.stories] == [
        ("one", True, False),
        ("two", False, False),
        ("same", True, True),
        ("same again", True, True),
    ]
    assert more.report == core.report
    assert [step.predicted for step in more.stories[2].steps] == ["utter_hi", "action_listen"]


# --- misunderstood sentences ------------------------------------------------------------------------------------------


class ByIntent:
    """Policies that answer each intent with its own action, then listen; they count how often they are asked."""

    def __init__(self, answers: Mapping[str, str], domain: DialogueDomain = DIALOGUE) -> None:
        self.answers = answers
        self.domain = domain
        self.asked = 0

    def next(self, tracker: Tracker) -> Decision:
        self.asked += 1
        if tracker.latest_action_name != "action_listen":
            return Decision("action_listen", "ByIntent", 1.0)
        intent = tracker.situation.latest_message.intent_name
        return Decision(self.answers.get(intent or "", "action_default_fallback"), "ByIntent", 1.0)


ANSWERS = {"greet": "utter_hi", "ask": "utter_answer", "bye": "utter_bye", "inform": "utter_other"}


def said(text: str, intent: str | None, *entities: StoryEntity, line: int = 7) -> UserStep:
    return UserStep(intent, Location("tests/test_stories.yml", line), text, entities)


def taken_for(text: str, intent: str, confidence: float = 0.8, *entities: PredictedEntity, **more: object) -> Parse:
    return Parse(text, PredictedIntent(intent, confidence), entities=entities, **more)  # type: ignore[arg-type]


def test_a_story_that_fails_by_a_sentence_alone_is_misunderstood_and_names_who_drew_it_away() -> None:
    policies = ByIntent(ANSWERS)
    training = [
        Example("hi there", "greet"),
        Example("hi and bye", "bye"),
        Example("something else", "bye"),
    ]
    core = evaluate_stories(
        policies,
        [
            story("flips", said("hi", "greet"), "utter_hi", said("bye", "bye"), "utter_bye"),
            story("fails by itself", said("bye", "bye"), "utter_hi"),
            story("fails both ways", said("hi", "greet"), "utter_answer"),
            story("right", said("bye", "bye"), "utter_bye"),
        ],
        nlu=ScriptedEngine({"hi": taken_for("hi", "bye", 0.6), "bye": taken_for("bye", "bye")}),
        end_to_end=True,
        training=training,
    )

    assert {one.name: (one.passed, one.as_written, one.outcome, len(one.misunderstood)) for one in core.stories} == {
        "flips": (False, True, "misunderstood", 1),
        "fails by itself": (False, False, "failed", 0),
        "fails both ways": (False, False, "failed", 1),
        "right": (True, True, "passed", 0),
    }
    assert core.as_written == StoriesAsWritten(passed=2, failed=2)
    sentence = core.stories[0].misunderstood[0]
    assert (sentence.text, sentence.location.line) == ("hi", 7)
    assert (sentence.expected.intent, sentence.predicted.intent, sentence.predicted.confidence) == ("greet", "bye", 0.6)
    assert [near.text for near in sentence.neighbours] == ["hi and bye"], "of those of the intent it was taken for"


def test_only_stories_with_a_misunderstood_sentence_are_judged_again() -> None:
    right = story("right", said("bye", "bye"), "utter_bye")
    wrong = story("wrong", said("bye", "bye"), "utter_hi")
    flips = story("flips", said("hi", "greet"), "utter_hi")
    nlu = ScriptedEngine({"hi": taken_for("hi", "bye"), "bye": taken_for("bye", "bye")})
    asked = []
    for stories in ([right, wrong], [right, wrong, flips]):
        policies = ByIntent(ANSWERS)
        evaluate_stories(policies, stories, nlu=nlu, end_to_end=True)
        asked.append(policies.asked)
    assert asked == [4, 8], "two actions a story; those of the one that flips are judged twice"


def test_an_entity_that_is_not_found_is_a_misunderstanding() -> None:
    there = StoryEntity("city", "Rome", start=3, end=7)
    found = PredictedEntity(3, 7, "city", "Rome", "CRFEntityExtractor")
    lost = story("lost", said("to Rome", "inform", there), "utter_other")
    training = [
        Example("to Oslo", "inform", (EntityAnnotation(3, 7, "city", "Oslo"),)),
        Example("Rome is fine to me", "ask"),
        Example("Rome", "inform", (EntityAnnotation(0, 4, "city", "Rome"),)),
    ]

    def judged(*entities: PredictedEntity) -> str:
        nlu = ScriptedEngine({"to Rome": taken_for("to Rome", "inform", 0.9, *entities)})
        core = evaluate_stories(ByIntent(ANSWERS), [lost], nlu=nlu, end_to_end=True, training=training)
        near = [one.text for sentence in core.stories[0].misunderstood for one in sentence.neighbours]
        return f"{core.stories[0].outcome}: {near}"

    assert judged(found) == "passed: []"
    assert judged() == "misunderstood: ['Rome is fine to me']", "the one that teaches the word without an entity"


@pytest.mark.parametrize(
    ("known", "outcome"),
    [
        (None, "misunderstood"),
        (Learnable(frozenset({"greet", "ask"}), frozenset()), "misunderstood"),
        (Learnable(frozenset({"greet"}), frozenset()), "failed"),
    ],
)
def test_a_story_that_needs_what_nothing_teaches_is_no_noise(known: Learnable | None, outcome: str) -> None:
    nlu = ScriptedEngine({"open now": taken_for("open now", "greet")})
    tested = story("a", said("open now", "ask"), ANSWERS["ask"])
    core = evaluate_stories(ByIntent(ANSWERS), [tested], nlu=nlu, end_to_end=True, known=known)
    assert [one.outcome for one in core.stories] == [outcome]


def test_stories_as_written_are_those_that_test_core_counts_whatever_can_be_understood() -> None:
    there = StoryEntity("town", "Rome", start=3, end=7)
    nlu = ScriptedEngine({"to Rome": taken_for("to Rome", "inform", 0.9)})
    renamed = story("renamed", said("to Rome", "inform", there), "utter_other")
    stories = [renamed, story("wrong", said("to Rome", "inform"), "utter_hi")]
    taught = Learnable(frozenset({"inform"}), frozenset({"city"}))

    whole = evaluate_stories(ByIntent(ANSWERS), stories, nlu=nlu, end_to_end=True, known=taught)
    core = evaluate_stories(ByIntent(ANSWERS), stories)

    assert [(one.as_written, one.outcome) for one in whole.stories] == [(True, "failed"), (False, "failed")]
    assert whole.as_written == core.as_written == StoriesAsWritten(passed=1, failed=1)


def test_what_can_be_learnt_is_what_examples_and_pipeline_teach() -> None:
    example = Example("to Rome", "faq/city", (EntityAnnotation(3, 7, "city", "Rome"),))
    project = Project(Path(), "bot", nlu=NluData(examples=(example,)))

    def known(*names: str) -> Learnable | None:
        pipeline = tuple(Component(name, {}, Location("config.yml")) for name in names)
        return learnable(dataclasses.replace(project, config=replace(project.config, pipeline=pipeline)))

    assert known("DIETClassifier") == Learnable(frozenset({"faq", "nlu_fallback"}), frozenset({"city"}))
    assert known("KeywordIntentClassifier") == Learnable(frozenset({"faq", "nlu_fallback"}), frozenset())
    assert known("my.Classifier") is None
    assert known() is None


def test_a_sentence_without_a_written_intent_cannot_be_misunderstood() -> None:
    core = evaluate_stories(
        ByIntent({**ANSWERS, "": "utter_hi"}),
        [story("text alone", said("hi", None), "utter_hi")],
        nlu=ScriptedEngine({"hi": taken_for("hi", "greet")}),
        end_to_end=True,
    )
    assert [(one.outcome, one.misunderstood) for one in core.stories] == [("failed", ())]


def test_another_response_than_the_written_one_is_a_misunderstanding_where_one_is_selected() -> None:
    domain = DialogueDomain.from_domain(DOMAIN, retrieval_intents=["ask"])
    by_action = story("by the action", said("when", "ask"), "utter_ask/hours")
    by_intent = story("by the intent", said("when", "ask/hours"), "utter_ask/hours")

    def judged(chosen: str | None, intent: str = "ask") -> list[str]:
        responses = {} if chosen is None else {"default": SelectedResponse("default", chosen, 0.7)}
        nlu = ScriptedEngine({"when": taken_for("when", intent, responses=responses)})
        answers = {**ANSWERS, "ask": "utter_ask"}
        core = evaluate_stories(ByIntent(answers, domain), [by_action, by_intent], nlu=nlu, end_to_end=True)
        return [one.outcome for one in core.stories]

    assert judged("ask/hours") == ["passed", "passed"]
    assert judged("ask/price") == ["misunderstood", "misunderstood"]
    assert judged("ask/hours", "greet") == ["misunderstood", "misunderstood"]
    assert judged(None) == ["failed", "failed"], "nothing selects responses here, whatever is said"


def test_without_texts_both_judgements_are_one() -> None:
    core = evaluate_stories(ByIntent(ANSWERS), [story("a", "greet", "utter_hi"), story("b", "ask", "utter_hi")])
    assert [(one.as_written, one.outcome) for one in core.stories] == [(True, "passed"), (False, "failed")]
    assert core.as_written == StoriesAsWritten(passed=1, failed=1)


def test_where_nothing_understands_nothing_is_misunderstood() -> None:
    core = evaluate_stories(ByIntent(ANSWERS), [story("a", said("hi", "greet"), "utter_hi")], end_to_end=True)
    assert [(one.as_written, one.outcome, one.misunderstood) for one in core.stories] == [(False, "failed", ())]


# --- actions of which nothing is seen ---------------------------------------------------------------------------------


def test_a_right_prediction_of_an_action_that_shows_nothing_fails_where_that_counts(golden: Golden) -> None:
    told = story("hello", said("hello", "greet"), "utter_hi")
    engine = ScriptedEngine({"hello": taken_for("hello", "bye")})

    as_rasa = evaluate_stories(ByIntent(ANSWERS), [story("hello", "greet", "utter_hi")])
    seen = evaluate_stories(
        ByIntent(ANSWERS), [told], nlu=engine, end_to_end=True, shows=lambda name: name != "utter_hi"
    )

    assert [one.outcome for one in as_rasa.stories] == ["passed"]
    (result,) = seen.stories
    assert result.outcome == "failed", "the dialogue shows nothing as written either: it is not only misunderstood"
    hi, listen = (step for step in result.steps if step.kind == "action")
    assert (hi.expected, hi.passed) == ("utter_hi", False)
    golden(hi.got)
    assert (listen.expected, listen.got, listen.passed) == ("action_listen", "action_listen", True)
    assert seen.conversation_accuracy == 0.0


def test_which_actions_show_something() -> None:
    answer = ResponseVariation({"text": "hi"}, HERE)
    responses = {
        "utter_hi": Response("utter_hi", (answer,), HERE),
        "utter_empty": Response("utter_empty", (), HERE),
        "utter_faq/hours": Response("utter_faq/hours", (answer,), HERE),
    }
    actions = {name: Action(name, HERE) for name in ("action_own", "utter_listed")}
    bare = replace(DOMAIN, responses=responses, actions=actions)
    domain = DialogueDomain.from_domain(bare, retrieval_intents=["faq", "chat"], bot_texts=["utter_ly said"])

    seen = ("utter_hi", "utter_faq", "utter_faq/hours", "action_own", "action_listen", "form", "utter_ly said")
    unseen = ("utter_gone", "utter_empty", "utter_listed", "utter_faq/gone", "utter_chat", "action_gone", "gone_form")
    assert {name for name in (*seen, *unseen) if domain.shows_something(name)} == set(seen)
    generated = {name for name in unseen if domain.shows_something(name, generated=True)}
    assert generated == {"utter_empty", "utter_listed", "utter_faq/gone", "utter_chat"}
