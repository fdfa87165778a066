"""Messages that say their intent themselves, and the shape of a Rasa server's answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncheck.engines.conversation import (
    Parse,
    PredictedEntity,
    PredictedIntent,
    SelectedResponse,
    read_direct_message,
)
from turncheck.engines.embedded.nlu.engine import as_model_parse
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.messages.finding import Location
from turncheck.project.model import Domain, Entity, Intent, Project, Response, ResponseVariation

HERE = Location("domain.yml")
DOMAIN = Domain(
    intents={name: Intent(name, HERE) for name in ("order", "tell")},
    entities={name: Entity(name, HERE) for name in ("drink", "size")},
)


def test_intent_and_entities_are_read() -> None:
    parse = read_direct_message('/order{"drink": "tea", "size": [1, 2]}', DOMAIN)
    assert parse is not None
    assert parse.intent == PredictedIntent("order", 1.0)
    assert [(one.entity, one.value, one.start, one.end) for one in parse.entities] == [
        ("drink", "tea", 6, 38),
        ("size", 1, 6, 38),
        ("size", 2, 6, 38),
    ]


@pytest.mark.parametrize(("written", "confidence"), [("0.4", 0.4), ("7", 1.0), ("1.2.3", 0.0)])
def test_the_confidence_is_a_number_up_to_one(written: str, confidence: float) -> None:
    parse = read_direct_message(f"/order@{written}", DOMAIN)
    assert parse is not None
    assert parse.intent.confidence == confidence


def test_what_the_domain_does_not_know_is_plain_text_or_left_out() -> None:
    assert read_direct_message("/unknown", DOMAIN) is None
    known = read_direct_message('/order{"colour": "red", "drink": "tea"}', DOMAIN)
    assert known is not None
    assert [entity.entity for entity in known.entities] == ["drink"]
    assert read_direct_message("/unknown", Domain()) is not None
    assert read_direct_message("/restart", DOMAIN) is not None


@pytest.mark.parametrize("entities", ["{broken}", "[1]", '{"drink": }'])
def test_entities_that_are_no_json_object_are_left_out(entities: str) -> None:
    parse = read_direct_message("/order" + entities, DOMAIN)
    assert parse is None or parse.entities == ()


@pytest.mark.slow
@given(st.text())
def test_any_text_is_read_without_a_fault(text: str) -> None:
    read_direct_message("/" + text, DOMAIN)
    read_direct_message("/order{" + text + "}", DOMAIN)


def test_without_nlu_data_only_such_messages_are_understood() -> None:
    engine = EmbeddedNluTrainer().fit(Project(Path("bot"), "bot", domain=DOMAIN))
    assert engine.model_parse(["some free text", '/tell@0.4{"size": "small"}']) == [
        {"text": "some free text", "intent": {"name": None, "confidence": 0.0}, "entities": []},
        {
            "text": '/tell@0.4{"size": "small"}',
            "intent": {"name": "tell", "confidence": 0.4},
            "entities": [
                {"entity": "size", "start": 9, "end": 26, "value": "small", "extractor": "RegexMessageHandler"}
            ],
            "intent_ranking": [{"name": "tell", "confidence": 0.4}],
        },
    ]


def test_an_answer_has_the_shape_of_rasas() -> None:
    parse = Parse(
        text="opening hours in Rome",
        intent=PredictedIntent("faq", 0.9),
        ranking=(PredictedIntent("faq", 0.9), PredictedIntent("greet", 0.1)),
        entities=(
            PredictedEntity(
                17, 21, "city", "Roma", "DIETClassifier", role="of", confidence=0.8,
                extra={"confidence_role": 0.7, "processors": ["EntitySynonymMapper"]},
            ),
        ),
        responses={"faq": SelectedResponse("faq", "faq/hours", 0.6, (PredictedIntent("faq/hours", 0.6),))},
        tokens=((0, 7), (8, 13), (14, 16), (17, 21)),
    )  # fmt: skip
    said = Response("utter_faq/hours", (ResponseVariation({"text": "from nine to five"}, HERE),), HERE)
    answer = as_model_parse(parse, {said.name: said}, ("chitchat", "faq"))
    assert json.loads(json.dumps(answer)) == answer
    assert answer["intent"] == {"name": "faq", "confidence": 0.9, "full_retrieval_intent_name": "faq/hours"}
    assert answer["intent_ranking"][1] == {"name": "greet", "confidence": 0.1}
    assert answer["text_tokens"][0] == [0, 7]
    assert answer["entities"] == [
        {
            "entity": "city", "start": 17, "end": 21, "confidence_entity": 0.8, "role": "of", "confidence_role": 0.7,
            "value": "Roma", "extractor": "DIETClassifier", "processors": ["EntitySynonymMapper"],
        }
    ]  # fmt: skip
    assert answer["response_selector"] == {
        "all_retrieval_intents": ["chitchat", "faq"],
        "faq": {
            "response": {
                "responses": [{"text": "from nine to five"}],
                "confidence": 0.6,
                "intent_response_key": "faq/hours",
                "utter_action": "utter_faq/hours",
            },
            "ranking": [{"confidence": 0.6, "intent_response_key": "faq/hours"}],
        },
    }
