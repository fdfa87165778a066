"""The base, from the variables of each CI host and a checkout such as it makes: found, or the message names what helps.

What helps is run as it is printed, and then the base is found.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from turncheck.cli import run_command_line

DOMAIN = 'version: "3.1"\nintents:\n- greet\nresponses:\n  utter_greet:\n  - text: Hello\n'
RULES = 'version: "3.1"\nrules:\n- rule: greet\n  steps:\n  - intent: greet\n  - action: utter_greet\n'
OF_HOSTS = re.compile(
    r"(GITHUB|GITLAB|CI|TF|SYSTEM|BUILD|AGENT|BITBUCKET|BUILDKITE|CIRCLE|TEAMCITY|JENKINS|CHANGE|BRANCH)(_|$)"
)
LONG = 60
"""More commits than any host fetches by itself."""


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@dataclass
class Server:
    """A repository: ``feature`` left ``main`` at ``parted``, which has moved on to ``tip`` since."""

    folder: Path
    default: str
    parted: str
    tip: str
    head: str
    merge: str

    @property
    def url(self) -> str:
        return f"file://{self.folder}"


BUILT: dict[tuple[int, str], Server] = {}
"""Repositories, each built once."""


def serve(folder: Path, commits: int, default: str = "main") -> Server:
    """Return a repository of a test's own."""
    if (commits, default) not in BUILT:
        BUILT[commits, default] = build(Path(tempfile.mkdtemp()) / "server", commits, default)
    built = BUILT[commits, default]
    shutil.copytree(built.folder, folder)
    return replace(built, folder=folder)


def build(folder: Path, commits: int, default: str) -> Server:
    """Build the repository; the change is ``commits`` long. ``merge`` is the test merge of the pull request 7."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", default)
    (folder / "domain.yml").write_text(DOMAIN)
    (folder / "data").mkdir()
    (folder / "data" / "rules.yml").write_text(RULES)
    git(folder, "add", "-A")
    for number in range(3):
        git(folder, "commit", "-q", "--allow-empty", "-m", f"before {number}")
    parted = git(folder, "rev-parse", "HEAD")
    git(folder, "checkout", "-q", "-b", "feature")
    for number in range(commits):
        git(folder, "commit", "-q", "--allow-empty", "-m", f"change {number}")
    head = git(folder, "rev-parse", "HEAD")
    git(folder, "checkout", "-q", default)
    (folder / "README").write_text("meanwhile")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "meanwhile")
    tip = git(folder, "rev-parse", "HEAD")
    git(folder, "checkout", "-q", "--detach")
    git(folder, "merge", "-q", "--no-ff", "-m", "test merge", "feature")
    merge = git(folder, "rev-parse", "HEAD")
    git(folder, "update-ref", "refs/pull/7/merge", merge)
    git(folder, "update-ref", "refs/merge-requests/7/head", head)
    git(folder, "checkout", "-q", default)
    return Server(folder, default, parted, tip, head, merge)


@dataclass
class Job:
    """A checkout and the variables of its job. ``base``: the commit that is to be found."""

    variables: dict[str, str]
    base: str


def fetched(folder: Path, server: Server, what: str, commit: str, depth: int = 0) -> None:
    """Check a commit out, detached, as most hosts do."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "unused")
    git(folder, "remote", "add", "origin", server.url)
    git(folder, "fetch", "-q", *([f"--depth={depth}"] if depth else []), "origin", what)
    git(folder, "checkout", "-q", "-f", "--detach", commit)


def gitlab(server: Server, folder: Path) -> Job:
    """A pipeline of a merge request: its head, detached, of depth 20."""
    fetched(folder, server, "+refs/merge-requests/7/head:refs/pipelines/70", server.head, depth=20)
    variables = {
        "GITLAB_CI": "true",
        "CI_COMMIT_SHA": server.head,
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": server.default,
        "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": "",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": server.parted,
        "CI_DEFAULT_BRANCH": server.default,
        "CI_PROJECT_PATH": "acme/bots",
    }
    return Job(variables, server.parted)


def gitlab_merged(server: Server, folder: Path) -> Job:
    """A pipeline for merged results: a merge whose first parent is the target branch."""
    fetched(folder, server, "+refs/pull/7/merge:refs/pipelines/71", server.merge, depth=20)
    job = gitlab(server, folder.parent / "unused")
    job.variables |= {
        "CI_COMMIT_SHA": server.merge,
        "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": server.head,
        "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": server.tip,
    }
    return Job(job.variables, server.tip)


