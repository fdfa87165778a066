"""Policies that were saved: each of every Rasa, by each of its names, answers as the one in memory."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

import turncheck
from turncheck.cli import run_command_line
from turncheck.dialogue.training import training_trackers
from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
from turncheck.engines.embedded.policies.trainer import read_ensemble, train_ensemble, write_ensemble
from turncheck.evaluations.core.judging import evaluate_stories
from turncheck.messages.errors import EXIT_OK, TrainingRefusedError
from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from turncheck.engines.embedded.policies.trainer import Ensemble
    from turncheck.project.model import Project

ORACLE = Path(__file__).parents[2] / "oracle"
RASA_1 = ("KerasPolicy", "EmbeddingPolicy")
RASA_1_AND_2 = ("SklearnPolicy", "MappingPolicy", "FormPolicy", "FallbackPolicy", "TwoStageFallbackPolicy")
EVERY = ("MemoizationPolicy", "AugmentedMemoizationPolicy", "TEDPolicy")
SINCE_2 = ("RulePolicy",)
SINCE_3 = ("UnexpecTEDIntentPolicy",)
NAMES = [
    *((1, name) for name in (*RASA_1, *RASA_1_AND_2, *EVERY)),
    *((2, name) for name in (*RASA_1_AND_2, *EVERY, *SINCE_2)),
    *((3, name) for name in (*EVERY, *SINCE_2, *SINCE_3)),
    *((1, f"rasa.core.policies.old.{name}") for name in (*RASA_1, *RASA_1_AND_2)),
    *((1, f"rasa_core.policies.old.{name}") for name in (*RASA_1, *RASA_1_AND_2, *EVERY)),
]
HEADS = {1: "config: {store_entities_as_slots: true}", 2: 'version: "2.0"', 3: 'version: "3.1"'}
DOMAIN = """
{head}
intents: [greet, {{bye: {{triggers: utter_bye}}}}, inform, out_of_scope]
entities: [city]
actions: [utter_hi, utter_bye, utter_more]
responses:
  utter_hi: [{{text: hi}}]
  utter_bye: [{{text: bye}}]
  utter_more: [{{text: more}}]
forms: {forms}
slots:
  city: {{type: text{mappings}}}
"""
STORIES = """
stories:
- story: leave
  steps:
  - {intent: greet}
  - {action: utter_hi}
  - {intent: inform}
  - {action: utter_more}
  - {intent: inform}
  - {action: utter_hi}
- story: ask
  steps: [{intent: inform}, {action: utter_more}, {intent: greet}, {action: utter_hi}]
- story: fill
  steps:
  - intent: inform
  - action: town_form
  - active_loop: town_form
  - intent: greet
  - action: utter_hi
  - action: town_form
  - active_loop: null
"""
STORIES_OF_RASA_1 = """
## leave
* greet
  - utter_hi
* inform
  - utter_more
* inform
  - utter_hi

## ask
* inform
  - utter_more
* greet
  - utter_hi

## fill
* inform
  - town_form
  - form{"name": "town_form"}
* greet
  - utter_hi
  - town_form
  - form{"name": null}
"""
RULES = """
rules:
- rule: out
  steps: [{intent: out_of_scope}, {action: utter_more}]
"""
TESTS = """
stories:
- story: a
  steps:
  - {intent: greet}
  - {action: utter_hi}
  - {intent: inform}
  - {action: utter_more}
  - {intent: inform}
  - {action: utter_hi}
- story: b
  steps:
  - {intent: greet}
  - {action: utter_hi}
  - {intent: greet}
  - {action: utter_hi}
  - {intent: out_of_scope}
  - {action: utter_more}
- story: c
  steps: [{intent: inform}, {action: utter_more}, {intent: bye}, {action: utter_bye}]
