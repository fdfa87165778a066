"""The commit before a release: the version, and the changelog's section."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.release.agreement import section
from tools.release.place import PACKAGE, VERSION, ReleaseError

if TYPE_CHECKING:
    from tools.release.place import Place


def prepare(place: Place, version: str, date: str) -> None:
    """Write a version into the checkout's files, for a person to look at and commit.

    Raises:
        ReleaseError: the version is not of the form X.Y.Z, or the changelog has nothing for it.
    """
    if not VERSION.fullmatch(version):
        raise ReleaseError(f"{version!r} is not a version of the form X.Y.Z")
    changelog = place.source / "CHANGELOG.md"
    text = changelog.read_text("utf-8")
    if not section(text, "Unreleased"):
        raise ReleaseError("CHANGELOG.md: there is nothing below [Unreleased]")
    if section(text, version):
        raise ReleaseError(f"CHANGELOG.md: there is a section [{version}] already")
    changelog.write_text(text.replace("## [Unreleased]\n", f"## [Unreleased]\n\n## [{version}] - {date}\n", 1), "utf-8")
    module = place.source / "src" / PACKAGE / "__init__.py"
    assigned = re.sub(
        r'^__version__ = ".*"$', f'__version__ = "{version}"', module.read_text("utf-8"), flags=re.MULTILINE
    )
    module.write_text(assigned, "utf-8")
