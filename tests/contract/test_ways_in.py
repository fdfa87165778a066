"""The ways in beside the action: hooks of pre-commit, templates of other hosts, and packages from an index."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import release_world
import yaml
from release_world import ROOT, TOOLS, VERSION, ensure_tools, git

PIZZERIA = ROOT / "examples" / "pizzeria"
DOMAIN = 'version: "3.1"\nintents: [greet]\nresponses:\n  utter_greet:\n  - text: Hello\n'
RULES = 'version: "3.1"\nrules:\n- rule: greet\n  steps:\n  - intent: greet\n  - action: utter_greet\n'
TESTS = (
    'version: "3.1"\nstories:\n- story: hello\n  steps:\n  - user: |\n      hello\n    intent: greet\n'
    "  - action: utter_greet\n"
)
NLU = 'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - hello\n    - hi there\n    - good morning\n'
PIPELINE = "pipeline:\n- name: WhitespaceTokenizer\n- name: KeywordIntentClassifier\n"
CONFIG = f"language: en\n{PIPELINE}policies:\n- name: RulePolicy\n"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> Path:
    """The repository as a release has it."""
    bare = tmp_path_factory.mktemp("released") / "origin.git"
    shutil.copytree(prepared, bare)
    git(bare, "tag", f"v{VERSION}")
    return bare


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    """A repository with an assistant in a folder."""
    folder = tmp_path / "work"
    files = {"domain.yml": DOMAIN, "config.yml": CONFIG, "data/nlu.yml": NLU, "data/rules.yml": RULES}
    for name, text in {**files, "tests/test_stories.yml": TESTS}.items():
        (folder / "bots" / "pizza" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "bots" / "pizza" / name).write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "bot")
    return folder


def hooks(bot: Path, repository: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the real pre-commit with our hooks; pip reaches no index, and finds what turncheck needs among ours."""
    chosen = [{"id": "turncheck-validate", "args": ["--project", "bots/pizza", "--fail-on-warnings"]}]
    chosen += [{"id": "turncheck-run", "args": ["--project", "bots/pizza"]}]
    config = {"repos": [{"repo": str(repository), "rev": f"v{VERSION}", "hooks": chosen}]}
    (bot / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    (bot / ".gitignore").write_text("results/\n")
    git(bot, "add", "-A")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "CI", "GIT_"))}
    environment |= {
        "PRE_COMMIT_HOME": str(bot.parent / "pre-commit"),
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_COMPILE": "0",  # what a hook imports is compiled then
        "VIRTUALENV_NO_PERIODIC_UPDATE": "1",  # nobody waits for a newer pip
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads the variable as the value of the flag: without isolation
    }
    return subprocess.run(
        [
            TOOLS / "bin" / "pre-commit",
            "run",
            *(arguments if "--from-ref" in arguments else ("--all-files", *arguments)),
        ],
        cwd=bot,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


def test_the_hooks_check_an_assistant_and_say_what_is_wrong(released: Path, bot: Path) -> None:
    done = hooks(bot, released)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "turncheck data validate" in done.stdout

    pushed = hooks(bot, released, "--hook-stage", "pre-push")
    assert pushed.returncode == 0, pushed.stdout + pushed.stderr
    assert "turncheck run (quick)" in pushed.stdout
    assert json.loads((bot / "results" / "report.json").read_text())["tool"]["version"] == VERSION

    rules = bot / "bots" / "pizza" / "data" / "rules.yml"
    rules.write_text(RULES.replace("utter_greet", "utter_gone"))
    done = hooks(bot, released)
    assert done.returncode == 1
    assert "bots/pizza/data/rules.yml\n  6:5 " in done.stdout
    assert "utter_gone" in done.stdout
    assert hooks(bot, released, "--hook-stage", "pre-push", "turncheck-run").returncode == 1
    git(bot, "checkout", "-q", "bots")
    ensure_deletions_are_checked(released, bot)


def ensure_deletions_are_checked(released: Path, bot: Path) -> None:
    """Push what only deletes: pre-commit then lists no file at all."""
    git(bot, "commit", "-q", "-m", "hooks")
    git(bot, "checkout", "-q", "-b", "change")
    pushed = ("--hook-stage", "pre-push", "--from-ref", "main", "--to-ref", "HEAD", "turncheck-run")
    git(bot, "rm", "-q", "bots/pizza/tests/test_stories.yml")
    git(bot, "commit", "-q", "-m", "without its tests")
    done = hooks(bot, released, *pushed)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "gone-tests: 1 story of the base is gone" in done.stdout


def test_a_hook_always_runs_and_judges_the_whole_assistant() -> None:
    ensure_tools()
    manifest = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    done = subprocess.run(
        [TOOLS / "bin" / "pre-commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")], check=False
    )

    assert done.returncode == 0
    assert [hook["id"] for hook in manifest] == ["turncheck-validate", "turncheck-run"]
    assert all(hook["always_run"] and not hook["pass_filenames"] for hook in manifest)


