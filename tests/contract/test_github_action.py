"""The whole action on a GitHub that remembers: what it measures, compares, uploads, and says where."""

from __future__ import annotations

import base64
import gzip
import io
import json
import shutil
import subprocess
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from fake_github import ACTIONS_TOKEN, READ_ONLY_TOKEN, FakeGitHub, refuse
from fake_host import Answer, Trouble
from fake_results import SIGNATURE, TOKEN, FakeResults
from github_shapes import workflow_run
from golden_texts import Golden

from turncheck.action import run_action
from turncheck.ci.git import Checkout, GitError
from turncheck.report.codec import decode, encode

DOMAIN = """\
version: "3.1"
intents:
- greet
responses:
  utter_greet:
  - text: Hello
"""
NLU = """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
    - hi there
"""
RULES = """\
version: "3.1"
rules:
- rule: greet
  steps:
  - intent: greet
  - action: utter_greet
"""
STORIES = RULES.replace("rules:", "stories:").replace("- rule: greet", "- story: greeting")
WARNING = "::warning title=turncheck::"
BROKEN = RULES.replace("- action: utter_greet", "- action: utter_greet\n  - gone: utter_greet")
CONFIG = """\
recipe: default.v1
language: en
assistant_id: small
pipeline:
- name: WhitespaceTokenizer
policies:
- name: RulePolicy
"""


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, **files: str) -> str:
    for name, text in files.items():
        path = folder / "bot" / (f"{name}.yml" if name in {"domain", "config"} else f"data/{name}.yml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    tests = folder / "bot" / "tests" / "test_stories.yml"
    tests.parent.mkdir(parents=True, exist_ok=True)
    tests.write_text(STORIES)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "change")
    return git(folder, "rev-parse", "HEAD")


@dataclass
class Job:
    """A job of a workflow: the checkout, the event, and what the runner gives and takes."""

    folder: Path
    github: FakeGitHub
    results: FakeResults
    head: str = ""
    base: str = ""
    run_id: int = 500
    log: list[str] = field(default_factory=list)
    code: int | None = None

    @property
    def summary(self) -> str:
        return (self.folder / "summary.md").read_text("utf-8")

    @property
    def text(self) -> str:
        return "".join(self.log)

    def told(self, text: str) -> str:
        """A text with names for the commits of this job, which are others each time."""
        for name, commit in (("BASE", self.base), ("HEAD", self.head)):
            text = text.replace(commit, name).replace(commit[:8], name)
        return text

    @property
    def baseline(self) -> dict[str, Any]:
        """What was compared with, as in the artifact."""
        found: dict[str, Any] = json.loads(self.artifact["comparison.json"])["baseline"]
        return found

    @property
    def outputs(self) -> dict[str, str]:
        lines = iter((self.folder / "output").read_text().splitlines())
        found = {}
        for line in lines:
            name, _, delimiter = line.partition("<<")
            found[name] = "\n".join(iter(lambda: next(lines), delimiter))
        return found

    @property
    def artifact(self) -> dict[str, bytes]:
        with zipfile.ZipFile(io.BytesIO(self.results.artifacts["turncheck"])) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def run(
        self, event: str, payload: dict[str, Any], *, ref: str, sha: str, token: str = ACTIONS_TOKEN, **more: str
    ) -> int:
        """Run the action on an event; ``more`` are inputs, with underscores, or whole variables."""
        repository = {"default_branch": "main", "full_name": "acme/bots"}
        for name in ("summary.md", "output"):
            (self.folder / name).write_text("")
        (self.folder / "event.json").write_text(json.dumps({"repository": repository, **payload}))
        variables = {
            "GITHUB_REPOSITORY": "acme/bots",
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(self.folder / "event.json"),
            "GITHUB_SHA": sha,
            "GITHUB_REF": ref,
            "GITHUB_API_URL": self.github.public,
            "GITHUB_RUN_ID": str(self.run_id),
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_WORKFLOW_REF": f"acme/bots/.github/workflows/turncheck.yml@{ref}",
            "GITHUB_WORKSPACE": str(self.folder / "repository"),
            "GITHUB_ACTOR": "alice",
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "GITHUB_OUTPUT": str(self.folder / "output"),
            **self.results.variables,
            "INPUT_TOKEN": token,
            "INPUT_PROJECT": "bot",
            "INPUT_EVALUATIONS": "validate,core",
            "INPUT_OUT": str(self.folder / "results"),
        }
        for name, value in more.items():
            variables[name if name.isupper() else f"INPUT_{name.upper().replace('_', '-')}"] = value
        self.log.clear()
        self.code = run_action(variables, self.log.append)
        assert not {name for name in variables if "TOKEN" in name or name.startswith(("INPUT_", "ACTIONS_"))}
        return self.code

    def pull_request(self, *, fork: bool = False, **more: Any) -> int:
        """Run on the pull request, checked out as GitHub's test merge."""
        owner = "mallory" if fork else "acme"
        payload = {
            "pull_request": {
                "number": 7,
                "head": {"sha": self.head, "ref": "feature", "repo": {"full_name": f"{owner}/bots"}},
                "base": {"sha": self.base, "ref": "main", "repo": {"full_name": "acme/bots"}},
            }
        }
        sha = git(self.folder / "repository", "rev-parse", "HEAD")
        return self.run("pull_request", payload, ref="refs/pull/7/merge", sha=sha, **more)


