"""The release commit and the tags in the repository."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tools.release import registry
from tools.release.build import built
from tools.release.place import VERSION, ReleaseError, ordered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools.release.place import Place

# Git asks this program for a name and a password, which so are never in a command line or a file.
CREDENTIALS = '!f() { test "$1" = get && echo username=x-access-token && echo "password=$GITHUB_TOKEN"; }; f'
WHO = "turncheck release"
MAIL = "turncheck@users.noreply.github.com"


def reference(place: Place) -> str:
    """Return what action.yml names in the release: the image by version and digest."""
    return f"docker://{place.image}:{place.version}@{built(place).digest}"


def release_commit(place: Place) -> str:
    """Make the commit that is tagged: the one checked out, but with the published image in action.yml.

    Author, date and text follow from the commit, so that it is the same commit each time.
    """
    action = re.sub(
        r"^  image: Dockerfile$", f"  image: {reference(place)}", place.file("action.yml"), flags=re.MULTILINE
    )
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        place.git("read-tree", "HEAD", env=index)
        blob = place.git("hash-object", "-w", "--stdin", stdin=action)
        place.git("update-index", "--cacheinfo", f"100644,{blob},action.yml", env=index)
        tree = place.git("write-tree", env=index)
    message = f"turncheck {place.version}\n\nThe action runs the published image; on {place.branch} it is built.\n"
    return place.git("commit-tree", tree, "-p", "HEAD", stdin=message, env=_identity(place))


def ensure_tag(place: Place) -> bool:
    """Push the tag of the release, unless it is there.

    Raises:
        ReleaseError: it is there and is another commit's, or the image is not the one that was tested.
    """
    commit = release_commit(place)
    present = remote_tags(place).get(place.tag)
    if present == commit:
        return False
    if present is not None:
        raise ReleaseError(
            f"{place.tag} on {place.remote} is {present[:12]}, expected {commit[:12]} (made from {place.commit[:12]});"
            " nothing was overwritten"
        )
    pushed = registry.digest_of(place, place.candidate)
    if pushed != built(place).digest:
        raise ReleaseError(f"{place.image}:{place.candidate} is {pushed}, expected {built(place).digest}")
    name, email = WHO, MAIL
    text = (
        f"object {commit}\ntype commit\ntag {place.tag}\ntagger {name} <{email}> {place.time()} +0000\n\n{place.tag}\n"
    )
    made = place.git("mktag", stdin=text)
    _push(place, f"{made}:refs/tags/{place.tag}", f"--force-with-lease=refs/tags/{place.tag}:")
    return True


def move_major(place: Place) -> bool:
    """Let the tag of the major version name this release, unless it names it or a newer one.

    Raises:
        ReleaseError: it names something else than a release.
    """
    tags = remote_tags(place)
    commit = tags.get(place.tag)
    if commit != release_commit(place):
        raise ReleaseError(f"{place.tag} is not on {place.remote}: {place.major} stays where it is")
    present = tags.get(place.major)
    if present is not None:
        if not (names := _releases(tags, present)):
            raise ReleaseError(
                f"{place.major} on {place.remote} is {present[:12]}, which is not a release; it was not moved"
            )
        if max(map(ordered, names)) >= ordered(place.tag):
            return False
    _push(place, f"{commit}:refs/tags/{place.major}", f"--force-with-lease=refs/tags/{place.major}:{present or ''}")
    return True


def is_moved(place: Place, tags: dict[str, str]) -> bool:
    """Whether the tag of the major version names this release or a newer one."""
    names = _releases(tags, tags.get(place.major, ""))
    return any(ordered(name) >= ordered(place.tag) for name in names)


def _releases(tags: dict[str, str], commit: str) -> list[str]:
    return [tag for tag in released(tags) if tags[tag] == commit]


def released(tags: Iterable[str]) -> list[str]:
    """Return which tags are those of releases."""
    return [tag for tag in tags if tag.startswith("v") and VERSION.fullmatch(tag.removeprefix("v"))]


def remote_tags(place: Place) -> dict[str, str]:
    """Return the commits of the remote's tags, by name."""
    tags: dict[str, str] = {}
    # The line of an annotated tag's commit follows that of the tag.
    for line in filter(None, place.git("ls-remote", "--tags", place.remote).split("\n")):  # a name may have U+2028
        commit, name = line.split("\t")
        tags[name.removeprefix("refs/tags/").removesuffix("^{}")] = commit
    return tags


def _push(place: Place, what: str, lease: str) -> None:
    place.git("-c", f"credential.helper={CREDENTIALS}", "push", "--quiet", lease, place.remote, what)


def _identity(place: Place) -> dict[str, str]:
    date = f"{place.time()} +0000"
    return {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", WHO), ("EMAIL", MAIL), ("DATE", date))
    }
