"""Entries of the cache that somebody else, a fault of the disk, or another key has put there."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import pickle
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden

from turncheck.engines.embedded import model_archive
from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter, keep, read_kept
from turncheck.process.cache import Cache, RunCache
from turncheck.process.environment import Secret

KEY = "ab12"


def entry(folder: Path) -> Path:
    path = folder / KEY[:2] / f"{KEY}.entry"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(8 << 30)


def folder_with_files(path: Path) -> None:
    (path / "deep").mkdir(parents=True)
    (path / "deep" / "file").write_text("x")


@pytest.mark.parametrize(
    "place",
    [
        os.mkfifo,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to("/etc/passwd"),
        lambda path: path.symlink_to("nowhere"),
        lambda path: path.symlink_to("/etc"),
        sparse,
        folder_with_files,
    ],
)
def test_what_is_no_file_is_ignored_and_cleared(tmp_path: Path, place: Callable[[Path], object]) -> None:
    place(entry(tmp_path))
    cache = Cache(tmp_path)

    assert cache.get(KEY, "fold") is None
    assert cache.damaged == [entry(tmp_path)]
    assert not os.path.lexists(entry(tmp_path))
    assert Path("/etc/passwd").is_file()
    place(entry(tmp_path))
    cache.put(KEY, "fold", b"content")
    assert cache.get(KEY, "fold") == b"content"
    assert cache.trouble is None


def test_one_entry_that_cannot_be_kept_does_not_keep_the_others_from_it(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / KEY[:2]).write_text("a file in the place of a folder")
    cache = Cache(tmp_path)

    for key in (KEY, "cd34", "ef56"):
        cache.put(key, "fold", b"content")

    assert [cache.get(key, "fold") for key in (KEY, "cd34", "ef56")] == [None, b"content", b"content"]
    golden(cache.notes()[0].partition(":")[0])
    cache.trim(0)


def test_a_folder_that_cannot_be_read_means_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(KEY, "fold", b"content")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    for name in ("open", "scandir", "stat", "lstat", "listdir"):
        monkeypatch.setattr(os, name, refuse)
    assert cache.get(KEY, "fold") is None
    cache.trim(0)
    assert cache.damaged == []


def packed(members: dict[str, bytes]) -> bytes:
    writer = io.BytesIO()
    with tarfile.open(fileobj=writer, mode="w:gz") as archive:
        for name, content in members.items():
            head = tarfile.TarInfo(name)
            head.size = len(content)
            archive.addfile(head, io.BytesIO(content))
    return writer.getvalue()


def sparse_member() -> bytes:
    head = tarfile.TarInfo("a.json")
    head.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.size": str(8 << 40)}
    head.pax_headers["GNU.sparse.map"] = f"0,0,{8 << 40},0"
    return gzip.compress(head.tobuf(tarfile.PAX_FORMAT) + bytes(1024))


@pytest.mark.parametrize(
    "content",
    [
        packed({"a.json": b"[" * 100_000}),
        packed({"a.json": b"[]"}),
        packed({"a.json": b'{"max_history": 3}'}),
        packed({}),
        packed({"a.json": b"\xff"}),
        sparse_member(),
        gzip.compress(b"no archive"),
        gzip.compress(bytes(100_000)),
        b"",
    ],
    ids=range(9),
)
def test_content_with_a_right_digest_may_still_be_anything(tmp_path: Path, content: bytes) -> None:
    cache = Cache(tmp_path)
    cache.put(KEY, "fold", content)

    def read(reader: MemberReader) -> str:
        value = reader.json("a", dict[str, Any])
        return str(value["name"].rpartition(".")[2])

    assert read_kept(cache, KEY, "fold", read) is None
    assert cache.damaged == [entry(tmp_path)]
    assert not entry(tmp_path).exists()


def test_more_than_the_bound_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turncheck.engines.embedded.model_archive.MOST_BYTES", 1 << 20)
    cache = Cache(tmp_path)
    cache.put(KEY, "fold", packed({"a.json": b'{"name": "x"}' + b" " * (2 << 20)}))

    assert read_kept(cache, KEY, "fold", lambda reader: reader.json("a", Any)) is None
    assert len(cache.damaged) == 1


def test_a_signed_entry_is_believed_only_with_its_key(tmp_path: Path, golden: Golden) -> None:
    ours = Cache(tmp_path, secret=Secret("the right one"))
    ours.put(KEY, "fold", b"content")

    assert Cache(tmp_path, secret=Secret("the right one")).get(KEY, "fold") == b"content"
    for other in (Cache(tmp_path, secret=Secret("another one")), Cache(tmp_path)):
        assert other.get(KEY, "fold") is None
        golden(*other.notes())
    entry(tmp_path).rename(entry(tmp_path).with_name("ab34.entry"))
    assert ours.get("ab34", "fold") is None


@pytest.mark.parametrize(
    "head",
    [
        "turncheck cache v1 {key} {digest}",
        "turncheck cache v1 signed {key} {digest}",
        "turncheck cache v1 signed {key} ",
        "turncheck cache v1 signed {key} é",
        "",
    ],
)
def test_an_entry_that_is_not_signed_is_ignored_and_replaced(tmp_path: Path, head: str) -> None:
    forged = b"forged"
    line = head.format(key=KEY, digest=hashlib.sha256(forged).hexdigest())
    entry(tmp_path).write_bytes(f"{line}\n".encode() + forged)
    cache = Cache(tmp_path, secret=Secret("the right one"))

    assert cache.get(KEY, "fold") is None
    cache.put(KEY, "fold", b"content")
    assert cache.get(KEY, "fold") == b"content"


def test_what_is_kept_can_be_read(tmp_path: Path) -> None:
    cache = Cache(tmp_path, secret=Secret("the right one"))

    def write(writer: MemberWriter) -> None:
        writer.json("a", {"name": "x.y"})

    keep(cache, KEY, "fold", write)
    assert json.dumps(read_kept(cache, KEY, "fold", lambda reader: reader.json("a", Any))) == '{"name": "x.y"}'
    assert cache.damaged == cache.unsigned == []


def estimator(members: MemberWriter) -> None:
    members.json("head", {})
    members.estimator("svc", object())


def dumped(monkeypatch: pytest.MonkeyPatch, content: bytes | Exception) -> list[object]:
    """What is written as a skops file, which takes a second."""
    written: list[object] = []

    def dump(value: object) -> bytes:
        written.append(value)
        if isinstance(content, Exception):
            raise content
        return content

    monkeypatch.setattr(model_archive, "dump", dump)
    return written


@pytest.mark.parametrize("reads", [0, 1, 2])
def test_an_estimator_is_written_where_it_is_read(monkeypatch: pytest.MonkeyPatch, reads: int) -> None:
    written = dumped(monkeypatch, b"svc")
    cache = RunCache()
    keep(cache, KEY, "model", estimator)
    contents = [read_kept(cache, KEY, "model", lambda members: members.content("svc.skops")) for _ in range(reads)]

    assert contents == [b"svc"] * reads
    assert len(written) == min(reads, 1)


FILLED: dict[str, Callable[[Cache], object]] = {
    "with an estimator that is not written yet": lambda cache: keep(cache, KEY, "model", estimator),
    "with a content": lambda cache: cache.put(KEY, "model", b"content"),
    "empty": lambda cache: None,
}


@pytest.mark.parametrize("filled", FILLED)
def test_the_cache_of_a_run_can_be_sent_to_a_worker(filled: str) -> None:
    cache = RunCache()
    FILLED[filled](cache)

    sent = pickle.loads(pickle.dumps(cache))

    assert sent.get(KEY, "model") is None
    sent.put(KEY, "model", b"learnt there")
    assert sent.get(KEY, "model") == b"learnt there"


def test_a_cache_in_a_folder_writes_it_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = dumped(monkeypatch, b"svc")
    keep(Cache(tmp_path), KEY, "model", estimator)

    assert len(written) == 1
    assert read_kept(Cache(tmp_path), KEY, "model", lambda members: members.content("svc.skops")) == b"svc"


@pytest.mark.parametrize("make", [RunCache, lambda: Cache(Path("cache"))])
def test_an_estimator_that_cannot_be_written_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[], Cache]
) -> None:
    monkeypatch.chdir(tmp_path)
    dumped(monkeypatch, TypeError())
    cache = make()
    keep(cache, KEY, "model", estimator)

    assert read_kept(cache, KEY, "model", lambda members: members.content("svc.skops")) is None