class Built(NamedTuple):
    """A repository to be copied: ``base`` is the newest commit of its branch `main`, ``head`` that of `feature`."""

    repository: Path
    base: str
    head: str


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    repository = tmp_path_factory.mktemp("built")
    git(repository, "init", "-q")
    commit(repository, config=CONFIG, domain=DOMAIN, nlu=NLU, rules=RULES)
    git(repository, "checkout", "-q", "-b", "feature")
    head = commit(repository, rules=BROKEN)
    git(repository, "checkout", "-q", "main")
    base = commit(repository, nlu=NLU + "    - good day\n")
    git(repository, "checkout", "-q", "--detach")
    git(repository, "merge", "-q", "--no-ff", "-m", "test merge", "feature")
    return Built(repository, base, head)


@pytest.fixture
def job(built: Built, github: FakeGitHub, results: FakeResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """main has a healthy bot; the pull request breaks a rule; checked out is the test merge."""
    monkeypatch.chdir(shutil.copytree(built.repository, tmp_path / "repository"))
    github.add_pull(7, head=built.head, base=built.base)
    github.history = [built.base]
    return Job(tmp_path, github, results, built.head, built.base)


def packed(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_a_pull_request_gets_its_comment_artifact_summary_annotations_and_outputs(job: Job, golden: Golden) -> None:
    assert job.pull_request() == 1

    (body,) = job.github.bodies(7)
    artifact_url = f"https://github.com/acme/bots/actions/runs/500/artifacts/{4243}"
    assert body.startswith("<!-- turncheck:report id=bot --><!-- turncheck:run 500.1 -->\n")
    assert "schema-violation" in body
    assert f"commit/{job.base}" in body
    assert job.baseline["way"] == "git"
    golden(job.told(body), only="commit/BASE")
    assert f"blob/{job.head}/bot/data/rules.yml#L7" in body
    assert f"({artifact_url})" in body
    assert f"({artifact_url})" in job.summary
    assert job.outputs["artifact-url"] == artifact_url
    page_url = f"https://github.com/acme/bots/actions/runs/500/artifacts/{4244}"
    assert job.outputs["page-url"] == page_url
    assert f"[the page]({page_url})" in body
    assert job.results.artifacts["turncheck.html"] == job.artifact["report.html"]
    assert job.outputs["comment-url"] == "https://github.com/acme/bots/pull/7#issuecomment-1001"
    assert job.outputs["verdict"] == "failed"
    assert set(job.artifact) >= {"report.json", "comparison.json", "verdict.json", "junit.xml", "baseline.json"}
    assert decode(job.artifact["baseline.json"]).source.commit == job.base
    assert "::error file=bot/data/rules.yml,line=7" in job.text
    assert_from_the_top(job)
    assert WARNING not in job.text
    assert f"::add-mask::{SIGNATURE}" in job.text
    assert (job.folder / "results" / "comment.md").read_text() == body.replace("<!-- turncheck:run 500.1 -->", "")


def assert_from_the_top(job: Job) -> None:
    """Whether all paths of the errors in the log are from the repository's top; at least one of them is in a gate's."""
    errors = [line for line in job.text.splitlines() if line.startswith("::error")]
    assert any(line.startswith("::error title=turncheck::") and "bot/data/rules.yml:7" in line for line in errors)
    assert not [line for line in errors if "data/rules.yml" in line.replace("bot/data/rules.yml", "")]


def test_several_assistants_have_one_comment_one_artifact_and_one_status(job: Job, golden: Golden) -> None:
    Path("broken").mkdir()
    Path("broken/turncheck.yml").write_text("fail-on: [everything]\n")
    assert job.pull_request(project="bot\nbroken") == 2

    (body,) = job.github.bodies(7)
    assert body.startswith("<!-- turncheck:report id=")
    golden(body, only="1 of 2 assistants")
    assert "schema-violation" in body
    assert f"blob/{job.head}/bot/data/rules.yml#L7" in body
    assert {"junit.xml", "report.html", "bot/report.json", "broken/report.json"} <= job.artifact.keys()
    assert job.outputs["verdict"] == "failed"
    assert_from_the_top(job)
    assert set(json.loads(job.outputs["metrics"])) == {"bot"}
    assert "broken: not measured" in job.text

    Path("broken/turncheck.yml").unlink()
    assert job.pull_request(project="b*") == 1, "the folder holds nothing of an assistant any more"
    (again,) = job.github.bodies(7)
    assert "1 of 1 assistant failed" in again


def test_the_list_of_workflow_runs_is_fetched_once_for_all_assistants(job: Job) -> None:
    for name in ("second", "third"):
        shutil.copytree("bot", name)

    job.pull_request(project="bot\nsecond\nthird")

    lists = [seen for seen in job.github.log if seen.path.endswith("/runs")]
    assert lists, "the runs of the base are looked at"
    assert len(lists) == len({(seen.path, *sorted(seen.query.items())) for seen in lists})
    artifacts = [seen.path for seen in job.github.log if seen.path.endswith("/artifacts")]
    assert len(artifacts) == len(set(artifacts))


def test_no_secret_is_ever_printed_or_written(job: Job) -> None:
    job.pull_request()

    written = [path.read_bytes() for path in (job.folder / "results").rglob("*") if path.is_file()]
    for secret in (ACTIONS_TOKEN, TOKEN):
        assert secret not in job.text
        assert not any(secret.encode() in content for content in written)
    assert not any(TOKEN in str(seen.headers) for seen in job.github.log)
    assert not any(ACTIONS_TOKEN in str(seen.headers) for seen in job.results.log)


def test_the_next_run_updates_the_comment(job: Job) -> None:
    job.pull_request()
    job.run_id = 501
    job.results.reset()
    (job.folder / "repository" / "bot" / "data" / "rules.yml").write_text(RULES)

    assert job.pull_request() == 0

    (body,) = job.github.bodies(7)
    assert "<!-- turncheck:run 501.1 -->" in body
    assert "Passed" in body


@pytest.mark.parametrize(
    ("mode", "first", "second"),
    [("always", 1, "Passed"), ("on-failure", 1, "Resolved"), ("on-change", 1, "Resolved"), ("never", 0, "")],
)
def test_the_comment_modes(job: Job, mode: str, first: int, second: str) -> None:
    job.pull_request(comment=mode)
    assert len(job.github.bodies(7)) == first

    job.run_id = 501
    job.results.reset()
    (job.folder / "repository" / "bot" / "data" / "rules.yml").write_text(RULES)
    job.pull_request(comment=mode)
    bodies = job.github.bodies(7)
    assert len(bodies) == first
    assert all(second in body for body in bodies)

    job.github.comments.clear()
    job.results.reset()
    job.pull_request(comment=mode)
    assert len(job.github.bodies(7)) == (1 if mode == "always" else 0), "a good result alone is no reason to speak"


def test_the_baseline_is_the_artifact_of_a_run_for_that_commit(job: Job, golden: Golden) -> None:
    job.pull_request()
    left = {"report.json": job.artifact["baseline.json"]}
    run = job.github.add_run(job.base, conclusion="failure")
    run["id"] = 400
    other = job.github.add_run(job.base, event="pull_request")
    fork = job.github.add_run(job.base, fork=True)
    for number, one in ((400, run), (401, other), (402, fork)):
        one["id"] = number
    job.github.runs = {one["id"]: one for one in (run, other, fork)}
    job.github.add_artifact(run, "turncheck", b"no zip")
    job.github.add_artifact(run, "turncheck-2", packed(left))
    job.github.add_artifact(run, "turncheck-3", packed(left), expired=True)
    job.github.add_artifact(fork, "turncheck", packed(left))
    job.results.reset()

    job.pull_request()

    (body,) = job.github.bodies(7)
    assert (job.baseline["way"], job.baseline["run_id"]) == ("artifact", "400")
    assert "actions/runs/400)" in body
    golden(job.told(body), only="actions/runs/400")


def test_without_git_history_the_base_comes_from_the_api(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    repository = tmp_path / "repository"
    git(repository, "archive", "--format=tar.gz", "--prefix=acme-bots/", "-o", str(tmp_path / "base.tar.gz"), job.base)
    job.github.tarballs[job.base] = (tmp_path / "base.tar.gz").read_bytes()
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "clone")
    git(tmp_path / "clone", "remote", "set-url", "origin", f"file://{tmp_path}/gone")
    monkeypatch.chdir(tmp_path / "clone")

    job.pull_request()

    (body,) = job.github.bodies(7)
    assert (job.baseline["way"], job.baseline["commit"]) == ("tarball", job.base)
    golden(job.told(body), only="commit/BASE")


@pytest.mark.parametrize("left_out", ["bot/tests/e2e_test_cases.yml", "bot/turncheck.yml", "README.md"])
def test_an_archive_that_leaves_files_out_is_no_base(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_out: str, golden: Golden
) -> None:
    repository = tmp_path / "repository"
    git(repository, "archive", "--format=tar.gz", "--prefix=acme-bots/", "-o", str(tmp_path / "base.tar.gz"), job.base)
    job.github.tarballs[job.base] = (tmp_path / "base.tar.gz").read_bytes()
    listed = git(repository, "ls-tree", "-r", "--name-only", job.base).splitlines()
    job.github.trees[job.base] = [*listed, left_out]
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "clone")
    git(tmp_path / "clone", "remote", "set-url", "origin", f"file://{tmp_path}/gone")
    monkeypatch.chdir(tmp_path / "clone")

    job.pull_request()

    (body,) = job.github.bodies(7)
    is_needed = left_out.startswith("bot")
    assert job.baseline["status"] == ("unreachable" if is_needed else "present")
    assert job.baseline.get("way") == (None if is_needed else "tarball")
    golden(job.told(body), only="BASE")


def test_a_checkout_that_git_cannot_make_comes_from_the_api_too(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "repository"
    git(repository, "archive", "--format=tar.gz", "--prefix=acme-bots/", "-o", str(tmp_path / "base.tar.gz"), job.base)
    job.github.tarballs[job.base] = (tmp_path / "base.tar.gz").read_bytes()

    def fails(*_: object) -> None:
        raise GitError("could not fetch the missing blobs of a partial clone")

    monkeypatch.setattr(Checkout, "files_of", fails)
    job.pull_request()

    assert job.baseline["way"] == "tarball"


def test_an_ancestor_has_to_do_where_the_base_cannot_be_had(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.pull_request()
    old = "a" * 40
    report = decode(job.artifact["baseline.json"])
    left = encode(report).replace(job.base.encode(), old.encode())
    run = job.github.add_run(old)
    del job.github.runs[run["id"]]
    run["id"] = 300
    job.github.runs[300] = run
    job.github.add_artifact(run, "turncheck", packed({"report.json": left}))
    job.github.history = [job.base, "b" * 40, old]
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path / 'repository'}", "clone")
    git(tmp_path / "clone", "remote", "set-url", "origin", f"file://{tmp_path}/gone")
    monkeypatch.chdir(tmp_path / "clone")
    job.results.reset()

    job.pull_request()

    (body,) = job.github.bodies(7)
    assert "nearest ancestor" in body
    assert f"commit/{old}" in body


def test_a_push_finds_the_pull_request_of_its_branch(job: Job) -> None:
    git(job.folder / "repository", "checkout", "-q", "feature")
    job.github.merge_bases["main", job.head] = git(job.folder / "repository", "rev-parse", "main~1")

    code = job.run("push", {"before": "0" * 40, "after": job.head}, ref="refs/heads/feature", sha=job.head)

    assert code == 1
    assert len(job.github.bodies(7)) == 1
    assert job.baseline["way"] == "git"


@pytest.fixture
def into_release(job: Job) -> str:
    """The pull request is to be merged into `release`, which left `main` before; returns its commit."""
    repository = job.folder / "repository"
    git(repository, "checkout", "-q", "-b", "release", "main~1")
    release = commit(repository, nlu=NLU.replace("- hello\n", "- hello there\n"))
    git(repository, "checkout", "-q", "-b", "fix")
    job.head = commit(repository, rules=BROKEN)
    pull = job.github.pulls[7]
    pull["base"]["ref"] = "release"
    pull["head"].update(sha=job.head, ref="fix", label="acme:fix")
    job.github.merge_bases["release", job.head] = release
    job.github.merge_bases["main", job.head] = git(repository, "rev-parse", "main~1")
    return release


@pytest.mark.parametrize("event", ["push", "workflow_dispatch"])
@pytest.mark.parametrize("shallow", [False, True])
def test_a_branch_is_compared_with_the_base_of_its_pull_request_not_with_the_default_branch(
    job: Job, into_release: str, event: str, shallow: bool
) -> None:
    if not shallow:
        for branch in ("main", "release"):
            git(job.folder / "repository", "update-ref", f"refs/remotes/origin/{branch}", branch)

    job.run(event, {"before": "0" * 40, "after": job.head}, ref="refs/heads/fix", sha=job.head)

    assert f"commit/{into_release}" in job.github.bodies(7)[0]


def test_a_default_branch_that_is_to_be_merged_elsewhere_is_compared_with_that(job: Job, into_release: str) -> None:
    job.github.pulls[7]["head"].update(ref="main", label="acme:main")

    job.run("push", {"before": "9" * 40, "after": job.head}, ref="refs/heads/main", sha=job.head)

    assert f"commit/{into_release}" in job.github.bodies(7)[0]


def test_a_branch_without_a_pull_request_is_compared_with_the_default_branch(job: Job, into_release: str) -> None:
    job.github.pulls.clear()

    job.run("push", {"before": "0" * 40, "after": job.head}, ref="refs/heads/fix", sha=job.head)

    assert f"commit/{job.github.merge_bases['main', job.head]}" in job.summary
    assert into_release not in job.summary


def test_where_the_pull_request_cannot_be_asked_for_the_base_is_the_default_branch_and_that_is_said(
    job: Job, into_release: str, golden: Golden
) -> None:
    job.github.troubles.append(Trouble("GET", "/pulls", refuse(403, "Resource not accessible by integration"), times=9))

    job.run("push", {"before": "0" * 40, "after": job.head}, ref="refs/heads/fix", sha=job.head)

    base = job.github.merge_bases["main", job.head]
    assert f"commit/{base}" in job.summary
    assert "pull-requests: read" in job.summary
    golden(job.summary.replace(base, "COMMIT").replace(base[:8], "COMMIT"), only="`main`")
    assert into_release not in job.summary


def test_a_push_to_the_default_branch_is_compared_with_what_was_there_before(job: Job, golden: Golden) -> None:
    before = git(job.folder / "repository", "rev-parse", "main~1")
    git(job.folder / "repository", "checkout", "-q", "main")

    assert job.run("push", {"before": before}, ref="refs/heads/main", sha=job.base) == 0

    assert job.github.bodies(7) == []
    golden(job.summary, only="pull request")
    assert before[:8] in job.summary


TWICE = RULES.replace("- action: utter_greet", "- action: utter_greet\n  - action: utter_greet")


def chosen_rules(job: Job) -> list[str]:
    verdict = json.loads((job.folder / "results" / "verdict.json").read_text("utf-8"))
    found: list[str] = verdict["chosen"]["fail_on"]
    return found


def test_an_old_fault_fails_the_default_branch_and_no_change(job: Job) -> None:
    """Nothing names rules: what the event is about decides which count."""
    repository, before = job.folder / "repository", job.base
    git(repository, "checkout", "-q", "main")
    job.base = commit(repository, rules=TWICE)
    assert job.run("push", {"before": before}, ref="refs/heads/main", sha=job.base) == 1
    assert chosen_rules(job) == ["errors", "test-failures"]

    git(repository, "checkout", "-q", "-b", "harmless")
    job.head = commit(repository, nlu=f"{NLU}    - good evening\n")
    git(repository, "checkout", "-q", "--detach", "main")
    git(repository, "merge", "-q", "--no-ff", "-m", "test merge", "harmless")
    job.github.add_pull(7, head=job.head, base=job.base)
    job.github.history = [job.base, before]
    queue = {"merge_group": {"head_sha": job.head, "base_ref": "refs/heads/main", "base_sha": job.base}}

    assert job.pull_request() == 0
    assert chosen_rules(job) == ["new-errors", "new-failures"]
    assert job.run("merge_group", queue, ref="refs/heads/gh-readonly-queue/main/pr-7", sha=job.head) == 0
    assert job.pull_request(fork=True, token=READ_ONLY_TOKEN) == 0
    assert job.pull_request(fail_on="errors, test-failures") == 1


@pytest.mark.parametrize(
    ("event", "payload", "said"),
    [
        (
            "merge_group",
            {"merge_group": {"head_sha": "HEAD", "base_ref": "refs/heads/main", "base_sha": "BASE"}},
            "merge queue",
        ),
        ("schedule", {}, "belongs to no pull request"),
        ("workflow_dispatch", {}, "no open pull request"),
    ],
)
def test_other_events_speak_in_the_summary_and_say_why(
    job: Job, event: str, payload: dict[str, Any], said: str
) -> None:
    text = json.dumps(payload).replace("HEAD", job.head).replace("BASE", job.base)
    ref = "refs/heads/gh-readonly-queue/main/pr-7" if event == "merge_group" else "refs/heads/main"

    assert job.run(event, json.loads(text), ref=ref, sha=job.head) == 1

    assert job.github.bodies(7) == []
    assert said in job.summary
    assert WARNING not in job.text


def test_a_runner_that_names_no_repository_is_told_all_the_same(job: Job) -> None:
    named = ("GITHUB_REPOSITORY", "GITHUB_EVENT_NAME", "GITHUB_RUN_ID")

    assert job.run("push", {}, ref="refs/heads/main", sha=job.head, **dict.fromkeys(named, "")) == 1

    assert job.outputs["verdict"] == "failed"
    assert "schema-violation" in job.summary
    assert "::error file=bot/data/rules.yml,line=7" in job.text


def test_a_schedule_is_compared_with_the_run_before(job: Job) -> None:
    """A tag called "main" has its runs listed with those of the branch, but its commit is not of the branch."""
    job.pull_request()
    git(job.folder / "repository", "checkout", "-q", "--detach", job.head)
    job.github.history = [job.head, job.base]
    report = job.artifact["baseline.json"]
    for number, sha, event in ((400, job.base, "schedule"), (401, "9" * 40, "push")):
        run = job.github.runs[number] = workflow_run(number, sha, event=event)
        left = report.replace(job.base.encode(), sha.encode())
        job.github.add_artifact(run, "turncheck", packed({"report.json": left}))
    job.results.reset()

    job.run("schedule", {}, ref="refs/heads/main", sha=job.head)

    assert "actions/runs/400)" in job.summary


def test_a_push_of_dependabot_says_that_the_comment_follows(job: Job, golden: Golden) -> None:
    git(job.folder / "repository", "checkout", "-q", "feature")
    payload = {"before": "0" * 40, "after": job.head}

    job.run(
        "push", payload, ref="refs/heads/feature", sha=job.head, token=READ_ONLY_TOKEN, GITHUB_ACTOR="dependabot[bot]"
    )

    assert job.github.bodies(7) == []
    golden(job.summary, only="Dependabot")
    assert WARNING not in job.text


@pytest.mark.parametrize("who", ["fork", "dependabot"])
def test_a_token_that_may_only_read_says_that_the_comment_follows(job: Job, who: str, golden: Golden) -> None:
    actor: dict[str, Any] = {"GITHUB_ACTOR": "dependabot[bot]"} if who == "dependabot" else {}

    assert job.pull_request(fork=who == "fork", token=READ_ONLY_TOKEN, check_run="true", **actor) == 1

    golden(job.summary, only="comment")
    assert "::error file=bot/data/rules.yml,line=7" in job.text
    assert WARNING not in job.text
    assert set(job.artifact) >= {"report.json", "baseline.json"}


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (Trouble("POST", "/comments", refuse(403, "Resource not accessible by integration")), "pull-requests: write"),
        (Trouble("POST", "/comments", refuse(404, "Not Found")), "404"),
        (Trouble("GET", "/comments", refuse(422, "Validation Failed")), "422"),
        (Trouble("GET", "/comments", Answer(403, {"message": "slow"}, {"Retry-After": "4000"})), "too long"),
    ],
)
def test_publishing_trouble_is_one_warning_and_changes_nothing_else(job: Job, trouble: Trouble, said: str) -> None:
    job.github.troubles.append(trouble)

    assert job.pull_request() == 1

    assert job.text.count(WARNING) == 1
    assert said in next(line for line in job.log if WARNING in line)
    assert said in job.summary
    assert job.outputs["verdict"] == "failed"
    assert "report.json" in job.artifact


