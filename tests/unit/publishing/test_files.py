"""Writing: whole files or none, and never outside the folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from golden_texts import Golden

from turncheck.messages.errors import UserError
from turncheck.publishing.files import write_all, write_file, write_results
from turncheck.render.rendered import Rendered


def test_files_are_written_below_the_folder(tmp_path: Path) -> None:
    paths = write_all(tmp_path / "out", [Rendered("rasa/a.json", "application/json", "{}"), Rendered("b", "x", b"\0")])

    assert [path.relative_to(tmp_path).as_posix() for path in paths] == ["out/rasa/a.json", "out/b"]
    assert [path.read_bytes() for path in paths] == [b"{}", b"\0"]


def test_git_leaves_a_results_folder_alone_that_a_run_made(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()

    for folder in (tmp_path / "mine", tmp_path / "new" / "results"):
        write_results(folder, [Rendered("report.json", "application/json", "{}")])

    assert (tmp_path / "new" / "results" / ".gitignore").read_text("utf-8").splitlines()[-1] == "*"
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["report.json"]


@pytest.mark.parametrize("name", ["../a", "/etc/a", "a/../../b", ""])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str, golden: Golden) -> None:
    with pytest.raises(ValueError, match="below") as refused:
        write_all(tmp_path / "out", [Rendered(name, "text/plain", "x")])
    golden(refused.value)

    assert not list(tmp_path.rglob("[ab]"))


def test_a_file_where_a_folder_is_needed_is_the_users_to_mend(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")

    with pytest.raises(UserError, match="cannot write"):
        write_file(tmp_path / "out" / "a", b"x")


def test_a_symbolic_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("theirs")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.json").symlink_to(outside)

    write_file(tmp_path / "out" / "report.json", b"ours")

    assert outside.read_text() == "theirs"
    assert (tmp_path / "out" / "report.json").read_bytes() == b"ours"


def test_a_device_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_file(pipe, b"all of it")
        assert os.read(reader, 100) == b"all of it"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_folder_is_not_written_to(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot write"):
        write_file(tmp_path, b"")


def test_a_pipe_that_nobody_reads_is_said_so_at_once(tmp_path: Path, golden: Golden) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(UserError, match="/pipe") as refused:
        write_file(tmp_path / "pipe", b"all of it")
    golden(refused.value)
