"""What a short command loads: nothing that it does not need, since loading takes most of its time."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from small_project import write_project

from turncheck import __version__
from turncheck.cli import run_command_line

if TYPE_CHECKING:
    from golden_texts import Golden

EXAMPLES = Path(__file__).parents[3] / "examples"
OF_THE_SOLVER = {
    *("scipy._cyutility", "scipy.linalg.cython_blas"),
    *("sklearn._cyutility", "sklearn.utils._cython_blas", "sklearn.svm._liblinear"),
}
NOT_NEEDED = {"email.message", "http.client", "numpy.ma", "skops", "ssl", "urllib.request", "xml.sax.saxutils"}
"""What modules that a run does use would load besides, and most runs need not."""
CODE = """\
import sys
from turncheck.__main__ import main
sys.argv[0] = "turncheck"
main()
sys.stderr.write(" ".join(sys.modules))
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The modules that a command has loaded in this folder when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    return set(done.stderr.split())


def test_the_version_needs_no_parser(tmp_path: Path) -> None:
    names = loaded(tmp_path, "--version")
    ours = {name for name in names if name.startswith("turncheck.")}
    assert not names & {"argparse", "threading", "dataclasses", "inspect", "tempfile", "logging", "pathlib", "urllib"}
    assert ours <= {
        "turncheck.__main__",
        "turncheck.cli",
        "turncheck.messages",
        "turncheck.messages.errors",
        "turncheck.process",
        "turncheck.process.interrupts",
        "turncheck.process.little_memory",
        "turncheck.process.streams",
        "turncheck.process.system",
    }


def test_the_action_says_what_runs_before_it_loads_its_job(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "turncheck.action", None)  # it cannot be loaded

    run_command_line(["action"])
    assert capsys.readouterr().out == f"turncheck {__version__}\n"


def test_what_a_run_loads(tmp_path: Path, golden: Golden) -> None:
    """Loading is half of a small run: a module that is new here must be used by every such run."""
    shutil.copytree(EXAMPLES / "pizzeria", tmp_path / "bot")  # out of this repository: it has no base

    names = loaded(tmp_path, "run", "bot", "--no-cache", "--quiet", "--out", "out")

    assert not names & NOT_NEEDED
    others = {name.partition(".")[0] for name in names if not name.startswith(("_", "turncheck"))}
    by_folder: dict[str, list[str]] = {}
    for name in sorted(name for name in names if name.startswith("turncheck.")):
        folder, _, last = name.rpartition(".")
        by_folder.setdefault(folder, []).append(last)
    packages = sorted(others - sys.stdlib_module_names - {"__editable___turncheck_finder", "scipy", "sklearn"})
    assert not {name for name in names if name.startswith(("scipy", "sklearn"))} - OF_THE_SOLVER
    own = (f"{folder}: {' '.join(modules)}" for folder, modules in by_folder.items())
    golden("\n".join([f"packages: {' '.join(packages)}", *own]))


@pytest.mark.slow
def test_what_a_change_does_not_load(tmp_path: Path) -> None:
    """Against a base, with a cache: figures are compared, causes looked for, and libraries' versions are in keys."""
    shutil.copytree(EXAMPLES / "pizzeria", tmp_path / "bot")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "base"], ["checkout", "-qb", "change"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    sentences = tmp_path / "bot" / "data" / "nlu.yml"
    sentences.write_text(sentences.read_text(encoding="utf-8").replace("    - ", "    - please ", 1), encoding="utf-8")

    names = loaded(tmp_path, "run", "bot", "--quiet", "--base", "main", "--cache-folder", "kept", "--out", "out")

    assert {"turncheck.comparison.resampling", "turncheck.run.mended_base"} & names
    assert not names & (NOT_NEEDED | {"importlib.metadata", "scipy.special", "sklearn.base"})


@pytest.mark.slow
def test_validation_loads_readers_only_of_what_is_there(tmp_path: Path) -> None:
    ours = {name.removeprefix("turncheck.") for name in loaded(write_project(tmp_path), "data", "validate")}
    assert "validation.pipeline" in ours
    assert not ours & {
        "project.batch.model",
        "project.e2e.model",
        "project.e2e.reader",
        "project.formats.markdown_files",
        "platforms.kore.reader",
        "settings.file",
        "report.model",
        "ci.host",
    }
    assert not {"numpy", "requests", "rich", "zipfile"} & ours
