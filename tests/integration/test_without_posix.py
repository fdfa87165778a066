"""What stands in for Windows, where no test runs: Python without what only POSIX has, and the types of Windows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from turncheck.process import system
from turncheck.settings.sources import leads_out

ROOT = Path(__file__).parents[2]
WITHOUT = """\
import os, signal, sys
import concurrent.futures.process, multiprocessing.popen_spawn_posix, selectors, shutil, subprocess, tempfile
for module, names in (
    (os, "killpg setsid getuid geteuid fchdir pread set_blocking O_NONBLOCK O_NOCTTY O_CLOEXEC O_NOFOLLOW O_DIRECTORY"),
    (signal, "SIGKILL SIGHUP pthread_sigmask sigtimedwait"),
):
    for name in names.split():
        delattr(module, name)
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
from turncheck.__main__ import main
sys.exit(main())
"""


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def write(folder: Path, rules: str, *, line_end: str = "\n") -> None:
    """Write a small assistant and its tests, with the line ends of a system."""
    files = {
        "config.yml": "language: en\npipeline:\n- name: WhitespaceTokenizer\n- name: CountVectorsFeaturizer\n"
        "- name: DIETClassifier\npolicies:\n- name: RulePolicy\n",
        "domain.yml": 'version: "3.1"\nintents: [greet, bye]\nresponses:\n  utter_greet:\n  - text: Hi\n'
        "  utter_bye:\n  - text: Bye\n",
        "data/nlu.yml": 'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - hello\n    - hi\n'
        "- intent: bye\n  examples: |\n    - bye\n    - see you\n",
        "data/rules.yml": rules,
        "tests/test_stories.yml": 'version: "3.1"\nstories:\n- story: greets\n  steps:\n  - intent: greet\n'
        "  - action: utter_greet\n- story: leaves\n  steps:\n  - intent: bye\n  - action: utter_bye\n",
    }
    for name, text in files.items():
        path = folder / "bot" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline=line_end)


RULES = 'version: "3.1"\nrules:\n- rule: greet\n  steps:\n  - intent: greet\n  - action: utter_greet\n'
RULES += "- rule: leave\n  steps:\n  - intent: bye\n  - action: utter_bye\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A base with line ends of POSIX; the branch of a change is checked out."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    write(folder, RULES)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "base")
    git(folder, "switch", "-qc", "change")
    return folder


def run(repository: Path, *flags: str, code: str = WITHOUT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(repository.parent), "XDG_CACHE_HOME": str(repository.parent / "cache")}
    command = [sys.executable, "-c", code, "run", "bot", *flags]
    return subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_run_with_a_base_needs_nothing_that_only_posix_has(repository: Path) -> None:
    write(repository, RULES.replace("utter_bye", "utter_greet"))

    for _ in range(2):  # the second finds what the first has cached, and replaces its results
        done = run(repository, "--plots")

        assert done.returncode == 1, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        verdict = json.loads((repository / "results" / "verdict.json").read_text("utf-8"))
        assert "rule 'leave' was changed" in verdict["summary"]
    assert not list(repository.parent.glob("turncheck-*")), "temporary folders are removed"


def test_a_child_is_ended_by_the_program_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []
    monkeypatch.delattr(os, "killpg")
    monkeypatch.setenv("SYSTEMROOT", "/windows")
    monkeypatch.setattr(subprocess, "run", lambda command, **_: called.append([str(word) for word in command]))

    system.signal_group(4711, system.KILL)

    assert called == [["/windows/System32/taskkill.exe", "/T", "/F", "/PID", "4711"]]


def test_the_end_of_a_log_is_read_without_moving_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pread")
    with (tmp_path / "log").open("w+b", buffering=0) as log:
        log.write(b"first second")
        assert system.read_at(log.fileno(), 100, 6) == b"second"
        log.write(b" third")
    assert (tmp_path / "log").read_bytes() == b"first second third"


def test_on_windows_git_is_never_the_one_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CreateProcess looks there before the path."""
    own, theirs = tmp_path / "git", tmp_path / "workspace"
    for folder in (own, theirs):
        folder.mkdir()
        (folder / "git.exe").touch()
    monkeypatch.chdir(theirs)
    assert system.program("git") == "git"
    monkeypatch.setattr(sys, "platform", "win32")

    monkeypatch.setenv("PATH", os.pathsep.join(("", ".", "bin", str(own))))
    assert system.program("git") == str(own / "git.exe")
    monkeypatch.setenv("PATH", "")
    assert Path(system.program("git")).is_absolute()


@pytest.mark.slow
def test_line_ends_of_windows_in_the_checkout_are_no_change(repository: Path) -> None:
    """As git writes them there (core.autocrlf); what it has committed has line ends of POSIX."""
    git(repository, "config", "core.autocrlf", "true")
    write(repository, RULES, line_end="\r\n")

    done = run(repository, code="from turncheck.__main__ import main; main()")

    assert done.returncode == 0, done.stdout + done.stderr
    comparison = json.loads((repository / "results" / "comparison.json").read_text("utf-8"))
    assert comparison["baseline"]["way"] == "git"
    summary = json.loads((repository / "results" / "verdict.json").read_text("utf-8"))["summary"]
    assert summary.startswith("2 of 2 stories passed"), summary
    report = json.loads((repository / "results" / "report.json").read_text("utf-8"))
    assert [story["location"]["line"] for story in report["core"]["stories"]] == [3, 7]
    assert "edited" not in done.stdout


@pytest.mark.slow
def test_the_types_are_right_on_windows_too() -> None:
    """What its Python lacks is found here, as if it was run there."""
    command = [sys.executable, "-m", "mypy", "--platform", "win32", "--cache-dir", ".mypy_cache/win32", "src"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "path",
    [
        *(r"..\other", r"data\..\..\other", r"C:\Users\me", "C:other", r"\\server\share", r"\temp", "data/../../x"),
        *("/etc", "../x", "https://example.org"),
    ],
)
def test_a_path_leads_out_by_the_rules_of_any_system(path: str) -> None:
    assert leads_out(path)


@pytest.mark.parametrize("path", ["data/nlu.yml", r"data\nlu.yml", "a..b", "data/./x", "tests/ünï.yml", "a:b/c.yml"])
def test_a_path_below_the_project_is_one_whichever_way_its_slashes_lean(path: str) -> None:
    assert leads_out(path) is (path == "a:b/c.yml"), "a drive"
