"""The composite action: its steps, as a runner executes them, in a workspace that wants to run instead of it.

macOS, Windows and ARC are not here: Windows' paths are tested by ``ntpath``, what its Python lacks by mypy and by a run
without it (test_without_posix.py).
"""

from __future__ import annotations

import hashlib
import io
import json
import ntpath
import os
import posixpath
import shutil
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from composite import start
from composite_runner import CompositeRunner
from fake_github import ACTIONS_TOKEN, FakeGitHub
from fake_results import TOKEN, FakeResults
from test_hostile_workspace import fill

ROOT = Path(__file__).parents[2]
TURNCHECK = """\
import json, os, sys
said = {"argv": sys.argv[1:], "path": sys.path, "python": sys.executable, "variables": dict(os.environ)}
print("RAN", json.dumps(said))
"""
PYTHON = Path(getattr(sys, "_base_executable", sys.executable))


@pytest.fixture
def runner(tmp_path: Path) -> CompositeRunner:
    """A machine with the action as a release has it; turncheck and its packages are tiny, and uv does nothing."""
    action = tmp_path / "actions" / "turncheck"
    shutil.copytree(ROOT / "composite", action / "composite", ignore=shutil.ignore_patterns("__pycache__"))
    (action / "src" / "turncheck").mkdir(parents=True)
    (action / "src" / "turncheck" / "__main__.py").write_text(TURNCHECK)
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    (action / "requirements").mkdir()
    for name, file in (("package", "run.txt"), ("uv", "test.txt")):
        pin = pinned(wheels, name)
        (action / "requirements" / file).write_text(
            f"first==1 \\\n    --hash=sha256:0\n{pin}last==1\n" if file == "test.txt" else pin
        )
    found = CompositeRunner(tmp_path, action / "composite")
    found.variables = {
        "PATH": f"{PYTHON.parent}:/usr/bin:/bin",
        "HOME": str(found.workspace),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "UV_FIND_LINKS": str(wheels),
        "UV_OFFLINE": "1",
    }
    with_uv(found, "")
    found.runtime = {"ACTIONS_RUNTIME_TOKEN": "the runtime's", "ACTIONS_RESULTS_URL": "https://results.example.org/"}
    return found


def pinned(folder: Path, name: str) -> str:
    """Write a wheel of one module, and return its line of requirements."""
    path = folder / f"{name}-9-py3-none-any.whl"
    about = f"{name}-9.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}_module.py", "")
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 9\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return f"{name}==9 \\\n    --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n    # via x\n"


def ran(runner: CompositeRunner) -> dict[str, object]:
    """What turncheck was started with."""
    (line,) = (line for line in runner.log.splitlines() if line.startswith("RAN "))
    found: dict[str, object] = json.loads(line.removeprefix("RAN "))
    return found


def with_uv(runner: CompositeRunner, text: str) -> Path:
    """Put a uv on the path that does as a shell script says."""
    folder = runner.folder / "programs"
    folder.mkdir(exist_ok=True)
    (folder / "uv").write_text(f"#!/bin/sh\n{text}")
    (folder / "uv").chmod(0o755)
    runner.variables["PATH"] = f"{folder}:{runner.variables['PATH']}"
    return folder


def test_turncheck_is_started_with_the_inputs_and_what_only_actions_are_given(runner: CompositeRunner) -> None:
    runner.run(fail_on="new-errors", project="bots/a b\r\nbots/c", thresholds="nlu.intents.f1 >= 0.8\n")

    started = ran(runner)
    variables = started["variables"]
    assert isinstance(variables, dict)
    assert started["argv"] == ["action"]
    assert variables["INPUT_FAIL-ON"] == "new-errors"
    assert variables["INPUT_PROJECT"] == "bots/a b\r\nbots/c"
    assert variables["INPUT_TOKEN"] == "ghs_actions"
    assert variables["ACTIONS_RUNTIME_TOKEN"] == "the runtime's"
    assert start.INPUTS not in variables
    assert str(started["python"]).startswith(str(runner.folder / "temp"))
    assert not any(str(place).startswith(str(runner.workspace)) for place in started["path"])  # type: ignore[attr-defined]


@pytest.mark.slow
def test_pip_installs_where_uv_cannot_be_had(runner: CompositeRunner) -> None:
    """The uv that is pinned here is a wheel without a program."""
    (runner.folder / "programs" / "uv").unlink()

    runner.run()

    assert "uv could not install the packages, so pip does" in runner.log
    assert list((runner.folder / "temp").glob("*/environment/lib/*/site-packages/package_module.py"))
    assert ran(runner)["argv"] == ["action"]


