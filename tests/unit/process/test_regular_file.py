"""Opening files of others: pipes, devices, links and sizes that would hang a run or fill the memory."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from turncheck.messages.errors import UserError, hint_of
from turncheck.process.regular_file import NotRegularError, TooLargeError, open_regular, read_regular
from turncheck.publishing.files import write_file

MIB = 1 << 20


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\0\xffabc")
    (tmp_path / "link").symlink_to("file")

    assert read_regular(tmp_path / "file", most=5) == b"\0\xffabc"
    assert read_regular(tmp_path / "link", most=5, inside=tmp_path) == b"\0\xffabc"
    with open_regular(tmp_path / "link", most=5) as file:
        assert file.read(2) == b"\0\xff"


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        ("missing", FileNotFoundError, "No such file"),
        ("folder", IsADirectoryError, "folder"),
        ("pipe", NotRegularError, "a pipe or a device"),
        ("socket", NotRegularError, "a pipe or a device"),
        ("link to a device", NotRegularError, "a pipe or a device"),
        ("link to a pipe", NotRegularError, "a pipe or a device"),
        ("dangling link", FileNotFoundError, "No such file"),
        ("link to itself", OSError, "symbolic links"),
        ("sparse", TooLargeError, "larger than 1 MiB"),
        ("of the system", TooLargeError, "larger than 1 MiB"),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_everything_else_is_refused_at_once(
    tmp_path: Path, kind: str, error: type[OSError], words: str, inside: bool
) -> None:
    path = made(tmp_path, kind)
    if path is None:
        pytest.skip("the system does not have it")
    outside = inside and kind == "link to a device"

    with pytest.raises(NotRegularError if outside else error) as raised:
        read_regular(path, most=MIB, inside=path.parent if inside else None)
    assert outside or words.casefold() in str(raised.value.strerror).casefold()


def test_what_is_too_large_is_not_even_opened(tmp_path: Path) -> None:
    path = made(tmp_path, "sparse")
    assert path is not None

    with pytest.raises(TooLargeError, match="larger than 1 MiB"):
        open_regular(path, most=MIB)


def made(folder: Path, kind: str) -> Path | None:
    path = folder / "report.json"
    match kind:
        case "missing":
            pass
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "socket":
            here = Path.cwd()
            os.chdir(folder)  # the name of a socket is short
            try:
                socket.socket(socket.AF_UNIX).bind("report.json")
            finally:
                os.chdir(here)
        case "link to a device":
            path.symlink_to("/dev/zero")
        case "link to a pipe":
            os.mkfifo(folder / "pipe")
            path.symlink_to("pipe")
        case "dangling link":
            path.symlink_to("nowhere")
        case "link to itself":
            path.symlink_to("report.json")
        case "sparse":
            with path.open("wb") as file:
                file.truncate(8 << 30)
        case _:  # of the system: its size is said to be 0
            path = Path("/proc/kallsyms")
            return path if path.is_file() else None
    return path


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("theirs")
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "file").symlink_to("../secret")

    with pytest.raises(NotRegularError, match="out of"):
        read_regular(tmp_path / "bot" / "file", most=MIB, inside=tmp_path / "bot")
    with pytest.raises(NotRegularError, match="symbolic link"):
        read_regular(tmp_path / "bot" / "file", most=MIB, follow=False)
    assert read_regular(tmp_path / "bot" / "file", most=MIB) == b"theirs"


def test_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "report.json")

    with pytest.raises(UserError, match="cannot write") as raised:
        write_file(tmp_path / "report.json", b"x")
    assert raised.value.hint is not None
    assert "Nobody reads" in raised.value.hint


def test_what_to_do_depends_on_what_it_was(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path, words in ((tmp_path / "file" / "report.json", "is a file"), (tmp_path, "There is a folder")):
        with pytest.raises(UserError) as raised:
            write_file(path, b"")
        assert words in str(raised.value)
    assert "permission" in hint_of(PermissionError(13, "Permission denied"))
    assert "Make room" in hint_of(OSError(28, "No space left on device"))
