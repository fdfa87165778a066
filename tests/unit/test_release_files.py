"""The files that a release is made by: the workflow runs the steps, the page lists them, and what is used is pinned."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.release.__main__ import STEPS
from tools.release.agreement import section

ROOT = Path(__file__).parents[2]
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
JOBS: dict[str, Any] = WORKFLOW["jobs"]


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
