"""Policies and components that are classes of the project: which of Rasa's they extend, and what is judged then."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_texts import Golden
from in_process import turncheck
from small_project import write_project

from turncheck.dialogue.rule_learning import Conflict, Place, RuleConflictError
from turncheck.engines.embedded.nlu.plan import make_plan
from turncheck.engines.embedded.policies.trainer import train_ensemble
from turncheck.messages.errors import TrainingRefusedError
from turncheck.messages.finding import Location
from turncheck.project.model import Project
from turncheck.project.reader import read_project
from turncheck.report.codec import decode
from turncheck.report.model import Report

RULES = "rasa.core.policies.rule_policy"


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _read(
    folder: Path, files: dict[str, str], *edits: tuple[str, str, str], policy: str = "own.rules.Careful"
) -> Project:
    """Read a project whose RulePolicy is replaced by a class of its own."""
    write_project(folder, ("config.yml", "- name: RulePolicy\n", f"- name: {policy}\n"), *edits)
    _write(folder, files)
    return read_project(folder)


@pytest.mark.parametrize(
    "source",
    [
        f"from {RULES} import RulePolicy\nclass Careful(RulePolicy): pass",
        f"from {RULES} import RulePolicy as Base\n@register\nclass Careful(Base): pass",
        f"import {RULES}\nclass Careful({RULES}.RulePolicy): pass",
        f"import {RULES} as rules\nclass Careful(rules.RulePolicy): pass",
        "from rasa.core.policies import rule_policy\nclass Careful(Mixin, rule_policy.RulePolicy): pass",
        "from own.base import Middle\nclass Careful(Middle): pass",
        "from .base import Middle\nclass Careful(Middle): pass",
        "from . import base\nclass Careful(base.Middle): pass",
        "from .more.rules import Middle as M\nBase = M\nclass Careful(Base): pass",
        "from .base import *\nclass Careful(Middle): pass",
        f"try:\n  from {RULES} import RulePolicy as R\nexcept ImportError:\n  R = object\nclass Careful(R): pass",
        "from .base import Middle as Careful",
    ],
)  # fmt: skip
def test_the_class_of_rasa_that_a_policy_extends_is_read_from_its_source(source: str, tmp_path: Path) -> None:
    middle = f"from {RULES} import RulePolicy\nclass Middle(RulePolicy):\n    '\\d'\n"
    files = {
        "own/__init__.py": "",
        "own/rules.py": source,
        "own/base.py": middle,
        "own/more/rules.py": "from ..base import Middle",
    }
    (policy, *_) = [one for one in _read(tmp_path, files).config.policies or () if one.name == "own.rules.Careful"]
    assert policy.extends == "RulePolicy"


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"own/rules.py": "class Careful: pass"},
        {"own/rules.py": "from rasa.core.policies.policy import Policy\nclass Careful(Policy): pass"},
        {"own/rules.py": "class RulePolicy: pass\nclass Careful(RulePolicy): pass"},
        {"own/rules.py": "class Careful(Careful): pass"},
        {"own/rules.py": "from own.base import Careful", "own/base.py": "from own.rules import Careful"},
        {"own/rules.py": "class Careful(RulePolicy"},
        {"own/rules.py": "(" * 5_000},
        {"own/rules.py": "\0"},
        {"own/rules.py": f"from {RULES} import RulePolicy\ndef Careful(): pass"},
        {"own/rules.py": "from rasa.core.policies.other import OwnPolicy\nclass Careful(OwnPolicy): pass"},
    ],
)
def test_of_other_classes_it_is_not_known(files: dict[str, str], tmp_path: Path) -> None:
    (policy, *_) = [one for one in _read(tmp_path, files).config.policies or () if one.name == "own.rules.Careful"]
    assert not policy.extends


def test_a_source_outside_the_project_is_not_read(tmp_path: Path) -> None:
    _write(tmp_path, {"elsewhere.py": f"from {RULES} import RulePolicy\nclass Careful(RulePolicy): pass"})
    (tmp_path / "bot" / "own").mkdir(parents=True)
    (tmp_path / "bot" / "own" / "rules.py").symlink_to(tmp_path / "elsewhere.py")
    (policy, *_) = [one for one in _read(tmp_path / "bot", {}).config.policies or () if "own" in one.name]
    assert not policy.extends


def _imported(module: str, name: str) -> dict[str, str]:
    return {"own/rules.py": f"from rasa.core.policies.{module} import {name}\nclass Careful({name}): pass"}


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("rule_policy", "RulePolicy"),
        ("memoization", "MemoizationPolicy"),
        ("memoization", "AugmentedMemoizationPolicy"),
        ("ted_policy", "TEDPolicy"),
        ("unexpected_intent_policy", "UnexpecTEDIntentPolicy"),
    ],
)
def test_rasas_policy_stands_in_for_one_that_extends_it_and_is_listed_once(
    module: str, name: str, tmp_path: Path
) -> None:
    no_forms = [("domain.yml", "forms:\n  pizza_form:\n    required_slots:\n    - size\n", "")]
    project = _read(tmp_path, _imported(module, name), *(no_forms if name != "RulePolicy" else ()))
    ensemble = train_ensemble(project)
    assert name in [component.name for component in ensemble.components]
    (listed,) = [one for one in ensemble.substitutions if one.component == "own.rules.Careful"]
    assert f"it extends {name}" in listed.reason
    assert listed.used is not None


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("RulePolicyy", "RulePolicy"),
        ("FormPolicy", "Policy"),
        ("rasa.core.policies.form_policy.FormPolicy", "name"),
        ("Careful", "name"),
    ],
)
def test_a_policy_that_rasa_3_does_not_know_is_refused(name: str, hint: str, tmp_path: Path) -> None:
    project = _read(tmp_path, {}, policy=f"RulePolicy\n- name: {name}")
    with pytest.raises(TrainingRefusedError, match="is not known to Rasa") as refused:
        train_ensemble(project)
    assert (str(refused.value.location), hint in str(refused.value.hint)) == ("config.yml:13:3", True)


def test_conflicts_of_rules_are_listed_once_and_not_by_the_thousand() -> None:
    place = Place("survey", Location("data/rules.yml", 3))
    conflicts = [Conflict("contradiction", f"message {number % 60}", place) for number in range(6_000)]
    lines = RuleConflictError("Contradictions", conflicts, "").message.splitlines()
    assert len(lines) == 22
    assert lines[-1] == "- and 40 others"


def test_a_component_is_replaced_in_the_same_way(tmp_path: Path) -> None:
    source = "from rasa.nlu.classifiers.diet_classifier import DIETClassifier\nclass Classifier(DIETClassifier): pass"
    write_project(tmp_path, ("config.yml", "- name: DIETClassifier\n", "- name: own.nlu.Classifier\n  own_key: 3\n"))
    _write(tmp_path, {"own/nlu.py": source})
    plan = make_plan(read_project(tmp_path).config)
    assert "DietStandIn" in [step.kind for step in plan.steps]
    (listed,) = [one for one in plan.substitutions if one.component == "own.nlu.Classifier"]
    assert "it extends DIETClassifier" in listed.reason


_STORIES = """\
version: "3.1"
stories:
- story: hello
  steps:
  - intent: greet
  - action: utter_greet