def test_a_uv_of_the_job_is_used_and_told_everything_that_matters(runner: CompositeRunner) -> None:
    marks = runner.folder / "marks"
    with_uv(runner, f'echo "$PWD $*" > {marks}\nenv >> {marks}\n')

    runner.run(cache_key="the key")

    command, *variables = marks.read_text().splitlines()
    assert command.startswith(f"{runner.folder / 'temp'}/turncheck-"), "not in the workspace"
    for words in ("--no-config", "--cache-dir", "--require-hashes", "--only-binary :all:"):
        assert words in command
    assert not [one for one in variables if "the key" in one or "the runtime's" in one or start.INPUTS in one]
    assert "ghs_actions" not in marks.read_text()


def test_a_mirror_that_is_named_for_pip_is_ones_for_uv(runner: CompositeRunner) -> None:
    marks = runner.folder / "marks"
    with_uv(runner, f"env > {marks}\n")
    runner.variables["PIP_INDEX_URL"] = "https://mirror.example.org/simple"

    runner.run()

    assert "UV_DEFAULT_INDEX=https://mirror.example.org/simple" in marks.read_text()


@pytest.mark.slow
def test_packages_that_are_not_the_pinned_ones_are_not_installed(runner: CompositeRunner) -> None:
    with_uv(runner, "exit 1")
    (runner.folder / "wheels" / "package-9-py3-none-any.whl").write_bytes(b"another")

    runner.run()

    assert runner.code == start.NOT_DONE
    assert "RAN" not in runner.log


@pytest.mark.slow
def test_a_runner_that_reaches_no_index_is_told_once_what_to_do(runner: CompositeRunner) -> None:
    with_uv(runner, "echo offline >&2; exit 1")
    shutil.rmtree(runner.folder / "wheels")

    runner.run()

    assert runner.code == start.NOT_DONE
    (error,) = (line for line in runner.log.splitlines() if line.startswith("::error"))
    assert "PIP_INDEX_URL" in error
    assert "Traceback" not in runner.log


def test_without_a_python_that_is_new_enough_it_says_which_step_is_missing(runner: CompositeRunner) -> None:
    old = runner.folder / "old"
    old.mkdir()
    (old / "python3").write_text("#!/bin/sh\nexit 1\n")
    (old / "python3").chmod(0o755)
    runner.variables |= {"PATH": str(old), "RUNNER_TOOL_CACHE": str(runner.folder / "none")}

    runner.run()

    assert runner.code == start.NOT_DONE
    assert "actions/setup-python" in runner.log


def test_a_python_that_is_newer_than_the_pinned_wheels_is_left_for_one_that_has_them(runner: CompositeRunner) -> None:
    newer = runner.folder / "newer"
    newer.mkdir()
    faked = "import sys; sys.version_info = (3, 15, 0, 'final', 0)"
    (newer / "python3").write_text(
        f'#!/bin/sh\n[ "$2" = -c ] && exec {PYTHON} -I -c "{faked}; $3"\necho newer >&2; exit 1\n'
    )
    (newer / "python3").chmod(0o755)
    runner.variables["PATH"] = f"{newer}:{runner.variables['PATH']}"

    runner.run()

    assert ran(runner)["argv"] == ["action"]


def test_a_python_that_the_runner_keeps_is_found(runner: CompositeRunner) -> None:
    version = f"3.{sys.version_info.minor}.99"
    kept = runner.folder / "tools" / "Python" / version / "x64" / "bin"
    kept.mkdir(parents=True)
    (kept / "python3").write_text(f'#!/bin/sh\necho kept >&2\nexec {PYTHON} "$@"\n')
    (kept / "python3").chmod(0o755)
    old = runner.folder / "old"
    old.mkdir()
    path = f"{runner.folder / 'programs'}:{old}"
    runner.variables |= {"PATH": path, "RUNNER_TOOL_CACHE": str(runner.folder / "tools")}

    runner.run()

    assert "kept" in runner.log
    assert ran(runner)["argv"] == ["action"]


@pytest.mark.parametrize("tools", ["/proc", "", "tools", "workspace"])
def test_what_is_fetched_is_kept_among_the_runners_tools_if_it_can_be(runner: CompositeRunner, tools: str) -> None:
    """/proc cannot be written, not even by root."""
    (runner.folder / "tools").mkdir()
    marks = runner.folder / "marks"
    with_uv(runner, f'while [ "$1" != --cache-dir ]; do shift; done\necho "$2" > {marks}\n')
    runner.variables["RUNNER_TOOL_CACHE"] = str(runner.folder / tools) if tools else ""

    runner.run()

    place = "tools/turncheck/cache" if tools == "tools" else "temp/turncheck-"
    assert marks.read_text().startswith(f"{runner.folder}/{place}")
    assert ran(runner)["argv"] == ["action"]
    assert not list(runner.workspace.iterdir())