def gitlab_branch(server: Server, folder: Path) -> Job:
    """A pipeline of a branch, which knows the default branch by name alone."""
    fetched(folder, server, "+refs/heads/feature:refs/remotes/origin/feature", server.head, depth=20)
    variables = {
        "GITLAB_CI": "true",
        "CI_COMMIT_SHA": server.head,
        "CI_COMMIT_BRANCH": "feature",
        "CI_DEFAULT_BRANCH": server.default,
    }
    return Job(variables, server.parted)


def azure(server: Server, folder: Path) -> Job:
    """A pull request's merge, of depth 1."""
    fetched(folder, server, "+refs/pull/7/merge:refs/remotes/pull/7/merge", server.merge, depth=1)
    variables = {
        "TF_BUILD": "True",
        "BUILD_SOURCEVERSION": server.merge,
        "BUILD_SOURCEBRANCH": "refs/pull/7/merge",
        "SYSTEM_PULLREQUEST_TARGETBRANCH": f"refs/heads/{server.default}",
        "SYSTEM_PULLREQUEST_SOURCECOMMITID": server.head,
    }
    return Job(variables, server.tip)


def bitbucket(server: Server, folder: Path) -> Job:
    """A clone of the branch, of depth 50, into which the destination was merged."""
    git(folder.parent, "clone", "-q", "--branch", "feature", "--depth", "50", server.url, folder.name)
    variables = {
        "BITBUCKET_BUILD_NUMBER": "12",
        "BITBUCKET_COMMIT": server.head[:12],
        "BITBUCKET_PR_ID": "7",
        "BITBUCKET_PR_DESTINATION_BRANCH": server.default,
        "BITBUCKET_PR_DESTINATION_COMMIT": server.tip[:12],
    }
    return Job(variables, server.parted)


def bitbucket_merged(server: Server, folder: Path) -> Job:
    job = bitbucket(server, folder)
    git(folder, "fetch", "-q", "origin", server.default)
    git(folder, "merge", "-q", "--allow-unrelated-histories", "-m", "merge", "FETCH_HEAD")
    return Job(job.variables, server.tip)


def jenkins(server: Server, folder: Path) -> Job:
    """A multibranch pipeline's pull request, with a refspec of its own alone."""
    fetched(folder, server, "+refs/heads/feature:refs/remotes/origin/PR-7", server.head)
    variables = {"JENKINS_URL": "https://ci.example/", "CHANGE_ID": "7", "CHANGE_TARGET": server.default}
    return Job(variables | {"BRANCH_NAME": "PR-7"}, server.parted)


def jenkins_merged(server: Server, folder: Path) -> Job:
    """The same with "merging the pull request with the current target branch revision"."""
    job = jenkins(server, folder)
    git(folder, "fetch", "-q", "origin", f"+refs/heads/{server.default}:refs/remotes/origin/{server.default}")
    git(folder, "checkout", "-q", "-f", "--detach", f"origin/{server.default}")
    git(folder, "merge", "-q", "--no-ff", "-m", "merge", server.head)
    return Job(job.variables, server.tip)


def buildkite(server: Server, folder: Path) -> Job:
    git(folder.parent, "clone", "-q", "--depth", "3", "--branch", "feature", server.url, folder.name)
    variables = {
        "BUILDKITE": "true",
        "BUILDKITE_PULL_REQUEST": "7",
        "BUILDKITE_PULL_REQUEST_BASE_BRANCH": server.default,
        "BUILDKITE_PIPELINE_DEFAULT_BRANCH": "another",
    }
    return Job(variables, server.parted)


def circleci(server: Server, folder: Path) -> Job:
    """A blobless clone with every branch: the default branch is git's to tell."""
    git(folder.parent, "clone", "-q", "--single-branch", "--branch", "feature", server.url, folder.name)
    return Job({"CIRCLECI": "true", "CIRCLE_BRANCH": "feature", "CIRCLE_SHA1": server.head}, server.parted)


