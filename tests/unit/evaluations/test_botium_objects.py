"""Suites of Botium's in YAML and JSON: where they are looked for, what is wrong in them and in which line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botium_records import ScriptedEngine, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turncheck.evaluations.e2e.case import CaseRun
from turncheck.evaluations.e2e.judging import evaluate_cases
from turncheck.project.botium.others import suites_without_convos
from turncheck.project.e2e.cases import read_cases
from turncheck.project.e2e.model import E2ECases
from turncheck.project.testfiles import find_e2e_cases, find_e2e_cases_not_looked_for, find_files_without_tests

SUITE = """\
convos:
  - name: order
    description: with everything
    steps:
      - begin:
          - SET_SCRIPTING_MEMORY drink|tea
      - include: [greet]
      - me:
          - UTT_ORDER
      - bot:
          - "?sorry"
      - bot:
          - you ordered $drink
          - NOT_TEXT_CONTAINS_ANY: [coffee, milk]
          - {asserter: RESPONSE_LENGTH, args: 20}
  - name: price
    steps:
      - me: [$product]
      - bot: [$price]
partialConvos:
  - name: greet
    steps:
      - me: [hi]
      - bot: [hello]
utterances:
  UTT_ORDER: [a $drink please, 2]
scriptingMemory:
  - header: {name: milk}
    values: {$product: milk, $price: 1.5}
  - header: {name: bread}
    values: {$product: bread, $price: 3}
