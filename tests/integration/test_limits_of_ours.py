"""Beyond a limit of turncheck's own nothing is judged: a warning and a reservation, no fault of the assistant."""

from __future__ import annotations

from pathlib import Path

import pytest
from judged_changes import WORKSHOP, Judged, Repository, edited

from turncheck.dialogue import training
from turncheck.project import folder
from turncheck.yaml_tree import tree

_BYTES, _VALUES, _WAYS = 4_000, 80, 4
LARGE = f"# {'x' * _BYTES}\n"
MANY = "- intent: rent\n  examples:\n" + "  - text: one\n" * _VALUES
OR = "  - or:\n    - intent: greet\n    - intent: repair\n    - intent: rent\n  - action: utter_rent\n"
BEYOND: dict[str, tuple[str, str, str]] = {
    "bytes of sentences": ("data/nlu.yml", LARGE, "file-too-large"),
    "bytes of a domain": ("domain.yml", LARGE, "file-too-large"),
    "bytes of a configuration": ("config.yml", LARGE, "file-too-large"),
    "bytes of tests": ("tests/test_stories.yml", LARGE, "file-too-large"),
    "values of a file": ("data/nlu.yml", MANY, "file-too-large"),
    "ways through a story": (
        "data/stories.yml",
        f'version: "3.1"\nstories:\n- story: long\n  steps:\n{OR * 2}',
        "story-ways-too-many",
    ),
}


@pytest.fixture(autouse=True)
def _low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "MAX_FILE_BYTES", _BYTES)
    monkeypatch.setattr(tree, "MAX_NODES", _VALUES)
    monkeypatch.setattr(training, "MOST_WAYS", _WAYS)


def severities(judged: Judged, code: str) -> set[str]:
    return {one["severity"] for one in judged.report["validation"]["findings"] if one["code"] == code}


@pytest.mark.parametrize("limit", BEYOND)
def test_what_the_base_judged_is_gone(limit: str, tmp_path: Path) -> None:
    name, more, code = BEYOND[limit]

    judged = Repository(tmp_path).judged({}, edited(WORKSHOP, (name, "", more)))

    assert judged.code == 1
    assert (judged.gate("gone-tests"), judged.gate("new-errors")) == ("failed", "passed")
    assert "could-be-run" not in {gate["name"] for gate in judged.verdict["gates"]}
    assert (judged.errors, severities(judged, code)) == ([], {"warning"})
    assert name in judged.verdict["summary"]


@pytest.mark.parametrize("limit", [one for one in BEYOND if "sentences" not in one and "config" not in one])
def test_what_neither_side_judges_is_a_reservation(limit: str, tmp_path: Path) -> None:
    name, more, code = BEYOND[limit]
    base = edited(WORKSHOP, (name, "", more))
    if limit == "values of a file":
        base |= {"tests/test_nlu.yml": ""}

    judged = Repository(tmp_path).judged(base, edited(base, ("data/rules.yml", "- rule: hand one out", "- rule: rent")))

    assert (judged.errors, severities(judged, code)) == ([], {"warning"})
    assert judged.gate("new-errors") == "passed"
    assert judged.code == 0 or judged.gate("something-was-tested") == "failed"
    assert judged.code or judged.verdict["reservation"]


DEEP = "[" * 590 + "]" * 590
NESTED: dict[str, tuple[str, str, str]] = {
    "a domain": (
        "domain.yml",
        "  - text: It is done on Friday.\n",
        f"  - text: soon\n    custom:\n      more: {DEEP}\n",
    ),
    "a configuration": ("config.yml", "- name: RulePolicy\n", f"- name: RulePolicy\n  more: {DEEP}\n"),
    "sentences": ("data/nlu.yml", "- intent: rent\n", f"- intent: rent\n  metadata: {DEEP}\n"),
    "rules": ("data/rules.yml", "- rule: hand one out\n", f"- rule: hand one out\n  metadata:\n    more: {DEEP}\n"),
}


@pytest.mark.parametrize("where", NESTED)
def test_what_rasa_follows_to_its_end_is_followed(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    judged = Repository(tmp_path).judged({}, edited(WORKSHOP, NESTED[where]))

    assert judged.stories == {"hello and a tandem": True, "a repair": True}
    assert "yaml-limit" not in judged.errors
