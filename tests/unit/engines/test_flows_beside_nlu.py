"""An assistant with flows and, beside them, sentences and rules: what is not for flows is judged as anywhere."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest
from small_project import write_project

from turncheck.cli import run_command_line
from turncheck.dialogue.domain import DialogueDomain
from turncheck.dialogue.events import SlotSet
from turncheck.dialogue.tracker import Tracker
from turncheck.engines.embedded.actions.base import ActionContext
from turncheck.engines.embedded.actions.registry import reset_routing
from turncheck.engines.embedded.nlu.plan import make_plan
from turncheck.engines.embedded.policies.trainer import train_ensemble
from turncheck.engines.embedded.training_key import policy_inputs
from turncheck.project.config import has_policies_beside_flows, is_of_flows, understands_intents
from turncheck.project.reader import read_project

FLOWS = "flows:\n  hours:\n    description: Opening hours.\n    steps:\n      - action: utter_greet\n"
PIPELINE = "pipeline:\n"
POLICIES = "policies:\n"


def beside_flows(folder: Path, *components: str) -> Path:
    """A project with NLU and rules that also has flows."""
    write_project(folder)
    (folder / "data" / "flows.yml").write_text(FLOWS, encoding="utf-8")
    config = (folder / "config.yml").read_text(encoding="utf-8")
    added = "".join(f"- name: {name}\n" for name in components)
    config = config.replace(PIPELINE, f"{PIPELINE}{added}").replace(POLICIES, f"{POLICIES}- name: FlowPolicy\n")
    (folder / "config.yml").write_text(config, encoding="utf-8")
    return folder


def test_intents_beside_flows_are_learnt_without_what_is_for_flows(tmp_path: Path) -> None:
    components = ("IntentBasedRouter", "NLUCommandAdapter", "SearchReadyLLMCommandGenerator")
    project = read_project(beside_flows(tmp_path, *components))
    assert project.calm
    assert understands_intents(project)
    assert has_policies_beside_flows(project)
    left_out = {one.component for one in make_plan(project.config).substitutions if one.used is None}
    assert set(components) <= left_out
    assert all(is_of_flows(one) for one in project.config.pipeline or () if one.name in components)


def test_an_assistant_of_flows_alone_learns_nothing(tmp_path: Path) -> None:
    folder = beside_flows(tmp_path, "CompactLLMCommandGenerator")
    (folder / "data" / "nlu.yml").unlink()
    assert not understands_intents(read_project(folder))


def test_policies_beside_the_one_for_flows_learn_from_stories(tmp_path: Path) -> None:
    """What they learn from has not all of the project, but knows that it has flows."""
    project = read_project(beside_flows(tmp_path, "CompactLLMCommandGenerator"))
    ensemble = train_ensemble(policy_inputs(project)[0])
    assert [one.component for one in ensemble.substitutions if one.used is None] == ["FlowPolicy"]
    assert ensemble.policies


@pytest.mark.parametrize(
    ("pipeline", "policies", "judged"),
    [
        ("[{name: WhitespaceTokenizer}, {name: DIETClassifier}]", "null", True),
        ("[{name: WhitespaceTokenizer}, {name: DIETClassifier}]", "[]", True),
        ("[{name: CompactLLMCommandGenerator}]", "null", False),
        ("[{name: NLUCommandAdapter}, {name: DIETClassifier}]", "null", False),
        ("null", "null", False),
        ("[{name: DIETClassifier}]", "[{name: FlowPolicy}]", False),
    ],
)
def test_flows_that_nothing_starts_leave_the_usual_policies(
    tmp_path: Path, pipeline: str, policies: str, *, judged: bool
) -> None:
    write_project(tmp_path)
    (tmp_path / "data" / "flows.yml").write_text(FLOWS, encoding="utf-8")
    config = f"recipe: default.v1\nlanguage: en\npipeline: {pipeline}\npolicies: {policies}\n"
    (tmp_path / "config.yml").write_text(config, encoding="utf-8")
    assert has_policies_beside_flows(read_project(tmp_path)) is judged


ROUTING = """
slots:
  route_session_to_calm: {type: bool, influence_conversation: false, mappings: [{type: custom}]}
  kept: {type: text, shared_for_coexistence: true, mappings: [{type: custom}]}
"""
RULES = """
version: "3.1"
rules:
- rule: greet
  steps:
  - intent: greet
  - action: utter_greet
  - action: action_reset_routing
"""
TOLD = """
version: "3.1"
stories:
- story: greeted
  steps:
  - user: hello there
    intent: greet
  - action: utter_greet
  - action: action_reset_routing
"""


@pytest.mark.parametrize("arguments", [["test", "core"], ["run", "--baseline", "none", "--evaluations", "core"]])
def test_rules_that_end_by_giving_the_conversation_back_are_judged(arguments: list[str], tmp_path: Path) -> None:
    folder = beside_flows(tmp_path / "bot", "IntentBasedRouter", "CompactLLMCommandGenerator")
    domain = folder / "domain.yml"
    domain.write_text(domain.read_text("utf-8").replace("\nslots:\n", ROUTING, 1), encoding="utf-8")
    (folder / "data" / "stories.yml").unlink()
    (folder / "data" / "rules.yml").write_text(RULES, encoding="utf-8")
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests" / "test_stories.yml").write_text(TOLD, encoding="utf-8")
    project, out = ["--project", str(folder)], ["--out", str(tmp_path / "out")]
    assert run_command_line([*arguments, *project, *out]) == 0


def test_slots_are_as_at_first_but_for_those_that_both_share(tmp_path: Path) -> None:
    folder = beside_flows(tmp_path)
    domain = folder / "domain.yml"
    domain.write_text(domain.read_text("utf-8").replace("\nslots:\n", ROUTING, 1), encoding="utf-8")
    spoken = DialogueDomain.of(read_project(folder))
    context = ActionContext(domain=spoken, responses=Mock(), custom=Mock())  # it says and runs nothing
    events = reset_routing(context, Tracker(spoken))
    assert {event.name: event.value for event in events if isinstance(event, SlotSet)} == {
        "route_session_to_calm": None,
        "size": None,
    }
