"""A domain over several files: what Rasa merges in which order, and what it says of names that stand twice."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from small_project import DOMAIN, write_project

from turncheck.commands.validate import Request, check_project
from turncheck.project.reader import read_project
from turncheck.validation.pipeline import validate

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.messages.finding import Finding

VERSION = 'version: "3.1"\n'


def folder(root: Path, **files: str) -> Path:
    """The small project with its domain in a folder, as ``main.yml``, beside other files (``a__b`` is ``a/b``)."""
    write_project(root)
    (root / "domain.yml").unlink()
    for name, text in {"main": DOMAIN.removeprefix(VERSION), **files}.items():
        path = root / "domain" / f"{name.replace('__', '/')}.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(VERSION + text, encoding="utf-8")
    return root


def data_validate(root: Path) -> tuple[Finding, ...]:
    return check_project(Request(project=root, domain=root / "domain")).validated.findings


def codes(findings: tuple[Finding, ...], *, notes: bool = False) -> list[str]:
    return [finding.code for finding in findings if notes or finding.severity != "info"]


def test_a_name_in_two_files_is_named_once_and_fails_nothing(tmp_path: Path) -> None:
    root = folder(tmp_path, other="intents:\n- greet\nresponses:\n  utter_greet:\n  - text: other\n")
    found = data_validate(root)
    assert codes(found) == ["domain-merge-duplicate", "domain-merge-duplicate"]
    result = check_project(Request(project=root, domain=root / "domain", fail_on_warnings=True)).validated
    assert result.exit_code(fail_on_warnings=True) == 0


@pytest.mark.parametrize(
    ("order", "expected"),
    [(["other", "third", "main"], []), (["main", "other", "third"], ["domain-merge-duplicate"])],
)
def test_only_duplicates_of_the_file_merged_last_are_warned_about(
    order: list[str], expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folder(tmp_path, other="intents:\n- second\n", third="intents:\n- second\n")
    listing = os.listdir
    monkeypatch.setattr(
        os, "listdir", lambda path: sorted(listing(path), key=lambda name: _rank(order, name.partition(".")[0]))
    )
    found = data_validate(root)
    merged = [one for one in found if one.code == "domain-merge-duplicate"]
    assert codes(tuple(merged)) == expected
    hidden = [one for one in found if "domain-merge-duplicate" in one.message]
    assert len(hidden) == 1 - len(expected)


@pytest.mark.parametrize(("text", "expected"), [("x: 1\n", ["greet"]), ("session_config: {}\n", [])])
def test_a_file_without_a_key_of_a_domain_is_not_the_last_one(
    text: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folder(tmp_path, other="intents:\n- greet\n", third=text)
    listing = os.listdir
    order = ["main", "other", "third"]
    monkeypatch.setattr(
        os, "listdir", lambda path: sorted(listing(path), key=lambda name: _rank(order, name.partition(".")[0]))
    )
    merged = [one.message for one in data_validate(root) if one.code == "domain-merge-duplicate"]
    assert [message.split("'")[1] for message in merged] == expected


def _rank(order: list[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


@pytest.mark.parametrize(("order", "required"), [(["other", "main"], "nothing"), (["main", "other"], "size")])
def test_the_file_that_is_listed_first_wins_in_data_validate_and_the_first_by_name_in_a_run(
    order: list[str], required: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folder(tmp_path, other="forms:\n  pizza_form:\n    required_slots: [nothing]\n")
    listing = os.listdir
    monkeypatch.setattr(
        os, "listdir", lambda path: sorted(listing(path), key=lambda name: _rank(order, name.partition(".")[0]))
    )
    read = read_project(root, domain_as_listed=True)
    assert read.domain.forms["pizza_form"].required_slots == (required,)
    assert ("form-slot-undefined" in codes(data_validate(root))) == (required == "nothing")
    assert read_project(root).domain.forms["pizza_form"].required_slots == ("size",)


def test_files_beside_a_folder_come_before_those_in_it(tmp_path: Path) -> None:
    root = folder(tmp_path, a__deep="intents:\n- deep\n", a__deeper__x="intents:\n- deeper\n")
    paths = [file.path for file in read_project(root, domain_as_listed=True).files if file.role == "domain"]
    assert paths == ["domain/main.yml", "domain/a/deep.yml", "domain/a/deeper/x.yml"]


def test_an_action_that_is_a_form_of_an_earlier_file_is_no_duplicate(tmp_path: Path) -> None:
    assert codes(data_validate(folder(tmp_path, z="actions:\n- pizza_form\n"))) == []


def test_a_losing_definition_is_not_held_against_the_domain(tmp_path: Path) -> None:
    lost = "forms:\n  pizza_form:\n    required_slots:\nslots:\n  size:\n    type: text\n    mappings: []\n"
    project = read_project(folder(tmp_path, z=lost))
    found = validate(project, drop_in=True).findings
    assert {one.code for one in found if one.severity != "info"} == {"domain-merge-duplicate"}


@pytest.mark.parametrize("value", ["${NOT_SET_AT_ALL}", "="])
def test_a_file_with_a_value_that_rasa_cannot_read_is_passed_by(value: str, tmp_path: Path) -> None:
    root = folder(tmp_path, other=f"responses:\n  utter_x:\n  - text: {value}\n")
    assert codes(data_validate(root)) == ["domain-file-unread"]
    assert "utter_x" not in read_project(root).domain.responses


@pytest.mark.parametrize("names", [("main",), ("main", "a")], ids=len)
def test_of_a_folder_of_which_no_file_can_be_read_the_first_one_is_why_it_is_empty(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    root = folder(tmp_path, **dict.fromkeys(names, "intents:\n- greet\n order: 1\n"))
    (root / "data" / "nlu.yml").unlink()  # it has responses
    empty = next(one for one in data_validate(root) if one.code == "domain-empty")
    assert (empty.location.path, empty.location.line) == (f"domain/{min(names)}.yml", 4)


def test_a_date_that_is_none_ends_rasa_in_a_folder_too(tmp_path: Path) -> None:
    root = folder(tmp_path, other="intents: []\nx: 2024-02-31\n")
    assert codes(data_validate(root)) == ["value-unreadable"]


def test_a_form_with_the_name_of_a_response_of_another_file_empties_the_domain(tmp_path: Path) -> None:
    root = folder(tmp_path, z="forms:\n  utter_greet:\n    required_slots: [size]\n")
    assert codes(data_validate(root)) == ["action-duplicate"]


def test_behind_the_first_invalid_file_rasa_looks_at_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = folder(tmp_path, a="actions: 3\n", b="entities: [y, y]\n", c="intents: [x, x]\n")
    listing = os.listdir
    order = ["b", "c", "a", "main"]
    monkeypatch.setattr(
        os, "listdir", lambda path: sorted(listing(path), key=lambda name: _rank(order, name.partition(".")[0]))
    )
    found = data_validate(root)
    assert codes(found) == ["entity-duplicate"]
    hidden = {one.message.partition(":")[0] for one in found if one.code == "hidden-by-load-error"}
    assert hidden == {"intent-duplicate", "schema-violation"}


def test_endpoints_are_not_looked_at_in_place_of_rasa(tmp_path: Path) -> None:
    root = folder(tmp_path)
    (root / "endpoints.yml").write_text("action_endpoint:\n url: [a\n", encoding="utf-8")
    found = data_validate(root)
    assert codes(found) == []
    assert ["yaml-syntax" in one.message for one in found] == [True]
    assert codes(validate(read_project(root)).findings) == ["yaml-syntax"]