AZURE: dict[str, Any] = yaml.safe_load((ROOT / "azure" / "turncheck.yml").read_text("utf-8"))


def test_the_template_for_azure_is_one() -> None:
    command = [str(Path(sys.executable).parent / "check-jsonschema"), "--builtin-schema", "vendor.azure-pipelines"]
    command += ["--data-transform", "azure-pipelines", "--regex-variant", "nonunicode"]
    subprocess.run([*command, str(ROOT / "azure" / "turncheck.yml")], check=True)

    used = set(json.dumps(AZURE["steps"]).replace(" }}", "\n").split("parameters.")[1:])
    assert {one.split("\\n")[0].split("\n")[0].strip('"') for one in used} == {
        one["name"] for one in AZURE["parameters"]
    }


def test_the_step_for_azure_runs_an_assistant_whatever_its_parameters_contain(bot: Path, tmp_path: Path) -> None:
    folder = bot / "bots" / "my $(touch stolen) pizza"
    (bot / "bots" / "pizza").rename(folder)
    scripts = tmp_path / "agent" / "turncheck" / "bin"
    scripts.mkdir(parents=True)
    (scripts / "turncheck").symlink_to(Path(sys.executable).parent / "turncheck")
    step = next(step for step in AZURE["steps"] if step.get("name") == "turncheck")
    values = {"project": str(folder), "artifact": "turncheck", "flags": "--evaluations validate core\n--out here\n"}
    environment = {
        name: values[value.removeprefix("${{ parameters.").removesuffix(" }}")]
        for name, value in step["env"].items()
        if "parameters." in value
    }
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "CI"))}
    done = subprocess.run(
        ["bash", "-c", step["bash"]],
        cwd=bot,
        env={**plain, **environment, "AGENT_TEMPDIRECTORY": str(tmp_path / "agent")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert (bot / "here" / "junit.xml").exists()
    assert not (bot / "stolen").exists()


def test_the_components_for_gitlab_are_where_it_looks_and_nothing_else_is() -> None:
    """GitLab takes `templates/NAME.yml` and `templates/NAME/template.yml` as components."""
    folder = ROOT / "templates"

    assert [file.name for file in [*folder.glob("*.yml"), *folder.glob("*/template.yml")]] == ["turncheck.yml"]


@pytest.fixture(scope="module")
def index(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An index with the package as it is built for a release."""
    folder = tmp_path_factory.mktemp("index")
    git(folder, "clone", "-q", str(released), "source")
    with release_world.package_index(folder / "packages") as address:
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "packages")]
        subprocess.run(build, cwd=folder / "source", check=True, capture_output=True)
        yield f"{address}/simple/"


@pytest.mark.image
@pytest.mark.parametrize("way", ["uvx", "pipx"])
def test_a_package_from_an_index_runs_without_being_installed(way: str, index: str, tmp_path: Path) -> None:
    """Ours is from this index, and what it needs from the usual one."""
    shutil.copytree(PIZZERIA, tmp_path / "pizzeria")
    tool, environment = str(TOOLS / "bin" / way), {**os.environ, "UV_INDEX": index, "PIP_EXTRA_INDEX_URL": index}
    environment |= {"PIPX_HOME": str(tmp_path / "pipx"), "UV_TOOL_DIR": str(tmp_path / "tools")}
    run = (
        [tool, f"turncheck@{VERSION}"]
        if way == "uvx"
        else [tool, "run", "--spec", f"turncheck=={VERSION}", "turncheck"]
    )

    def said(*arguments: str) -> str:
        done = subprocess.run(
            [*run, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert VERSION in said("--version")
    assert "pizzeria" in said("run", "pizzeria", "--evaluations", "validate", "--fail-on", "errors")
    assert (tmp_path / "results" / "report.json").exists()
