"""An action server's answers, spoiled: what an assistant says and remembers after them, and its tests make of it."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tools.fuzzing.servers import Answer, answering, mutated
from tools.fuzzing.trial import PLANTED, Trial, as_json, without_network

from turncheck.commands.shell import message_lines
from turncheck.engines.action_server.server import choose_server
from turncheck.engines.embedded.engines import EmbeddedEngine
from turncheck.evaluations.e2e.case import CaseRun
from turncheck.evaluations.e2e.judging import evaluate_cases
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.project.e2e.cases import read_cases
from turncheck.project.model import Endpoint
from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


FILES = {
    "config.yml": "pipeline: []\npolicies: [{name: MemoizationPolicy}, {name: RulePolicy}]\n",
    "domain.yml": """\
intents: [go, tell, order]
entities: [city]
slots:
  city: {type: text, mappings: [{type: from_entity, entity: city}]}
  price: {type: float, min_value: 0, max_value: 9, mappings: [{type: custom}]}
  kind: {type: categorical, values: [a, b], mappings: [{type: custom}]}
  rest: {type: any, mappings: [{type: custom}]}
forms: {order_form: {required_slots: [city]}}
responses:
  utter_told: [{text: "It is {city} at {price}"}]
  utter_ask_city: [{text: "Where?"}]
actions: [action_any, validate_order_form]
""",
    "data/rules.yml": """\
rules:
- {rule: go, steps: [{intent: go}, {action: action_any}]}
- {rule: tell, steps: [{intent: tell}, {action: utter_told}]}
- {rule: order, steps: [{intent: order}, {action: order_form}, {active_loop: order_form}]}
""",
    "tests/cases.yml": """\
test_cases:
- test_case: steps
  steps:
  - user: /go
  - bot: Hello
  - slot_was_set: [city: Rome, price]
  - user: /tell
  - utter: utter_told
- test_case: form
  steps:
  - user: /order
  - user: '/tell{"city": "Bonn"}'
  - slot_was_set: [city: Bonn]
""",
}
ANSWER: dict[str, Any] = {
    "responses": [
        {
            "text": "Hello",
            "buttons": [{"title": "A", "payload": "/go"}],
            "elements": [],
            "custom": {},
            "response": None,
        },
        {"response": "utter_told", "price": 4, "buttons": [{"title": "B", "payload": "/tell"}]},
        {"custom": {"any": ["thing"]}, "attachment": {"type": "video"}, "image": "i.png"},
    ],
    "events": [
        {"event": "slot", "name": "city", "value": "Rome", "timestamp": None},
        {"event": "slot", "name": "price", "value": 3.5, "timestamp": 12.0},
        {"event": "bot", "text": "Said", "data": {"buttons": [{"title": "C"}]}, "metadata": {}},
        {"event": "action", "name": "action_any", "policy": None, "confidence": 1.0},
        {"event": "user", "text": "x", "parse_data": {"intent": {"name": "tell", "confidence": 1.0}, "entities": []}},
        {"event": "active_loop", "name": "order_form"},
        {"event": "reminder", "intent": "go", "date_time": "2030-01-01T00:00:00", "name": "r"},
        {"event": "followup", "name": "utter_told"},
        {"event": "undo"},
        {"event": "reset_slots"},
    ],
}
_JUDGED = 0.2
"""The share of trials that also run the assistant's tests, which starts threads and takes longer."""
_ENDPOINT = {
    "url": "https://me:pass@actions.test/webhook",
    "token": f"{PLANTED}.token",
    "headers": {"X-Key": f"{PLANTED}.header"},
    "basic_auth": {"username": "me", "password": f"{PLANTED}.password"},
}
_ECHO = "the-token"


def _with_token(answer: Answer) -> Answer:
    """Let the server repeat the whole token, or none of it: half a token would not be a secret."""
    return replace(answer, content=answer.content.replace(_ECHO.encode(), f"{PLANTED}.token".encode()))


def talk(engine: EmbeddedEngine, cases: Any, *, judge: bool) -> str:
    """Talk to the assistant, and run its cases if they must be judged; return what is shown."""
    shown: list[str] = []
    server = choose_server(Endpoint("action_endpoint", _ENDPOINT, Location("endpoints.yml")), {})
    calling = engine.assistant(server)
    for text in ("/go", "/order"):
        try:
            turn = calling.conversation().say(text)
        except UserError as error:
            shown.append(str(error))
            continue
        shown += [line for message in turn.responses for line in message_lines(message)]
        shown += [action.reason for action in turn.custom_actions]
        json.dumps(turn.responses).encode()
    if judge:
        shown.append(repr(evaluate_cases(calling, cases, CaseRun())))
    return "\n".join(shown)


def trials(chance: random.Random, place: Path) -> Iterator[Trial]:
    """Yield conversations in which the action server gives such answers."""
    for name, text in FILES.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(f'version: "3.1"\n{text}' if name != "config.yml" else text)
    engine = EmbeddedEngine(read_project(place), seed=0)
    cases = read_cases(place, [place / "tests" / "cases.yml"]).cases
    while True:
        seed = chance.random()

        def check(seed: float = seed) -> str:
            dice = random.Random(seed)

            def answer(_: object) -> Answer:
                picked = {key: dice.sample(items, dice.randint(0, 3)) for key, items in ANSWER.items()}
                status = dice.choices((200, 400, 500), (9, 1, 1))[0]
                document = picked if status == 200 else {"error": f"no, {_ECHO}", "action_name": "action_any"}
                return _with_token(mutated(Answer.json(document, status), document, dice))

            with without_network(), answering(answer):
                return talk(engine, cases, judge=seed < _JUDGED)

        yield Trial(check, as_json(seed=seed))