@pytest.mark.slow
def test_the_uv_that_is_pinned_is_fetched_once(runner: CompositeRunner) -> None:
    (runner.folder / "programs" / "uv").unlink()
    (runner.folder / "tools").mkdir()
    runner.variables["RUNNER_TOOL_CACHE"] = str(runner.folder / "tools")
    runner.run()

    (kept,) = (runner.folder / "tools" / "turncheck").iterdir()
    assert (kept.name, (kept / "uv_module.py").exists()) == ("uv-9", True)
    (kept / "bin").mkdir()
    (kept / "bin" / "uv").write_text("#!/bin/sh\n")
    (kept / "bin" / "uv").chmod(0o755)
    shutil.rmtree(runner.folder / "wheels")
    runner.run()
    assert ran(runner)["argv"] == ["action"]


def test_nothing_of_the_workspace_runs_wherever_the_path_leads(runner: CompositeRunner) -> None:
    marks = runner.folder / "marks"
    fill(runner.workspace, marks)
    for name in ("uv", "python", "python3", "bash", "sort", "bin/python3", "bin/uv"):
        path = runner.workspace / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\necho {name} >> {marks}\n")
        path.chmod(0o755)
    (runner.workspace / "uv.toml").write_text("[pip]\nno-index = true\nfind-links = ['.']\n")
    (runner.workspace / "encodings").mkdir()
    (runner.workspace / "encodings" / "__init__.py").write_text(f"open('{marks}', 'a').write('encodings')\n")
    here = runner.workspace
    runner.variables["PATH"] = f"{here}/bin:{here}:.:bin:{runner.variables['PATH']}"

    runner.run()

    assert not marks.exists(), marks.read_text()
    assert ran(runner)["argv"] == ["action"]


@pytest.mark.parametrize(
    "entry",
    [
        "{folder}/link",
        "{folder}/programs-of-an-action",
        "{folder}/../{name}/workspace/.venv/bin",
        "/{workspace}/.venv/bin",
        "{physical}/.venv/bin",
    ],
)
def test_no_spelling_of_a_folder_of_the_workspace_makes_its_python_a_program(
    runner: CompositeRunner, entry: str
) -> None:
    """By a link to the folder or the program, with two dots, two slashes, or beside a link to the workspace itself."""
    physical, marks = runner.folder / "physical", runner.folder / "marks"
    runner.workspace.rename(physical)
    runner.workspace.symlink_to(physical)
    (physical / ".venv" / "bin").mkdir(parents=True)
    python = physical / ".venv" / "bin" / "python3"
    python.write_text(f'#!/bin/sh\necho ran >> {marks}\nexec {PYTHON} "$@"\n')
    python.chmod(0o755)
    (runner.folder / "link").symlink_to(python.parent)
    (runner.folder / "programs-of-an-action").mkdir()
    (runner.folder / "programs-of-an-action" / "python3").symlink_to(python)
    places = {"folder": runner.folder, "name": runner.folder.name, "workspace": runner.workspace, "physical": physical}
    runner.variables["PATH"] = f"{entry.format_map(places)}:{runner.variables['PATH']}"

    runner.run()

    assert not marks.exists()
    assert ran(runner)["argv"] == ["action"]


