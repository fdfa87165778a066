"""The release with the real image: built, pushed, pulled by its digest, run, and looked into."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
import release_world
from fake_github import FakeGitHub
from release_world import VERSION, World, git
from tools.release.layout import file_in

pytestmark = pytest.mark.image

TAG = f"v{VERSION}"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, prepared: Path, image: str, _server: FakeGitHub) -> Iterator[World]:
    """A world in which the repository as it is will be released; each step of building its image has been done."""
    _server.reset()
    folder = tmp_path_factory.mktemp("release")
    bare = folder / "origin.git"
    shutil.copytree(prepared, bare)
    git(folder, "clone", "-q", str(bare), "checkout")
    packages = folder / "packages"
    with (
        pytest.MonkeyPatch.context() as patch,
        release_world.registry(folder / "registry") as host,
        release_world.package_index(packages) as index,
    ):
        release_world.enter(patch)
        name = f"{host}/turncheck/turncheck"
        yield World(folder / "checkout", folder / "dist", bare, host, name, index, packages, _server)


@pytest.fixture(scope="module")
def said(world: World) -> str:
    """What the whole release of this world says; whichever test needs it first makes it."""
    output = StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        code = world.run("all")
    assert code == 0, output.getvalue()
    return output.getvalue()


def test_the_real_image_is_released(world: World, said: str) -> None:
    assert re.search(r"^from pull to first line: \d+\.\d s", said, re.MULTILINE)
    public = world.public()
    assert world.action(TAG) == f"docker://{world.image}:{VERSION}@{public['image'][VERSION]}"


@pytest.mark.usefixtures("said")
def test_the_bills_of_materials_name_what_the_image_contains(world: World) -> None:
    (spdx,), (cyclonedx,) = (world.dist.glob(f"*.{kind}.json") for kind in ("spdx", "cyclonedx"))
    first = {package["name"].lower() for package in json.loads(spdx.read_text("utf-8"))["packages"]}
    second = {part["name"].lower() for part in json.loads(cyclonedx.read_text("utf-8"))["components"]}

    pinned = set(re.findall(r"^([\w.-]+)==", git(world.bare, "show", f"{TAG}:requirements/run.txt"), re.MULTILINE))
    assert len(pinned) > 30
    for names in (first, second):
        assert {"turncheck", "git", "libc6", "libcurl3-gnutls"} <= {*names, *(aliased(name) for name in names)}
        assert pinned - names <= BUILDING


BUILDING = {"hatchling", "pathspec", "pluggy", "trove-classifiers"}
"""Uninstalled in the image."""


def aliased(name: str) -> str:
    """The name that Debian's packages had before the times of 2038."""
    return name.replace("t64", "")


@pytest.mark.usefixtures("said")
def test_the_notices_name_every_package_in_the_image(world: World) -> None:
    notices = (world.dist / "THIRD-PARTY-NOTICES.txt").read_text("utf-8")
    (archive,) = world.dist.glob("image-*/linux-*.tar")

    assert notices.encode() == file_in(archive, "opt/turncheck/THIRD-PARTY-NOTICES.txt")
    for name, version in re.findall(
        r"^([\w.-]+)==(\S+)", git(world.bare, "show", "main:requirements/run.txt"), re.MULTILINE
    ):
        if name not in BUILDING:
            assert re.search(rf"^{re.escape(name)} {re.escape(version)}$", notices, re.MULTILINE | re.IGNORECASE), name
    assert "Linus Torvalds" in file_in(archive, "usr/share/doc/git/copyright").decode()
