"""Conversations with the embedded engine against those recorded with real Rasa 3.6.21: turn by turn, event by event."""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from action_servers import action_server

from turncheck.dialogue.event_reading import from_json
from turncheck.engines.action_server.server import ActionEndpoint, HttpActionServer, NoActionServer
from turncheck.engines.embedded.engines import EmbeddedEngine
from turncheck.project.nlu_data import NluData
from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from turncheck.engines.conversation import Turn
    from turncheck.engines.embedded.conversation import EmbeddedConversations

OWN = Path(__file__).parents[1] / "oracle" / "conversations"
PUBLIC = Path(__file__).parents[3] / "shared" / "oracle" / "conversations"
"""Recorded with bots of RasaHQ, which are no part of this repository."""

OWN_CASES = sorted(path.parent.name for path in OWN.glob("*/conversations.json"))
PUBLIC_CASES = ("concertbot_official", "formbot_official_migrated", "init_bot_with_nlu", "reminderbot_official")

Json = dict[str, Any]


@pytest.mark.parametrize("case", OWN_CASES)
def test_every_recorded_conversation_is_had_again(case: str, tmp_path: Path) -> None:
    hold_case(OWN / case, tmp_path)


@pytest.mark.parametrize("case", PUBLIC_CASES)
def test_every_conversation_with_a_bot_of_rasahq_is_had_again(case: str, tmp_path: Path) -> None:
    if not (PUBLIC / case).is_dir():
        pytest.skip("bots of RasaHQ are read from ../shared, which is not there")
    hold_case(PUBLIC / case, tmp_path)


def hold_case(case: Path, folder: Path) -> None:
    recorded = json.loads((case / "conversations.json").read_text())
    root = folder / "project"
    shutil.copytree(case / "project", root)
    project = read_project(root)
    if recorded["train"]["command"] != "rasa train":
        project = replace(project, nlu=NluData())
    with server_of(root) as webhook:
        server = HttpActionServer(ActionEndpoint(webhook)) if webhook else NoActionServer()
        engine = EmbeddedEngine(project, seed=0).assistant(server)
        for conversation in recorded["conversations"]:
            hold(engine, conversation)


def server_of(root: Path) -> AbstractContextManager[str | None]:
    return action_server(root) if (root / "actions").is_dir() else nullcontext()


def hold(engine: EmbeddedConversations, recorded: Json) -> None:
    name = recorded["name"]
    fixtures = recorded.get("fixtures", {})
    before = fixtures.get("events_before", [])
    user_events = [event for event in recorded["events"][len(before) :] if event["event"] == "user"]
    conversation = engine.conversation(
        channel="collector",
        input_channel=user_events[0]["input_channel"],
        fixtures=fixtures.get("slots"),
        sender_id=f"user-{hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()[:8]}",
        history=[from_json(shape) for shape in before],
    )
    # With fixtures the session was opened first, and nobody noted down what was said then.
    opening = conversation.open().events if "slots" in fixtures else ()
    turns = [conversation.say(message) for message in recorded["input"]]
    assert [shown(turn) for turn in turns] == [
        {key: turn[key] for key in ("user", "responses", "slots_set", "active_loop")} for turn in recorded["turns"]
    ], name
    assert [len(turn.events) for turn in turns] == [turn["n_events"] for turn in recorded["turns"]], name
    events = [comparable(event) for event in (*opening, *(event for turn in turns for event in turn.events))]
    assert events == [comparable(event) for event in recorded["events"][len(before) :]], name
    assert dict(turns[-1].slots) == recorded["slots_at_end"], name
    assert conversation.tracker.latest_action_name == recorded["latest_action_name"], name
    assert conversation.tracker.paused == recorded["paused"], name


def shown(turn: Turn) -> Json:
    return {
        "user": turn.user,
        "responses": list(turn.responses),
        "slots_set": {name: value for name, value in turn.slots.items() if value is not None},
        "active_loop": turn.active_loop,
    }


def comparable(event: Mapping[str, Any]) -> Json:
    """Leave out when a reminder is due: that depends on the day."""
    return {key: value for key, value in event.items() if key != "date_time"}
