"""What is released, from where, and to where; and the commands that the steps run."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = "turncheck"
_NUMBER = "(?:0|[1-9][0-9]{0,8})"  # other digits look alike, and one of a thousand digits is no number of a release
VERSION = re.compile(rf"{_NUMBER}(?:\.{_NUMBER}){{2}}")
_LOGIN = re.compile(r"(?<=://)[^\s'\"]*@")
_ASSIGNED = re.compile(r'^__version__ = "([^"]*)"$', re.MULTILINE)


def ordered(version: str) -> tuple[int, ...]:
    """Return what versions, and tags of versions, are sorted by."""
    return tuple(map(int, version.removeprefix("v").split(".")))


class ReleaseError(Exception):
    """The step cannot be done, or what is public already differs; nothing was overwritten."""


@dataclass(frozen=True)
class Place:
    """A checkout, the folder of what is built from it, and where it is published."""

    source: Path
    dist: Path
    remote: str
    branch: str
    repository: str
    image: str
    """Registry and name of the image, without a tag."""
    api: str
    upload: str
    """Where packages are uploaded to."""
    index: str
    """The simple index that shows them."""

    @cached_property
    def commit(self) -> str:
        """The commit that is released: the one checked out, which no step changes."""
        return self.git("rev-parse", "HEAD")

    @cached_property
    def version(self) -> str:
        """The version that the released commit gives itself.

        Raises:
            ReleaseError: it is not of the form X.Y.Z.
        """
        found = _ASSIGNED.search(self.file(f"src/{PACKAGE}/__init__.py"))
        version = found[1] if found else ""
        if not VERSION.fullmatch(version):
            raise ReleaseError(f"src/{PACKAGE}/__init__.py: __version__ is {version!r}, expected X.Y.Z")
        return version

    @property
    def tag(self) -> str:
        """The tag of the release."""
        return f"v{self.version}"

    @property
    def major(self) -> str:
        """The tag that moves with the releases of a major version."""
        return self.tag.partition(".")[0]

    @property
    def candidate(self) -> str:
        """The image's tag before the release: it names the commit, not the version."""
        return f"candidate-{self.commit[:12]}"

    @property
    def plain_http(self) -> bool:
        """Whether the registry is one on this machine, which is spoken to as Docker does: without TLS."""
        return self.image.partition("/")[0].rpartition(":")[0] in {"127.0.0.1", "localhost"}

    def file(self, path: str) -> str:
        """Return a text file as the released commit has it."""
        return self.git("show", f"HEAD:{path}", strip=False)

    def time(self) -> str:
        """Return the time of the commit in seconds: that of everything built from it."""
        return self.git("log", "-1", "--format=%ct")

    def git(
        self, *arguments: str, strip: bool = True, stdin: str | None = None, env: dict[str, str] | None = None
    ) -> str:
        """Run git in the checkout and return what it prints; of replaced objects, the original."""
        environment = {"GIT_NO_REPLACE_OBJECTS": "1", **(env or {})}
        printed = run(["git", *arguments], folder=self.source, stdin=stdin, env=environment)
        return printed.strip() if strip else printed


def own_file(place: Place, path: str) -> Path:
    """Return a file of the checkout that may be written.

    Raises:
        ReleaseError: it, or a folder above it, is a link to somewhere else.
    """
    file, top = place.source / path, place.source.resolve()
    if file.resolve() != top / path:
        raise ReleaseError(f"{path} is a link to {file.resolve()}: it is not written")
    return file


def run(
    command: list[str], *, folder: Path | None = None, stdin: str | None = None, env: dict[str, str] | None = None
) -> str:
    """Run a command and return its output.

    Raises:
        ReleaseError: it failed, or is not installed; with what it said.
    """
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            input=stdin,
            capture_output=True,
            # What is read of a file in another encoding is written as it was.
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
            env={**os.environ, **(env or {})},
        )
    except FileNotFoundError as error:
        raise ReleaseError(f"{command[0]} is not installed") from error
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        shown = f"`{' '.join(command[:3])} …` failed with {done.returncode}: {said}"
        raise ReleaseError(_LOGIN.sub("…@", shown))
    return done.stdout
