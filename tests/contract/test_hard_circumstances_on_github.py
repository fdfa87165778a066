"""What the action does where something is missing: a token, its rights, GitHub itself, a disk. The verdict stays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from fake_github import READ_ONLY_TOKEN, refuse
from fake_host import Trouble
from github_shapes import workflow_run
from golden_texts import Golden
from test_github_action import (  # the fixtures, too
    BROKEN,
    NLU,
    RULES,
    TWICE,
    WARNING,
    Job,
    built,  # noqa: F401
    chosen_rules,
    commit,
    git,
    job,  # noqa: F401
    packed,
)

from turncheck.ci.base_files import write_links
from turncheck.ci.rest import RetryBudget

ROOT = Path(__file__).parents[2]
NOBODY = "http://127.0.0.1:9"
NOT_ALLOWED = refuse(403, "Resource not accessible by integration")


def said(job: Job) -> list[str]:  # noqa: F811
    """Warnings and notices of a run."""
    return [line for line in job.text.splitlines() if line.startswith(("::warning title=", "::notice title="))]


def test_without_a_token_the_verdict_is_the_same_and_that_is_said_once(job: Job, golden: Golden) -> None:  # noqa: F811
    assert job.pull_request(token="") == 1

    assert job.outputs["verdict"] == "failed"
    assert job.github.log == []
    assert job.baseline["way"] == "git"
    golden(*(line for line in said(job) if "token" in line))
    assert sum("token" in line for line in said(job)) == 1
    assert "::error file=bot/data/rules.yml,line=7" in job.text


def test_a_token_without_any_right_names_each_once(job: Job, golden: Golden) -> None:  # noqa: F811
    """The workflow wants everything, and has `permissions: {}`."""
    job.github.before = lambda _: None
    for method in ("GET", "POST", "PATCH", "PUT", "DELETE"):
        job.github.troubles.append(Trouble(method, "", NOT_ALLOWED, times=99))

    assert job.pull_request(check_run="true", code_scanning="true") == 1

    assert job.outputs["verdict"] == "failed"
    golden(*said(job))
    for right in ("actions: read", "pull-requests: write", "checks: write", "security-events: write"):
        assert len([line for line in said(job) if right in line]) == 1, right
    assert "::error file=bot/data/rules.yml,line=7" in job.text
    assert "report.json" in job.artifact


@pytest.mark.parametrize("project", ["bot", "bot\nsecond"])
def test_a_runner_without_the_internet_measures_and_says_what_it_could_not_do(
    job: Job,  # noqa: F811
    project: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "second" in project:
        (job.folder / "repository" / "second").symlink_to("bot")
    waited: list[float] = []

    def wait(budget: RetryBudget, seconds: float, _: str) -> bool:
        waited.append(seconds)
        budget.spend(seconds)
        return budget.left > 0

    monkeypatch.setattr(RetryBudget, "wait", wait)
    code = job.pull_request(project=project, GITHUB_API_URL=NOBODY, ACTIONS_RESULTS_URL=f"{NOBODY}/")

    assert code == 1
    assert sum(waited) <= 40, waited
    assert job.outputs["verdict"] == "failed"
    warnings = [line for line in said(job) if line.startswith(WARNING)]
    assert len(warnings) == len({re.sub(r"\d+", "", line) for line in warnings}), "each once"
    assert any("comment" in line for line in warnings)
    assert (job.folder / "results" / "report.html").exists()


def test_a_run_that_is_started_again_has_one_comment_and_its_own_artifact(job: Job) -> None:  # noqa: F811
    job.pull_request()
    assert job.pull_request(GITHUB_RUN_ATTEMPT="2") == 1

    (body,) = job.github.bodies(7)
    assert "<!-- turncheck:run 500.2 -->" in body
    assert WARNING not in job.text


@pytest.mark.parametrize("place", ["results", "temporary", "cache", "summary", "output"])
def test_a_file_system_that_cannot_be_written_to(
    job: Job,  # noqa: F811
    place: str,
    monkeypatch: pytest.MonkeyPatch,
    golden: Golden,
) -> None:
    """/proc is one, also for root."""
    variables: dict[str, Any] = {
        "results": {"out": "/proc/turncheck"},
        "temporary": {},
        "cache": {"cache_folder": "/proc/turncheck"},
        "summary": {"GITHUB_STEP_SUMMARY": "/proc/turncheck.md"},
        "output": {"GITHUB_OUTPUT": "/proc/turncheck.txt"},
    }[place]
    if place == "temporary":
        import tempfile

        monkeypatch.setattr(tempfile, "tempdir", "/proc")
    code = job.pull_request(**variables)

    assert "Traceback" not in job.text
    golden(str(code), *(line for line in job.text.splitlines() if "/proc" in line or "temporary" in line))


def test_where_no_link_can_be_made_the_base_has_what_git_writes_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows without the right to make links; git's own checkout has a file with the target, too."""

    def refused(*_: object, **__: object) -> None:
        error = OSError("A required privilege is not held by the client")
        error.winerror = 1314  # type: ignore[attr-defined]
        raise error

    monkeypatch.setattr(Path, "symlink_to", refused)
    write_links(tmp_path, {"bots/b/data": "../a/data"})

    assert (tmp_path / "bots" / "b" / "data").read_bytes() == b"../a/data"