def test_without_the_permission_to_read_runs_one_warning_names_it(job: Job, golden: Golden) -> None:
    refused = refuse(403, "Resource not accessible by integration")
    job.github.troubles.append(Trouble("GET", "/actions/", refused, times=9))

    job.pull_request()

    said = "GitHub does not say what earlier runs measured: the token lacks `actions: read`"
    assert f"{WARNING}baseline: {said}" in job.text
    assert job.text.count(f"{WARNING}baseline: ") == 1
    assert job.baseline["way"] == "git"
    golden(job.told(job.github.bodies(7)[0]), only="`actions: read`")


def test_reports_that_could_not_be_asked_for_are_not_said_to_be_missing(job: Job, golden: Golden) -> None:
    refused = refuse(403, "Resource not accessible by integration")
    job.github.troubles.append(Trouble("GET", "/actions/", refused, times=9))

    assert job.pull_request(baseline="artifact") == 1

    golden(job.told(job.summary), only="**The baseline")
    assert "was found" not in job.summary


def test_an_upload_that_fails_loses_nothing_else(job: Job) -> None:
    job.results.troubles.append(Trouble("POST", "Create", Answer(403, {"code": "x", "msg": "insufficient usage"})))

    assert job.pull_request() == 1

    assert job.text.count(WARNING) == 1
    assert len(job.github.bodies(7)) == 1
    assert job.outputs["artifact-url"] == ""
    assert (job.folder / "results" / "report.json").exists()


