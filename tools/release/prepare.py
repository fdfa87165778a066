"""The commit before a release: the version wherever it is named, and the changelog's section."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.release.agreement import section, versions
from tools.release.mentions import mentions
from tools.release.place import PACKAGE, VERSION, ReleaseError, ordered, own_file
from tools.release.tags import released

if TYPE_CHECKING:
    from pathlib import Path

    from tools.release.place import Place

_ASSIGNED = re.compile(r'(?<=^__version__ = ")[^"]*(?="$)', re.MULTILINE)


def prepare(place: Place, version: str, date: str) -> list[str]:
    """Write a version into the checkout's files, for a person to look at and commit; return where it was written.

    Raises:
        ReleaseError: the version is not of the form X.Y.Z, or not the newest, or the changelog has nothing for it.
    """
    if not VERSION.fullmatch(version):
        raise ReleaseError(f"{version!r} is not a version of the form X.Y.Z")
    changelog, module = own_file(place, "CHANGELOG.md"), own_file(place, f"src/{PACKAGE}/__init__.py")
    text, code = changelog.read_text("utf-8"), module.read_text("utf-8")
    if not section(text, "Unreleased"):
        raise ReleaseError("CHANGELOG.md: there is nothing below [Unreleased]")
    if later := versions(text, since=version):
        raise ReleaseError(f"CHANGELOG.md: there is a section [{later[-1]}] already, which is not older than {version}")
    tagged = [tag for tag in released(place.git("tag", "--list").split("\n")) if ordered(tag) >= ordered(version)]
    if tagged:
        raise ReleaseError(f"{version} is not newer than {max(tagged, key=ordered)}, which is a tag here")
    assigned = _ASSIGNED.search(code)
    if assigned and VERSION.fullmatch(assigned[0]) and ordered(assigned[0]) > ordered(version):
        raise ReleaseError(f"{version} is older than what the package is now ({assigned[0]})")
    changelog.write_text(text.replace("## [Unreleased]\n", f"## [Unreleased]\n\n## [{version}] - {date}\n", 1), "utf-8")
    module.write_text(_ASSIGNED.sub(version, code), "utf-8")
    return _write_mentions(place, version)


def _write_mentions(place: Place, version: str) -> list[str]:
    """Let every place that names a version name this one; a range of versions is left to a person, and to `check`."""
    wrong = [one for one in mentions(place, "") if not one.form.fits(one.named, version)]
    written = [one for one in wrong if one.form.right or re.fullmatch(r"(?:==)?[\w.]+", one.named)]
    # From the last on a line to the first, since the columns change behind each.
    for one in sorted(written, key=lambda one: (one.path, one.line, one.column), reverse=True):
        _replace(own_file(place, one.path), one.line, one.column, one.named, one.form.expected(version))
    return [f"{one.path}:{one.line}: {one.named} -> {one.form.expected(version)}" for one in written]


def _replace(file: Path, line: int, column: int, old: str, new: str) -> None:
    lines = file.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    before, after = lines[line - 1][:column], lines[line - 1][column:]
    lines[line - 1] = before + new + after.removeprefix(old)
    file.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
