"""Unquoted values that Rasa reads as something else than text: variables, dates, numbers with underscores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from small_project import read, write_project

from turncheck.process.environment import FileVariables
from turncheck.project.reader import read_project
from turncheck.validation.loading import check_unreadable_values
from turncheck.validation.pipeline import validate
from turncheck.yaml_tree.source import YamlSource
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, parse_yaml
from turncheck.yaml_tree.unquoted import expand_variables, rasa_value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

D, N, S, C = "domain.yml", "data/nlu.yml", "data/stories.yml", "config.yml"

REFUSED = {
    "a response": ((D, '"Bye!"', "that is ${price} now"), "domain.yml:33:11"),
    "an action": ((D, "- action_bake", "- action_bake\n- action_${x}"), "domain.yml:41:3"),
    "a regex": ((N, "", "- regex: ${x}\n  examples: |\n    - a\n"), "data/nlu.yml:20:10"),
    "an example": ((N, "", "- intent: greet\n  examples:\n  - text: pay ${x}\n"), "data/nlu.yml:22:11"),
    "a story": ((S, "greet and order", "pay ${x} now"), "data/stories.yml:3:10"),
    "a date": ((D, "- greet", "- greet\n- 2020-01-01"), "domain.yml:4:3"),
    "a number": ((D, "- greet", "- greet\n- 1_000"), "domain.yml:4:3"),
    "a sign": ((S, "greet and order", "="), "data/stories.yml:3:10"),
}
UNREADABLE = {
    "a slot's value": (
        (S, "size: large\n  - action", "size: ${NOT_SET}\n  - action"),
        "data/stories.yml:11:13",
    ),
    "metadata": ((S, "", "metadata: ${NOT_SET} y\n"), "data/stories.yml:17:11"),
    "configuration": ((C, "", "x: a ${NOT_SET}\n"), "config.yml:13:4"),
    "a key": ((D, "actions:", "${NOT_SET}: 1\nactions:"), "domain.yml:39:1"),
    "no date": ((D, "actions:", "x: 2020-02-30\nactions:"), "domain.yml:39:4"),
    "a sign": ((S, "", "x: <<\n"), "data/stories.yml:17:4"),
    "no digit": ((D, "actions:", "x: -_\nactions:"), "domain.yml:39:4"),
}
READ = {
    "quoted": (D, '"Bye!"', '"that is ${price} now"'),
    "in a block": (D, '"Bye!"', "|\n      that is ${price} now"),
    "tagged": (D, '"Bye!"', "!!str that is ${price}"),
    "open": (D, '"Bye!"', "that is ${price"),
    "inside of a word": (C, "", "x: a${NOT_SET}\n"),
    "a day": (D, "actions:", "x: 2020-02-29\nactions:"),
    "a day and a time": (D, "actions:", "x: 2020-2-9 1:02:03.5 +1\nactions:"),
    "a number": (D, "actions:", "x: 1_0\nactions:"),
    "a sign as a key": (S, "", "=: 1\n"),
}


def errors(tmp_path: Path, edit: tuple[str, str, str]) -> list[tuple[str, str]]:
    validated = validate(read(tmp_path, edit), drop_in=True)
    found = [(finding.code, str(finding.location)) for finding in validated.findings if finding.severity == "error"]
    assert validated.exit_code(fail_on_warnings=False) == bool(found)
    return found


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_text_for_rasa_may_not_stand_where_a_text_must(what: str, tmp_path: Path) -> None:
    edit, place = REFUSED[what]
    assert errors(tmp_path, edit) == [("schema-violation", place)]


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_ends_rasa_while_it_reads_is_an_error(what: str, tmp_path: Path) -> None:
    edit, place = UNREADABLE[what]
    assert errors(tmp_path, edit) == [("value-unreadable", place)]


@pytest.mark.parametrize("what", READ)
def test_what_rasa_reads_is_no_error(what: str, tmp_path: Path) -> None:
    assert errors(tmp_path, READ[what]) == []


def test_a_variable_that_is_set_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNCHECK_SET", "here")
    assert errors(tmp_path, (C, "", "x: a ${TURNCHECK_SET}\n")) == []


@pytest.mark.slow
@given(
    st.one_of(
        st.text(alphabet="0123456789_-+.xobeETZ: ", min_size=1, max_size=14),
        st.from_regex(
            r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ][0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?Z?)?", fullmatch=True
        ),
    )
)
def test_a_plain_text_is_taken_for_what_ruamel_takes_it_for(text: str) -> None:
    root = parse_yaml(YamlSource("x.yml", f"a: {text}\n")).root
    node = root.at("a") if root is not None else None
    if not isinstance(node, YamlScalar) or not isinstance(node.value, str):
        return
    reader = YAML(typ="safe")
    reader.version = (1, 2)
    try:
        value = reader.load(f"a: {text}\n")["a"]
    except (YAMLError, AttributeError):
        return
    except (ValueError, IndexError):
        assert list(check_unreadable_values(node)), text
        return
    assert list(check_unreadable_values(node)) == []
    kinds = {"date": "date", "datetime": "date", "TimeStamp": "date", "int": "number", "float": "number", "str": None}
    assert rasa_value(node) == kinds[type(value).__name__]


def test_a_variable_that_is_not_set_is_to_be_set_and_not_put_in_quotes(tmp_path: Path, golden: Golden) -> None:
    project = read(tmp_path, ("config.yml", "language: en\n", "language: ${TURNCHECK_UNSET_LANGUAGE}\n"))
    (finding,) = [one for one in validate(project).findings if one.code == "value-unreadable"]
    golden(finding.hint)


VARIABLES = {"A": "one", "B": "a: b", "C": 'q"x', "D": "l1\nl2", "N": "5", "Y": "[1, 2]", "E": "", "S": "$A ${A}"}
EXPANDED: dict[str, Any] = {  # as `rasa.shared.utils.io.read_yaml` of 3.6.21 reads them with these variables
    "x: ${A}": {"x": "one"},
    "x: '${A}'": {"x": "${A}"},
    'x: "${A}"': {"x": "${A}"},
    "x: |\n  ${A}": {"x": "${A}"},
    "x: !!str ${A}": {"x": "${A}"},
    "x: pre ${A} mid ${B} post $A": {"x": "pre one mid a: b post one"},
    "x: $A": {"x": "$A"},
    "x: ${A": {"x": "${A"},
    "x: ${B}": {"x": "a: b"},
    "x: ${C}": {"x": 'q"x'},
    "x: ${D}": {"x": "l1\nl2"},
    "x: ${N}": {"x": "5"},
    "x: ${Y}": {"x": "[1, 2]"},
    "x: a${NOPE}": {"x": "a${NOPE}"},
    "x: ${A}${NOPE}": {"x": "one${NOPE}"},
    "x: $$A ${A}": {"x": "$one one"},
    "x: ${A}\n  more": {"x": "one more"},
    "x: &k ${A}\ny: *k": {"x": "one", "y": "one"},
    "${A}: 1": {"one": 1},
    "- ${A}\n- {y: b}": ["one", {"y": "b"}],
    "# ${NOPE}\nx: 1": {"x": 1},
}
NOT_SET = ("x: ${NOPE} b", "x: a ${NOPE}", "x: ${}", "x: ${A-B}", "x: ${ A }", "x: ${A} $NOPE")


def expanded(text: str, variables: Mapping[str, str]) -> YamlNode:
    document = parse_yaml(YamlSource("config.yml", text))
    expand_variables(document, variables.get)
    assert document.root is not None
    return document.root


@pytest.mark.parametrize("text", EXPANDED)
def test_variables_are_expanded_as_rasa_does(text: str) -> None:
    root = expanded(text, VARIABLES)
    assert root.data == EXPANDED[text]
    assert list(check_unreadable_values(root)) == []


@pytest.mark.parametrize("text", NOT_SET)
def test_a_word_that_begins_with_a_variable_without_a_value_ends_rasas_reading(text: str, golden: Golden) -> None:
    (finding,) = check_unreadable_values(expanded(text, VARIABLES))
    golden(finding.message)


@given(value=st.text(st.characters(codec="utf-8"), max_size=12))
def test_a_value_is_text_and_is_not_shown(value: str) -> None:
    root = expanded("a: ${X}\nb: [1]\nc: y ${X} z ${NOPE}", {"X": value})
    assert root.data == {"a": value, "b": [1], "c": f"y {value} z ${{NOPE}}"}
    (finding,) = check_unreadable_values(root)
    assert "'y ${X} z ${NOPE}'" in finding.message
    assert finding.message == next(check_unreadable_values(expanded("c: y ${X} z ${NOPE}", {}))).message.replace(
        "in '${X}'", "in '${NOPE}'"
    )


def test_of_two_keys_that_are_the_same_with_their_values_the_first_counts() -> None:
    root = expanded("${A}: 1\none: 2\n", VARIABLES)
    assert root.data == {"one": 1}
    assert isinstance(root, YamlMapping)
    assert root.key_location("one").line == 1


def test_rasa_3_expands_no_variable_where_a_string_must_be(tmp_path: Path) -> None:
    """It checks the file first; a slot's initial value may be anything."""
    response, slot = (
        (D, '"Bye!"', "that is ${PRICE} now"),
        (D, "slots:", "slots:\n  token:\n    type: text\n" + INITIAL),
    )
    variables = FileVariables({"PRICE": "4.99 euros", "TOKEN": "s3cret-of-the-team"})
    project = read_project(write_project(tmp_path, response, slot), variables=variables)
    assert project.domain.slots["token"].initial_value == "s3cret-of-the-team"
    found = [one for one in validate(project).findings if one.severity == "error"]
    assert [(one.code, "${PRICE}" in one.message) for one in found] == [("schema-violation", True)]
    assert "4.99" not in repr(found)


INITIAL = "    initial_value: ${TOKEN}\n    mappings:\n    - type: from_text\n"
