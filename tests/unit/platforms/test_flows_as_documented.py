"""What Rasa's documentation of flows, slots, responses and patterns shows is read, and nothing of it is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turncheck.project.reader import read_project
from turncheck.validation.pipeline import validate

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = """\
recipe: default.v1
language: en
assistant_id: salon
pipeline: [{name: NLUCommandAdapter}, {name: CompactLLMCommandGenerator}]
policies: [{name: FlowPolicy}]
"""
DOMAIN = """\
version: "3.1"
intents: [hello]
entities: [person]
actions: [action_look_up, action_ask_card]
slots:
  visits: {type: float, mappings: [{type: controlled, run_action_every_turn: action_look_up}]}
  level: {type: categorical, values: [low, high], mappings: [{type: controlled, coexistence_system: CALM}]}
  card: {type: text, shared_for_coexistence: true}
  name:
    type: text
    mappings:
      - {type: from_llm, allow_nlu_correction: true}
      - {type: from_entity, entity: person, conditions: [{active_flow: greet}]}
responses:
  utter_greet:
    - condition: slots.visits > 1
      text: Welcome back, {name}.
    - text: Welcome.
      allow_interruptions: false
"""
ACTIONS = 'NAMES = "action_look_up", "action_ask_card", "level"\n'
NLU = 'version: "3.1"\nnlu:\n- intent: hello\n  examples: |\n    - hello\n    - good day\n'
STEPS = {
    "alternatives below noop": "- noop: [{if: context.names, then: END}, {else: END}]",
    "a step that only branches": "- id: check\n  next: [{if: slots.name, then: END}, {else: END}]",
    "slots as a mapping": "- set_slots:\n    level: low",
    "keys of the phone": "- collect: card\n  dtmf: {length: 6}\n  silence_timeout: {genesys: 20}",
    "upper case": "- noop: true\n  next: [{if: slots.visits > 1 AND NOT slots.name, then: END}, {else: END}]",
    "constants": "- noop: true\n  next: [{if: slots.name = empty or slots.name is not null, then: END}, {else: END}]",
    "what the frame holds": '- noop: true\n  next: [{if: "slots.{{context.collect}} is null", then: END}, {else: END}]',
    "a tool": "- call: search\n  mcp_server: hotels\n  mapping: {output: [{slot: name, value: result.content}]}",
}


def written(root: Path, steps: str) -> Path:
    """An assistant with a flow of these steps."""
    flow = "flows:\n  greet:\n    description: Greet the customer.\n    nlu_trigger:\n    - intent: hello\n    steps:\n"
    lines = [f"    {line}" for line in ("- action: utter_greet", *steps.splitlines())]
    files = {
        "config.yml": CONFIG,
        "domain.yml": DOMAIN,
        "data/nlu.yml": NLU,
        "data/flows.yml": flow + "\n".join(lines) + "\n",
        "actions/actions.py": ACTIONS,
        "endpoints.yml": "mcp_servers:\n- {name: hotels, url: http://localhost:8000, type: http}\n",
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")
    return root


def codes(root: Path) -> set[str]:
    """The codes of all that is found."""
    return {finding.code for finding in validate(read_project(root), strict=True).findings}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_what_is_documented_is_no_error(tmp_path: Path, steps: str) -> None:
    found = codes(written(tmp_path, steps))
    assert not {code for code in found if not code.endswith("-unused")}


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("active_flow: greet", "active_flow: greeting", "flow-flow-undefined"),
        ("run_action_every_turn: action_look_up", "run_action_every_turn: action_look", "flow-action-undefined"),
    ],
)
def test_what_mappings_name_has_to_be_there(tmp_path: Path, old: str, new: str, code: str) -> None:
    root = written(tmp_path, STEPS["constants"])
    (root / "domain.yml").write_text(DOMAIN.replace(old, new), encoding="utf-8")
    assert code in codes(root)


@pytest.mark.parametrize(
    "steps",
    [
        "- if: slots.size\n  then:\n  - action: utter_greet",
        "- else:\n  - action: utter_greet",
        "- id: choice\n  if: slots.size\n  next: END",
    ],
)
def test_a_condition_is_no_step_of_its_own(tmp_path: Path, steps: str) -> None:
    """Rasa refuses a step of no kind; conditions are alternatives of `next`."""
    found = codes(written(tmp_path, steps))
    assert "flow-syntax" in found
    assert "flow-key-unknown" not in found


def test_a_step_that_does_nothing_needs_a_next_one(tmp_path: Path) -> None:
    assert "flow-syntax" in codes(written(tmp_path, "- noop: true"))
