"""The release from end to end on this machine: what is public at its end, and after a failure at every point."""

from __future__ import annotations

import email
import hashlib
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import release_world
import requests
from fake_github import FakeGitHub
from release_world import VERSION, World, git, names_version
from tools.release import github as releasing
from tools.release import place as commands
from tools.release.build import SUMS
from tools.release.place import ReleaseError

TAG = f"v{VERSION}"
MAJOR = TAG.partition(".")[0]
# What changes something, here or elsewhere: the first words of a command, or the method of a request.
CHANGES = re.compile(
    r"\S*build_image\.sh (?:build|export|pull)|syft scan|\S+ -m hatchling|skopeo (?:copy|--override)"
    r"|git -c .* push|\S*uv publish|POST|PATCH|DELETE"
)


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, str]]:
    """The registry, the index, and a repository."""
    release_world.ensure_tools()
    folder = tmp_path_factory.mktemp("release")
    release_world.repository(folder, containers=False)
    with release_world.registry(folder / "registry") as host, release_world.package_index(folder / "packages") as index:
        yield folder, host, index


@pytest.fixture
def fresh(outside: tuple[Path, str, str], fake: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world in which nothing has been released."""
    folder, host, index = outside
    release_world.enter(monkeypatch)
    for file in (folder / "packages").iterdir():
        file.unlink()
    shutil.copytree(folder / "origin.git", tmp_path / "origin.git")
    git(tmp_path, "clone", "-q", str(tmp_path / "origin.git"), "checkout")
    return World(
        checkout=tmp_path / "checkout",
        dist=tmp_path / "dist",
        bare=tmp_path / "origin.git",
        host=host,
        image=f"{host}/{hashlib.sha256(bytes(tmp_path)).hexdigest()[:12]}/turncheck",
        index=index,
        packages=folder / "packages",
        github=fake,
    )


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test that builds leaves what it built, for the others."""
    return tmp_path_factory.mktemp("built") / "dist"


@pytest.fixture
def world(fresh: World, kept: Path) -> World:
    """A world in which everything has been built, and nothing pushed."""
    if not kept.exists():
        for step in ("check", "image", "build"):
            assert fresh.run(step) == 0
        shutil.copytree(fresh.dist, kept)
    shutil.copytree(kept, fresh.dist, dirs_exist_ok=True)
    return fresh


def released(world: World) -> dict[str, Any]:
    """Release without a disturbance."""
    assert world.run("all") == 0
    return world.public()


def comparable(public: dict[str, Any]) -> dict[str, Any]:
    """What is the same in all worlds: in each, the image has a name of its own, and so has the commit that names it."""
    commits = {tag: commit for tag, commit in public["refs"].items() if tag.startswith("refs/tags/")}
    return {**public, "refs": [sorted(public["refs"]), len(set(commits.values()))]}


def test_what_is_released_is_one_version_everywhere(world: World) -> None:
    public = released(world)

    digest = public["image"][VERSION]
    assert world.action(TAG) == f"docker://{world.image}:{VERSION}@{digest}"
    assert world.action("main") == "Dockerfile", "main builds its own"
    assert git(world.bare, "rev-parse", f"{TAG}^{{commit}}") == git(world.bare, "rev-parse", f"{MAJOR}^{{commit}}")
    assert git(world.bare, "rev-parse", f"{TAG}~") == git(world.bare, "rev-parse", "main")
    assert git(world.bare, "diff", "--name-only", "main", TAG) == "action.yml"
    release = public["releases"][TAG]
    assert (release["draft"], release["immutable"]) == (False, True)
    names = set(release["files"])
    wheel, source = f"turncheck-{VERSION}-py3-none-any.whl", f"turncheck-{VERSION}.tar.gz"
    assert {wheel, source, SUMS, "THIRD-PARTY-NOTICES.txt"} < names
    assert {kind for kind in ("spdx", "cyclonedx") if any(name.endswith(f"-amd64.{kind}.json") for name in names)}
    assert set(public["packages"]) == {wheel, source}
    for name, content in public["packages"].items():
        assert release["files"][name] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    with zipfile.ZipFile(world.dist / wheel) as archive:
        metadata = email.message_from_bytes(archive.read(f"turncheck-{VERSION}.dist-info/METADATA"))
        assert metadata["Version"] == VERSION
        assert f'__version__ = "{VERSION}"' in archive.read("turncheck/__init__.py").decode()
    changelog = git(world.bare, "show", f"{TAG}:CHANGELOG.md")
    assert re.search(
        rf"^## \[Unreleased\]\n\n## \[{re.escape(VERSION)}\] - \d{{4}}-\d\d-\d\d\n", changelog, re.MULTILINE
    )
    assert release["body"].startswith("### Added")
    assert "](docs/" not in release["body"], "a release's page has no files beside it"
    for page in ("README.md", "docs/scale.md", "examples/workflows/one-bot.yml"):
        assert set(re.findall(r"turncheck/turncheck@(\S+)", git(world.bare, "show", f"{TAG}:{page}"))) == {MAJOR}
    assert world.run("agreed") == 0


def test_the_bills_of_materials_are_in_both_formats_and_of_the_image(world: World) -> None:
    (spdx,), (cyclonedx,) = (world.dist.glob(f"*.{kind}.json") for kind in ("spdx", "cyclonedx"))
    first, second = (json.loads(file.read_text("utf-8")) for file in (spdx, cyclonedx))

    assert first["spdxVersion"].startswith("SPDX-2.")
    assert second["bomFormat"] == "CycloneDX"
    assert [package["versionInfo"] for package in first["packages"] if package["name"] == "turncheck"] == [VERSION]
    assert second["metadata"]["component"]["version"] == VERSION
    assert first["creationInfo"]["created"] == second["metadata"]["timestamp"] == "2031-02-03T04:05:06Z"


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_failure_at_every_change_leaves_nothing_half_released_and_the_next_run_goes_on(
    fresh: World, kept: Path, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run again and again; each run fails at its first change that has not failed yet, before or after it was made."""
    failed: list[str] = []
    disturb(monkeypatch, failed, CHANGES, after=after)

    seen = []
    while fresh.run("all") != 0:
        count = len(failed)
        assert count > len(seen), "each run gets further"
        seen.append(failed[-1])
        public = fresh.public()
        if f"refs/tags/{TAG}" not in public["refs"]:
            assert not names_version(public), failed[-1]
        for tag, commit in public["refs"].items():
            if tag == f"refs/tags/{MAJOR}":
                assert commit == public["refs"][f"refs/tags/{TAG}^{{}}"]
    monkeypatch.undo()

    for step in ("build_image.sh build", "hatchling", "pull", "push", "publish", "POST", "PATCH"):
        assert any(step in one for one in seen), f"{step} was disturbed: {seen}"
    release_world.enter(monkeypatch)
    assert fresh.run("agreed") == 0
    if not kept.exists():
        shutil.copytree(fresh.dist, kept)


def disturb(patch: pytest.MonkeyPatch, failed: list[str], which: re.Pattern[str], *, after: bool) -> None:
    """Let each change fail once, before or after it has been made."""

    def failing(name: str, work: Callable[[], Any]) -> Any:
        if not which.match(name) or name in failed:
            return work()
        failed.append(name)
        if after:
            work()
        raise ReleaseError(f"disturbed: {name}")

    run, request = subprocess.run, requests.request

    def run_or_fail(command: list[str], **options: Any) -> Any:
        return failing(_name(command), lambda: run(command, **options))

    def ask_or_fail(method: str, address: str, **options: Any) -> Any:
        name = f"{method} {address.rpartition('/repos/')[2]} {options.get('params')}"
        return failing(name, lambda: request(method, address, **options))

    patch.setattr(commands.subprocess, "run", run_or_fail)
    patch.setattr(releasing.requests, "request", ask_or_fail)


def _name(command: list[str]) -> str:
    """What a command does: its words, but for the names of temporary folders."""
    return re.sub(r"/tmp\w{8}\b", "", " ".join(command))
