"""Where a release goes to, on this machine: a bare repository, a registry, a package index and a GitHub."""

from __future__ import annotations

import fcntl
import functools
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from fake_github import ACTIONS_TOKEN, FakeGitHub
from fake_github_releases import releases
from github_shapes import REPOSITORY
from prism import free_port
from stand_in_containers import write_stand_in
from tools.release.__main__ import main
from tools.release.mentions import Mention, in_text

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv-release"
NAME = "turncheck"
VERSION = "0.98.7"
WHEN = "2031-02-03T04:05:06+00:00"


def ensure_tools() -> None:
    """Have what only the release runs: Debian's skopeo, registry and zstd, and the environment of `make release`."""
    (ROOT / ".cache").mkdir(exist_ok=True)
    with (ROOT / ".cache" / "release.lock").open("w") as file:  # tests run in several processes
        fcntl.flock(file, fcntl.LOCK_EX)
        subprocess.run(["make", "--silent", "-o", ".venv/.run", ".venv-release/.ready"], cwd=ROOT, check=True)
        missing = [name for name in ("skopeo", "docker-registry", "zstd") if shutil.which(name) is None]
        if missing:
            root = [] if os.geteuid() == 0 else ["sudo", "-n", "-E"]
            # At this run level Debian starts no service of what it installs.
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
            subprocess.run([*root, "apt-get", "update", "-qq"], check=True, env=environment)
            install = [*root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
            subprocess.run(install, check=True, env=environment, stdout=subprocess.DEVNULL)


@contextmanager
def served(command: list[str], address: str, **environment: str) -> Iterator[None]:
    """Run a server until the end of the block, which begins when it answers."""
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **environment}
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while not _answers(address):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{command[0]} does not answer at {address}")
                time.sleep(0.05)
            yield
        finally:
            process.kill()


def _answers(address: str) -> bool:
    try:
        return requests.get(address, timeout=5).ok
    except requests.ConnectionError:
        return False


@contextmanager
def registry(folder: Path) -> Iterator[str]:
    """Run Debian's registry (the reference implementation of the OCI distribution) and give its host."""
    host = f"127.0.0.1:{free_port()}"
    config = folder / "registry.yml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {folder}/blobs}}}}\nhttp: {{addr: '{host}'}}\n"
    )
    with served(["docker-registry", "serve", str(config)], f"http://{host}/v2/"):
        yield host


@contextmanager
def package_index(folder: Path) -> Iterator[str]:
    """Run pypiserver and give its address; like PyPI it replaces no file."""
    folder.mkdir(parents=True)
    address = f"http://127.0.0.1:{(port := free_port())}"
    run = [str(TOOLS / "bin" / "pypi-server"), "run", "-i", "127.0.0.1", "-p", str(port), "-P", ".", "-a", "."]
    with served([*run, "--disable-fallback", str(folder)], address):
        yield address


_BESIDE_THE_POINT = re.compile(r"src/turncheck/(?!commands/init/)\w+/|examples/(?!pizzeria/|workflows/)|page/")
"""What most files are of, and no step of a release asks for: nothing in them names a version."""


def repository(folder: Path, *, containers: bool) -> Path:
    """Make a bare repository with this one's files, prepared as a release.

    With stand-ins for containers it has nothing that only an image needs: each test clones it and builds from it.
    """
    bare, work = folder / "origin.git", folder / "prepared"
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        is_left_out = name.startswith(("tests/", "benchmarks/")) or (not containers and _BESIDE_THE_POINT.match(name))
        if not is_left_out and (ROOT / name).exists():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, work / name)
    if not containers:
        write_stand_in(work / "tools")
    git(work, "init", "-q", "-b", "main")
    git(work, "add", "-A")
    assert main(["prepare", VERSION, "--source", str(work)]) == 0
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", f"turncheck {VERSION}")
    git(folder, "clone", "-q", "--bare", str(work), str(bare))
    git(bare, "repack", "-a", "-d", "-q")  # each test copies it: one file, not a thousand
    return bare


def git(folder: Path, *arguments: str) -> str:
    """Run git as somebody, at a fixed time."""
    identity = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in PERSON}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, env={**os.environ, **identity}
    )
    return done.stdout.strip()


PERSON = (("NAME", "maintainer"), ("EMAIL", "m@example.org"), ("DATE", WHEN))


@dataclass(frozen=True)
class World:
    """A checkout, and everything that a release reaches from there."""

    checkout: Path
    dist: Path
    bare: Path
    host: str
    image: str
    index: str
    packages: Path
    github: FakeGitHub

    def run(self, step: str) -> int:
        """Run a step, or `all`."""
        return main(
            [
                *(step, "--source", str(self.checkout), "--dist", str(self.dist), "--repository", REPOSITORY),
                *("--image", self.image, "--api", self.github.public),
                *("--upload", f"{self.index}/", "--index", f"{self.index}/simple/"),
            ]
        )

    def public(self) -> dict[str, Any]:
        """Everything that others can see: refs, tags of the image, releases, packages."""
        address = f"http://{self.host}/v2/{self.image.partition('/')[2]}"
        tags = requests.get(f"{address}/tags/list", timeout=10).json().get("tags") or []
        kinds = ("index", "manifest")
        accepted = {"Accept": ", ".join(f"application/vnd.oci.image.{kind}.v1+json" for kind in kinds)}
        return {
            "refs": {ref: commit for commit, ref in map(str.split, git(self.bare, "ls-remote", ".").splitlines())},
            "image": {
                tag: requests.head(f"{address}/manifests/{tag}", headers=accepted, timeout=10).headers[
                    "Docker-Content-Digest"
                ]
                for tag in tags
            },
            "releases": releases(self.github),
            "packages": {file.name: file.read_bytes() for file in self.packages.iterdir()},
        }

    def action(self, tag: str) -> str:
        """What action.yml says to run at a tag."""
        lines = git(self.bare, "show", f"{tag}:action.yml").splitlines()
        return next(line.split(": ", 1)[1] for line in lines if line.startswith("  image:"))


def enter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what the job of a release has in its environment."""
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "INPUT_", "UV_PUBLISH_", "GIT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GITHUB_TOKEN", ACTIONS_TOKEN)
    monkeypatch.setenv("UV_PUBLISH_USERNAME", "somebody")
    monkeypatch.setenv("UV_PUBLISH_PASSWORD", "something")
    monkeypatch.setenv("PATH", os.pathsep.join([str(TOOLS / "bin"), os.environ["PATH"]]))
    for module in ("agreement", "mentions"):
        monkeypatch.setattr(f"tools.release.{module}.in_text", _in_text_once)


@functools.cache
def _in_text_once(path: str, text: str, first: int = 1) -> tuple[Mention, ...]:
    """What a text mentions: the commits of two tests differ in a line or two."""
    return tuple(in_text(path, text, first))


def names_version(public: dict[str, Any]) -> bool:
    """Whether anything that others can see names the version (but the branch, whose files do)."""
    seen = json.dumps([list(public["refs"]), list(public["image"]), public["releases"], list(public["packages"])])
    return VERSION in seen