def teamcity(server: Server, folder: Path) -> Job:
    """Parameters lie in a file that another one names, escaped as Java does."""
    fetched(folder, server, "+refs/heads/feature:refs/remotes/origin/feature", server.head)
    more = folder.parent / "config.properties"
    more.write_text(f"# comment\nteamcity.pullRequest.number=7\nteamcity.pullRequest.target.branch={server.default}\n")
    own = folder.parent / "build.properties"
    own.write_text("teamcity.configuration.properties.file=" + str(more).replace(":", "\\:") + "\nbuild\\ x=1\n")
    return Job({"TEAMCITY_VERSION": "2026.1", "TEAMCITY_BUILD_PROPERTIES_FILE": str(own)}, server.parted)


def forgejo(server: Server, folder: Path) -> Job:
    """Gitea and Forgejo speak as GitHub's runner does; the event is as GitHub's."""
    fetched(folder, server, "+refs/heads/feature:refs/remotes/pull/7/head", server.head, depth=1)
    event = folder.parent / "event.json"
    sides = {
        "head": {"sha": server.head, "ref": "feature", "repo": {"full_name": "acme/bots"}},
        "base": {"ref": server.default, "sha": server.tip},
    }
    event.write_text(json.dumps({"pull_request": {"number": 7, **sides}}))
    variables = {
        "GITHUB_ACTIONS": "true",
        "FORGEJO_ACTIONS": "true",
        "GITHUB_REPOSITORY": "acme/bots",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_SHA": server.head,
        "GITHUB_SERVER_URL": "https://codeberg.example",
        "GITHUB_API_URL": "https://codeberg.example/api/v1",
    }
    return Job(variables, server.parted)


def nowhere(server: Server, folder: Path) -> Job:
    """Somebody's single branch, without a CI host."""
    git(folder.parent, "clone", "-q", "--single-branch", "--branch", "feature", server.url, folder.name)
    return Job({}, server.parted)


AT_ONCE = [gitlab, gitlab_merged, azure, bitbucket_merged, jenkins_merged]
BY_ID = [gitlab, gitlab_merged, azure]
"""Those whose host names the commit: git fetches it."""
WITH_HELP = [gitlab_branch, bitbucket, jenkins, buildkite, circleci, teamcity, forgejo, nowhere]
Checkout = Callable[[Server, Path], Job]


def enter(job: Job, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if OF_HOSTS.match(name)]:
        monkeypatch.delenv(name)
    for name, value in job.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)


def compared(*flags: str) -> dict[str, str]:
    """Run, and return what the result was compared with."""
    assert run_command_line(["run", "--evaluations", "validate", "--fail-on", "errors", *flags]) == 1
    found: dict[str, str] = json.loads(Path("results/comparison.json").read_text())["baseline"]
    return found


@pytest.fixture(scope="module", autouse=True)
def tidy() -> Iterator[None]:
    yield
    for built in BUILT.values():
        shutil.rmtree(built.folder.parent)
    BUILT.clear()  # a worker may come back to this module after others