"""


def write_assistant(folder: Path, major: int, *policies: str) -> Path:
    names = {policy.rpartition(".")[2] for policy in policies}
    forms = "{town_form: {required_slots: {city: [{type: from_text}]}}}" if major == 2 else "[town_form]"
    if major == 3:
        forms = "{town_form: {required_slots: [city]}}"
    has_form = bool(names & {"FormPolicy", "RulePolicy"})
    mappings = ", mappings: [{type: from_entity, entity: city}]" if major == 3 else ""
    domain = DOMAIN.format(head=HEADS[major], forms=forms if has_form else "{}", mappings=mappings)
    if "MappingPolicy" not in names:
        domain = domain.replace("{bye: {triggers: utter_bye}}", "bye")
    stories = STORIES_OF_RASA_1 if major == 1 else STORIES
    stories = stories if has_form else stories.partition("## fill")[0].partition("- story: fill")[0]
    files = {
        "domain.yml": domain,
        "config.yml": json.dumps(
            {
                "language": "en",
                "pipeline": [{"name": "KeywordIntentClassifier"}],
                "policies": [{"name": name} for name in policies],
            }
        ),
        "data/stories.md" if major == 1 else "data/stories.yml": stories,
        "data/nlu.md": "## intent:greet\n- hi\n- hello\n",
        "tests/test_stories.yml": TESTS,
    }
    if major == 3:
        del files["data/nlu.md"]
    if "RulePolicy" in names:
        files["data/rules.yml"] = RULES
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder


def loaded(ensemble: Ensemble) -> Ensemble:
    writer = MemberWriter()
    write_ensemble(writer, ensemble)
    return read_ensemble(MemberReader(writer.whole()))


def assert_same_answers(project: Project, ensemble: Ensemble) -> None:
    again = loaded(ensemble)
    assert [policy.name for policy in again.policies] == [policy.name for policy in ensemble.policies]
    assert [type(policy) for policy in again.policies] == [type(policy) for policy in ensemble.policies]
    assert evaluate_stories(again, project.stories) == evaluate_stories(ensemble, project.stories)
    for tracker in training_trackers(project, ensemble.domain, augmentation=0).all:
        for policy, other in zip(ensemble.policies, again.policies, strict=True):
            assert other.predict(tracker, again.rule_only) == policy.predict(tracker, ensemble.rule_only), policy.name
    assert [policy.to_json() for policy in again.policies] == [policy.to_json() for policy in ensemble.policies]


@pytest.mark.parametrize(("major", "name"), NAMES)
def test_every_policy_of_every_rasa_is_the_same_after_loading(major: int, name: str, tmp_path: Path) -> None:
    project = read_project(write_assistant(tmp_path, major, name))
    assert project.domain.rasa == major
    ensemble = train_ensemble(project)
    assert [policy.name for policy in ensemble.policies] == [name.rpartition(".")[2]]
    assert_same_answers(project, ensemble)


@pytest.mark.parametrize("major", [1, 2, 3])
def test_policies_together_keep_their_places(major: int, tmp_path: Path) -> None:
    names = [name for of, name in NAMES if of == major and "." not in name and name != "TwoStageFallbackPolicy"]
    project = read_project(write_assistant(tmp_path, major, *reversed(names)))
    assert_same_answers(project, train_ensemble(project))


def test_two_policies_of_one_class_keep_their_own_parameters(tmp_path: Path) -> None:
    project = read_project(write_assistant(tmp_path, 3, "MemoizationPolicy", "MemoizationPolicy", "TEDPolicy"))
    first, second, ted = project.config.policies or ()
    policies = (
        dataclasses.replace(first, parameters={"max_history": 1, "priority": 4}),
        dataclasses.replace(second, parameters={"max_history": 3, "priority": 2}),
        dataclasses.replace(ted, parameters={"max_history": 2}),
    )
    project = dataclasses.replace(project, config=replace(project.config, policies=policies))
    assert_same_answers(project, train_ensemble(project))


@pytest.mark.parametrize(
    "folder",
    [
        *sorted((ORACLE / "legacy" / "test_core").glob("*/project")),
        *sorted(path.parent for path in (ORACLE / "core").rglob("domain.yml")),
        *sorted(path.parent for path in (ORACLE / "conversations").rglob("domain.yml")),
    ],
    ids=lambda path: "/".join(path.relative_to(ORACLE).parts[:3]),
)
def test_a_loaded_model_answers_as_the_one_in_memory(folder: Path) -> None:
    project = read_project(folder)
    try:
        ensemble = train_ensemble(project)
    except TrainingRefusedError:
        return  # there is nothing to save
    assert_same_answers(project, ensemble)


# --- whole commands --------------------------------------------------------------------------------------------------


def judged(folder: Path, out: str, *flags: str) -> object:
    arguments = ["test", "core", "--stories", "tests", "--no-plot", "--out", out, "--json", f"{out}.json", *flags]
    assert run_command_line(arguments) == EXIT_OK
    report = json.loads((folder / f"{out}.json").read_bytes())
    return report["core"]


@pytest.mark.slow
@pytest.mark.parametrize(("major", "name"), [one for one in NAMES if "." not in one[1] or one[1].startswith("rasa_")])
def test_a_saved_model_judges_as_the_one_trained_in_memory(
    major: int, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_assistant(tmp_path, major, name))
    in_memory = judged(tmp_path, "memory")
    assert run_command_line(["train", "core"]) == EXIT_OK
    assert judged(tmp_path, "saved", "-m", "models") == in_memory


@pytest.mark.parametrize("name", [*RASA_1, *RASA_1_AND_2])
def test_a_folder_of_saved_models_is_judged(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_assistant(tmp_path, 1, name))
    right = sum(story["passed"] for story in judged(tmp_path, "memory")["stories"])  # type: ignore[index]
    (tmp_path / "other.yml").write_text((tmp_path / "config.yml").read_text(), encoding="utf-8")
    trained = [
        "train",
        "core",
        "-c",
        "config.yml",
        "other.yml",
        "--out",
        "compared",
        "--runs",
        "1",
        "--percentages",
        "0",
    ]
    assert run_command_line(trained) == EXIT_OK
    judge = ["test", "core", "--evaluate-model-directory", "-m", "compared", "--stories", "tests", "--no-plot"]
    assert run_command_line(judge) == EXIT_OK
    results = json.loads((tmp_path / "results" / "results.json").read_bytes())
    assert results == {"config": [[right]], "other": [[right]]}


@pytest.mark.slow
@pytest.mark.parametrize(("major", "name"), [one for one in NAMES if "." not in one[1]])
def test_a_run_with_a_warm_cache_is_the_run_without_one(
    major: int, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_assistant(tmp_path / "bot", major, name))

    def run(**cache: Any) -> tuple[int, object]:
        outcome = turncheck.run(evaluations="core", baseline="none", workers=1, **cache)
        return outcome.exit_code, (outcome.report.core, outcome.report.engine, outcome.report.skipped)

    without = run(cache=False)
    assert run(cache_folder="../cache") == without
    assert run(cache_folder="../cache") == without
    assert any((tmp_path / "cache").rglob("*"))