def test_a_server_without_a_results_service_says_what_to_add(job: Job) -> None:
    job.pull_request(GITHUB_SERVER_URL="https://git.example.org")

    assert job.results.log == []
    assert "actions/upload-artifact" in job.summary
    assert WARNING not in job.text


def test_annotations_by_a_check_run(job: Job) -> None:
    names = "\n".join(f"- rule: r{n}\n  steps:\n  - intent: greet\n  - action: utter_gone{n}" for n in range(70))
    (job.folder / "repository" / "bot" / "data" / "rules.yml").write_text(f'version: "3.1"\nrules:\n{names}\n')

    job.pull_request(check_run="true")

    (check,) = job.github.checks.values()
    annotations = job.github.annotations[check["id"]]
    assert (check["name"], check["conclusion"], check["head_sha"]) == ("turncheck: bot", "failure", job.head)
    assert len(annotations) >= 70
    assert {one["path"] for one in annotations} >= {"bot/data/rules.yml"}
    assert [seen.method for seen in job.github.log if "check-runs" in seen.path][:2] == ["POST", "PATCH"]
    assert "::error file=" not in job.text


def test_findings_become_alerts_of_code_scanning_where_that_is_wanted(job: Job) -> None:
    job.pull_request()
    assert job.github.scans == []

    assert job.pull_request(code_scanning="true") == 1

    (sent,) = job.github.scans
    assert sent["commit_sha"] == git(job.folder / "repository", "rev-parse", "HEAD"), "of the test merge"
    assert sent["ref"] == "refs/pull/7/merge"
    log = json.loads(gzip.decompress(base64.b64decode(sent["sarif"])))
    assert [run["automationDetails"]["id"] for run in log["runs"]] == ["turncheck/bot/"]
    assert "schema-violation" in {result["ruleId"] for result in log["runs"][0]["results"]}
    assert log == json.loads((job.folder / "results" / "findings.sarif").read_text("utf-8"))


