"""Records how botium-core reads its own test files, and what comes of conversations: ``tests/data/botium/``.

    python tools/record_botium.py CHECKOUT PACKAGE

CHECKOUT is a checkout of github.com/codeforequity-at/botium-core, PACKAGE the installed npm package ``botium-core``.
The conversations are those of ``runs.json``; add one there with ``"outcomes": {}`` to have its outcome recorded.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data" / "botium"
SCRIPTS = ROOT / "tests" / "contract"
ENDS = (".convo.txt", ".pconvo.txt", ".utterances.txt", ".scriptingmemory.txt")
OBJECTS = re.compile(r'^\W*(convos|partialConvos|utterances|scriptingMemory)"?:', re.MULTILINE)
"""A key of a suite in YAML or JSON."""
FOLDERS = ("test/compiler", "test/convo", "test/scripting")


def main(checkout: Path, package: Path) -> None:
    """Record everything anew."""
    files = {
        str(path.relative_to(checkout)): path.read_bytes().decode()
        for folder in FOLDERS
        for path in sorted((checkout / folder).rglob("*"))
        if path.name.endswith(ENDS) or (path.suffix in {".yml", ".yaml", ".json"} and OBJECTS.search(path.read_text()))
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        read = _node("botium_compiler.cjs", str(package), folder)
    _write("files.json", {name: {"text": text, "read": read["files"][name]} for name, text in files.items()})
    _write("suites.json", read["folders"])
    _write("names.json", read["names"])
    runs = json.loads((DATA / "runs.json").read_text("utf-8"))
    outcomes = _node("botium_runs.cjs", str(package), given=json.dumps(runs))
    _write("runs.json", {name: {**run, "outcomes": outcomes[name]} for name, run in runs.items()})


def _node(script: str, *arguments: str, given: str = "") -> Any:
    command = ["node", str(SCRIPTS / script), *arguments]
    english = {**os.environ, "LC_ALL": "en_US.UTF-8"}  # the language of `$now`
    ran = subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True, text=True, env=english)
    return json.loads(ran.stdout)


def _write(name: str, content: dict[str, Any]) -> None:
    """Write one entry a line."""
    lines = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in content.items())
    (DATA / name).write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
