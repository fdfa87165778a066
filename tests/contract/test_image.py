"""The image of the action, really built and run the way the Actions runner runs it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from fake_github import ACTIONS_TOKEN

pytestmark = pytest.mark.image

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "build_image.sh"


class Runner:
    """Starts the action as the runner does: the workspace mounted, inputs and file commands in the environment."""

    def __init__(self, image: str, folder: Path) -> None:
        self.image = image
        self.workspace = folder / "workspace"
        self.temp = folder / "temp"
        self.commands = self.temp / "_runner_file_commands"
        self.commands.mkdir(parents=True)
        self.workspace.mkdir()

    def run(self, *variables: str, options: str = "", network: str = "host") -> subprocess.CompletedProcess[str]:
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
            env={k: v for k, v in os.environ.items() if not k.startswith(("INPUT_", "GITHUB_"))}
            | {"RUN_OPTIONS": options, "NETWORK": network},
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
    assert re.match(r"turncheck \d+\.\d+\.\d+\n", done.stdout), "at once, whatever the job takes"
    assert runner.outputs["verdict"] == "passed"
    assert json.loads(runner.outputs["metrics"])["nlu.intents.f1"] > 0.5
    report = runner.workspace / "results" / "report.json"
    assert json.loads(report.read_text())["schema"] == "turncheck/report/v1"
    assert "pizzeria" in runner.summary


def test_a_gate_that_fails_fails_the_step(runner: Runner) -> None:
    shutil.copytree(ROOT / "examples" / "pizzeria", runner.workspace, dirs_exist_ok=True)

    done = runner.run("INPUT_THRESHOLDS=nlu.intents.f1 > 1", "INPUT_EVALUATIONS=nlu", "INPUT_BASELINE=none")

    assert done.returncode == 1, done.stdout + done.stderr
    assert runner.outputs["verdict"] == "failed"
    assert "::error" in done.stdout


STARTER_DOMAIN = "\n".join(
    (
        'version: "3.1"',
        "intents: [greet, goodbye]",
        "responses:",
        "  utter_greet:",
        "  - text: Hello",
        "  utter_goodbye:",
        "  - text: Bye",
        "",
    )
)
STARTER = {
    "domain.yml": STARTER_DOMAIN,
    "config.yml": "language: en\npipeline:\n- name: WhitespaceTokenizer\n- name: CountVectorsFeaturizer\n"
    "- name: DIETClassifier\npolicies:\n- name: RulePolicy\n",
    "data/nlu.yml": 'version: "3.1"\nnlu:\n'
    "- intent: greet\n  examples: |\n    - hello\n    - hi there\n    - good morning\n"
    "- intent: goodbye\n  examples: |\n    - bye\n    - see you later\n    - good night\n",
    "data/rules.yml": 'version: "3.1"\nrules:\n'
    + "".join(
        f"- rule: {name}\n  steps:\n  - intent: {name}\n  - action: utter_{name}\n" for name in ("greet", "goodbye")
    ),
    "tests/test_stories.yml": 'version: "3.1"\nstories:\n- story: hello\n  steps:\n  - user: |\n      hello\n'
    "    intent: greet\n  - action: utter_greet\n",
}


def starter(folder: Path) -> tuple[str, str]:
    """Make the checkout of a change of a small assistant, with its history; return its base and its head."""

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
        done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    for name, text in STARTER.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "base")
    base = git("rev-parse", "HEAD")
    (folder / "domain.yml").write_text(STARTER_DOMAIN.replace("Hello", "Welcome"))
    git("commit", "-q", "-a", "-m", "change")
    return base, git("rev-parse", "HEAD")


def owned(folder: Path, user: int) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)


def pull_request(runner: Runner) -> tuple[str, tuple[str, ...]]:
    """Check out the change of a small assistant; return its base, and the variables of its job."""
    base, head = starter(runner.workspace)
    event = {
        "pull_request": {
            "number": 7,
            "head": {"sha": head, "ref": "feature", "repo": {"full_name": "acme/bots"}},
            "base": {"sha": base, "ref": "main", "repo": {"full_name": "acme/bots"}},
        },
        "repository": {"default_branch": "main"},
    }
    (runner.temp / "_github_workflow").mkdir()
    (runner.temp / "_github_workflow" / "event.json").write_text(json.dumps(event))
    (runner.temp / "_github_home").mkdir()
    for name in ("output", "summary"):
        (runner.commands / name).touch()
    return base, (
        "GITHUB_REPOSITORY=acme/bots",
        "GITHUB_EVENT_NAME=pull_request",
        "GITHUB_EVENT_PATH=/github/workflow/event.json",
        f"GITHUB_SHA={head}",
        "GITHUB_REF=refs/pull/7/merge",
        "GITHUB_RUN_ID=500",
        "GITHUB_RUN_ATTEMPT=1",
    )


def ensure_compared(runner: Runner, base: str, done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    comparison = json.loads((runner.workspace / "results" / "comparison.json").read_text())
    assert (comparison["baseline"]["status"], comparison["baseline"]["commit"]) == ("present", base)
    assert runner.outputs["verdict"] == "passed"
    assert "atplotlib" not in done.stdout + done.stderr, "it would recommend a variable of its own"


@pytest.mark.parametrize(
    ("options", "network"), [("", "host"), ("--user 1000 --read-only --tmpfs /tmp --env HOME=/nowhere", "none")]
)
def test_a_change_is_compared_with_its_base_without_root_a_writable_image_or_a_network(
    runner: Runner, options: str, network: str
) -> None:
    base, variables = pull_request(runner)
    owned(runner.workspace.parent, 1000)

    ensure_compared(runner, base, runner.run(*variables, options=options, network=network))


BESIDE_THE_API = """
import json, os, subprocess, sys
sys.path.insert(0, "/github/runner_temp/api")
from fake_github import FakeGitHub
github = FakeGitHub()
event = json.load(open(os.environ["GITHUB_EVENT_PATH"]))["pull_request"]
github.add_pull(7, head=event["head"]["sha"], base=event["base"]["sha"])
os.environ["GITHUB_API_URL"] = github.url
code = subprocess.run(["/opt/turncheck/bin/python", "-I", "-m", "turncheck", "action"]).returncode
json.dump(github.bodies(7), open("/github/runner_temp/comments.json", "w"))
os._exit(code)
"""
"""The action, and an API on the same loopback: with `--network none` there is nothing else."""


def test_the_run_of_a_starter_comments_without_root_a_writable_image_or_a_network_but_the_api(runner: Runner) -> None:
    base, variables = pull_request(runner)
    api = runner.temp / "api"
    api.mkdir()
    for name in ("fake_github.py", "fake_caches.py", "fake_host.py", "github_shapes.py", "github_openapi.json"):
        shutil.copy(Path(__file__).with_name(name), api)
    owned(runner.workspace.parent, 1000)

    done = runner.run(
        *variables,
        f"INPUT_TOKEN={ACTIONS_TOKEN}",
        "INPUT_FAIL-ON=new-errors, new-failures",
        "--",
        "-c",
        BESIDE_THE_API,
        options="--user 1000 --read-only --entrypoint /opt/turncheck/bin/python",
        network="none",
    )

    ensure_compared(runner, base, done)
    (comment,) = json.loads((runner.temp / "comments.json").read_text())
    assert "Passed" in comment
    assert "cannot be reached" not in done.stdout + done.stderr


def test_git_can_fetch_by_https(image: str, tmp_path: Path) -> None:
    """What it says of an address where nothing listens: not that it knows no such way."""
    runner = Runner(image, tmp_path)
    tool = "git ls-remote https://127.0.0.1:9/acme/bots"
    engine = ["--", "-c", f"import os; os._exit(os.system({tool!r}) >> 8)"]
    done = runner.run(*engine, options="--entrypoint /opt/turncheck/bin/python")

    assert done.returncode == 128
    assert "Failed to connect" in done.stderr or "Couldn't connect" in done.stderr, done.stderr


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