"""


def _run(folder: Path) -> tuple[int, Report, str]:
    _write(folder, {"tests/test_stories.yml": _STORIES})
    ended = turncheck(
        "run", "--baseline", "none", "--evaluations", "validate", "nlu", "core", "--folds", "2", cwd=folder
    )
    report = decode((folder / "results/report.json").read_bytes())
    return ended.returncode, report, (folder / "results/comment.md").read_text()


@pytest.mark.slow
def test_forms_need_no_other_policy_if_the_projects_own_one_extends_rule_policy(tmp_path: Path, golden: Golden) -> None:
    _read(tmp_path, _imported("rule_policy", "RulePolicy"))
    code, report, comment = _run(tmp_path)
    assert code == 0
    assert report.core is not None
    golden(comment, only="replaced by")


@pytest.mark.slow
def test_stories_are_not_judged_without_a_policy_that_nothing_can_stand_in_for(tmp_path: Path, golden: Golden) -> None:
    bot = tmp_path / "bot"  # its name is in the title
    _read(bot, {"own/rules.py": "class Careful: pass"})
    code, report, comment = _run(bot)
    assert (code, report.core) == (0, None)
    golden(comment.splitlines()[1])
    assert "no RulePolicy" not in comment
    (skipped,) = [one for one in report.skipped if one.evaluation == "core"]
    assert (skipped.fault, "own.rules.Careful" in skipped.reason) == (False, True)


# --- importers -------------------------------------------------------------------------------------------------------


def _with_importer(folder: Path, importer: str, *kept: str) -> Project:
    write_project(folder, ("config.yml", "", f"importers:\n- name: {importer}\n"))
    for name in {"domain.yml", "data/nlu.yml", "data/stories.yml", "data/rules.yml"} - {*kept}:
        (folder / name).unlink()
    return read_project(folder)


@pytest.mark.parametrize("kept", [(), ("data/nlu.yml",), ("data/nlu.yml", "data/stories.yml")])
def test_of_a_domain_that_an_importer_of_the_project_provides_the_importer_is_named(
    kept: tuple[str, ...], tmp_path: Path
) -> None:
    project = _with_importer(tmp_path, "library.LibraryImporter", *kept)
    (finding,) = [finding for finding in project.findings if finding.code == "domain-not-found"]
    assert "'library.LibraryImporter'" in finding.message
    assert str(finding.location) == "config.yml:14:3"
    assert "--engine" in finding.hint


def test_a_domain_that_rasas_importer_does_not_find_is_missing(tmp_path: Path, golden: Golden) -> None:
    project = _with_importer(tmp_path, "RasaFileImporter", "data/nlu.yml", "data/stories.yml")
    (finding,) = [finding for finding in project.findings if finding.code == "domain-not-found"]
    golden(finding.message)


@pytest.mark.slow
def test_the_importer_is_the_reason_why_there_are_no_sentences(tmp_path: Path, golden: Golden) -> None:
    _with_importer(tmp_path, "library.LibraryImporter", "domain.yml", "data/stories.yml")
    turncheck("run", "--baseline", "none", cwd=tmp_path)
    report = decode((tmp_path / "results/report.json").read_bytes())
    (skipped,) = [one for one in report.skipped if one.evaluation == "nlu"]
    golden(skipped.reason)
