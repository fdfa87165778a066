"""The causes of a fork's pull request: its own job finds them, another one publishes them in the comment."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import msgspec
import pytest
from golden_texts import Golden
from msgspec.structs import replace
from test_github_action import (
    CONFIG,
    DOMAIN,
    NLU,
    RULES,
    Built,
    Job,
    commit,
    git,
    measured_by_fork,
    packed,
    second_workflow,
)

from turncheck.report.codec import decode, encode

if TYPE_CHECKING:
    from pathlib import Path

    from fake_github import FakeGitHub
    from fake_results import FakeResults

TWO = DOMAIN + "  utter_bye:\n  - text: Bye\n"
CHANGED = RULES.replace("utter_greet", "utter_bye")
LINE = CHANGED[: CHANGED.index("- action")].count("\n") + 1


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A fork lets the rule say something else; main has moved on since."""
    repository = tmp_path_factory.mktemp("built")
    git(repository, "init", "-q")
    commit(repository, config=CONFIG, domain=TWO, nlu=NLU, rules=RULES)
    git(repository, "checkout", "-q", "-b", "feature")
    head = commit(repository, rules=CHANGED, domain=TWO.replace("text: Hello", "text: Good morning"))
    git(repository, "checkout", "-q", "main")
    base = commit(repository, nlu=NLU + "    - good day\n")
    git(repository, "checkout", "-q", "--detach")
    git(repository, "merge", "-q", "--no-ff", "-m", "test merge", "feature")
    return Built(repository, base, head)


@pytest.fixture
def job(built: Built, github: FakeGitHub, results: FakeResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.chdir(shutil.copytree(built.repository, tmp_path / "repository"))
    github.history = [built.base]
    return Job(tmp_path, github, results, built.head, built.base)


def published(job: Job, causes_of: str) -> str:
    """What the second workflow posts: main left a report of the base; the fork says of which commit its causes are."""
    run = measured_by_fork(job)
    kept = job.github.add_run(job.base)
    del job.github.runs[kept["id"]]
    job.github.runs[400] = kept | {"id": 400}
    job.github.add_artifact(job.github.runs[400], "turncheck", packed({"report.json": job.artifact["baseline.json"]}))
    report = decode(job.artifact["report.json"])
    assert report.causes is not msgspec.UNSET
    told = replace(report, causes=replace(report.causes, base=causes_of))
    number = min(job.github.contents)  # what the fork's run left
    job.github.contents[number] = packed({**job.artifact, "report.json": encode(told)})
    second_workflow(job, run)
    (body,) = job.github.bodies(7)
    return body


def about_the_cause(job: Job, body: str) -> str:
    """The lines of a comment about tests that changed sides, and about how causes were found."""
    words = ("newly", "greeting", "was changed", "Causes")
    lines = (line for line in body.splitlines() if any(word in line for word in words))
    return job.told("\n".join(lines))


def test_the_job_that_publishes_names_the_cause_that_the_forks_job_proved(job: Job, golden: Golden) -> None:
    body = published(job, job.base)

    assert f"blob/{job.head}/bot/data/rules.yml#L{LINE}" in body
    golden(about_the_cause(job, body))


def test_causes_about_another_commit_than_the_base_are_not_published(job: Job, golden: Golden) -> None:
    """They are the fork's word about something that nobody compares with here."""
    golden(about_the_cause(job, published(job, "e" * 40)))