"""


def _read(folder: Path, files: dict[str, str]) -> E2ECases:
    return read_cases(written(folder, files), [folder / "tests"])


def test_a_file_is_a_whole_suite(tmp_path: Path) -> None:
    read = _read(tmp_path, {"tests/suite.yml": SUITE})
    assert read.findings == ()
    assert [case.name for case in read.cases] == [
        *("order/UTT_ORDER-L1", "order/UTT_ORDER-L2"),
        *("price.milk", "price.bread"),
    ]
    engine = ScriptedEngine([["hello"], ["you ordered tea"]])

    order = evaluate_cases(engine, read.cases[:2], CaseRun()).cases  # type: ignore[arg-type]  # a scripted engine
    assert [case.outcome for case in order] == ["passed", "passed"]
    assert [talk.said for talk in engine.talks] == [["hi", "a tea please"], ["hi", "2"]]
    (step,) = [step for step in order[0].steps if step.kind == "RESPONSE_LENGTH"]
    assert (step.expected, step.location and step.location.line) == ("20", 15)


def test_a_file_in_json_and_files_in_text_share_what_they_have(tmp_path: Path) -> None:
    convo = {"name": "greet", "steps": [{"me": ["UTT_HI"]}, {"bot": [{"asserter": "TEXT", "args": "x", "not": True}]}]}
    files = {"tests/a.json": json.dumps({"convos": [convo]}), "tests/hi.utterances.txt": "UTT_HI\nhi\nhello\n"}

    assert [case.turns[1].user for case in _read(tmp_path, files).cases] == ["hi", "hello"]


def test_suites_are_looked_for_by_their_keys(tmp_path: Path) -> None:
    convo = "convos: [{name: a, steps: [{me: [hi]}, {bot: [hello]}]}]\n"
    files = {
        "tests/a.yml": convo,
        "tests/b.json": '{"convos": []}',
        "tests/lists.yaml": "utterances: {A: [b]}\n",
        "tests/data.json": '{"name": 1, "convos": []}',
        "tests/skip_c.yml": convo,
        "spec/convo/d.yml": convo,
        "botium/e.yml": convo,
        "tests/e2e.yml": "test_cases: []\n",
        "tests/test_nlu_lists.yml": "utterances: {B: [c]}\n",
    }
    written(tmp_path, files)
    assert find_files_without_tests(tmp_path) == []

    assert [path.relative_to(tmp_path).as_posix() for path in find_e2e_cases(tmp_path)] == [
        *("spec/convo/d.yml", "tests/a.yml", "tests/b.json", "tests/e2e.yml"),
    ]
    assert find_e2e_cases_not_looked_for(tmp_path, ()) == ["botium/e.yml"]
    assert [case.key for case in read_cases(tmp_path, [tmp_path / "tests"]).cases] == ["tests/a.yml::a"]


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize(
    ("name", "text", "is_told"),
    [
        ("j.convo.json", '[{"name": "a", "steps": [{"sender": "me", "messageText": "hi"}]}]', True),
        ("g.utterances.json", '{"GREETING": ["hi"]}', True),
        ("p.pconvo.yml", "name: a\nsteps: []\n", True),
        ("j.convo.json", '{"convos": [{"name": "b", "steps": [{"me": ["hi"]}, {"bot": ["hello"]}]}]}', False),
        ("g.utterances.yml", "utterances: {GREETING: [hi]}\n", False),
        ("data.json", '[{"name": "a"}]', False),
    ],
)
def test_what_is_named_like_a_suite_and_has_none_of_its_keys_is_named(
    name: str, text: str, *, is_told: bool, beside: bool, tmp_path: Path
) -> None:
    more = {"tests/a.convo.txt": "a\n\n#me\nhi\n\n#bot\nhello\n"} if beside else {}
    written(tmp_path, {f"tests/{name}": text, **more})
    found = [*_read(tmp_path, {}).findings, *suites_without_convos(tmp_path)]
    places = {one.location.path for one in found if one.code == "botium-not-judged"}

    assert places == ({f"tests/{name}"} if is_told else set())


def _in_steps(*lines: str) -> str:
    return "\n".join(("convos:", "- name: a", "  steps:", *(f"  {line}" for line in lines)))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("convos: {}\n", 1, "A list of conversations is expected here."),
        ("convos: [hi]\n", 1, "A conversation is expected here."),
        ("convos:\n- {name: a}\n", 2, "A conversation is expected here."),
        (_in_steps("- me: hi"), 4, "A list of lines is expected at 'me'."),
        (_in_steps("- me: [hi]", "- {bot: [a], me: [b]}"), 5, "A step with one key is expected here."),
        (_in_steps("- you: [hi]"), 4, "A step with one key is expected here."),
        (_in_steps("- me: [hi]", "- bot:", "  - 5"), 6, "The line 5 is not text."),
        (_in_steps("- me: [hi]", "- bot: [null]"), 5, "The line null is not text."),
        (_in_steps("- bot:", "  - {asserter: NOTHING}"), 5, "'NOTHING'"),
        (_in_steps("- bot:", "  - TEXTS: [a]"), 5, "'TEXTS'"),
        (_in_steps("- me:", "  - {asserter: TEXT, args: a}"), 5, "TEXT cannot be in the section 'me'."),
        (_in_steps("- bot:", "  - {userinput: BUTTON, args: a}"), 5, "BUTTON cannot be in the section 'bot'."),
        (_in_steps("- bot: [hi, '?TEXT hi']"), 4, "Some of the lines of #bot begin with '?'"),
        (_in_steps("- me: [PAUSE 5, hi]"), 4, "No text is expected after PAUSE: 'hi'."),
        (_in_steps("- me: [hi]") + "\n- name: a\n  steps: [{me: [b]}]", 5, "The conversation 'a' appears twice"),
        ("partialConvos:\n- {steps: [{me: [a]}], name: 'a|b'}", 2, "'a|b' cannot be the name"),
        ("convos: []\nutterances: {A: b}\n", 2, "The utterance list 'A' is not a list."),
        ("convos: []\nutterances: [A]\n", 2, "Utterance lists by their names are expected here."),
        ("convos: []\nscriptingMemory:\n- {header: {name: a}}\n", 3, "A row with a name and values is expected here."),
        ("convos: []\nscriptingMemory: ['|$a', '|1']\n", 2, "The row has no name."),
        ("convos: [\n", 2, ""),
    ],
)
def test_what_is_wrong_is_an_error_in_its_line(text: str, line: int, message: str, tmp_path: Path) -> None:
    faults = [one for one in _read(tmp_path, {"tests/a.yml": text}).findings if one.severity == "error"]

    assert faults
    assert (faults[0].location.path, faults[0].location.line) == ("tests/a.yml", line)
    assert message in faults[0].message


@pytest.mark.parametrize("text", ['{"convos": [}', '{"convos": [{"name": "a", "steps": [{"me": 5}]}]}'])
def test_what_is_wrong_in_json_is_an_error_in_its_line(text: str, tmp_path: Path) -> None:
    (fault,) = _read(tmp_path, {"tests/a.json": text}).findings

    assert (fault.severity, fault.location.path, fault.location.line) == ("error", "tests/a.json", 1)


def test_the_lines_of_a_table_are_rows(tmp_path: Path) -> None:
    table = "scriptingMemory:\n- '|$said|$heard'\n- 'x|1|2'\n- 'y|3|4'\n"
    convo = "convos: [{name: c, steps: [{me: [$said]}, {bot: [$heard]}]}]\n"
    cases: list[Any] = list(_read(tmp_path, {"tests/a.yml": convo + table}).cases)

    assert [case.name for case in cases] == ["c.x", "c.y"]


# --- any content ------------------------------------------------------------------------------------------------------

_KEYS = st.sampled_from(
    [
        *("name", "steps", "me", "bot", "begin", "end", "include", "asserter", "logichook", "userinput", "args", "not"),
        *(
            "convos",
            "partialConvos",
            "utterances",
            "scriptingMemory",
            "header",
            "values",
            "$name",
            "",
            "?!TEXT",
            "NOT_INTENT",
        ),
    ]
)
_LEAVES = st.sampled_from(
    [None, True, 0, 1.5, "", "a", "a|b", "?!a", "TEXT a", "INCLUDE a", "PAUSE 5", "$date(", "skip_a"]
)
_CONTENT = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=12
)
_STEPS = st.lists(st.dictionaries(_KEYS, st.lists(_CONTENT, max_size=3), min_size=1, max_size=1), max_size=4)
_CONVOS = st.lists(st.fixed_dictionaries({"name": _LEAVES, "steps": _STEPS | _CONTENT}) | _CONTENT, max_size=3)


@given(convos=_CONVOS | _CONTENT, partials=_CONVOS | _CONTENT, utterances=_CONTENT, memory=_CONTENT)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_content_is_read_or_refused(
    convos: Any, partials: Any, utterances: Any, memory: Any, tmp_path: Path
) -> None:
    content = {"convos": convos, "partialConvos": partials, "utterances": utterances, "scriptingMemory": memory}
    read = _read(tmp_path, {"tests/a.json": json.dumps(content)})

    assert len({case.key for case in read.cases}) == len(read.cases)
    assert all(finding.location.path == "tests/a.json" for finding in read.findings)
