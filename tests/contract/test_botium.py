"""What is recorded of Botium is what botium-core does."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from node_tools import node_folder, npm_package

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
