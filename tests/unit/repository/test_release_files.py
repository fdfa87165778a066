"""The files that a release is made by: the workflow runs the steps, the page lists them, and what is used is pinned."""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from golden_texts import Golden
from tools.release.__main__ import STEPS
from tools.release.agreement import section, versions
from tools.release.build import build, build_package, clear
from tools.release.mentions import in_text, mentions
from tools.release.place import Place, ReleaseError

from turncheck import __version__

ROOT = Path(__file__).parents[3]
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
JOBS: dict[str, Any] = WORKFLOW["jobs"]


def place(source: Path, dist: Path) -> Place:
    """A checkout from which nothing is published."""
    nowhere = dict.fromkeys(("remote", "branch", "repository", "image", "api", "upload", "index"), "")
    return Place(source=source, dist=dist, **nowhere)


def commands(job: dict[str, Any]) -> list[str]:
    return re.findall(r"STEP=([\w-]+)", " ".join(step.get("run", "") for step in job["steps"]))


def test_the_workflow_runs_every_step_once_and_in_their_order() -> None:
    ran = [step for job in JOBS.values() for step in commands(job) if step != "digest"]

    assert ran == list(STEPS)
    for earlier, later in zip(JOBS, list(JOBS)[1:], strict=False):
        assert JOBS[later]["needs"] == earlier, "one after the other"


def test_only_the_job_that_needs_a_right_has_it() -> None:
    writing = {
        name: {right for right, how in job["permissions"].items() if how == "write"} for name, job in JOBS.items()
    }

    assert WORKFLOW["permissions"] == {}
    assert {name: given for name, given in writing.items() if given} == {
        "push": {"packages", "id-token", "attestations"},
        "publish": {"contents", "packages"},
        "pypi": {"id-token"},
    }
    assert {name for name, job in JOBS.items() if "environment" in job} == {"publish", "pypi"}, "a person approves"


def test_what_is_attested_is_what_was_pushed() -> None:
    attested = [step["with"] for step in JOBS["push"]["steps"] if "attest-build-provenance" in step.get("uses", "")]

    assert [one.get("subject-digest") for one in attested] == ["${{ steps.built.outputs.digest }}", None]
    assert attested[1] == {"subject-checksums": "dist/SHA256SUMS"}


def test_a_job_that_is_run_again_replaces_what_it_left() -> None:
    """Artifacts belong to the run, which remains the same: without this, their names would be taken."""
    steps = [step for job in JOBS.values() for step in job["steps"] if "upload-artifact" in step.get("uses", "")]

    assert [step["with"]["name"] for step in steps] == ["image-${{ matrix.runner }}", "release", "layout"]
    assert all(step["with"]["overwrite"] for step in steps)


def test_an_action_is_pinned_to_one_commit_in_all_workflows() -> None:
    pins: dict[str, set[str]] = {}
    for file in ROOT.glob(".github/workflows/*.yml"):
        for name, pin in re.findall(r"uses: ([\w./-]+)@(\S+ # v\S+)$", file.read_text("utf-8"), re.MULTILINE):
            pins.setdefault(name, set()).add(pin)

    assert len(pins) >= 8
    assert {name: pin for name, pin in pins.items() if len(pin) > 1} == {}
    assert all(re.match(r"[0-9a-f]{40} # v\d", pin) for found in pins.values() for pin in found)


def test_the_base_image_is_named_by_digest_where_dependabot_finds_it() -> None:
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    bases = [line.split()[1] for line in lines if line.startswith("FROM ")]

    assert re.fullmatch(r"python:3\.11-slim@sha256:[0-9a-f]{64}", bases[0])
    assert set(bases[1:]) == {"${BASE_IMAGE}"}
    assert "ARG BASE_IMAGE=base" in lines


def test_the_page_lists_the_steps_as_they_are() -> None:
    page = (ROOT / "tools" / "release" / "README.md").read_text("utf-8")

    assert re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE) == list(STEPS)


@pytest.mark.parametrize(
    ("name", "said"),
    [("Unreleased", "- new"), ("1.0.0", "### Added\n\n- old"), ("0.9.0", ""), ("2.0.0", "")],
)
def test_a_section_ends_where_the_next_begins(name: str, said: str) -> None:
    headings = (
        "## [Unreleased]\n\n- new\n",
        "## [1.0.0] - 2026-01-02\n\n### Added\n\n- old\n",
        "## [0.9.0] - 2025-01-02\n",
    )
    text = "\n".join(("# Changelog\n", *headings))

    assert section(text, name) == said


def test_every_place_in_the_repository_names_the_version_that_the_package_has() -> None:
    found = list(mentions(place(ROOT, ROOT), ""))

    assert {
        "README.md",
        "SECURITY.md",
        "docs/cli.md",
        "azure/turncheck.yml",
        "src/turncheck/commands/init/workflows.py",
    } <= {one.path for one in found}
    assert [one for one in found if not one.form.fits(one.named, __version__)] == []


