"""Whether everything that names the version agrees, before anything is built."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.release.mentions import Mention, in_text, mentions
from tools.release.place import VERSION, ReleaseError, ordered
from tools.release.tags import released, remote_tags

if TYPE_CHECKING:
    from tools.release.place import Place

HEADING = re.compile(r"^## \[(?P<name>[^]]+)\](?: - (?P<date>\S+))?$", re.MULTILINE)
_RELATIVE = re.compile(r"\]\((?!#|[a-z][a-z0-9+.-]*:)")


def ensure(place: Place) -> None:
    """Check the commit that is to be released.

    Raises:
        ReleaseError: with everything that disagrees.
    """
    if found := [*_position(place), *_taken(place), *disagreements(place)]:
        raise ReleaseError("\n".join(found))


def _position(place: Place) -> list[str]:
    found = []
    if place.git("status", "--porcelain", "--untracked-files=no"):
        found.append("the checkout has changes that are not committed")
    place.git("fetch", "--quiet", place.remote, f"refs/heads/{place.branch}")  # a tag of this name would come first
    contained = place.git("merge-base", "HEAD", "FETCH_HEAD")
    if contained != place.commit:
        found.append(f"{place.commit[:12]} is not on {place.remote}/{place.branch}")
    return found


def _taken(place: Place) -> list[str]:
    """Say why the version cannot be given; a release that has its tag may only be continued, from its own commit."""
    tags = remote_tags(place)
    if place.tag in tags:
        place.git("fetch", "--quiet", "--no-tags", place.remote, f"refs/tags/{place.tag}")
        if place.git("log", "-1", "--format=%P", "FETCH_HEAD") == place.commit:
            return []
        return [
            f"{place.tag} on {place.remote} was made from another commit: the version is taken, prepare the next one"
        ]
    newer = [
        tag for tag in released(tags) if tag.partition(".")[0] == place.major and ordered(tag) > ordered(place.tag)
    ]
    return [f"{place.version} is older than {max(newer, key=ordered)}, which is on {place.remote}"] if newer else []


def disagreements(place: Place) -> list[str]:
    """Return what in the commit does not name the version that the package has."""
    return [*_changelog(place), *_history(place), *_names(place), *_action(place)]


def _changelog(place: Place) -> list[str]:
    try:
        notes(place)
    except ReleaseError as refused:
        return [str(refused)]
    text, found = place.file("CHANGELOG.md"), []
    if section(text, "Unreleased"):
        found.append(f"CHANGELOG.md: entries below [Unreleased] are not in {place.version}")
    if later := versions(text, since=place.version)[1:]:
        found.append(f"CHANGELOG.md: there are sections of {', '.join(later)}, which is not older than {place.version}")
    return found


def notes(place: Place) -> str:
    """Return what CHANGELOG.md says of the version, with links that lead into the release from anywhere.

    Raises:
        ReleaseError: it says nothing, or has no date for it.
    """
    text = place.file("CHANGELOG.md")
    heading = next((one for one in HEADING.finditer(text) if one["name"] == place.version), None)
    if heading is None:
        raise ReleaseError(f"CHANGELOG.md: there is no section [{place.version}]")
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", heading["date"] or ""):
        raise ReleaseError(
            f"CHANGELOG.md: the section [{place.version}] has no date (expected ## [{place.version}] - YYYY-MM-DD)"
        )
    said = section(text, place.version)
    if not said:
        raise ReleaseError(f"CHANGELOG.md: the section [{place.version}] is empty")
    return _RELATIVE.sub(rf"](https://github.com/{place.repository}/blob/{place.tag}/", said)


def versions(text: str, *, since: str) -> list[str]:
    """Return of which versions a changelog has sections, from the oldest to the newest, without those before one."""
    names = [heading["name"] for heading in HEADING.finditer(text) if VERSION.fullmatch(heading["name"])]
    return sorted((name for name in names if ordered(name) >= ordered(since)), key=ordered)


def section(text: str, name: str) -> str:
    """Return what is below a heading of second level, up to the next one."""
    headings = list(HEADING.finditer(text))
    for number, heading in enumerate(headings):
        if heading["name"] == name:
            end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
            return text[heading.end() : end].strip()
    return ""


def _names(place: Place) -> list[str]:
    """Say who names another version than that which is released."""
    return [
        f"{_where(one)} is not of {place.version} (expected {one.form.expected(place.version)})"
        for one in mentions(place)
        if not one.form.fits(one.named, place.version)
    ]


def _where(mention: Mention) -> str:
    return f"{mention.path}:{mention.line}: {mention.written}"


def _history(place: Place) -> list[str]:
    """Say which section of the changelog names a version that was not there when it was written."""
    text, found = place.file("CHANGELOG.md"), []
    headings = [heading for heading in HEADING.finditer(text) if VERSION.fullmatch(heading["name"])]
    for number, heading in enumerate(headings):
        known = [one["name"] for one in headings[number:]]
        said = text[heading.end() : headings[number + 1].start() if number + 1 < len(headings) else len(text)]
        found += [
            f"{_where(one)} is of no version up to {known[0]} (expected {one.form.expected(known[0])})"
            for one in in_text("CHANGELOG.md", said, text.count("\n", 0, heading.end()) + 1)
            if not any(one.form.fits(one.named, version) for version in known)
        ]
    return found


def _action(place: Place) -> list[str]:
    lines = [line for line in place.file("action.yml").splitlines() if line.lstrip().startswith("image:")]
    return [] if lines == ["  image: Dockerfile"] else [f"action.yml: expected `image: Dockerfile`, got {lines}"]
