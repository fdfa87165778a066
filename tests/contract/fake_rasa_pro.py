"""Stands in for a server of Rasa Pro with an assistant of flows, in the shapes that Rasa's documentation gives.

These are the REST channel, the HTTP API, and the page on events (a ``user`` event has the commands that the model
predicted; ``flow_started``, ``flow_completed`` and ``flow_cancelled`` name the flow). What is answered to a message is
scripted: one or several ways, taken in turn, since a language model does not answer the same each time.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import requests
from fake_rasa import FakeRasa, bot_event

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Json = dict[str, Any]
VERSION = "3.13.0"


@dataclass
class FakeRasaPro(FakeRasa):
    """``ways``: by message, the events of each way to answer it; another message is not understood.

    ``flows``: those that its model was trained with, ``None``: all. Custom actions are run by the action server, if
    there is an address of one.
    """

    ways: Mapping[str, Sequence[Sequence[Json]]] = field(default_factory=dict)
    flows: frozenset[str] | None = None
    has_intent: bool = True
    """Whether the ``user`` event has an intent and entities: with flows alone there may be none."""
    _said: Counter[str] = field(default_factory=Counter)

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if path == "/version":
            return 200, {"version": VERSION, "minimum_compatible_version": "3.7.0"}
        return super().answer(method, path, body)

    def talk(self, body: Any) -> list[Any]:
        text = body["message"]
        ways = self.ways.get(text, [[bot_event("utter_ask_rephrase")]])
        answer = ways[self._said[text] % len(ways)]
        self._said[text] += 1
        if self.flows is not None and not self.flows.issuperset(_flows_of(answer)):
            answer = [bot_event("utter_ask_rephrase")]
        for event in answer:
            if self.action_endpoint and event["event"] == "action" and event["name"].startswith("action_"):
                call = {"sender_id": body["sender"], "next_action": event["name"], "tracker": {}}
                requests.post(self.action_endpoint, json=call, timeout=30)
        commands = [event["command"] for event in answer if event["event"] == "command"]
        new = [event for event in answer if event["event"] != "command"]
        understood: Json = {"text": text, "commands": commands}
        if self.has_intent:
            understood |= {"intent": {"name": None, "confidence": 0.0}, "entities": []}
        listen = {"event": "action", "name": "action_listen"}
        user = {"event": "user", "text": text, "parse_data": understood}
        begun = self.trackers.get(body["sender"]) or self.started()
        self.trackers[body["sender"]] = [*begun, user, *new, listen]
        return [{"recipient_id": body["sender"], "text": event["text"]} for event in new if event["event"] == "bot"]


def _flows_of(answer: Sequence[Json]) -> list[str]:
    return [event["flow_id"] for event in answer if event["event"] == "flow_started"]


def command(**what: Any) -> Json:
    """A command that the model predicted."""
    return {"event": "command", "command": what}


def started(flow: str) -> Json:
    """A flow begins."""
    return {"event": "flow_started", "flow_id": flow, "metadata": {}}


def completed(flow: str, step: str = "END") -> Json:
    """A flow ends."""
    return {"event": "flow_completed", "flow_id": flow, "step_id": step, "metadata": {}}


def cancelled(flow: str, step: str) -> Json:
    """A flow is cancelled at a step."""
    return {"event": "flow_cancelled", "flow_id": flow, "step_id": step, "metadata": {}}


def clarifies(*names: str) -> Json:
    """The user is asked which of these flows is meant: a frame is put onto the stack."""
    frame = {"frame_id": "a", "flow_id": "pattern_clarification", "step_id": "START", "names": list(names)}
    return {"event": "stack", "update": json.dumps([{"op": "add", "path": "/0", "value": frame}])}


def slot(name: str, value: Any) -> Json:
    """A slot is filled."""
    return {"event": "slot", "name": name, "value": value, "metadata": {}}


def action(name: str) -> Json:
    """An action runs."""
    return {"event": "action", "name": name, "policy": "FlowPolicy", "confidence": 1.0, "metadata": {}}


def said(response: str, text: str | None = None) -> Json:
    """The assistant says a response."""
    return {**bot_event(response), **({} if text is None else {"text": text})}
