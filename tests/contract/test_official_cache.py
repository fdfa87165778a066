"""GitHub's cache: the official client and ours at the same service, what one saves the other restores."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from fake_host import Seen
from fake_results import FakeResults
from node_tools import node_folder, npm_package

from turncheck.ci.github.cache_service import CacheService, find_cache_service
from turncheck.process.cache import Cache
from turncheck.process.cache_archive import FOLDER, digest_of, pack, unpack, worth_keeping

PREFIX = "turncheck-1-"
KEYS = ("ab" * 32, "ac" * 32, "cd" * 32)
SCRIPT = """
import { restoreCache, saveCache } from "CACHE";
const [what, folder, key, ...prefixes] = process.argv.slice(2);
const found = what === "save" ? await saveCache([folder], key) : await restoreCache([folder], key, prefixes);
console.log(`found: ${found}`);
"""


def official(results: FakeResults, workspace: Path, *arguments: str) -> str:
    """Run the official client in a workspace, with gzip: other runners have zstd, too, which is another version."""
    package = npm_package("@actions/cache", "6.3.0", ("typescript", "@bufbuild/protobuf"))
    script = workspace.parent / "cache.mjs"
    script.write_text(SCRIPT.replace("CACHE", (package / "lib" / "cache.js").as_uri()))
    programs = workspace.parent / "programs"
    programs.mkdir(exist_ok=True)
    for name in ("tar", "gzip"):
        found = shutil.which(name)
        assert found is not None
        (programs / name).unlink(missing_ok=True)
        (programs / name).symlink_to(found)
    environment = {
        "PATH": str(programs),
        "HOME": os.environ.get("HOME", "/"),
        "RUNNER_TEMP": str(workspace.parent),
        "GITHUB_WORKSPACE": str(workspace),
        "ACTIONS_CACHE_SERVICE_V2": "true",
        **results.variables,
    }
    command: list[str | Path] = [node_folder() / "bin" / "node", script, *arguments]
    done = subprocess.run(command, cwd=workspace, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ours(results: FakeResults) -> CacheService:
    found = find_cache_service(results.variables, lambda _: None)
    assert isinstance(found, CacheService)
    return found


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with three entries."""
    cache = Cache(tmp_path / "workspace" / FOLDER)
    for number, key in enumerate(KEYS):
        cache.put(key, "fold", os.urandom(2_000) * (number + 1))
    return tmp_path / "workspace"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def save(results: FakeResults, workspace: Path, key: str) -> None:
    """Save the entries of a workspace with our client."""
    archive = workspace.parent / "archive"
    with archive.open("w+b") as file:
        pack(worth_keeping(workspace / FOLDER, 0), file)
        file.seek(0)
        assert ours(results).upload(key, [file.read()])


def restore(results: FakeResults, prefix: str, folder: Path) -> str:
    """Restore with our client, and return the digest."""
    service = ours(results)
    found = service.find(prefix, prefix=True)
    assert found is not None
    with (folder.parent / "archive").open("w+b") as file:
        service.download(found[1], file)
        file.seek(0)
        return unpack(file, folder)


def test_what_we_save_the_official_client_restores(results: FakeResults, workspace: Path, tmp_path: Path) -> None:
    save(results, workspace, f"{PREFIX}one")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    assert f"found: {PREFIX}one" in official(results, elsewhere, "restore", FOLDER, "another", PREFIX)
    assert contents(elsewhere) == contents(workspace)


def test_what_the_official_client_saves_we_restore(results: FakeResults, workspace: Path, tmp_path: Path) -> None:
    official(results, workspace, "save", FOLDER, f"{PREFIX}two")

    digest = restore(results, PREFIX, tmp_path / "elsewhere")
    assert contents(tmp_path / "elsewhere") == contents(workspace / FOLDER)
    assert digest == digest_of(worth_keeping(workspace / FOLDER, 0))


def shape_of(seen: Seen) -> tuple[object, ...]:
    """What a call of the service is, without what differs between two archives of the same entries."""
    body = dict(seen.body)
    body.update({"size_bytes": "a number"} if "size_bytes" in body else {})
    return seen.method, seen.path, seen.headers.get("authorization"), body


def test_both_ask_the_service_the_same(results: FakeResults, workspace: Path, tmp_path: Path) -> None:
    official(results, workspace, "save", FOLDER, f"{PREFIX}key")
    official(results, workspace, "restore", FOLDER, PREFIX, PREFIX)
    theirs = [shape_of(seen) for seen in results.log if "CacheService" in seen.path]
    results.reset()

    save(results, workspace, f"{PREFIX}key")
    restore(results, PREFIX, tmp_path / "elsewhere")
    assert [shape_of(seen) for seen in results.log if "CacheService" in seen.path] == theirs
    assert all("authorization" not in seen.headers for seen in results.log if "/cache/" in seen.path)


def test_a_key_that_is_there_is_kept_once_by_either(results: FakeResults, workspace: Path) -> None:
    save(results, workspace, f"{PREFIX}key")
    assert "found: -1" in official(results, workspace, "save", FOLDER, f"{PREFIX}key")
    assert not ours(results).upload(f"{PREFIX}key", [b"x"])

    results.reset()
    official(results, workspace, "save", FOLDER, f"{PREFIX}key")
    assert not ours(results).upload(f"{PREFIX}key", [b"x"])
    assert len(results.caches.done) == 1


def test_an_archive_of_the_same_entries_is_the_same(results: FakeResults, workspace: Path) -> None:
    for key in ("one", "two"):
        save(results, workspace, key)

    assert len({one.content for one in results.caches.done}) == 1
