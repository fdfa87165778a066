"""A checkout without the base's commit, as actions/checkout makes it: what is said is what the whole history gives."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cached_job import FILES, RULE, CachedJob, git, repository
from fake_github import FakeGitHub
from fake_results import FakeResults

STORIES = FILES["data/stories.yml"]
CHANGES = {
    "a story": {"data__stories": STORIES.replace("- action: utter_greet", "- action: utter_bye")},
    "a rule that contradicts": {"data__rules": RULE.replace("utter_bye", "utter_greet")},
    "a response": {"domain": FILES["domain.yml"].replace("  utter_bye:\n  - text: Bye\n", "")},
}
SAID = ("stories", "new_findings", "renamed", "deleted_files", "changed_lines", "settings_changed")


@pytest.fixture
def job(github: FakeGitHub, results: FakeResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CachedJob:
    (tmp_path / "repository").mkdir()
    repository(tmp_path / "repository")
    made = CachedJob(tmp_path, github, results)
    monkeypatch.chdir(made.repository)
    made.commit(data__rules=RULE, data__more="version: '3.1'\nnlu:\n- intent: bye\n  examples: |\n    - so long\n")
    return made


def archived(job: CachedJob, commit: str) -> bytes:
    command = ["git", "archive", "--format=tar.gz", "--prefix=acme-bots/", commit]
    return subprocess.run(command, cwd=job.repository, capture_output=True, check=True).stdout


def said(job: CachedJob) -> dict[str, Any]:
    """What a run says of the change, and of its causes."""
    report, comparison, verdict = (
        json.loads((job.folder / "results" / f"{name}.json").read_text("utf-8"))
        for name in ("report", "comparison", "verdict")
    )
    assert comparison["baseline"]["status"] == "present", comparison["baseline"]
    return {
        "summary": verdict["summary"],
        "causes": report.get("causes"),
        "strength": report.get("strength"),
        **{name: comparison.get(name) for name in SAID},
    }


@pytest.mark.slow
@pytest.mark.parametrize("base", ["fetched", "archive", "without file contents"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_said_does_not_depend_on_the_history_that_is_there(job: CachedJob, change: str, base: str) -> None:
    git(job.repository, "checkout", "-q", "-b", "feature")
    (job.repository / "bot" / "data" / "more.yml").unlink()
    job.commit(**CHANGES[change])
    variables = job.of_pull_request(cache="off", strength="changed")
    assert job.run({**variables}) == 1
    whole = said(job)
    assert whole["causes"] is not None or change == "a response"
    assert whole["changed_lines"]

    commit = git(job.repository, "rev-parse", "main")
    job.github.tarballs[commit] = archived(job, commit)
    job.github.merge_bases["main", git(job.repository, "rev-parse", "HEAD")] = commit
    moved = job.repository.rename(job.folder / "whole")
    kept = ["--filter=blob:none", "--no-checkout"] if base == "without file contents" else ["--depth=1"]
    git(moved, "config", "uploadpack.allowFilter", "true")
    git(job.folder, "clone", "-q", *kept, "--branch=feature", f"file://{moved}", str(job.repository))
    if base == "without file contents":
        git(job.repository, "checkout", "-q", "feature")
    if base == "archive":
        git(job.repository, "remote", "set-url", "origin", f"file://{job.folder}/gone")
    os.chdir(job.repository)
    shutil.rmtree(job.folder / "results")
    status = git(job.repository, "status", "--porcelain"), git(job.repository, "rev-parse", "HEAD")

    assert job.run({**variables}) == 1, job.log

    assert said(job) == whole
    assert "not looked for" not in job.notes
    assert (git(job.repository, "status", "--porcelain"), git(job.repository, "rev-parse", "HEAD")) == status
    if base != "without file contents":
        assert git(job.repository, "rev-list", "--count", "--all") == "1", "the checkout stays as it is"
