"""BotiumScript is read as botium-core reads it: its own test files, compared with what its compiler made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botium_records import folders, read_suite, records, shape, written

from turncheck.project.botium.expansion import Expanded, expanded
from turncheck.project.botium.folder import FaultyConvoError, is_skipped
from turncheck.project.botium.lines import FileLines, read_convo, read_memory, read_utterances
from turncheck.project.botium.model import Convo, Plugins
from turncheck.project.botium.objects import read_objects
from turncheck.project.botium.vocabulary import (
    ANSWERED,
    ASSERTERS,
    ASSERTERS_NOT_JUDGED,
    FUNCTIONS,
    HOOKS,
    HOOKS_NOT_RUN,
    INPUTS,
    INPUTS_NOT_SENT,
    JUDGED,
)
from turncheck.yaml_tree.source import Source

FILES = records("files.json")
SUITES = records("suites.json")
OF_THE_SUITE = (
    "partialconvo/illegalname/illegalname.pconvo.txt",
    "partialconvo/noname/noname.pconvo.txt",
)
"""Botium refuses these files while it reads them, turncheck when it puts the suite together."""
SENT_FILES = {"test/scripting/userinputs/convos"}
"""`MEDIA *.png` is a test case for each picture in Botium; here such a conversation is one that is not judged."""
KEPT_BY_MISTAKE = {"test/scripting/skipconvos": {"skip_convo"}}
"""A conversation whose name begins with `skip`: Botium leaves it out when it reads, but its compiler keeps it."""


SPELLED = ("test/scripting/utteranceexpansion/convos/associate_utterances_by_index.json",)
"""Botium takes a text in the place of a list for its letters, each a line; here that is an error."""


def _read(path: str, text: str) -> Any:
    """What is read of a file, in the recorder's words; ``None`` if it cannot be read."""
    if path.endswith((".yml", ".json")):
        return _read_objects(path, text)
    file = FileLines.of(Source(path, text))
    kind = path.rsplit(".", 2)[-2]
    if kind in {"convo", "pconvo"}:
        convo = read_convo(file, Plugins())
        if convo is None:
            return None
        name = convo.name or path.rpartition("/")[2]
        said: dict[str, Any] = {"name": name}
        if convo.description:
            said["description"] = convo.description
        said["steps"] = [shape(section) for section in convo.sections]
        return {} if kind == "convo" and is_skipped(name) else {f"{kind}s": [said]}
    if kind == "utterances":
        found = read_utterances(file)
        assert found is not None
        return {"utterances": [{"name": found.name, "utterances": list(found.texts)}]}
    rows = read_memory(file, "")
    if any(finding.severity == "error" for finding in file.findings):
        return None
    memories = [{"name": row.name, "values": dict(row.values)} for row in rows]
    return {"memories": memories} if memories else {}


def _read_objects(path: str, text: str) -> Any:
    found = read_objects(Source(path, text), Plugins(), "")
    if any(finding.severity == "error" for finding in found.file.findings):
        return None
    kinds = {"convos": found.convos, "pconvos": found.partials}
    said: dict[str, Any] = {kind: list(map(_convo, convos)) for kind, convos in kinds.items() if convos}
    if found.utterances:
        said["utterances"] = [{"name": one.name, "utterances": list(one.texts)} for one in found.utterances]
    if found.rows:
        said["memories"] = [{"name": row.name, "values": dict(row.values)} for row in found.rows]
    return said


def _convo(convo: Convo) -> dict[str, Any]:
    said: dict[str, Any] = {"name": convo.name}
    if convo.description:
        said["description"] = convo.description
    steps = [{**shape(section), "line": number} for number, section in enumerate(convo.sections, 1)]
    return {**said, "steps": steps}


