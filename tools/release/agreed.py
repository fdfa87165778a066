"""Whether everything that was published is of one version, built from one commit: asked of what is public."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import requests
from tools.release import github, registry
from tools.release.agreement import disagreements
from tools.release.build import built
from tools.release.place import PACKAGE, ReleaseError
from tools.release.tags import is_moved, reference, release_commit, remote_tags

if TYPE_CHECKING:
    from tools.release.place import Place

_LINK = re.compile(r"""<a\b[^>]*?href=["'][^"'#]*?/([^"'#/]+)#sha256=([0-9a-f]{64})["']""")


def ensure_published(place: Place) -> bool:
    """Check tag, image, action.yml, release and package against each other.

    Raises:
        ReleaseError: with everything that is missing or differs.
    """
    record = built(place)
    found = disagreements(place)
    tags = remote_tags(place)
    commit = release_commit(place)
    if tags.get(place.tag) != commit:
        found.append(f"the tag {place.tag} is {tags.get(place.tag)}, expected {commit}")
    named = place.git("show", f"{commit}:action.yml").splitlines()
    if f"  image: {reference(place)}" not in named:
        found.append(f"action.yml of {place.tag} does not name {reference(place)}")
    image = registry.digest_of(place, place.version)
    if image != record.digest:
        found.append(f"{place.image}:{place.version} is {image}, expected {record.digest}")
    release = github.found(place)
    if release is None or release["draft"]:
        found.append(f"the release {place.tag} is not on GitHub")
    else:
        github.ensure_same(place, release)
    if not is_moved(place, tags):
        found.append(f"the tag {place.major} is {tags.get(place.major)}, expected {commit} or that of a newer release")
    files = _files(place)
    found += [
        f"{name} on {place.index} is {files.get(name)}, expected {digest}"
        for name, digest in record.files.items()
        if name.endswith((".whl", ".tar.gz")) and files.get(name) != digest
    ]
    if found:
        raise ReleaseError("\n".join(found))
    return False


def _files(place: Place) -> dict[str, str]:
    """Return the SHA-256 of each file that the index shows of the package."""
    address = f"{place.index.rstrip('/')}/{PACKAGE}/"
    try:
        answer = requests.get(
            address, headers={"Accept": "application/vnd.pypi.simple.v1+html, text/html;q=0.5"}, timeout=60
        )
    except requests.RequestException as error:
        raise ReleaseError(f"{address} cannot be reached: {error}") from error
    if answer.status_code == requests.codes.not_found:
        return {}
    if not answer.ok:
        raise ReleaseError(f"{address} answered with {answer.status_code}")
    return dict(_LINK.findall(answer.text))
