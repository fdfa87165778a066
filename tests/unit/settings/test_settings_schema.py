"""The schemas of `turncheck.yml` and of the quarantine file take what is taken, and mark what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from documentation import fences, pages
from tools.write_action_files import files

from turncheck.commands.init.settings_file import settings_text
from turncheck.project.quarantine import schema as quarantine_schema
from turncheck.settings.declared import options
from turncheck.settings.groups import FIRST, GROUPS
from turncheck.settings.schema import settings_schema

ROOT = Path(__file__).parents[3]
FILE_KEYS = {name for name, option in options().items() if option.file_key}
SHOWN = [
    pytest.param(fence.text, id=f"{page.stem}-{number}")
    for page in pages()
    for number, fence in enumerate(fences(page))
    if fence.language == "yaml" and "${{" not in fence.text and page.stem != "findings"
    for keys in [yaml.safe_load(fence.text)]
    if isinstance(keys, dict) and keys.keys() <= FILE_KEYS
]


def is_taken(values: Any, schema: dict[str, Any]) -> bool:
    return not list(jsonschema.Draft202012Validator(schema).iter_errors(values))


@pytest.mark.parametrize("text", SHOWN)
def test_settings_that_the_pages_show_are_taken(text: str) -> None:
    read = json.loads(json.dumps(yaml.safe_load(text), default=str))  # an editor reads YAML 1.2, which has no dates
    jsonschema.validate(read, settings_schema())


@pytest.mark.parametrize(
    "text",
    [
        "fail_on: auto",
        "folds: many",
        "comment: sometimes",
        "fail-on: [new-failure]",
        "token: x",
        "check-run: 3",
        "not-judged: []",
        "require: {nlu: true}",
    ],
)
def test_what_is_refused_is_marked(text: str) -> None:
    assert not is_taken(yaml.safe_load(text), settings_schema())


@pytest.mark.parametrize(
    "text", ["strength: off", "strength: 'off'", "fail-on: new-errors, gone-tests", "repeats: off"]
)
def test_words_are_taken_as_yaml_reads_them(text: str) -> None:
    assert is_taken(yaml.safe_load(text), settings_schema())


def test_an_entry_of_the_quarantine_lacks_nothing() -> None:
    entry = {"case": "pays", "because": "slow", "owner": "ann", "until": "2026-12-31", "expect": "flaky"}

    assert is_taken([entry], quarantine_schema())
    assert not is_taken([{**entry, "expect": "sometimes"}], quarantine_schema())
    assert not is_taken([{key: value for key, value in entry.items() if key != "owner"}], quarantine_schema())


def test_what_init_writes_names_the_schema_and_the_ten_keys_that_matter() -> None:
    address, _, _ = settings_text().partition("\n")

    assert address == f"# yaml-language-server: $schema={settings_schema()['$id']}"
    keys = re.findall(r"^# ([a-z-]+): ", settings_text().partition("\n")[2], re.MULTILINE)
    assert is_taken(yaml.safe_load(settings_text()), settings_schema()), "nothing but comments"
    assert keys == [name for name in options() if name in FIRST and name in FILE_KEYS and name != "project"]


def test_every_input_is_in_one_group_and_ten_come_first() -> None:
    listed = [name for names in GROUPS.values() for name in names]

    assert sorted(listed) == sorted(name for name, option in options().items() if option.action_input)
    assert len(FIRST) == 10
    assert next(iter(GROUPS.values())) == FIRST


@pytest.mark.parametrize("name", list(files()))
def test_files_that_are_made_from_the_settings_are_up_to_date(name: str) -> None:
    """Write them anew with: python tools/write_action_files.py"""
    assert (ROOT / name).read_text("utf-8") == files()[name]


def test_the_types_of_the_action_are_those_of_its_inputs_and_outputs() -> None:
    types = yaml.safe_load((ROOT / "action-types.yml").read_text("utf-8"))
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    word = {
        "anyOf": [
            {
                "type": "object",
                "properties": {"type": {"enum": ["string", "boolean", "integer", "float"]}},
                "required": ["type"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {
                    "type": {"const": "enum"},
                    "allowed-values": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}},
                },
                "required": ["type", "allowed-values"],
                "additionalProperties": False,
            },
        ]
    }
    several = {
        "type": "object",
        "properties": {"type": {"const": "list"}, "separator": {"type": "string", "minLength": 1}, "list-item": word},
        "required": ["type", "separator", "list-item"],
        "additionalProperties": False,
    }

    for part in ("inputs", "outputs"):
        assert list(types[part]) == list(action[part])
        for typed in types[part].values():
            jsonschema.validate(typed, {"anyOf": [word, several]})
    assert json.dumps(types["inputs"]["fail-on"]["list-item"]["allowed-values"][-2:]) == '["auto", "none"]'