HOOK = "- repo: https://github.com/turncheck/turncheck\n  # ours\n  rev: {}\n  hooks: []\n"
RESOURCE = "- repository: turncheck\n  type: github\n  name: turncheck/turncheck\n  ref: {}\n"
FORMS = (
    (
        "- uses: turncheck/turncheck@{}",
        ["v1", "v1.2.3", "COMMIT", "${{matrix.version}}"],
        ["v0", "v2", "main", "1.2.3"],
    ),
    ("so `turncheck/turncheck@{}`.", ["v1"], ["v9", "HEAD", "v1.2", "4c0ffee"]),
    ("- component: $CI_SERVER_FQDN/acme/testing/turncheck@{}", ["v1"], ["v9", "~latest", "main"]),
    ("pip install git+https://github.com/turncheck/turncheck.git@{}", ["v1.2.3"], ["main", "v1.2.4"]),
    ("- uses: turncheck/turncheck@COMMIT # {}", ["v1.2.3"], ["v1.2.2", "v1"]),
    ("uvx turncheck@{} run", ["1.2.3"], ["v1.2.3", "0.9.0", "main"]),
    (
        "pip install 'turncheck[http]{}'",
        ["==1.2.3", "==1.*", ">=1, <2", "~=1.2"],
        ["==9.9.9", ">=1.3", "<1", "== 1.2"],
    ),
    ('turncheck = "{}"', ["1.2.3"], ["9.9.9", "==1.0.0"]),
    ('TURNCHECK_VERSION: "{}"', ["1.2.3"], ["1.2.2"]),
    ("docker run ghcr.io/turncheck/turncheck:{}", ["1.2.3", "X.Y.Z"], ["latest", "v1.2.3", "1", "0.9.0"]),
    ("image: registry.acme.org/mirror/turncheck:{}", ["1.2.3"], ["1.2.4", "latest"]),
    (HOOK, ["v1.2.3", "vX.Y.Z"], ["v9", "v1", "main", "1.2.3"]),
    ("- {{repo: https://github.com/turncheck/turncheck, rev: {}, hooks: []}}", ["v1.2.3"], ["v9.9.9"]),
    (RESOURCE, ["refs/tags/v1", "refs/tags/v1.2.3", "v1"], ["refs/tags/v2", "refs/heads/main", "main"]),
    ("- {{ref: {}, name: turncheck/turncheck}}", ["refs/tags/v1"], ["refs/tags/v0"]),
    ("https://github.com/turncheck/turncheck/releases/download/{}/SHA256SUMS", ["v1.2.3"], ["v1.2.2"]),
    ("[files](https://github.com/turncheck/turncheck/archive/refs/tags/{}.tar.gz)", ["v1.2.3"], ["v0.9.0"]),
    ("https://raw.githubusercontent.com/turncheck/turncheck/{}/docs/x.json", ["v1"], ["v0"]),
    ("gh release verify {} --repo turncheck/turncheck", ["v1.2.3"], ["v1.2.2"]),
    ("pip install dist/turncheck-{}-py3-none-any.whl", ["1.2.3"], ["1.2.2"]),
    ('"tool": {{"name": "turncheck",\n "version": "{}"}}', ["1.2.3"], ["0.1.0"]),
    ("`turncheck` {} · engine", ["1.2.3", "v1.2.3"], ["9.9.9", "1.2.3rc1", "v9.9.9"]),
    ("Turncheck {} has", ["v1"], ["v9", "v9.9"]),
    ("answered by embedded {}", ["1.2.3"], ["0.1.0"]),
    ("- uses: turncheck/turncheck/sub@{}", ["v1", "v1.2.3"], ["v9", "main"]),
    ('{{"turncheck": "{}"}}', ["1.2.3"], ["9.9.9", "v1.2.3"]),
    ("[on PyPI](https://index.example/project/turncheck/{}/)", ["1.2.3"], ["0.1.0"]),
    ("git clone --branch {} https://github.com/turncheck/turncheck", ["v1.2.3", "v1"], ["v9.9.9"]),
    ("git clone https://github.com/turncheck/turncheck.git -b {}", ["v1.2.3"], ["v9.9.9"]),
    ("https://img.shields.io/badge/turncheck-{}-blue", ["v1.2.3", "1.2.3", "v1"], ["v9.9.9", "0.1.0"]),
    ("Version {} of `turncheck` has", ["1.2.3", "v1.2.3"], ["9.9.9"]),
    ("The current release is {}.", ["v1.2.3"], ["v9.9.9"]),
)


@pytest.mark.parametrize(("text", "right", "wrong"), FORMS)
def test_a_version_is_found_in_every_form(text: str, right: list[str], wrong: list[str]) -> None:
    for named in (*right, *wrong):
        *_, found = in_text("page.md", "before\n" + text.format(named), 7)
        assert (found.named, found.form.fits(found.named, "1.2.3")) == (named, named in right)
        assert text.format(named).split("\n")[found.line - 8][found.column :].startswith(named)