@pytest.mark.parametrize("project", ["bot\nanother/bot", "bot*", "bot\nbot-2\nanother/bot"])
def test_alerts_of_each_assistant_have_a_category_that_no_other_job_replaces(job: Job, project: str) -> None:
    for copy in ("bot-2", "another/bot"):
        shutil.copytree("bot", copy)

    job.pull_request(project=project, code_scanning="true", evaluations="validate")

    (sent,) = job.github.scans
    runs = json.loads(gzip.decompress(base64.b64decode(sent["sarif"])))["runs"]
    of_each = {run["automationDetails"]["id"]: run["results"] for run in runs}
    expected = {"bot*": ["bot", "bot-2"]}.get(project, project.split("\n"))
    assert of_each.keys() == {f"turncheck/{one}/" for one in expected}
    for category, results in of_each.items():
        folder = category.removeprefix("turncheck/")
        places = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
        assert places
        assert all(place.startswith(folder) for place in places)


@pytest.mark.parametrize("who", ["fork", "unscoped", "off", "no token"])
def test_code_scanning_that_is_refused_is_told_once_and_changes_no_verdict(job: Job, who: str, golden: Golden) -> None:
    job.github.code_scanning = who != "off"
    if who == "unscoped":
        refused = refuse(403, "Resource not accessible by integration")
        job.github.troubles.append(Trouble("POST", "/code-scanning/sarifs", refused))
    token = {"fork": READ_ONLY_TOKEN, "no token": ""}.get(who, ACTIONS_TOKEN)

    assert job.pull_request(fork=who == "fork", token=token, code_scanning="true") == 1

    assert job.github.scans == []
    golden(*(line for line in job.log if "code scanning" in line.lower()))


