"""Which policy decides in Rasa 1 and 2, what they refuse to train, and what they call by other names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden

from turncheck.dialogue.rules import Prediction
from turncheck.engines.embedded.policies.rules import FORM, MAPPING, pick_older
from turncheck.engines.embedded.policies.trainer import train_ensemble
from turncheck.evaluations.core.judging import evaluate_stories
from turncheck.messages.errors import TrainingRefusedError
from turncheck.project.reader import read_project
from turncheck.validation.before_training import all_unreadable
from turncheck.validation.pipeline import validate

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.project.model import Project

DOMAIN = """
{version}
intents: [greet, bye]
actions: [utter_hi, utter_bye]
responses:
  utter_hi: [{{text: hi}}]
  utter_bye: [{{text: bye}}]
forms: {forms}
slots:
  a: {{type: text}}
"""
VERSIONS = {1: "config: {store_entities_as_slots: true}", 2: 'version: "2.0"'}


def project(
    folder: Path, major: int, policies: str, stories: str, *, forms: str = "{}", intents: str = "[greet, bye]"
) -> Project:
    (folder / "data").mkdir()
    domain = DOMAIN.format(version=VERSIONS[major], forms=forms).replace("[greet, bye]", intents)
    (folder / "domain.yml").write_text(domain, encoding="utf-8")
    (folder / "config.yml").write_text(f"pipeline: keyword\npolicies: {policies}\n", encoding="utf-8")
    (folder / "data" / "stories.md").write_text(stories, encoding="utf-8")
    read = read_project(folder)
    assert read.older is not None
    assert read.older.major == major
    return read


def test_a_form_beats_a_mapping_that_predicts_nothing() -> None:
    mapping, form = Prediction(MAPPING, {}, priority=2), Prediction(FORM, {"a_form": 1.0}, priority=5)
    assert pick_older([mapping, form]) is form
    assert pick_older([Prediction(MAPPING, {"action_a": 1.0}, priority=2), form]).policy == MAPPING


@pytest.mark.parametrize("major", [1, 2])
def test_a_trigger_without_mapping_policy_is_refused(major: int, tmp_path: Path, golden: Golden) -> None:
    intents = "[{greet: {triggers: utter_hi}}, bye]"
    read = project(tmp_path, major, "[{name: MemoizationPolicy}]", "## a\n* bye\n  - utter_bye\n", intents=intents)
    with pytest.raises(TrainingRefusedError) as refused:
        train_ensemble(read)
    golden(refused.value)


@pytest.mark.parametrize("major", [1, 2])
@pytest.mark.parametrize(
    ("intents", "unused"),
    [
        ("[{greet: {triggers: utter_hi}}, bye]", []),
        ("[{greet: {triggers: utter_hi, use_entities: []}}, bye]", []),
        ("[{greet: {use_entities: []}}, bye]", ["greet"]),
    ],
)
def test_an_intent_that_triggers_an_action_is_used(major: int, intents: str, unused: list[str], tmp_path: Path) -> None:
    policies = "[{name: MemoizationPolicy}, {name: MappingPolicy}]"
    read = project(tmp_path, major, policies, "## a\n* bye\n  - utter_bye\n", intents=intents)
    found = [one for one in validate(read).findings if one.code == "intent-unused"]
    assert [one.names[0].name for one in found] == unused


@pytest.mark.parametrize("ends", ['"null"', '"a_frm"'])
@pytest.mark.parametrize(("major", "severity"), [(1, "warning"), (2, "error")])
def test_rasa_1_trains_with_a_form_that_the_domain_lacks(major: int, severity: str, ends: str, tmp_path: Path) -> None:
    forms = "[a_form]" if major == 1 else "{a_form: {a: [{type: from_text}]}}"
    story = f'## a\n* bye\n  - a_form\n  - form{{"name": "a_form"}}\n  - form{{"name": {ends}}}\n  - utter_bye\n'
    policies = "[{name: MemoizationPolicy}, {name: FormPolicy}]"
    read = project(tmp_path, major, policies, story, forms=forms)

    found = [finding for finding in validate(read).findings if finding.code == "form-not-in-domain"]

    assert [finding.severity for finding in found] == [severity]
    train_ensemble(read)


@pytest.mark.parametrize("major", [1, 2])
def test_a_memoization_that_does_not_say_looks_back_at_five_states(major: int, tmp_path: Path) -> None:
    same = "* greet\n  - utter_hi\n" * 3
    stories = f"## a\n{same}* bye\n  - utter_bye\n\n## b\n* bye\n  - utter_bye\n{same}* bye\n  - utter_hi\n"
    read = project(tmp_path, major, "[{name: MemoizationPolicy}]", stories)
    core = evaluate_stories(train_ensemble(read), read.stories)
    last = [next(step for step in reversed(story.steps) if step.expected != "action_listen") for story in core.stories]
    assert [step.predicted for step in last] == ["action_listen", "action_listen"], "the last five states are the same"


@pytest.mark.parametrize(("major", "called"), [(1, "action_deactivate_form"), (2, "action_deactivate_loop")])
def test_deactivating_a_form_has_another_name_since_rasa_2(major: int, called: str, tmp_path: Path) -> None:
    stories = '## a\n* bye\n  - action_deactivate_form\n  - form{"name": null}\n'
    read = project(tmp_path, major, "[{name: MemoizationPolicy}]", stories)
    core = evaluate_stories(train_ensemble(read), read.stories)
    assert [story.passed for story in core.stories] == [True]
    assert called in {step.predicted for step in core.stories[0].steps}
    assert "action-not-in-domain" not in {finding.code for finding in validate(read).findings}


@pytest.mark.parametrize("name", ["ConveRTTokenizer", "HFTransformersNLP", "LanguageModelTokenizer"])
def test_components_of_their_time_are_known(name: str, tmp_path: Path) -> None:
    read = project(tmp_path, 1, "[{name: KerasPolicy}]", "## a\n* bye\n  - utter_bye\n")
    (tmp_path / "data" / "nlu.md").write_text(
        "## intent:bye\n- so long\n"
    )  # without sentences, nothing reads a pipeline
    (tmp_path / "config.yml").write_text(f"pipeline: [{{name: {name}}}]\npolicies: [{{name: KerasPolicy}}]\n")
    assert "component-unknown" not in {finding.code for finding in validate(read_project(tmp_path)).findings}
    (tmp_path / "config.yml").write_text("pipeline: [{name: ConveRTTokeniser}]\npolicies: [{name: KerasPolicy}]\n")
    assert "component-unknown" in {finding.code for finding in validate(read_project(tmp_path)).findings}
    assert read.config.pipeline


@pytest.mark.parametrize("major", [1, 2])
@pytest.mark.parametrize(("slot", "is_read"), [("[{type: text}]", False), ("{type: text}", True), ("", True)])
def test_a_slot_that_is_a_list_is_refused_by_older_versions_too(
    major: int, slot: str, is_read: bool, tmp_path: Path
) -> None:
    read = project(tmp_path, major, "[{name: MemoizationPolicy}]", "## a\n* bye\n  - utter_bye\n")
    domain = (tmp_path / "domain.yml").read_text(encoding="utf-8").replace("{type: text}", slot)
    (tmp_path / "domain.yml").write_text(domain, encoding="utf-8")
    lost = [(part, one.code) for part, one in all_unreadable(read_project(tmp_path))]
    assert lost == ([] if is_read else [("domain", "schema-violation")])
    assert read.older is not None
