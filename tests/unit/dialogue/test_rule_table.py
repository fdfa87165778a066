"""Looking up rules tries few of them, and finds the same ones as trying all."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from turncheck.dialogue import rules as rule_table
from turncheck.dialogue.domain import SHOULD_NOT_BE_SET
from turncheck.dialogue.rules import RuleTable
from turncheck.dialogue.states import Part, State

if TYPE_CHECKING:
    from collections.abc import Sequence


def _state(draw: random.Random, *, begins: bool, of_rule: bool) -> State:
    state = State()
    if not begins:
        action = {"action_name": draw.choice(["action_listen", "utter_a"])} if draw.random() < 0.9 else {}
        state["prev_action"] = Part(action or {"action_text": "hello"})
    if draw.random() < 0.9:
        said = {"intent": draw.choice(["greet", "bye"])} if draw.random() < 0.8 else {"text": draw.choice(["x", "y"])}
        state["user"] = Part(said | ({"entities": ("city",)} if draw.random() < 0.2 else {}))
    values: list[object] = [(1.0,), (0.0, 1.0), (1, 0)] + ([SHOULD_NOT_BE_SET] if of_rule else [])
    slots = {name: draw.choice(values) for name in "abc" if draw.random() < 0.4}
    if slots:
        state["slots"] = Part(slots)
    if draw.random() < 0.2:
        state["active_loop"] = Part({"name": draw.choice(["form_a", SHOULD_NOT_BE_SET])})
    return state


def _states(draw: random.Random, *, of_rule: bool) -> list[State]:
    begins = draw.random() < (0.3 if of_rule else 1)
    return [_state(draw, begins=begins and not n, of_rule=of_rule) for n in range(draw.randint(1, 4))]


def _key(states: Sequence[State]) -> str:
    return json.dumps(states, sort_keys=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_the_same_rules_fit_in_the_same_order_as_when_each_is_tried(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    rules = [_states(draw, of_rule=True) for _ in range(300)]
    dialogues = [_states(draw, of_rule=False) for _ in range(200)]
    outcomes = {_key(states): "utter" for states in rules}
    table = RuleTable(outcomes)
    monkeypatch.setattr(rule_table, "_FEW", len(outcomes))
    one_by_one = RuleTable(outcomes)
    expected = [list(one_by_one.matching(states)) for states in dialogues]
    monkeypatch.undo()
    assert [list(table.matching(states)) for states in dialogues] == expected
    assert any(len(keys) > 1 for keys in expected)


def test_a_rule_that_was_forgotten_fits_nothing() -> None:
    state = State({"prev_action": Part({"action_name": "action_listen"}), "user": Part({"intent": "greet"})})
    table = RuleTable({_key([state]): "utter"})
    assert list(table.matching([state])) == [_key([state])]
    table.remove(_key([state]))
    assert list(table.matching([state])) == []


def test_of_many_rules_for_values_of_a_slot_only_one_is_tried() -> None:
    rules = [
        [
            State(
                {
                    "prev_action": Part({"action_name": "action_listen"}),
                    "user": Part({"intent": "greet"}),
                    "slots": Part({"city": tuple(float(n == number) for n in range(50))}),
                }
            )
        ]
        for number in range(50)
    ]
    table = RuleTable({_key(states): "utter" for states in rules})
    assert [list(table.matching(states)) for states in rules] == [[_key(states)] for states in rules]
    assert table.tried == len(rules)