def test_a_check_run_that_may_not_be_made_leaves_the_annotations_to_commands(job: Job) -> None:
    job.github.troubles.append(Trouble("POST", "/check-runs", refuse(403, "Resource not accessible by integration")))

    job.pull_request(check_run="true")

    assert "checks: write" in next(line for line in job.log if WARNING in line)
    assert "::error file=bot/data/rules.yml,line=7" in job.text


def test_pull_request_target_is_refused(job: Job) -> None:
    assert job.run("pull_request_target", {}, ref="refs/heads/main", sha=job.base) == 2

    assert "workflow_run" in job.text
    assert job.github.log == []


# --- the second workflow of a fork-safe pair -------------------------------------------------------------------------


def second_workflow(job: Job, run: dict[str, Any], **more: str) -> int:
    payload = {"workflow_run": {"id": run["id"], "head_sha": run["head_sha"], "event": "pull_request"}}
    return job.run("workflow_run", payload, ref="refs/heads/main", sha=job.base, **more)


@pytest.fixture
def forks_run(job: Job) -> dict[str, Any]:
    """A fork's pull request has been measured; its artifact waits."""
    return measured_by_fork(job)


def measured_by_fork(job: Job) -> dict[str, Any]:
    """What the first workflow leaves behind: its run, its artifact and the history that both commits share."""
    job.github.add_pull(7, head=job.head, base=job.base, owner="mallory")
    job.pull_request(fork=True, token=READ_ONLY_TOKEN)
    run = job.github.add_run(job.head, event="pull_request", branch="feature", fork=True, conclusion="failure")
    job.github.add_artifact(run, "turncheck", packed(job.artifact))
    job.github.merge_bases["main", job.base] = job.base
    job.github.merge_bases["main", job.head] = job.base
    job.github.log.clear()
    return run


def test_the_second_workflow_posts_what_the_first_could_not(
    job: Job, forks_run: dict[str, Any], golden: Golden
) -> None:
    first = (job.folder / "results" / "comment.md").read_text()

    assert second_workflow(job, forks_run) == 0

    (body,) = job.github.bodies(7)
    assert f"<!-- turncheck:run {forks_run['id']}.1 -->" in body
    assert f"actions/runs/{forks_run['id']})" in body
    assert "`mallory/bots`" in body.splitlines()[1]
    golden(body.splitlines()[1])
    golden(job.told(body), only="`BASE`")
    assert f"blob/{job.head}/bot/data/rules.yml#L7" in body
    assert first.splitlines()[2] in body
    assert job.outputs["comment-url"].endswith("#issuecomment-" + str(next(iter(job.github.comments))))


