"""What is there for a while: gone afterwards, also after a SIGKILL; what others hold stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from golden_texts import Golden

from turncheck.messages.errors import UserError
from turncheck.process.output_files import atomic_write, clear_leftovers, temporary_folder

HOLDER = """
import sys, time
from pathlib import Path
from turncheck.process.output_files import temporary_folder, atomic_write
with temporary_folder("base") as folder, atomic_write(Path(sys.argv[1]) / "model.tar.gz") as file:
    (folder / "tree").mkdir()
    (folder / "tree" / "file").write_text("x")
    file.write(b"half")
    file.flush()
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def holder(out: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(out)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_is_there_for_the_block(there: Path) -> None:
    with temporary_folder("base") as folder:
        assert folder.parent == there
        (folder / "file").write_text("x")
    assert not folder.exists()


def test_what_a_killed_process_left_is_cleared_and_what_a_live_one_holds_is_not(there: Path, tmp_path: Path) -> None:
    killed, left = holder(tmp_path)
    live, held = holder(tmp_path)
    try:
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        assert left.exists()

        clear_leftovers()
        with atomic_write(tmp_path / "model.tar.gz") as file:
            file.write(b"whole")

        assert not left.exists()
        assert (held / "tree" / "file").exists()
        assert len(list(tmp_path.glob(".model.tar.gz.*.partial"))) == 1, "the live one's"
        assert (tmp_path / "model.tar.gz").read_bytes() == b"whole"
    finally:
        live.kill()
        live.wait()
    with atomic_write(tmp_path / "model.tar.gz") as file:
        file.write(b"whole")
    assert not list(tmp_path.glob(".*.partial"))


@pytest.mark.parametrize(
    "name",
    [
        "turncheck-base",
        "turncheck-demo-mybackup",
        "turncheck-base-12345678",
        "tmpabcdefgh",
        "turncheck-a-12345678.tmp2",
    ],
)
def test_folders_that_others_gave_such_a_name_stay(there: Path, name: str) -> None:
    (there / name).mkdir()
    clear_leftovers()
    assert (there / name).exists()


def test_links_files_and_folders_of_other_users_stay(
    there: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (there / "turncheck-base-aaaaaaaa.tmp").symlink_to(target)
    (there / "turncheck-base-bbbbbbbb.tmp").write_text("x")
    clear_leftovers()
    assert target.exists()
    assert len(list(there.iterdir())) == 2
    (there / "turncheck-base-cccccccc.tmp").mkdir()
    own = os.getuid()
    monkeypatch.setattr("os.getuid", lambda: own + 1)
    clear_leftovers()
    assert (there / "turncheck-base-cccccccc.tmp").exists()
    monkeypatch.setattr("os.getuid", lambda: own)
    clear_leftovers()
    assert not (there / "turncheck-base-cccccccc.tmp").exists()


def test_without_a_place_for_it_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, golden: Golden) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(UserError) as refused, temporary_folder("base"):
        pass
    golden(refused.value)


@pytest.mark.slow
def test_many_at_once_neither_lose_a_folder_nor_leave_one(there: Path) -> None:
    code = """
from turncheck.process.output_files import clear_leftovers, temporary_folder
for _ in range(200):
    clear_leftovers()
    with temporary_folder("base") as folder:
        (folder / "a").write_text("x")
        clear_leftovers()
        assert (folder / "a").read_text() == "x"
"""
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert not list(there.iterdir())


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    with pytest.raises(TypeError), atomic_write(path) as file:
        file.writelines([b"half", None])  # type: ignore[list-item]  # what breaks it
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("report.json", "old")]


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_nothing_for_good(there: Path, tmp_path: Path) -> None:
    """At any moment: the next start clears it, and the repository never had anything of ours."""
    bot = tmp_path / "repository" / "bot"
    (bot / "data").mkdir(parents=True)
    (bot / "domain.yml").write_text('version: "3.1"\nintents:\n- greet\nresponses:\n  utter_greet:\n  - text: Hi\n')
    (bot / "data" / "nlu.yml").write_text(
        'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - hi\n    - hello\n'
    )
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *words], cwd=tmp_path / "repository", check=True)
    (bot / "domain.yml").write_text((bot / "domain.yml").read_text() + "# changed\n")
    below = tmp_path / "repository" / ".git"
    before = sorted(path for path in below.rglob("*"))
    run = [
        sys.executable,
        "-m",
        "turncheck",
        "run",
        str(bot),
        "--out",
        str(tmp_path / "out"),
        "--evaluations",
        "validate",
    ]
    for moment in range(8):
        process = subprocess.Popen([*run, "--baseline", "git"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while moment >= 4 and not list(there.glob("turncheck-*")) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.001)  # while the base is there
        if moment < 4:
            time.sleep(0.4 * moment)
        process.kill()
        process.wait()
    done = subprocess.run([*run, "--baseline", "none"], capture_output=True, check=False)
    assert done.returncode in {0, 1}
    assert not list(there.iterdir())
    hidden = {path.name for path in (tmp_path / "out").rglob("*") if path.name.startswith(".")}
    assert hidden <= {".gitignore"}, "which belongs there"
    assert sorted(path for path in below.rglob("*")) == before
