"""The release from end to end on this machine: what is public at its end, and after a failure at every point."""

from __future__ import annotations

import email
import hashlib
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import release_world
import requests
from fake_github import FakeGitHub
from fake_github_releases import releases
from golden_texts import Golden
from release_world import VERSION, World, git, names_version
from tools.release.__main__ import STEPS, main
from tools.release.build import RECORD, SUMS, Built, sha256
from tools.release.place import ReleaseError

TAG = f"v{VERSION}"
MAJOR = TAG.partition(".")[0]
# What changes something, here or elsewhere: the first words of a command, or the method of a request.
CHANGES = re.compile(
    r"\S*build_image\.sh (?:build|export|pull)|syft scan|\S+ -P -m hatchling|skopeo (?:copy|--override)"
    r"|git -c .* push|\S*uv publish|POST|PATCH|DELETE"
)


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, str]]:
    """The registry, the index, and a repository."""
    release_world.ensure_tools()
    folder = tmp_path_factory.mktemp("release")
    release_world.repository(folder, containers=False)
    with release_world.registry(folder / "registry") as host, release_world.package_index(folder / "packages") as index:
        yield folder, host, index


@pytest.fixture
def fresh(outside: tuple[Path, str, str], fake: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world in which nothing has been released."""
    folder, host, index = outside
    release_world.enter(monkeypatch)
    for file in (folder / "packages").iterdir():
        file.unlink()
    shutil.copytree(folder / "origin.git", tmp_path / "origin.git")
    git(tmp_path, "clone", "-q", str(tmp_path / "origin.git"), "checkout")
    return World(
        checkout=tmp_path / "checkout",
        dist=tmp_path / "dist",
        bare=tmp_path / "origin.git",
        host=host,
        image=f"{host}/{hashlib.sha256(bytes(tmp_path)).hexdigest()[:12]}/turncheck",
        index=index,
        packages=folder / "packages",
        github=fake,
    )


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test that builds leaves what it built, for the others."""
    return tmp_path_factory.mktemp("built") / "dist"


@pytest.fixture
def world(fresh: World, kept: Path) -> World:
    """A world in which everything has been built, and nothing pushed."""
    if not kept.exists():
        for step in ("check", "image", "build"):
            assert fresh.run(step) == 0
        shutil.copytree(fresh.dist, kept)
    shutil.copytree(kept, fresh.dist, dirs_exist_ok=True)
    return fresh


def released(world: World) -> dict[str, Any]:
    """Release without a disturbance."""
    assert world.run("all") == 0
    return world.public()


def test_what_is_released_is_one_version_everywhere(world: World) -> None:
    public = released(world)

    digest = public["image"][VERSION]
    assert world.action(TAG) == f"docker://{world.image}:{VERSION}@{digest}"
    assert world.action("main") == "Dockerfile", "main builds its own"
    assert git(world.bare, "rev-parse", f"{TAG}^{{commit}}") == git(world.bare, "rev-parse", f"{MAJOR}^{{commit}}")
    assert git(world.bare, "rev-parse", f"{TAG}~") == git(world.bare, "rev-parse", "main")
    assert git(world.bare, "diff", "--name-only", "main", TAG) == "action.yml"
    release = public["releases"][TAG]
    assert (release["draft"], release["immutable"]) == (False, True)
    names = set(release["files"])
    wheel, source = f"turncheck-{VERSION}-py3-none-any.whl", f"turncheck-{VERSION}.tar.gz"
    assert {wheel, source, SUMS, "THIRD-PARTY-NOTICES.txt"} < names
    assert {kind for kind in ("spdx", "cyclonedx") if any(name.endswith(f"-amd64.{kind}.json") for name in names)}
    assert set(public["packages"]) == {wheel, source}
    for name, content in public["packages"].items():
        assert release["files"][name] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    with zipfile.ZipFile(world.dist / wheel) as archive:
        metadata = email.message_from_bytes(archive.read(f"turncheck-{VERSION}.dist-info/METADATA"))
        assert metadata["Version"] == VERSION
        assert f'__version__ = "{VERSION}"' in archive.read("turncheck/__init__.py").decode()
    changelog = git(world.bare, "show", f"{TAG}:CHANGELOG.md")
    assert re.search(
        rf"^## \[Unreleased\]\n\n## \[{re.escape(VERSION)}\] - \d{{4}}-\d\d-\d\d\n", changelog, re.MULTILINE
    )
    assert release["body"].startswith("### Added")
    assert "](docs/" not in release["body"], "a release's page has no files beside it"
    for page in ("README.md", "docs/scale.md", "examples/workflows/one-bot.yml"):
        assert set(re.findall(r"turncheck/turncheck@(\S+)", git(world.bare, "show", f"{TAG}:{page}"))) == {MAJOR}
    assert world.run("agreed") == 0


def test_the_bills_of_materials_are_in_both_formats_and_of_the_image(world: World) -> None:
    (spdx,), (cyclonedx,) = (world.dist.glob(f"*.{kind}.json") for kind in ("spdx", "cyclonedx"))
    first, second = (json.loads(file.read_text("utf-8")) for file in (spdx, cyclonedx))

    assert first["spdxVersion"].startswith("SPDX-2.")
    assert second["bomFormat"] == "CycloneDX"
    assert [package["versionInfo"] for package in first["packages"] if package["name"] == "turncheck"] == [VERSION]
    assert second["metadata"]["component"]["version"] == VERSION
    assert first["creationInfo"]["created"] == second["metadata"]["timestamp"] == "2031-02-03T04:05:06Z"


def test_a_failure_at_every_change_leaves_nothing_half_released_and_the_next_run_goes_on(
    fresh: World, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run again and again; each run fails at its first change that has not failed yet, in turn before and after it."""
    release_again_and_again(
        fresh,
        monkeypatch,
        lambda count: count % 2 == 0,
        lambda name: name.partition("{'name'")[0],
        lambda: fresh.run("all"),
    )
    if not kept.exists():
        shutil.copytree(fresh.dist, kept)


@pytest.mark.image
def test_a_failure_at_every_single_change_the_other_way_round(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails before it was made in the test above fails after that here; every upload of a file is a change.

    As with "Re-run failed jobs", only the step that failed is run again, and those behind it.
    """
    steps = list(STEPS)

    def go_on() -> int:
        while steps:
            if fresh.run(steps[0]) != 0:
                return 1
            steps.pop(0)
        return 0

    release_again_and_again(fresh, monkeypatch, lambda count: count % 2 == 1, str, go_on)


def release_again_and_again(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    after: Callable[[int], bool],
    kind: Callable[[str], str],
    again: Callable[[], int],
) -> None:
    """Release with a disturbance at each change (of a kind) in turn; nothing is half released then."""
    failed: list[str] = []
    with monkeypatch.context() as patch:
        disturb(patch, failed, after, kind)
        seen: list[str] = []
        while again() != 0:
            assert len(failed) == len(seen) + 1, "each run gets further, and none fails by itself"
            seen.append(failed[-1])
            ensure_whole(world.public(), failed[-1])
    for step in ("build_image.sh build", "hatchling", "candidate", "pull", "v0.", "publish", "POST", "PATCH"):
        assert any(step in one for one in seen), f"{step} was disturbed: {seen}"
    assert world.run("agreed") == 0
    assert undisturbed(world) == world.public()


def ensure_whole(public: dict[str, Any], failed: str) -> None:
    """Before the tag nothing names the version; the other places only name what the tag names."""
    tag = public["refs"].get(f"refs/tags/{TAG}^{{}}")
    if tag is None:
        assert not names_version(public), failed
    assert public["refs"].get(f"refs/tags/{MAJOR}", tag) == tag, failed
    published = [release for release in public["releases"].values() if not release["draft"]]
    assert all(len(release["files"]) >= 6 for release in published), failed
    assert f"refs/tags/{MAJOR}" not in public["refs"] or published, failed
    assert not public["packages"] or f"refs/tags/{MAJOR}" in public["refs"], failed


def undisturbed(world: World) -> dict[str, Any]:
    """What is public after a release of the same files that nothing disturbs."""
    for tag in (TAG, MAJOR):
        git(world.bare, "tag", "-d", tag)
    for file in world.packages.iterdir():
        file.unlink()
    world.github.reset()
    return released(world)


def disturb(
    patch: pytest.MonkeyPatch, failed: list[str], after: Callable[[int], bool], kind: Callable[[str], str]
) -> None:
    """Let each change fail once, before or after it has been made."""

    def failing(name: str, work: Callable[[], Any]) -> Any:
        if not CHANGES.match(name) or kind(name) in failed:
            return work()
        failed.append(kind(name))
        if after(len(failed)):
            work()
        raise ReleaseError(f"disturbed: {name}")

    run, request = subprocess.run, requests.request

    def run_or_fail(command: list[str], **options: Any) -> Any:
        return failing(_name(command), lambda: run(command, **options))

    def ask_or_fail(method: str, address: str, **options: Any) -> Any:
        name = f"{method} {address.rpartition('/repos/')[2]} {options.get('params')}"
        return failing(name, lambda: request(method, address, **options))

    patch.setattr("tools.release.place.subprocess.run", run_or_fail)
    patch.setattr("tools.release.github.requests.request", ask_or_fail)


def _name(command: list[str]) -> str:
    """What a command does: its words, but for the names of temporary folders."""
    return re.sub(r"/tmp\w{8}\b", "", " ".join(command))  # noqa: S108


def refused(world: World, step: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a step that is refused, and changes nothing; return its message."""
    before = world.public()
    capsys.readouterr()
    assert world.run(step) == 1
    assert world.public() == before
    return capsys.readouterr().err


def until(world: World, last: str) -> None:
    """Run the steps up to one."""
    for step in STEPS:
        assert world.run(step) == 0
        if step == last:
            return


def amend(world: World, path: str, old: str, new: str, *, push: bool = True) -> None:
    """Commit a change to the checkout, and to main."""
    file = world.checkout / path
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")
    git(world.checkout, "commit", "-q", "-a", "-m", "amended")
    if push:
        git(world.checkout, "push", "-q", "origin", "HEAD:main")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("src/turncheck/__init__.py", VERSION, "0.99.0"), "CHANGELOG.md: there is no section [0.99.0]"),
        (("src/turncheck/__init__.py", VERSION, "0.99.0rc1"), "__version__ is '0.99.0rc1', expected X.Y.Z"),
        (("CHANGELOG.md", f"[{VERSION}] - 20", f"[{VERSION}] - the20"), f"the section [{VERSION}] has no date"),
        (("CHANGELOG.md", "## [Unreleased]\n", "## [Unreleased]\n\n- More.\n"), "entries below [Unreleased]"),
        (("README.md", "turncheck/turncheck@v0", "turncheck/turncheck@v1"), "turncheck/turncheck@v1 is not of 0."),
        (
            ("README.md", "turncheck/turncheck@v0", "turncheck/turncheck@main"),
            "README.md:27: turncheck/turncheck@main is",
        ),
        (("CONTRIBUTING.md", "turncheck", "turncheck==9.9.9"), "turncheck==9.9.9 is not of 0.98.7 (expected ==0.98.7)"),
        (("docs/cli.md", "rev: vX.Y.Z", "rev: v9"), "rev: v9 is not of 0.98.7 (expected v0.98.7)"),
        (
            ("templates/turncheck.yml", "default: turncheck", "default: turncheck==0.9.0"),
            "templates/turncheck.yml:15: turncheck==0.9.0 is",
        ),
        (
            ("CHANGELOG.md", "turncheck/turncheck@v0", "turncheck/turncheck@v9"),
            "turncheck@v9 is of no version up to 0.98.7",
        ),
        (
            ("CHANGELOG.md", f"## [{VERSION}]", f"## [0.99.0] - 2031-01-01\n\n- x\n\n## [{VERSION}]"),
            "sections of 0.99.0, ",
        ),
        (("docs/scale.md", "turncheck/turncheck@v0", "turncheck/turncheck@v0.1.0"), "docs/scale.md:"),
        (
            ("azure/turncheck.yml", "refs/tags/v0", "refs/tags/v1"),
            "azure/turncheck.yml:5: name: turncheck/turncheck, ref: refs/tags/v1 is",
        ),
        (
            ("docs/ci.md", "python:3.12\n", "ghcr.io/turncheck/turncheck:0.1.0\n"),
            "turncheck/turncheck:0.1.0 is not of 0.98.7",
        ),
        (("action.yml", "image: Dockerfile", "image: docker://x"), "action.yml: expected `image: Dockerfile`"),
    ],
)
def test_a_commit_whose_parts_disagree_is_not_released(
    fresh: World, change: tuple[str, str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    amend(fresh, *change)

    assert said in refused(fresh, "check", capsys)


def test_a_version_is_given_once_but_its_release_can_be_continued(
    fresh: World, capsys: pytest.CaptureFixture[str]
) -> None:
    git(fresh.bare, "tag", "v0.100.0", "main")
    assert f"{VERSION} is older than v0.100.0, which is on origin" in refused(fresh, "check", capsys)
    git(fresh.bare, "tag", "-d", "v0.100.0")
    git(fresh.bare, "tag", "v1.0.0", "main")
    assert fresh.run("check") == 0, "of another major version"

    release = git(fresh.bare, "commit-tree", "main^{tree}", "-p", "main", "-m", "release")
    git(fresh.bare, "tag", "-a", "-m", TAG, TAG, release)
    git(fresh.bare, "tag", "v0.100.0", release)
    assert fresh.run("check") == 0, "it has not been finished"
    amend(fresh, "README.md", "turncheck", "Turncheck")
    assert f"{TAG} on origin was made from another commit" in refused(fresh, "check", capsys)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (VERSION, f"there is a section [{VERSION}] already"),
        ("0.9.10", f"there is a section [{VERSION}] already, which is not older than 0.9.10"),
        ("0.99.0", "0.99.0 is not newer than v0.100.0, which is a tag here"),
        ("0.100.1", "0.100.1 is older than what the package is now (0.101.0)"),
        ("1.0", "'1.0' is not a version of the form X.Y.Z"),
    ],
)
def test_only_a_newer_version_is_prepared(
    fresh: World, version: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    amend(fresh, "CHANGELOG.md", "## [Unreleased]\n", "## [Unreleased]\n\n- more\n")
    if version != VERSION:
        amend(fresh, "src/turncheck/__init__.py", VERSION, "0.101.0")
        git(fresh.checkout, "tag", "v0.100.0")

    assert main(["prepare", version, "--source", str(fresh.checkout)]) == 1
    assert said in capsys.readouterr().err
    assert git(fresh.checkout, "status", "--porcelain") == ""


def test_what_is_prepared_is_of_one_version(fresh: World, capsys: pytest.CaptureFixture[str]) -> None:
    amend(fresh, "CHANGELOG.md", "## [Unreleased]\n", "## [Unreleased]\n\n- more\n")
    amend(fresh, "docs/cli.md", "rev: vX.Y.Z", f"rev: v{VERSION}")

    assert main(["prepare", "1.0.0", "--source", str(fresh.checkout)]) == 0
    assert "README.md:27: v0 -> v1\n" in capsys.readouterr().out
    assert "  rev: v1.0.0 # a release\n" in (fresh.checkout / "docs" / "cli.md").read_text("utf-8")
    git(fresh.checkout, "commit", "-q", "-a", "-m", "turncheck 1.0.0")
    git(fresh.checkout, "push", "-q", "origin", "HEAD:main")
    assert fresh.run("check") == 0, capsys.readouterr().err


def test_only_what_is_on_main_is_released(fresh: World, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    (fresh.checkout / "README.md").write_text("changed")
    golden(refused(fresh, "check", capsys))
    git(fresh.checkout, "checkout", "-q", "README.md")

    amend(fresh, "README.md", "turncheck", "Turncheck", push=False)
    assert "origin/main" in refused(fresh, "check", capsys)


def test_a_tag_of_another_commit_stays(world: World, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    until(world, "smoke")
    git(world.bare, "tag", TAG, "main")

    assert f"{TAG} on origin is" in refused(world, "tag", capsys)
    golden(refused(world, "image-tag", capsys))
    assert "stays where it is" in refused(world, "major", capsys)


@pytest.mark.parametrize(("step", "tag"), [("push", "candidate"), ("image-tag", VERSION)])
def test_another_image_stays(world: World, step: str, tag: str, capsys: pytest.CaptureFixture[str]) -> None:
    until(world, "build" if step == "push" else "tag")
    name = tag if tag == VERSION else f"candidate-{git(world.checkout, 'rev-parse', 'HEAD')[:12]}"
    (archive,) = world.dist.glob("image-*/linux-*.tar")
    copied = [f"oci-archive:{archive}", f"docker://{world.image}:{name}"]
    subprocess.run(["skopeo", "copy", "-q", "--dest-tls-verify=false", *copied], check=True)

    assert f"{world.image}:{name} is sha256:" in refused(world, step, capsys)


def test_what_was_tested_is_what_is_tagged(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    until(world, "build")

    assert "candidate-" in refused(world, "tag", capsys), "it was not pushed"


def test_a_file_that_changed_since_the_build_is_not_published(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    until(world, "build")
    (wheel,) = world.dist.glob("*.whl")
    wheel.write_bytes(wheel.read_bytes() + b"more")

    assert f"{wheel.name} changed since the build" in refused(world, "push", capsys)


def test_what_was_built_from_another_commit_is_not_published(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    amend(world, "README.md", "turncheck", "Turncheck")

    assert "remove the folder, or check that commit out" in refused(world, "push", capsys)


def test_an_image_that_fails_on_the_example_is_not_released(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    until(world, "push")
    monkeypatch.setenv("STAND_IN_FAILS", "run")

    assert "failed on examples/pizzeria with 1: the container engine failed to run" in refused(world, "smoke", capsys)
    assert not names_version(world.public())


def test_an_image_of_another_version_is_not_released(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    until(world, "push")
    monkeypatch.setenv("STAND_IN_VERSION", "0.98.6")

    assert "'turncheck 0.98.6', expected 'turncheck 0.98.7'" in refused(world, "smoke", capsys)


def test_a_release_with_other_files_stays(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    until(world, "github")
    for assets in world.github.assets.values():
        next(asset for asset in assets.values() if asset["name"].endswith(".whl"))["digest"] = "sha256:0"

    assert f"the release {TAG} on GitHub has other files" in refused(world, "github", capsys)
    assert ".whl" in refused(world, "agreed", capsys)


def test_half_an_upload_is_made_again(world: World) -> None:
    until(world, "image-tag")
    world.github.immutable_releases = False
    assert world.run("github") == 1, "it would not be immutable"
    for release in world.github.releases.values():
        release.update(draft=True)
        for asset in list(world.github.assets[release["id"]].values())[:2]:
            asset.update(state="starter", digest=None)
    world.github.immutable_releases = True

    assert world.run("github") == 0
    assert world.run("github") == 0


def test_a_release_that_can_be_changed_is_not_enough(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    until(world, "image-tag")
    world.github.immutable_releases = False

    assert world.run("github") == 1
    assert "turn on immutable releases in the repository's settings" in capsys.readouterr().err


def test_the_major_tag_goes_forward_only(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    until(world, "github")
    older, newer = (git(world.bare, "commit-tree", "main^{tree}", "-p", "main", "-m", name) for name in ("a", "b"))
    git(world.bare, "tag", "v0.98.6", older)
    git(world.bare, "tag", "v0.100.0", newer)

    git(world.bare, "tag", "-f", MAJOR, "main")
    assert f"{MAJOR} on origin is" in refused(world, "major", capsys), "somebody else has moved it"
    git(world.bare, "tag", "-f", MAJOR, newer)
    assert world.run("major") == 0
    assert git(world.bare, "rev-parse", MAJOR) == newer
    git(world.bare, "tag", "-f", MAJOR, older)
    assert world.run("major") == 0
    assert git(world.bare, "rev-parse", MAJOR) == git(world.bare, "rev-parse", f"{TAG}^{{commit}}")


def test_a_major_tag_that_names_something_else_is_found(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    until(world, "pypi")
    git(world.bare, "tag", "-f", MAJOR, "main")

    assert f"the tag {MAJOR} is {git(world.bare, 'rev-parse', 'main')}" in refused(world, "agreed", capsys)


def test_the_signatures_beside_the_packages_are_uploaded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    until(world, "build")
    packages = [*world.dist.glob("*.whl"), *world.dist.glob("*.tar.gz")]
    signatures = [package.with_name(f"{package.name}.publish.attestation") for package in packages]
    for signature in signatures:
        signature.write_text("{}")
    ran: list[list[str]] = []
    monkeypatch.setattr("tools.release.package_index.run", ran.append)

    assert world.run("pypi") == 0
    assert {str(file) for file in (*packages, *signatures)} <= set(ran[0])


def test_another_package_on_the_index_stays(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    until(world, "major")
    name = f"turncheck-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(world.packages / name, "w") as archive:
        archive.writestr(
            f"turncheck-{VERSION}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: turncheck\nVersion: {VERSION}\n"
        )

    assert "`" in refused(world, "pypi", capsys)
    assert f"{name} on {world.index}" in refused(world, "agreed", capsys)


def test_a_run_on_another_machine_takes_what_was_pushed(world: World) -> None:
    public = released(world)
    shutil.rmtree(world.dist)

    assert world.run("all") == 0
    assert world.public() == public


def test_what_is_sent_to_github_is_what_its_description_asks_for(
    world: World, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through Prism, which can pass on only what is text."""
    (world.dist / SUMS).write_text("text")
    record = Built(VERSION, git(world.checkout, "rev-parse", "HEAD"), "sha256:0", {SUMS: sha256(world.dist / SUMS)})
    (world.dist / RECORD).write_bytes(msgspec.json.encode(record))
    checked = replace(world, github=github)

    assert checked.run("github") == 0
    assert [request.method for request in github.log] == ["GET", "POST", "GET", "POST", "GET", "PATCH", "GET"]
    (release,) = releases(github).values()
    assert (release["draft"], list(release["files"])) == (False, [SUMS])


@pytest.mark.parametrize("step", ["all", "pypi", "agreed"])
def test_nothing_is_begun_where_no_package_index_is_named(
    step: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    monkeypatch.setenv("PACKAGE_UPLOAD", "https://packages.example/upload")
    monkeypatch.delenv("PACKAGE_INDEX", raising=False)

    assert main([step]) == 1
    golden(capsys.readouterr().err)
