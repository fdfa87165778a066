"""What conversations promise beside being as Rasa's: they end, share nothing, and are the same every time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from golden_texts import Golden

from turncheck.engines.action_server.server import NoActionServer
from turncheck.engines.embedded.conversation import RUN_LIMIT
from turncheck.engines.embedded.engines import EmbeddedEngine
from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.engines.conversation import Turn
    from turncheck.engines.embedded.conversation import EmbeddedConversations

FILES = {
    "config.yml": "recipe: default.v1\nlanguage: en\npipeline: []\npolicies: [{name: RulePolicy}]\n",
    "domain.yml": """
version: "3.1"
intents: [undo, listen, vary, tell]
entities: [name]
slots:
  name: {type: text, influence_conversation: false, mappings: [{type: from_entity, entity: name}]}
responses:
  utter_vary: [{text: a}, {text: b}, {text: c}, {text: d}, {text: e}]
  utter_tell: [{text: "{name}"}]
actions: [action_undo, action_listening]
""",
    "data/rules.yml": """
version: "3.1"
rules:
- {rule: undo, steps: [{intent: undo}, {action: action_undo}]}
- {rule: listen, steps: [{intent: listen}, {action: action_listening}]}
- {rule: vary, steps: [{intent: vary}, {action: utter_vary}]}
- {rule: tell, steps: [{intent: tell}, {action: utter_tell}]}
""",
}
STUBS: dict[str, Any] = {
    "action_undo": {"events": [{"event": "undo"}]},
    "action_listening": {"events": [{"event": "action", "name": "action_listen"}]},
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedConversations:
    root: Path = tmp_path_factory.mktemp("assistant")
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return EmbeddedEngine(read_project(root), seed=0).assistant(NoActionServer())


def texts(turn: Turn) -> list[Any]:
    return [message["text"] for message in turn.responses]


def test_an_action_that_only_reverts_ends_with_the_circuit_breaker(
    engine: EmbeddedConversations, golden: Golden
) -> None:
    turn = engine.conversation(stubs=STUBS).say("/undo")
    golden(turn.stopped)
    assert len(turn.custom_actions) == 10


def test_an_action_that_says_it_listens_ends_too(engine: EmbeddedConversations, golden: Golden) -> None:
    turn = engine.conversation(stubs=STUBS).say("/listen")
    golden(turn.stopped)
    assert len(turn.custom_actions) == RUN_LIMIT


def test_variations_depend_on_seed_and_attempt_alone(engine: EmbeddedConversations) -> None:
    def talk(attempt: int) -> list[list[Any]]:
        conversation = engine.conversation(attempt=attempt)
        return [texts(conversation.say("/vary")) for _ in range(10)]

    assert talk(0) == talk(0)
    assert talk(0) != talk(1)
    assert len({text for turn in talk(0) for text in turn}) > 1


def test_conversations_share_nothing(engine: EmbeddedConversations) -> None:
    one, other = engine.conversation(), engine.conversation(fixtures={"name": "Bo"})
    one.say('/tell{"name": "Ann"}')
    assert texts(other.say("/tell")) == ["Bo"]
    assert texts(one.say("/tell")) == ["Ann"]


def test_opening_comes_first_and_once(engine: EmbeddedConversations) -> None:
    conversation = engine.conversation(fixtures={"name": "Bo"})
    opening = conversation.open({"device": "phone"})
    assert [event["event"] for event in opening.events] == [
        "slot",
        "action",
        "session_started",
        "slot",
        "action",
        "slot",
    ]
    assert opening.user is None
    assert conversation.say("/tell").events[0]["event"] == "user"


def test_the_users_words_are_given_back_as_they_were_typed(engine: EmbeddedConversations) -> None:
    turn = engine.conversation().say("  /tell ")
    assert turn.user == "  /tell "
    assert next(event["text"] for event in turn.events if event["event"] == "user") == "/tell"


def test_after_a_loop_that_is_no_form_the_message_is_lost_as_in_rasa(
    engine: EmbeddedConversations, golden: Golden
) -> None:
    stubs = {"action_undo": {"events": [{"event": "active_loop", "name": "nobodys_form"}], "responses": []}}
    conversation = engine.conversation(stubs=stubs, fixtures={"name": "Ann"})
    lost = conversation.say("/undo")
    assert (lost.events, lost.active_loop, lost.slots["name"]) == ((), None, None)
    golden(lost.stopped)
    assert texts(conversation.say("/tell")) == ["Ann"]
    again = conversation.say("/undo")
    assert (again.events, again.active_loop, again.slots["name"]) == ((), None, "Ann")
    assert texts(conversation.say("/tell")) == ["Ann"]


def test_a_users_message_that_an_action_returns_needs_what_was_understood(
    engine: EmbeddedConversations, golden: Golden
) -> None:
    event: dict[str, Any] = {"event": "user", "text": "tell"}
    turn = engine.conversation(stubs={"action_undo": {"events": [event]}}).say("/undo")
    (noted,) = turn.custom_actions
    assert noted.outcome == "failed"
    golden(noted.reason)
    event["parse_data"] = {"intent": {"name": "undo"}, "entities": []}
    turn = engine.conversation(stubs={"action_undo": {"events": [event]}}).say("/undo")
    assert [noted.outcome for noted in turn.custom_actions] == ["stubbed"]


def test_after_a_rewind_one_more_action_runs_as_in_rasa(engine: EmbeddedConversations) -> None:
    tell = {"event": "user", "text": "x", "parse_data": {"intent": {"name": "nobody_knows"}, "entities": []}}
    turn = engine.conversation(stubs={"action_undo": {"events": [tell]}}).say("/undo")
    names = [event["name"] for event in turn.events if event["event"] == "action"]
    assert names.count("action_undo") == 6
    assert names.count("action_default_fallback") == 5
