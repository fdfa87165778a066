"""Entries of a cache as one archive: what is packed is unpacked, and whatever else lies there is an error."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turncheck.process.cache import Cache
from turncheck.process.cache_archive import FOLDER, BadArchiveError, digest_of, pack, unpack, worth_keeping

KEYS = ("ab" * 32, "ac" * 32, "cd" * 32)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str]:
    """An archive of three entries, and its digest."""
    cache = Cache(tmp_path_factory.mktemp("cache"))
    for key in KEYS:
        cache.put(key, "fold", key.encode() * 20)
    entries = worth_keeping(cache.folder, 0)
    file = io.BytesIO()
    pack(entries, file)
    return file.getvalue(), digest_of(entries)


def unpacked(content: bytes, folder: Path) -> str:
    shutil.rmtree(folder, ignore_errors=True)
    return unpack(io.BytesIO(content), folder)


def test_what_is_packed_is_unpacked_and_counts_as_unused(packed: tuple[bytes, str], tmp_path: Path) -> None:
    assert unpacked(packed[0], tmp_path / "a") == packed[1]

    cache = Cache(tmp_path / "a")
    now = time.time() - 1
    assert all(path.stat().st_mtime < now for path in cache.folder.rglob("*.entry"))
    assert cache.get(KEYS[0], "fold") == KEYS[0].encode() * 20
    assert [path.stem for path in cache.folder.rglob("*.entry") if path.stat().st_mtime >= now] == [KEYS[0]]


def test_of_what_is_not_used_as_much_is_kept_as_of_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turncheck.process.cache_archive._LEAST_SPARE", 0)
    cache = Cache(tmp_path)
    for number, key in enumerate(("01" * 32, "02" * 32, "03" * 32, "04" * 32)):
        cache.put(key, "fold", bytes(1_000))
        os.utime(tmp_path / key[:2] / f"{key}.entry", (number, number))

    def kept(since: float) -> list[str]:
        return [path.stem[:2] for path in worth_keeping(tmp_path, since)]

    assert [kept(since) for since in (0, 1, 2, 3, 4)] == [
        ["01", "02", "03", "04"],
        ["01", "02", "03", "04"],
        ["01", "02", "03", "04"],
        ["03", "04"],
        [],
    ]


def test_an_entry_that_is_replaced_gives_another_digest(packed: tuple[bytes, str], tmp_path: Path) -> None:
    unpacked(packed[0], tmp_path / "a")
    for path in (tmp_path / "a").rglob("*.entry"):
        os.utime(path)
    (tmp_path / "a" / KEYS[1][:2] / f"{KEYS[1]}.entry").write_bytes(b"another")

    assert digest_of(worth_keeping(tmp_path / "a", 0)) != packed[1]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_damaged_archive_is_an_error_or_has_another_digest(
    packed: tuple[bytes, str], tmp_path: Path, data: st.DataObject
) -> None:
    """Bytes are changed in the compressed file, or in what it unpacks to."""
    is_inner = data.draw(st.booleans())
    content = bytearray(gzip.decompress(packed[0]) if is_inner else packed[0])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    damaged = bytes(content if data.draw(st.booleans()) else content[:cut])

    try:
        digest = unpacked(gzip.compress(damaged) if is_inner else damaged, tmp_path / "a")
    except BadArchiveError:
        digest = ""
    if digest == packed[1]:
        found = {path.stem: path.read_bytes() for path in (tmp_path / "a").rglob("*.entry")}
        assert unpacked(packed[0], tmp_path / "b") == digest
        assert found == {path.stem: path.read_bytes() for path in (tmp_path / "b").rglob("*.entry")}
    assert all(path.name in {"a", "b"} for path in tmp_path.iterdir())


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE])
def test_a_member_that_is_no_file_is_refused(kind: bytes, tmp_path: Path) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        member = tarfile.TarInfo(f"{FOLDER}/ab/{KEYS[0]}.entry")
        member.type, member.linkname = kind, "/etc/passwd"
        archive.addfile(member)

    with pytest.raises(BadArchiveError):
        unpacked(file.getvalue(), tmp_path / "a")
    assert list((tmp_path / "a").rglob("*.entry")) == []


def test_a_sparse_member_of_terabytes_is_refused(tmp_path: Path) -> None:
    head = tarfile.TarInfo(f"{FOLDER}/ab/{KEYS[0]}.entry")
    head.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.size": str(8 << 40)}
    head.pax_headers["GNU.sparse.map"] = f"0,0,{8 << 40},0"

    with pytest.raises(BadArchiveError):
        unpacked(gzip.compress(head.tobuf(tarfile.PAX_FORMAT) + bytes(1024)), tmp_path / "a")