@pytest.mark.parametrize("checkout", AT_ONCE)
def test_the_base_is_found_in_a_short_history(
    checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(tmp_path / "server", 4)
    job = checkout(server, tmp_path / "job")
    if checkout is azure:  # of its default depth, which a team may set
        git(tmp_path / "job", "fetch", "-q", "--depth=5", "origin", "+refs/pull/7/merge:refs/remotes/pull/7/merge")
    enter(job, tmp_path / "job", monkeypatch)

    baseline = compared()

    assert (baseline["status"], baseline.get("commit")) == ("present", job.base)


@pytest.mark.parametrize(
    ("checkout", "default"),
    [*((one, "main") for one in WITH_HELP), *((one, "trunk's") for one in (gitlab_branch, nowhere))],
)
def test_where_it_is_not_the_message_names_what_helps(
    checkout: Checkout, default: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(tmp_path / "server", LONG, default)
    job = checkout(server, tmp_path / "job")
    enter(job, tmp_path / "job", monkeypatch)

    baseline = compared()

    # On somebody's own machine it is said, and fails nothing.
    assert baseline["status"] == ("missing" if checkout is nowhere else "unreachable"), baseline
    found = re.search(r"`(git fetch [^`]+)`", baseline["reason"])
    assert found, baseline["reason"]
    assert found[1] in Path("results/comment.md").read_text()
    subprocess.run(["sh", "-c", found[1]], check=True, capture_output=True)

    baseline = compared()

    assert (baseline["status"], baseline.get("commit")) == ("present", job.base)


@pytest.mark.parametrize("default", ["main", "trunk's"])
@pytest.mark.parametrize("checkout", BY_ID)
def test_a_commit_that_the_host_names_is_fetched_and_the_checkout_stays_as_it_is(
    checkout: Checkout, default: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(tmp_path / "server", LONG, default)
    job = checkout(server, tmp_path / "job")
    enter(job, tmp_path / "job", monkeypatch)
    before = {path: path.stat().st_size for path in Path(".git").rglob("*")}

    baseline = compared()

    assert (baseline["status"], baseline.get("commit"), baseline["way"]) == ("present", job.base, "git")
    assert {path: path.stat().st_size for path in Path(".git").rglob("*")} == before

    server.folder.rename(tmp_path / "moved")
    baseline = compared()
    known = subprocess.run(["git", "cat-file", "-e", job.base], capture_output=True, check=False).returncode == 0
    assert baseline["status"] == ("present" if known else "unreachable")


@pytest.mark.parametrize("name", ["main", "origin/main", "start", None])
@pytest.mark.parametrize("checkout", [gitlab, jenkins, nowhere])
def test_a_base_that_is_named_counts_before_the_hosts(
    checkout: Checkout, name: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(tmp_path / "server", 4)
    job = checkout(server, tmp_path / "job")
    folder = tmp_path / "job"
    git(folder, "fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*")
    git(folder, "tag", "start", f"{server.head}~2")
    enter(job, folder, monkeypatch)
    before = git(folder, "rev-parse", f"{server.head}~2")

    baseline = compared("--base", name or f"{server.head}~2")

    expected = job.base if name and name.endswith("main") else before
    assert (baseline["status"], baseline.get("commit")) == ("present", expected)


@pytest.mark.parametrize("checkout", [gitlab_branch, azure, nowhere])
def test_a_base_that_nobody_knows_is_told_at_once_and_how_it_is_brought(
    checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = serve(tmp_path / "server", LONG)
    git(server.folder, "branch", "develop", f"{server.tip}~1")
    job = checkout(server, tmp_path / "job")
    enter(job, tmp_path / "job", monkeypatch)

    assert run_command_line(["run", "--evaluations", "validate", "--base", "develop"]) == 2

    told = capsys.readouterr().err
    assert "base: 'develop' is not known in this checkout" in told
    assert not Path("results").exists()
    found = re.search(r"`(git fetch [^`]+)`", told)
    assert found, told
    subprocess.run(["sh", "-c", found[1]], check=True, capture_output=True)
    baseline = compared("--base", "develop")
    assert (baseline["status"], baseline.get("commit")) == ("present", server.parted)


def test_a_change_does_not_choose_its_base_by_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(tmp_path / "server", 4)
    job = gitlab(server, tmp_path / "job")
    folder = tmp_path / "job"
    (folder / "turncheck.yml").write_text("base: HEAD~1\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "weaker")
    enter(job, folder, monkeypatch)

    baseline = compared()

    assert baseline["commit"] == server.parted
    assert "`base: HEAD~1` of turncheck.yml is ignored: this change may have set it" in str(baseline["warnings"])

    for name in [*job.variables]:
        monkeypatch.delenv(name)
    baseline = compared()
    assert baseline["commit"] == git(folder, "rev-parse", "HEAD~1"), "on a laptop it is the project's own affair"


def test_what_the_file_of_the_base_names_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(tmp_path / "server", 1)
    git(server.folder, "branch", "develop", server.parted)
    git(server.folder, "checkout", "-q", "-b", "next")
    (server.folder / "turncheck.yml").write_text("base: develop\n")
    git(server.folder, "add", "-A")
    git(server.folder, "commit", "-q", "-m", "base")
    git(server.folder, "branch", "-f", "main")
    git(server.folder, "commit", "-q", "--allow-empty", "-m", "change")
    folder = tmp_path / "job"
    git(tmp_path, "clone", "-q", "--branch", "next", server.url, "job")
    job = Job({"JENKINS_URL": "https://ci.example/", "CHANGE_ID": "7", "CHANGE_TARGET": "main"}, server.parted)
    enter(job, folder, monkeypatch)

    baseline = compared()

    assert baseline["commit"] == server.parted
    assert not baseline["warnings"]


def test_a_base_beside_a_report_that_is_named_is_a_contradiction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = serve(tmp_path / "server", 1)
    enter(Job({}, ""), server.folder, monkeypatch)

    assert run_command_line(["run", "--base", "main", "--baseline", "report.json"]) == 2
    assert "Give one of the two." in capsys.readouterr().err
