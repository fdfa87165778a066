"""Runs the steps of the composite action as GitHub's runner does: expressions, scripts of github-script, bash."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from tools.build_page import node_folder

ROOT = Path(__file__).parents[2]
_EXPRESSION = re.compile(r"\$\{\{ ([\w.()-]+) \}\}")
_SCRIPT = """\
const fs = require('fs')
const write = (name, value) => fs.appendFileSync(process.env.GITHUB_OUTPUT, `${name}<<END\\n${value}\\nEND\\n`)
const core = {setOutput: write}
"""


@dataclass
class CompositeRunner:
    """A runner's machine: its folders, its own variables, and what it gives actions in JavaScript alone."""

    folder: Path
    action: Path = ROOT / "composite"
    variables: dict[str, str] = field(default_factory=dict)
    runtime: dict[str, str] = field(default_factory=dict)
    token: str = "ghs_actions"
    log: str = ""
    code: int = 0

    def __post_init__(self) -> None:
        for name in ("workspace", "temp"):
            (self.folder / name).mkdir(exist_ok=True)

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def run(self, **inputs: str) -> dict[str, str]:
        """Run the action with these inputs (underscores for dashes), and return its outputs."""
        document = yaml.safe_load((self.action / "action.yml").read_text("utf-8"))
        assert document["runs"]["using"] == "composite"
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        values = {name: given.pop(name, about.get("default", "")) for name, about in document["inputs"].items()}
        assert not given
        context: dict[str, Any] = {"inputs": values, "steps": {}, "github": {"token": self.token}}
        values["token"] = self._filled(values["token"], context)
        self.log, self.code = "", 0
        for step in document["runs"]["steps"]:
            if self.code == 0:
                context["steps"][step["id"]] = {"outputs": self._step(step, context)}
        return {name: self._filled(about["value"], context) for name, about in document["outputs"].items()}

    def _filled(self, text: str, context: dict[str, Any]) -> str:
        def value(match: re.Match[str]) -> str:
            words = match[1]
            if words == "toJSON(inputs)":
                return json.dumps(context["inputs"], indent=2)
            found: Any = context
            for part in words.split("."):
                found = found.get(part, {})
            return found if isinstance(found, str) else ""

        return _EXPRESSION.sub(value, str(text))

    def _step(self, step: dict[str, Any], context: dict[str, Any]) -> dict[str, str]:
        outputs = self.folder / f"output-{step['id']}"
        outputs.write_text("")
        variables = {
            **self.variables,
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_OUTPUT": str(outputs),
            "RUNNER_TEMP": self.variables.get("RUNNER_TEMP", str(self.folder / "temp")),
        }
        if "uses" in step:
            assert step["uses"].startswith("actions/github-script@")
            script = self.folder / "script.cjs"
            script.write_text(_SCRIPT + self._filled(step["with"]["script"], context))
            command, more = [str(node_folder() / "bin" / "node"), str(script)], self.runtime
        else:
            assert "${{" not in step["run"], "what a workflow gives would be code of the shell"
            script = self.folder / "script.sh"
            script.write_text(step["run"])
            command = ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
            more = {name: self._filled(value, context) for name, value in step.get("env", {}).items()}
            more["GITHUB_ACTION_PATH"] = str(self.action)
        done = subprocess.run(
            command, cwd=self.workspace, env=variables | more, capture_output=True, text=True, check=False
        )
        self.log += done.stdout + done.stderr
        self.code = done.returncode
        found, lines = {}, iter(outputs.read_text("utf-8").splitlines())
        for line in lines:
            name, _, delimiter = line.partition("<<")
            found[name] = "\n".join(iter(lambda: next(lines), delimiter))
        return found
