"""Releases and their files, on the GitHub that remembers: drafts, the one way to publish them, what is fixed then."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from fake_github import FakeGitHub, refuse, route
from fake_host import Answer, Seen
from github_shapes import REPOSITORY, TIME, shape, user

if TYPE_CHECKING:
    from collections.abc import Iterator

_RELEASES = rf"/repos/{REPOSITORY}/releases"


def releases(fake: FakeGitHub) -> dict[str, Any]:
    """What there is to see, by tag: state, text, and the digests of the files."""
    return {
        release["tag_name"]: {
            "draft": release["draft"],
            "immutable": release["immutable"],
            "body": release["body"],
            "files": {asset["name"]: asset["digest"] for asset in fake.assets.get(release["id"], {}).values()},
        }
        for release in fake.releases.values()
    }


@route("GET", _RELEASES)
def _list(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    return fake.page(seen, [_shown(fake, release) for release in reversed(fake.releases.values())])


@route("POST", _RELEASES)
def _new(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    number = fake.new_id()
    made = shape(
        "release",
        id=number,
        tag_name=seen.body["tag_name"],
        name=seen.body["name"],
        body=seen.body["body"],
        draft=seen.body.get("draft", False),
        immutable=False,
        author=user("github-actions[bot]"),
        upload_url=f"{fake.public}{_RELEASES}/{number}/assets{{?name,label}}",
    )
    fake.releases[number] = made
    fake.assets[number] = {}
    if not made["draft"]:
        _publish(fake, made)
    return Answer(201, _shown(fake, made))


@route("PATCH", rf"{_RELEASES}/(\d+)")
def _change(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    release = fake.releases.get(int(match[1]))
    if release is None:
        return refuse(404, "Not Found")
    if release["draft"] and seen.body.get("draft") is False:
        _publish(fake, release)
    return Answer(200, _shown(fake, release))


def _publish(fake: FakeGitHub, release: dict[str, Any]) -> None:
    release.update(draft=False, published_at=TIME, immutable=fake.immutable_releases)


@route("GET", rf"{_RELEASES}/(\d+)/assets")
def _assets(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    if int(match[1]) not in fake.releases:
        return refuse(404, "Not Found")
    return fake.page(seen, list(fake.assets[int(match[1])].values()))


@route("POST", rf"{_RELEASES}/(\d+)/assets")
def _upload(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    release = fake.releases.get(int(match[1]))
    if release is None:
        return refuse(404, "Not Found")
    assets = fake.assets[release["id"]]
    if release["immutable"] or any(asset["name"] == seen.query["name"] for asset in assets.values()):
        return refuse(422, "Validation Failed")
    content = seen.body if isinstance(seen.body, bytes) else b""
    number = fake.new_id()
    assets[number] = shape(
        "release-asset",
        id=number,
        name=seen.query["name"],
        state="uploaded",
        size=len(content),
        digest=f"sha256:{hashlib.sha256(content).hexdigest()}",
        uploader=user("github-actions[bot]"),
    )
    return Answer(201, assets[number])


@route("DELETE", rf"{_RELEASES}/assets/(\d+)")
def _delete(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    for release, assets in _with(fake, int(match[1])):
        if release["immutable"]:
            return refuse(422, "Validation Failed")
        del assets[int(match[1])]
        return Answer(204)
    return refuse(404, "Not Found")


def _with(fake: FakeGitHub, asset: int) -> Iterator[tuple[dict[str, Any], dict[int, dict[str, Any]]]]:
    for number, assets in fake.assets.items():
        if asset in assets:
            yield fake.releases[number], assets


def _shown(fake: FakeGitHub, release: dict[str, Any]) -> dict[str, Any]:
    return {**release, "assets": list(fake.assets[release["id"]].values())}
