"""The image of the action, really built and run the way the Actions runner runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.image

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "build_image.sh"
IMAGE = "localhost/turncheck:test"


@pytest.fixture(scope="module")
def image() -> str:
    subprocess.run([TOOL, "build", ROOT, IMAGE], check=True, timeout=1800)
    return IMAGE


class Runner:
    """Starts the action as the runner does: the workspace mounted, inputs and file commands in the environment."""

    def __init__(self, image: str, folder: Path) -> None:
        self.image = image
        self.workspace = folder / "workspace"
        self.temp = folder / "temp"
        self.commands = self.temp / "_runner_file_commands"
        self.commands.mkdir(parents=True)
        self.workspace.mkdir()

    def run(self, *variables: str) -> subprocess.CompletedProcess[str]:
        for name in ("output", "summary"):
            (self.commands / name).touch()
        return subprocess.run(
            [
                TOOL,
                "run",
                self.image,
                self.workspace,
                self.temp,
                "GITHUB_OUTPUT=/github/file_commands/output",
                "GITHUB_STEP_SUMMARY=/github/file_commands/summary",
                *variables,
            ],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={k: v for k, v in os.environ.items() if not k.startswith(("INPUT_", "GITHUB_"))},
        )

    @property
    def summary(self) -> str:
        return (self.commands / "summary").read_text()

    @property
    def outputs(self) -> dict[str, str]:
        lines = iter((self.commands / "output").read_text().splitlines())
        outputs = {}
        for line in lines:
            name, _, delimiter = line.partition("<<")
            value = []
            for inner in lines:
                if inner == delimiter:
                    break
                value.append(inner)
            outputs[name] = "\n".join(value)
        return outputs


@pytest.fixture
def runner(image: str, tmp_path: Path) -> Runner:
    return Runner(image, tmp_path)


def test_the_action_runs_the_main_job_on_an_example(runner: Runner) -> None:
    shutil.copytree(ROOT / "examples" / "pizzeria", runner.workspace / "bots" / "pizzeria")

    done = runner.run("INPUT_PROJECT=bots/pizzeria", "INPUT_FAIL-ON=errors, test-failures", "INPUT_BASELINE=none")

    assert done.returncode == 0, done.stdout + done.stderr
    assert runner.outputs["verdict"] == "passed"
    assert json.loads(runner.outputs["metrics"])["nlu.intents.f1"] > 0.5
    report = runner.workspace / "results" / "report.json"
    assert json.loads(report.read_text())["schema"] == "turncheck/report/v1"
    assert "pizzeria" in runner.summary


def test_a_gate_that_fails_fails_the_step(runner: Runner) -> None:
    shutil.copytree(ROOT / "examples" / "pizzeria", runner.workspace, dirs_exist_ok=True)

    done = runner.run("INPUT_THRESHOLDS=nlu.intents.f1 >= 1.01", "INPUT_EVALUATIONS=nlu", "INPUT_BASELINE=none")

    assert done.returncode == 1, done.stdout + done.stderr
    assert runner.outputs["verdict"] == "failed"
    assert "::error" in done.stdout


def test_what_cannot_be_done_says_so(runner: Runner) -> None:
    done = runner.run("INPUT_PROJECT=nowhere")

    assert done.returncode == 2
    assert "nowhere" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_no_module_of_the_workspace_stands_in_for_one_of_ours(runner: Runner) -> None:
    shutil.copytree(ROOT / "examples" / "pizzeria", runner.workspace, dirs_exist_ok=True)
    for name in ("yaml.py", "turncheck.py", "json.py", "sitecustomize.py"):
        (runner.workspace / name).write_text("raise SystemExit('the workspace was imported')\n")

    done = runner.run(
        "INPUT_EVALUATIONS=validate", "INPUT_BASELINE=none", "INPUT_FAIL-ON=none", "PYTHONPATH=/github/workspace"
    )

    assert "was imported" not in done.stdout + done.stderr