def _with_texts(read: Any) -> Any:
    """What Botium read, with text for the numbers among arguments."""
    for convo in (*read.get("convos", ()), *read.get("pconvos", ())):
        for step in convo["steps"]:
            for called in (*step.get("asserters", ()), *step.get("hooks", ()), *step.get("inputs", ())):
                called["args"] = list(map(str, called["args"]))
    return read


@pytest.mark.parametrize(
    "path", [path for path in FILES if not path.endswith(OF_THE_SUITE) and "/skipconvos/sub/" not in path]
)
def test_a_file_is_read_as_botium_reads_it(path: str) -> None:
    wanted = FILES[path]["read"]

    is_refused = "error" in wanted or path in SPELLED
    assert _read(path, FILES[path]["text"]) == (None if is_refused else _with_texts(wanted))


def test_of_all_conversations_in_the_tests_of_scripting_at_least_95_in_100_are_read_as_botium_reads_them() -> None:
    convos = {
        path: file
        for path, file in FILES.items()
        if path.startswith("test/scripting/") and path.endswith((".convo.txt", ".yml", ".json"))
    }
    same = [path for path, file in convos.items() if _read(path, file["text"]) == file["read"]]

    assert len(convos) > 130
    assert len(same) >= 0.95 * len(convos)


@pytest.mark.parametrize(("folder", "files"), list(folders(FILES)))
def test_a_suite_has_the_test_cases_that_it_has_in_botium(folder: str, files: dict[str, str], tmp_path: Path) -> None:
    suites, _ = read_suite(written(tmp_path, files, {"SCRIPTING_ENABLE_MEMORY": True}))
    suite = suites.of(tmp_path / "any.convo.txt")
    faults = [finding for finding in suite.findings if finding.severity == "error"]
    cases: list[Expanded] = []
    for convo in (convo for file in suite.convos.values() for convo in file):
        try:
            cases += expanded(suite, convo)
        except FaultyConvoError as error:
            faults.append(error.finding)

    wanted = SUITES[folder]
    if isinstance(wanted, dict) or any(path.startswith(f"{folder}/") for path in SPELLED):
        assert faults
        assert all(fault.location.line for fault in faults)
        return
    assert not faults
    if folder in SENT_FILES:
        assert {case.name for case in cases} <= {one["name"].split("/MEDIA")[0] for one in wanted}
        return
    kept = KEPT_BY_MISTAKE.get(folder, set())
    assert sorted(map(_comparable, cases)) == sorted(_recorded(one) for one in wanted if one["name"] not in kept)


def _comparable(case: Expanded) -> tuple[str, str]:
    memory = {hook.args[0]: hook.args[1] for hook in case.hooks if hook.name == "SET_SCRIPTING_MEMORY"}
    steps = [shape(section, with_line=False) for section in case.sections]
    return case.name, _same_numbers({"memory": memory, "steps": steps})


def _recorded(one: dict[str, Any]) -> tuple[str, str]:
    _with_texts({"convos": [one]})
    return one["name"], _same_numbers({"memory": one["memory"], "steps": one["steps"]})


def _same_numbers(content: Any) -> str:
    """JSON in which `1.0` is `1`, as in JavaScript."""
    text = json.dumps(content, sort_keys=True)
    return json.dumps(json.loads(text, parse_float=lambda number: int(float(number))), sort_keys=True)


def test_every_asserter_logic_hook_user_input_and_function_is_known_and_those_left_out_are_these() -> None:
    names = records("names.json")

    assert sorted(ASSERTERS) == names["asserters"]
    assert sorted(HOOKS) == names["hooks"]
    assert sorted(INPUTS) == names["inputs"]
    assert sorted(FUNCTIONS) == names["functions"]
    assert {*ASSERTERS - JUDGED, *HOOKS_NOT_RUN, *INPUTS_NOT_SENT, *FUNCTIONS - ANSWERED} == {
        *ASSERTERS_NOT_JUDGED, "UPDATE_CUSTOM", "MEDIA", "FORM", "$env",
    }  # fmt: skip
