"""What is recorded of Botium is what botium-core does."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from node_tools import node_folder, npm_package

from turncheck.evaluation.botium_texts import found
from turncheck.project.botium.vocabulary import as_pattern

HERE = Path(__file__).parent
DATA = HERE.parent / "data" / "botium"
VERSION = "1.15.13"
UNUSED = ("xregexp", "promise.allsettled")
"""Neither is read by what it compiles and runs here; Node.js has the second one itself."""

pytestmark = pytest.mark.slow


def _node(script: str, *arguments: str, given: str = "") -> Any:
    package = npm_package("botium-core", VERSION, UNUSED)
    binaries = node_folder() / "bin"
    command = [str(binaries / "node"), str(HERE / script), str(package), *arguments]
    environment = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "en_US.UTF-8"}
    ran = subprocess.run(
        command, input=given, stdout=subprocess.PIPE, check=True, text=True, encoding="utf-8", env=environment
    )
    return json.loads(ran.stdout)


def _records(name: str) -> Any:
    return json.loads((DATA / name).read_text("utf-8"))


def test_its_compiler_reads_its_files_as_recorded(tmp_path: Path) -> None:
    files = _records("files.json")
    for name, file in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file["text"].encode())

    read = _node("botium_compiler.cjs", str(tmp_path))
    assert read["files"] == {name: file["read"] for name, file in files.items()}
    assert read["folders"] == _records("suites.json")
    assert read["names"] == _records("names.json")


def test_its_conversations_end_as_recorded() -> None:
    runs = _records("runs.json")

    assert _node("botium_runs.cjs", given=json.dumps(runs)) == {name: run["outcomes"] for name, run in runs.items()}


_CHARACTERS = ["a", "Z", "_", "-", "4", "٤", "é", "\n", "\r", "\u2028", " ", "."]
_IN_A_SET = ["a", "Z", "_", "-", "4", "é", *(rf"\{name}" for name in ".-dDwWsSn")]
_PARTS = ["a", "Z", "_", "4", "é", "(?<x>a)", *(rf"\{name}" for name in ".dDwWsSbBn"), ".", "^", "$", "|", " "]


def _written(at: random.Random) -> str:
    """A pattern: parts, and sets, with a repetition now and then."""
    parts = [
        f"[{at.choice(['', '^'])}{''.join(at.choices(_IN_A_SET, k=at.randint(1, 3)))}]"
        if at.random() < 0.4
        else at.choice(_PARTS)
        for _ in range(at.randint(1, 3))
    ]
    repeated = [part + at.choice(["", "", "+", "{2}", "*?"]) if part not in "^$|" else part for part in parts]
    return "".join(part for part in repeated if not part.startswith((r"\b", r"\B")) or len(part) == 2)


def test_patterns_find_what_they_find_in_javascript() -> None:
    at = random.Random(7)
    pairs = [(_written(at), "".join(at.choices(_CHARACTERS, k=at.randint(0, 4)))) for _ in range(8_000)]
    script = """
        const pairs = JSON.parse(require('fs').readFileSync(0, 'utf8'))
        const test = ([pattern, text]) => { try { return new RegExp(pattern).test(text) } catch { return null } }
        console.log(JSON.stringify(pairs.map(test)))"""
    node = str(node_folder() / "bin" / "node")
    ran = subprocess.run([node, "-e", script], input=json.dumps(pairs), stdout=subprocess.PIPE, check=True, text=True)

    judged = [(pair, there) for pair, there in zip(pairs, json.loads(ran.stdout), strict=True) if there is not None]
    assert len(judged) > 6_000
    assert [pair for pair, there in judged if found(as_pattern(pair[0]), pair[1]) != there] == []