def test_the_first_hour_with_the_workflow_of_the_readme(job: Job) -> None:  # noqa: F811
    """Its inputs and nothing else: the first runs on main, an old fault, a new one, a fork, the queue."""
    (workflow, *_) = re.findall(
        r"^```yaml\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    (step,) = (one for one in yaml.safe_load(workflow)["jobs"]["turncheck"]["steps"] if "turncheck/" in one["uses"])
    inputs: dict[str, Any] = {"evaluations": "", **step["with"]}  # the other tests ask for some, to be quicker
    repository, first = job.folder / "repository", job.base
    git(repository, "checkout", "-q", "main")

    def on_main(sha: str, before: str) -> int:
        code = job.run("push", {"before": before}, ref="refs/heads/main", sha=sha, **inputs)
        run = workflow_run(job.run_id, sha, conclusion="failure" if code else "success")
        job.github.runs[job.run_id] = run
        job.github.add_artifact(run, "turncheck", packed(job.artifact))
        job.run_id += 1
        job.results.reset()
        return code

    def change(name: str, **files: str) -> None:
        git(repository, "checkout", "-q", "-b", name, "main")
        job.head = commit(repository, **files)
        git(repository, "checkout", "-q", "--detach", "main")
        git(repository, "merge", "-q", "--no-ff", "-m", "test merge", name)
        job.github.add_pull(7, head=job.head, base=job.base)
        job.results.reset()

    assert on_main(first, "0" * 40) == 0, "the first run of all: there is nothing to compare with"
    job.base = commit(repository, rules=TWICE)
    job.github.history = [job.base, first]
    assert on_main(job.base, first) == 1, "main fails on all that is broken"
    assert chosen_rules(job) == ["errors", "test-failures"]

    change("harmless", nlu=f"{NLU}    - good evening\n", rules=TWICE)
    assert job.pull_request(**inputs) == 0, "an old fault"
    assert chosen_rules(job) == ["new-errors", "new-failures"]
    assert job.baseline["way"] == "artifact", job.text
    assert len(job.github.bodies(7)) == 1
    group = {"head_sha": job.head, "base_ref": "refs/heads/main", "base_sha": job.base}
    queue = {"ref": "refs/heads/gh-readonly-queue/main/pr-7", "sha": job.head}
    assert job.run("merge_group", {"merge_group": group}, **queue, **inputs) == 0

    change("worse", rules=BROKEN)
    assert job.pull_request(**inputs) == 1, "a new one"
    assert "::error file=bot/data/rules.yml,line=7" in job.text
    job.results.reset()
    assert job.pull_request(fork=True, token=READ_ONLY_TOKEN, **inputs) == 1
    assert WARNING not in job.text
    group["head_sha"] = job.head
    assert job.run("merge_group", {"merge_group": group}, **{**queue, "sha": job.head}, **inputs) == 1


def test_an_assistant_without_tests_is_told_how_to_get_some(job: Job, golden: Golden) -> None:  # noqa: F811
    (job.folder / "repository" / "bot" / "tests" / "test_stories.yml").unlink()
    (job.folder / "repository" / "bot" / "data" / "rules.yml").write_text(RULES)

    assert job.pull_request(evaluations="", accept_gone="core") == 1

    golden(*(line for line in job.text.splitlines() if "something-was-tested" in line and "::error" not in line))