def test_a_temporary_folder_in_the_workspace_is_not_used(
    runner: CompositeRunner, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (runner.workspace / "temp").mkdir()
    runner.variables |= {"RUNNER_TEMP": str(runner.workspace / "temp"), "TMPDIR": str(outside)}

    runner.run()

    assert str(ran(runner)["python"]).startswith(str(outside))
    assert not list((runner.workspace / "temp").iterdir())


@pytest.mark.parametrize(
    ("path", "folder", "flavour", "outside"),
    [
        ("/srv/repo/bin", "/srv/repo", posixpath, False),
        ("/srv/repo", "/srv/repo/", posixpath, False),
        ("/srv/repository", "/srv/repo", posixpath, True),
        ("/srv/repo/../temp", "/srv/repo", posixpath, True),
        ("/srv/temp/../repo", "/srv/repo", posixpath, False),
        ("bin", "/srv/repo", posixpath, False),
        ("", "/srv/repo", posixpath, False),
        (r"D:\a\bots\bots\bin", r"D:\a\bots\bots", ntpath, False),
        (r"d:/A/bots/BOTS", r"D:\a\bots\bots", ntpath, False),
        (r"D:\a\_temp", r"D:\a\bots\bots", ntpath, True),
        (r"C:\Python312", r"D:\a\bots\bots", ntpath, True),
        (r"D:\a\bots\bots-2", r"D:\a\bots\bots", ntpath, True),
        (r"D:\a\bots\bots\..\..\_temp", r"D:\a\bots\bots", ntpath, True),
        (r"\\server\share\temp", r"D:\a\bots\bots", ntpath, True),
        (r"D:bin", r"D:\a\bots\bots", ntpath, False),
        (r".\bin", r"D:\a\bots\bots", ntpath, False),
    ],
)
def test_what_is_outside_the_workspace(path: str, folder: str, flavour: ModuleType, outside: bool) -> None:
    assert start.is_outside(path, folder, flavour) is outside


def test_a_link_out_of_the_workspace_and_one_into_it_count_as_where_they_lead(tmp_path: Path) -> None:
    workspace, other = tmp_path / "workspace", tmp_path / "other"
    (workspace / "bin").mkdir(parents=True)
    other.symlink_to(workspace / "bin")

    assert not start.is_outside(str(other), str(workspace))


def test_a_link_to_a_file_of_the_workspace_is_no_program_and_one_to_its_folder_keeps_nothing(tmp_path: Path) -> None:
    workspace, programs, tools = (tmp_path / name for name in ("workspace", "programs", "tools"))
    for folder in (workspace, programs, tools):
        folder.mkdir()
    (workspace / "uv").write_text("#!/bin/sh\n")
    (workspace / "uv").chmod(0o755)
    (programs / "uv").symlink_to(workspace / "uv")
    (tools / "turncheck").symlink_to(workspace)
    variables = {"RUNNER_TOOL_CACHE": str(tools)}

    assert start.program("uv", str(programs), str(workspace)) is None
    assert start.Installation(tmp_path, str(workspace), variables).kept() == tmp_path


def test_a_program_is_looked_for_by_the_rules_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, _: path.endswith("uv.exe"))
    path = ";".join((r"D:\a\bots\bots\bin", ".", "", r"C:\tools;C:\more"))

    assert start.program("uv.exe", path, r"D:\a\bots\bots", ntpath) == r"C:\tools\uv.exe"


@pytest.mark.slow
def test_the_action_itself_measures_publishes_and_runs_nothing_of_a_change(
    github: FakeGitHub, results: FakeResults, tmp_path: Path
) -> None:
    """With the packages that are pinned, which uv fetches once."""
    runner, marks = CompositeRunner(tmp_path), tmp_path / "marks"
    shutil.copytree(ROOT / "examples" / "pizzeria", runner.workspace / "bots" / "pizzeria")
    fill(runner.workspace, marks)
    (runner.workspace / "turncheck.yml").unlink(missing_ok=True)
    tools = ROOT / ".cache" / "runner-tools"
    tools.mkdir(parents=True, exist_ok=True)
    (tmp_path / "event.json").write_text("{}")
    network = ("PIP_", "UV_", "SSL_", "REQUESTS_", "HTTP", "NO_PROXY", "no_proxy", "http")
    of_the_machine = {name: value for name, value in os.environ.items() if name.startswith(network)}
    runner.variables = {
        **of_the_machine,
        "PATH": f"{PYTHON.parent}:/usr/bin:/bin",
        "HOME": str(runner.workspace),
        "RUNNER_TOOL_CACHE": str(tools),
        "GITHUB_REPOSITORY": "acme/bots",
        "GITHUB_EVENT_NAME": "push",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_REF": "refs/heads/main",
        "GITHUB_SHA": "a" * 40,
        "GITHUB_API_URL": github.public,
        "GITHUB_RUN_ID": "500",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    runner.runtime = results.variables

    outputs = runner.run(project="bots/pizzeria", evaluations="validate,core", baseline="none", cache="false")

    assert runner.code == 0, runner.log
    assert outputs["verdict"] == "passed"
    assert outputs["artifact-url"].startswith("https://github.com/acme/bots/actions/runs/500/artifacts/")
    with zipfile.ZipFile(io.BytesIO(results.artifacts["turncheck"])) as archive:
        assert {"report.json", "verdict.json"} <= set(archive.namelist())
    assert "pizzeria" in (tmp_path / "summary.md").read_text("utf-8")
    assert ACTIONS_TOKEN not in runner.log
    assert TOKEN not in runner.log
    assert not marks.exists(), marks.read_text()
