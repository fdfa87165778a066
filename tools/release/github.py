"""The release on GitHub: a draft that gets its files and is then published, after which it cannot be changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import requests
from tools.release.agreement import notes
from tools.release.build import built
from tools.release.place import ReleaseError

if TYPE_CHECKING:
    from tools.release.place import Place

TIMEOUT = 60


def ensure_release(place: Place) -> bool:
    """Publish the release with all files, unless that has been done.

    Raises:
        ReleaseError: what is published has other files or is not immutable; or GitHub does not answer.
    """
    release = found(place)
    if release is not None and not release["draft"]:
        ensure_same(place, release)
        return False
    said = {"tag_name": place.tag, "name": place.tag, "body": notes(place), "prerelease": False}
    if release is None:
        release = _ask(place, "POST", "/releases", json={**said, "draft": True})
    _upload(place, release)
    ensure_same(place, release, whole=False)
    published = _ask(
        place, "PATCH", f"/releases/{release['id']}", json={**said, "draft": False, "make_latest": "legacy"}
    )
    ensure_same(place, published)
    return True


def found(place: Place) -> dict[str, Any] | None:
    """Return the release of the tag; a draft is not found by its tag, only in the list."""
    page = 1
    while releases := _ask(place, "GET", "/releases", params={"per_page": "100", "page": str(page)}):
        for release in releases:
            if release["tag_name"] == place.tag:
                return dict(release)
        page += 1
    return None


def _assets(place: Place, release: dict[str, Any]) -> dict[str, dict[str, Any]]:
    path = f"/releases/{release['id']}/assets"
    return {asset["name"]: asset for asset in _ask(place, "GET", path, params={"per_page": "100"})}


def _upload(place: Place, draft: dict[str, Any]) -> None:
    """Give the draft the files that it lacks, and those of which only half arrived again."""
    present = _assets(place, draft)
    address = draft["upload_url"].partition("{")[0]
    for name, digest in built(place).files.items():
        asset = present.get(name)
        if asset is not None:
            if asset["state"] == "uploaded" and asset["digest"] == f"sha256:{digest}":
                continue
            _ask(place, "DELETE", f"/releases/assets/{asset['id']}")
        content = (place.dist / name).read_bytes()
        headers = {"Content-Type": "application/octet-stream"}
        _ask(place, "POST", address, params={"name": name}, data=content, headers=headers)


def ensure_same(place: Place, release: dict[str, Any], *, whole: bool = True) -> None:
    """Check that a release has the files that were built and, as a whole, that it cannot be changed.

    Raises:
        ReleaseError: it has others, or can be changed.
    """
    files = {name: f"sha256:{digest}" for name, digest in built(place).files.items()}
    present = {name: asset["digest"] for name, asset in _assets(place, release).items()}
    if present != files:
        names = sorted(name for name in {*files, *present} if files.get(name) != present.get(name))
        raise ReleaseError(f"the release {place.tag} on GitHub has other files than {place.dist}: {', '.join(names)}")
    if whole and not release.get("immutable"):
        raise ReleaseError(
            f"the release {place.tag} on GitHub can be changed: turn on immutable releases in the repository's"
            " settings, delete this release (not its tag), and run this step again"
        )


def _ask(
    place: Place,
    method: str,
    path: str,
    *,
    params: dict[str, str] | None = None,
    json: dict[str, Any] | None = None,
    data: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> Any:
    address = path if path.startswith("http") else f"{place.api}/repos/{place.repository}{path}"
    sent = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28", **(headers or {})}
    if token := os.environ.get("GITHUB_TOKEN"):
        sent["Authorization"] = f"Bearer {token}"
    try:
        answer = requests.request(
            method, address, params=params, json=json, data=data, headers=sent, timeout=TIMEOUT, allow_redirects=False
        )
    except requests.RequestException as error:
        raise ReleaseError(f"GitHub cannot be reached: {error}") from error
    if not answer.ok or answer.is_redirect:
        raise ReleaseError(f"GitHub answered {method} {address} with {answer.status_code}: {answer.text[:500]}")
    return answer.json() if answer.content else None