def test_a_trusted_report_of_the_base_goes_before_the_forks_own(job: Job, forks_run: dict[str, Any]) -> None:
    run = job.github.add_run(job.base)
    del job.github.runs[run["id"]]
    run["id"] = 400
    job.github.runs[400] = run
    job.github.add_artifact(run, "turncheck", packed({"report.json": job.artifact["baseline.json"]}))

    second_workflow(job, forks_run)

    assert "actions/runs/400)" in job.github.bodies(7)[0]


def test_a_fork_that_renames_the_workflow_does_not_choose_its_base(job: Job, forks_run: dict[str, Any]) -> None:
    run = job.github.add_run(job.base)
    del job.github.runs[run["id"]]
    run["id"] = 400
    job.github.runs[400] = run
    job.github.add_artifact(run, "turncheck", packed({"report.json": job.artifact["baseline.json"]}))
    forks_run["path"] = ".github/workflows/evil.yml"

    second_workflow(job, forks_run)

    assert "actions/runs/400)" in job.github.bodies(7)[0]


def test_a_fork_that_renames_the_project_does_not_choose_its_base(
    job: Job, forks_run: dict[str, Any], golden: Golden
) -> None:
    run = job.github.add_run(job.base)
    del job.github.runs[run["id"]]
    run["id"] = 400
    job.github.runs[400] = run
    base = decode(job.artifact["baseline.json"])
    other = msgspec.structs.replace(base, project=msgspec.structs.replace(base.project, root="another"))
    job.github.add_artifact(run, "turncheck", packed({"report.json": encode(other)}))

    second_workflow(job, forks_run)

    golden(job.told(job.github.bodies(7)[0]), only="**The baseline")


def test_a_report_is_posted_though_the_base_beside_it_cannot_be_read(job: Job, golden: Golden) -> None:
    run = measured_by_fork(job)
    run["head_repository"] = {**run["head_repository"], "full_name": "acme/bots"}  # Dependabot's, say
    job.github.add_pull(7, head=job.head, base=job.base)
    job.github.contents[next(iter(job.github.contents))] = packed({**job.artifact, "baseline.json": b"{"})

    second_workflow(job, run)

    golden(job.told(job.github.bodies(7)[0]), only="**The baseline")


@pytest.mark.parametrize("bases", ["known", "unknown", "fork"])
def test_a_base_that_is_out_of_reach_is_no_first_run(job: Job, bases: str) -> None:
    run = measured_by_fork(job)
    if bases != "fork":
        run["head_repository"] = {**run["head_repository"], "full_name": "acme/bots"}
        job.github.add_pull(7, head=job.head, base=job.base)
    left = {name: content for name, content in job.artifact.items() if name != "baseline.json"}
    job.github.contents[next(iter(job.github.contents))] = packed(left)
    if bases == "unknown":
        job.github.merge_bases.clear()

    second_workflow(job, run)

    verdict = json.loads((job.folder / "results" / "verdict.json").read_text("utf-8"))
    assert chosen_rules(job) == ["new-errors", "new-failures"]
    assert "gone-tests" in {gate["name"] for gate in verdict["gates"] if gate["fails"]}


def test_a_base_older_than_the_branch_is_not_believed(job: Job, forks_run: dict[str, Any], golden: Golden) -> None:
    job.github.merge_bases["main", job.head] = "e" * 40
    job.github.merge_bases["e" * 40, job.base] = job.base

    second_workflow(job, forks_run)

    golden(job.told(job.github.bodies(7)[0]), only="**The baseline")


def test_a_base_that_is_not_on_the_branch_is_not_believed(job: Job, forks_run: dict[str, Any], golden: Golden) -> None:
    job.github.merge_bases.clear()

    second_workflow(job, forks_run)

    golden(job.told(job.github.bodies(7)[0]), only="**The baseline")


def test_a_pull_request_that_has_moved_on_is_not_commented(job: Job, forks_run: dict[str, Any]) -> None:
    job.github.pulls[7]["head"]["sha"] = "c" * 40

    assert second_workflow(job, forks_run) == 0

    assert job.github.bodies(7) == []
    assert "moved on" in job.summary


def test_nothing_in_the_artifact_says_where_to_post(job: Job, forks_run: dict[str, Any]) -> None:
    job.github.add_pull(8, head="d" * 40)
    lies = encode(decode(job.artifact["report.json"])).replace(b"acme/bots", b"evil/bots")
    job.github.contents[next(iter(job.github.contents))] = packed(
        {**job.artifact, "report.json": lies, "pr-number.txt": b"8", "comment.md": b"@everyone"}
    )

    second_workflow(job, forks_run)

    assert job.github.bodies(8) == []
    (body,) = job.github.bodies(7)
    assert "evil" not in body
    assert "everyone" not in body


@pytest.mark.parametrize(
    "content",
    [b"no zip", packed({"../report.json": b"{}"}), packed({"report.json": b"{}"}), packed({"x": b""})],
    ids=["no zip", "a name that leads out", "no report in it", "something else"],
)
def test_an_artifact_that_cannot_be_used_is_said(
    job: Job, forks_run: dict[str, Any], content: bytes, golden: Golden
) -> None:
    job.github.contents[next(iter(job.github.contents))] = content

    assert second_workflow(job, forks_run) == 2

    assert job.github.bodies(7) == []
    golden(job.text)


def named_run(job: Job, run_id: object, **more: str) -> int:
    return job.run("workflow_dispatch", {}, ref="refs/heads/main", sha=job.base, run_id=str(run_id), **more)