def test_every_form_is_among_the_lines_that_git_finds(tmp_path: Path) -> None:
    """What git does not find is never looked at: each form alone in a file, at the end of a line and of a sentence."""
    texts = [text.format(right[0]) for text, right, _ in FORMS]
    at_ends = [
        "The release v1.2.3 of turncheck.",
        "git+https://git.example/acme/turncheck.git@v1",
        "git clone -b v1.2.3 git@git.example:acme/turncheck",
    ]
    for number, text in enumerate([*texts, *map(str.upper, texts[:5]), *at_ends]):
        (tmp_path / f"{number}.txt").write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)

    found = mentions(place(tmp_path, tmp_path), "")
    assert {one.path for one in found} == {file.name for file in tmp_path.glob("*.txt")}


@pytest.mark.parametrize(
    "text",
    [
        "turncheck 2.3 times as fast, embedded 0.92, rasa 3.6.21",
        "https://github.com/turncheck/turncheck/blob/main/docs/findings.md",
        "- uses: actions/checkout@v7\n  with: {ref: main}\n- uses: ./turncheck",
        "turncheck@users.noreply.github.com",
        "turncheck/turncheck: ref-pin",
        "the latest version is 3.6.21 of Rasa; turncheck-2-go; index.example/project/turncheck/",
    ],
)
def test_what_is_no_version_of_ours_is_not_held(text: str) -> None:
    assert list(in_text("page.md", text)) == []


def test_versions_of_a_changelog_are_sorted_as_numbers() -> None:
    text = "## [Unreleased]\n## [0.10.0] - 2026-01-02\n## [0.9.0] - 2026-01-01\n## [0.2.0] - 2025-01-01\n"

    assert versions(text, since="0.9.0") == ["0.9.0", "0.10.0"]


def test_a_folder_with_files_of_others_is_not_built_into(tmp_path: Path, golden: Golden) -> None:
    image = f"image-{place(ROOT, tmp_path).commit[:12]}/linux-amd64.tar"
    names = [image, "image-0123456789ab/notes.txt", "my notes.txt", "other/x", "turncheck-1.0.0.tar.gz"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    with pytest.raises(ReleaseError, match="other/x") as refused:
        build(place(ROOT, tmp_path))
    golden(refused.value)
    assert all((tmp_path / name).exists() for name in names)


def test_what_an_earlier_build_left_is_removed(tmp_path: Path) -> None:
    wheel = "turncheck-1.0.0-py3-none-any.whl"
    blob = f"image/blobs/sha256/{64 * '0'}"
    top = [wheel, f"{wheel}.publish.attestation", "turncheck-1.0.0.tar.gz", "turncheck-1.0.0-linux-amd64.spdx.json"]
    other = [
        "image-ba9876543210/linux-arm64.tar.new.saved",
        "SHA256SUMS",
        "THIRD-PARTY-NOTICES.txt",
        "release.json.new",
    ]
    kept = ["image-0123456789ab/linux-amd64.tar", "image-0123456789ab/turncheck-1.0.0-linux-amd64.cyclonedx.json"]
    for name in (blob, "image/index.json", *top, *other, *kept):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    clear(tmp_path, tmp_path / "image-0123456789ab")

    assert sorted(file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*") if file.is_file()) == kept
    assert [file.name for file in tmp_path.iterdir()] == ["image-0123456789ab"]


def test_what_is_not_in_the_commit_is_not_in_the_package(tmp_path: Path) -> None:
    source, dist = tmp_path / "source", tmp_path / "dist"
    package = source / "src" / "turncheck"
    package.mkdir(parents=True)
    requires = 'build-system = {requires = ["hatchling"], build-backend = "hatchling.build"}\n'
    built = 'tool.hatch.build.targets.wheel.packages = ["src/turncheck"]\n'
    (source / "pyproject.toml").write_text(f'{requires}{built}project = {{name = "turncheck", version = "1.0.0"}}\n')
    (package / "__init__.py").write_text("committed = True\n")
    somebody = ["-c", "user.name=m", "-c", "user.email=m@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*somebody, "commit", "-q", "-m", "package"]):
        subprocess.run(["git", *command], cwd=source, check=True)
    (package / "__init__.py").write_text("changed = True\n")
    (package / "untracked.py").touch()

    build_package(place(source, dist))

    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert [name for name in archive.namelist() if name.startswith("turncheck/")] == ["turncheck/__init__.py"]
        assert archive.read("turncheck/__init__.py") == b"committed = True\n"


@pytest.mark.parametrize("workflow", ["release", "site", "scorecard"])
def test_what_is_published_is_of_the_branch_and_not_of_a_tag_with_its_name(workflow: str) -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text("utf-8"))["jobs"]
    first = next(iter(jobs.values()))

    assert re.search(r"github\.ref == .*refs/heads/", first["if"])
    assert all("needs" in job for job in list(jobs.values())[1:])
