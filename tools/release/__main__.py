"""Runs one step of the release, or all of them in order: `python -m tools.release STEP` (tools/release/README.md)."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.release import agreed, agreement, github, package_index, registry, smoke, tags
from tools.release.build import build, build_image, build_package, built
from tools.release.place import Place, ReleaseError
from tools.release.prepare import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]


def check(place: Place) -> bool:
    """Is the commit on the branch, and does everything in it name the same version?"""
    agreement.ensure(place)
    return False


def push(place: Place) -> bool:
    """Push the image under a tag that names the commit."""
    source = f"oci:{place.dist / 'image'}"
    return registry.ensure_tag(place, place.candidate, built(place).digest, source)


def commit(place: Place) -> bool:
    """Make the release commit, whose action.yml names the image by digest."""
    print(tags.release_commit(place))
    return True


def image_tag(place: Place) -> bool:
    """Give the image the version as its tag."""
    if tags.remote_tags(place).get(place.tag) != tags.release_commit(place):
        raise ReleaseError(f"{place.tag} is not on {place.remote}: the image gets its version after the tag")
    digest = built(place).digest
    return registry.ensure_tag(place, place.version, digest, f"docker://{place.image}@{digest}")


STEPS: dict[str, Callable[[Place], bool]] = {
    "check": check,
    "image": build_image,
    "build": build,
    "push": push,
    "smoke": smoke.smoke_test,
    "commit": commit,
    "tag": tags.ensure_tag,
    "image-tag": image_tag,
    "github": github.ensure_release,
    "major": tags.move_major,
    "pypi": package_index.ensure_published,
    "agreed": agreed.ensure_published,
}
"""In their order. Each returns whether there was something to do; before `tag`, nothing public names the version."""


def main(arguments: list[str]) -> int:
    """Run what was asked for; return 1 with a message if it cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.add_argument("step", choices=[*STEPS, "all", "prepare", "digest", "package"])
    parser.add_argument("version", nargs="?", help="of `prepare`: the version to come")
    parser.add_argument("--source", type=Path, default=ROOT, help="the checkout (default: this one)")
    parser.add_argument("--dist", type=Path, default=Path("dist"), help="where what is built lies (default: dist)")
    parser.add_argument("--remote", default="origin")
    parser.add_argument("--branch", default="main")
    parser.add_argument("--repository", default="turncheck/turncheck")
    parser.add_argument("--image", default="ghcr.io/turncheck/turncheck")
    parser.add_argument("--api", default="https://api.github.com")
    parser.add_argument("--upload", default=os.environ.get("PACKAGE_UPLOAD", ""), help="(default: $PACKAGE_UPLOAD)")
    parser.add_argument("--index", default=os.environ.get("PACKAGE_INDEX", ""), help="(default: $PACKAGE_INDEX)")
    asked = vars(parser.parse_args(arguments))
    step, version = asked.pop("step"), asked.pop("version")
    place = Place(**{**asked, "dist": asked["dist"].absolute()})
    try:
        if step == "prepare":
            for written in prepare(place, version or "", dt.datetime.now(dt.UTC).date().isoformat()):
                print(shown(written))
        elif step == "digest":
            print(built(place).digest)
        elif step == "package":
            build_package(place)
            print(f"{place.dist}: the package as of {place.commit[:12]}; what is not committed is not in it")
        else:
            if step in {"pypi", "agreed", "all"}:
                _ensure_index_is_named(place)
            for name in STEPS if step == "all" else [step]:
                print(f"{name}: {'done' if STEPS[name](place) else 'nothing to do'}", flush=True)
    except ReleaseError as error:
        for line in str(error).split("\n"):
            print(f"release: {step}: {shown(line)}", file=sys.stderr)
        return 1
    return 0


def shown(line: str) -> str:
    """Return a line as a terminal and the log of a job may have it, whose commands begin at a line's beginning."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in line)


def _ensure_index_is_named(place: Place) -> None:
    if not (place.upload and place.index):
        raise ReleaseError("no package index: name it with --upload and --index (tools/release/README.md, Set up once)")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
