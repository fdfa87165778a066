"""Whether everything that names the version agrees, before anything is built."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.release.place import PACKAGE, ReleaseError

if TYPE_CHECKING:
    from tools.release.place import Place

USES = re.compile(rf"{PACKAGE}/{PACKAGE}@(v?\d+(?:\.\w+)*)")
IMAGE = re.compile(rf"ghcr\.io/{PACKAGE}/{PACKAGE}:(v?\d+(?:\.\w+)*)")
HEADING = re.compile(r"^## \[(?P<name>[^]]+)\](?: - (?P<date>\S+))?$", re.MULTILINE)
_RELATIVE = re.compile(r"\]\((?!#|[a-z][a-z0-9+.-]*:)")
REF = re.compile(r"refs/tags/(v\d+(?:\.\w+)*)")
READ = ("README.md", "SECURITY.md", "docs", "examples", "templates", "azure", "src")


def ensure(place: Place) -> None:
    """Check the commit that is to be released.

    Raises:
        ReleaseError: with everything that disagrees.
    """
    if found := [*_position(place), *disagreements(place)]:
        raise ReleaseError("\n".join(found))


def _position(place: Place) -> list[str]:
    found = []
    if place.git("status", "--porcelain", "--untracked-files=no"):
        found.append("the checkout has changes that are not committed")
    place.git("fetch", "--quiet", place.remote, place.branch)
    contained = place.git("merge-base", "HEAD", "FETCH_HEAD")
    if contained != place.commit:
        found.append(f"{place.commit[:12]} is not on {place.remote}/{place.branch}")
    return found


def disagreements(place: Place) -> list[str]:
    """Return what in the commit does not name the version that the package has."""
    return [*_changelog(place), *_names(place), *_action(place)]


def _changelog(place: Place) -> list[str]:
    try:
        notes(place)
    except ReleaseError as refused:
        return [str(refused)]
    unreleased = section(place.file("CHANGELOG.md"), "Unreleased")
    return [f"CHANGELOG.md: entries below [Unreleased] are not in {place.version}"] if unreleased else []


def notes(place: Place) -> str:
    """Return what CHANGELOG.md says of the version, with links that lead into the release from anywhere.

    Raises:
        ReleaseError: it says nothing, or has no date for it.
    """
    text = place.file("CHANGELOG.md")
    heading = next((one for one in HEADING.finditer(text) if one["name"] == place.version), None)
    if heading is None:
        raise ReleaseError(f"CHANGELOG.md: there is no section [{place.version}]")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", heading["date"] or ""):
        raise ReleaseError(
            f"CHANGELOG.md: the section [{place.version}] has no date (expected ## [{place.version}] - YYYY-MM-DD)"
        )
    said = section(text, place.version)
    if not said:
        raise ReleaseError(f"CHANGELOG.md: the section [{place.version}] is empty")
    return _RELATIVE.sub(rf"](https://github.com/{place.repository}/blob/{place.tag}/", said)


def section(text: str, name: str) -> str:
    """Return what is below a heading of second level, up to the next one."""
    headings = list(HEADING.finditer(text))
    for number, heading in enumerate(headings):
        if heading["name"] == name:
            end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
            return text[heading.end() : end].strip()
    return ""


def _names(place: Place) -> list[str]:
    """Say who names another version of the action or of the image than that which is released."""
    found = []
    # `git grep` fails where it finds nothing; the README names the action in any case.
    lines = place.git(
        "grep", "-InE", f"{PACKAGE}/{PACKAGE}[@:]v?[0-9]|refs/tags/v[0-9]", "HEAD", "--", *READ
    ).splitlines()
    for path, number, line in (line.removeprefix("HEAD:").split(":", 2) for line in lines):
        found += [
            f"{path}:{number}: {named[0]} is not of {place.version} (expected {PACKAGE}/{PACKAGE}@{place.major})"
            for named in USES.finditer(line)
            if named[1] not in {place.major, place.tag}
        ]
        found += [
            f"{path}:{number}: {named[0]} is not of {place.version} (expected refs/tags/{place.major})"
            for named in REF.finditer(line)
            if named[1] not in {place.major, place.tag}
        ]
        found += [
            f"{path}:{number}: {named[0]} is not the image of {place.version}"
            for named in IMAGE.finditer(line)
            if named[1] != place.version
        ]
    return found


def _action(place: Place) -> list[str]:
    lines = [line for line in place.file("action.yml").splitlines() if line.lstrip().startswith("image:")]
    return [] if lines == ["  image: Dockerfile"] else [f"action.yml: expected `image: Dockerfile`, got {lines}"]