def test_the_run_may_be_named_and_gates_given(job: Job) -> None:
    bot = job.folder / "repository" / "bot"
    (bot / "data" / "rules.yml").write_text(RULES)
    (bot / "tests" / "test_stories.yml").write_text(STORIES.replace("utter_greet", "action_restart"))
    run = measured_by_fork(job)
    assert job.code == 1

    assert named_run(job, run["id"]) == 0
    assert job.outputs["verdict"] == "failed"
    assert named_run(job, run["id"], fail_on="none") == 0
    assert job.outputs["verdict"] == "passed"
    assert named_run(job, "../5") == 2


def test_no_gates_given_let_pass_what_could_not_be_tested(job: Job, forks_run: dict[str, Any]) -> None:
    named_run(job, forks_run["id"], fail_on="none")

    assert job.outputs["verdict"] == "failed"
    assert "rules.yml:7" in job.outputs["summary"]


# --- a pull request that chooses what it is compared with ------------------------------------------------------------


def without_its_test(job: Job, settings: str) -> Path:
    """The checkout of a pull request that breaks no rule, has no test any more, and says so in its own settings."""
    bot = job.folder / "repository" / "bot"
    (bot / "data" / "rules.yml").write_text(RULES)
    (bot / "tests" / "test_stories.yml").write_text(STORIES.replace("greeting", "other") + "  - action: utter_greet\n")
    (bot / "turncheck.yml").write_text(settings)
    return bot


@pytest.mark.parametrize("settings", ["baseline: none\n", "baseline: mine.json\n"])
def test_a_pull_request_does_not_switch_off_its_baseline_by_its_own_file(job: Job, settings: str) -> None:
    without_its_test(job, settings)

    assert job.pull_request() == 1

    assert "1 story gone" in job.outputs["summary"]
    (body,) = job.github.bodies(7)
    changed = body.index("`baseline` from `auto` to `")
    assert changed < body.index("Stories passed")


def test_what_the_workflow_says_of_the_baseline_counts(job: Job) -> None:
    without_its_test(job, "not-judged: auto\n")
    job.pull_request(baseline="none")

    assert "switched off" in job.github.bodies(7)[0]
    assert "gone" not in job.outputs["summary"]


def test_a_baseline_that_the_base_switches_off_too_is_off(job: Job) -> None:
    repository = job.folder / "repository"
    git(repository, "checkout", "-q", "main")
    (repository / "bot" / "turncheck.yml").write_text("baseline: none\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "off")
    job.base = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-q", "--detach")
    git(repository, "merge", "-q", "--no-ff", "-m", "test merge", "feature")
    job.github.add_pull(7, head=job.head, base=job.base)
    without_its_test(job, "baseline: none\n")
    job.pull_request()

    assert "switched off" in job.github.bodies(7)[0]
    assert "gone" not in job.outputs["summary"]


def test_the_pictures_come_last_in_an_artifact_of_their_own(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(_: object, folder: Path, __: object) -> list[Path]:
        assert job.outputs["verdict"] == "failed", "everything else has been said"
        picture = folder / "rasa" / "intent_confusion_matrix.png"
        picture.parent.mkdir(exist_ok=True)
        picture.write_bytes(b"a picture")
        return [picture]

    monkeypatch.setattr("turncheck.action.draw_plots", draw)
    assert job.pull_request() == 1

    with zipfile.ZipFile(io.BytesIO(job.results.artifacts["turncheck-plots"])) as archive:
        assert archive.namelist() == ["rasa/intent_confusion_matrix.png"]


def test_a_picture_that_cannot_be_drawn_changes_nothing(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(*_: object) -> list[Path]:
        raise OSError("no space left")

    monkeypatch.setattr("turncheck.action.draw_plots", draw)
    assert job.pull_request() == 1

    assert job.text.count(WARNING) == 1


def shards_of(job: Job, count: int) -> list[str]:
    """Measure a pull request in a matrix of jobs; returns the folders of their artifacts."""
    folders = [f"shards/shard-{number}" for number in range(1, count + 1)]
    for number, folder in enumerate(folders, 1):
        assert job.pull_request(shard=f"{number}/{count}", out=folder, evaluations="") == 0
        assert "Nothing is judged here" in job.text
    return folders


def test_a_matrix_of_jobs_is_judged_and_published_once_by_the_job_that_merges(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turncheck.run.prepare.now", lambda: "2026-02-03T10:20:30Z")  # the comment says the minute
    assert job.pull_request(evaluations="", out="whole") == 1
    (alone,) = job.github.bodies(7)
    job.github.comments.clear()
    job.results.reset()
    folders = shards_of(job, 3)
    assert job.github.bodies(7) == []
    assert not job.results.artifacts
    assert job.summary == ""

    assert job.pull_request(shards="shards", evaluations="", out="merged") == 1

    (body,) = job.github.bodies(7)
    assert body == alone
    assert set(job.artifact) >= {"report.json", "junit.xml", "baseline.json"}
    assert job.text.count("::error file=bot/data/rules.yml,line=7") == 1
    assert job.outputs["verdict"] == "failed"

    shutil.rmtree(folders[1])
    assert job.pull_request(shards="shards", evaluations="", out="again") == 2
    assert "shard 2/3 is missing" in job.text
    assert job.github.bodies(7) == [alone]


def test_the_outputs_are_there_before_anything_is_published(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is stopped while it waits for a host leaves its verdict."""

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("turncheck.publishing.publish.Publishing._upload", stopped)
    with pytest.raises(KeyboardInterrupt):
        job.pull_request()

    assert job.outputs["verdict"] == "failed"
    assert job.outputs["comment-url"] == ""
    assert job.github.bodies(7) == []
