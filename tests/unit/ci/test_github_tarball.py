"""Unpacking a repository's archive: files and symbolic links, under limits."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path
from typing import cast

import pytest
from golden_texts import Golden

from turncheck.ci import base_files
from turncheck.ci.base_files import unpack
from turncheck.ci.github.client import GitHubClient, Tree, TreeEntry
from turncheck.ci.github.stored_reports import paths_of
from turncheck.ci.rest import RestError


def archive(*members: tuple[str, bytes | str], kind: bytes = tarfile.REGTYPE) -> io.BytesIO:
    """Files of bytes; links to a text."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE if kind == tarfile.REGTYPE else kind, content
                packed.addfile(member)
            else:
                member.size = len(content)
                packed.addfile(member, io.BytesIO(content))
    return io.BytesIO(buffer.getvalue())


def test_the_folder_that_everything_lies_in_is_left_out(tmp_path: Path) -> None:
    unpack(archive(("acme-bots-1/README", b"hello"), ("acme-bots-1/bot/domain.yml", b"version")), tmp_path)

    assert (tmp_path / "README").read_bytes() == b"hello"
    assert (tmp_path / "bot" / "domain.yml").read_bytes() == b"version"


def test_a_symbolic_link_is_made_once_all_files_are_there_and_none_is_written_through_it(
    tmp_path: Path, golden: Golden
) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    outside.mkdir()
    unpack(archive(("a/tests", "../outside"), ("a/file", b"x")), inside)

    assert (inside / "tests").readlink() == Path("../outside")
    for members in (
        [("a/link", str(outside)), ("a/link/x", b"through it")],
        [("a/link", str(outside)), ("a/link/x", "file")],
        [("a/file", b"x"), ("a/file", str(outside))],
    ):
        with pytest.raises(RestError) as refused:
            unpack(archive(*members), tmp_path / f"other{len(list(tmp_path.iterdir()))}")
        golden(refused.value)
    assert not any(outside.iterdir())


class Trees:
    """GitHub's answers to which tree has what; the root is too long for one answer."""

    def __init__(self, below: tuple[TreeEntry, ...]) -> None:
        self.below = list(below)

    def get(self, path: str, kind: type[Tree], recursive: str = "", **_: str) -> Tree:
        if path.endswith("/folder"):
            return Tree(tree=self.below)
        listed = [TreeEntry(path="README", type="blob", sha="1"), TreeEntry(path="bot", type="tree", sha="folder")]
        return Tree(tree=listed, truncated=bool(recursive))


def test_a_tree_that_is_too_long_is_listed_by_its_folders_of_which_none_is_empty() -> None:
    files = (TreeEntry(path="data", type="tree", sha="2"), TreeEntry(path="data/nlu.yml", type="blob", sha="3"))

    listed = paths_of(cast(GitHubClient, Trees(files)), "/repos/acme/bots", "root")

    assert sorted(listed) == ["README", "bot/data/nlu.yml"]
    with pytest.raises(RestError, match="is empty"):
        list(paths_of(cast(GitHubClient, Trees(())), "/repos/acme/bots", "root"))


def test_hard_links_are_not_made(tmp_path: Path) -> None:
    unpack(archive(("a/link", "/etc/passwd"), ("a/file", b"x"), kind=tarfile.LNKTYPE), tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["a/../../x", "/etc/x", "../x"])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RestError, match="leads out"):
        unpack(archive((name, b"x")), tmp_path / "inside")


def test_a_bomb_is_put_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_files, "MOST_UNPACKED", 1_000_000)
    with pytest.raises(RestError, match="larger"):
        unpack(archive(*[(f"a/{n}", bytes(400_000)) for n in range(5)]), tmp_path)

    monkeypatch.setattr(base_files, "MOST_FILES", 10)
    with pytest.raises(RestError, match="more than 10 files"):
        unpack(archive(*[(f"a/{n}", b"x") for n in range(20)]), tmp_path)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_SPARSE, b"7"])
def test_a_bomb_in_what_is_no_file_is_put_out_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: bytes
) -> None:
    monkeypatch.setattr(base_files, "MOST_UNPACKED", 1_000_000)
    member = tarfile.TarInfo("a/b")
    member.type, member.size = kind, 50_000_000
    packed = gzip.compress(member.tobuf() + bytes(member.size))

    with pytest.raises(RestError, match="larger"):
        unpack(io.BytesIO(packed), tmp_path)


def test_a_file_that_is_a_folder_too_is_an_error(tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(RestError) as refused:
        unpack(archive(("a/b", b"x"), ("a/b/c", b"y")), tmp_path)
    golden(refused.value)


@pytest.mark.parametrize(
    "content", [b"", b"no archive", archive(("a/b", b"x" * 99)).getvalue()[:60]], ids=["empty", "text", "cut off"]
)
def test_what_is_no_archive_is_an_error(tmp_path: Path, content: bytes, golden: Golden) -> None:
    with pytest.raises(RestError) as refused:
        unpack(io.BytesIO(content), tmp_path)
    golden(refused.value)
