"""The base of a change cannot be chosen by the change: hosts × checkouts × tricks, with real git repositories.

Each row is a job of a host with a checkout such as it makes, in which a trick was tried. Its base is the commit that an
honest job finds, or it is out of reach, which fails the gates: never another commit, and never "there is none". The
outcome and the reason of each are in `bases.md`; `accept_bases.py` writes it anew.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest
from golden_texts import Golden

from turncheck.ci.base import BaseSearch
from turncheck.ci.git import find_checkout
from turncheck.ci.host import Base
from turncheck.ci.hosts import find_host
from turncheck.comparison.model import Missing, Unreachable
from turncheck.settings.options import Settings


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *identity, "-c", "protocol.file.allow=always", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@dataclass(frozen=True)
class Server:
    """A repository: ``feature`` left ``main`` at ``parted``, ``tip`` is where ``main`` is now."""

    folder: Path
    parted: str
    tip: str
    head: str
    merge: str

    @property
    def url(self) -> str:
        return f"file://{self.folder}"


def build(folder: Path) -> Server:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "config", "uploadpack.allowFilter", "true")
    for number in range(3):
        (folder / "file").write_text(f"{number}")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"before {number}")
    parted = git(folder, "rev-parse", "HEAD")
    git(folder, "checkout", "-q", "-b", "feature")
    for number in range(2):
        git(folder, "commit", "-q", "--allow-empty", "-m", f"change {number}")
    head = git(folder, "rev-parse", "HEAD")
    git(folder, "checkout", "-q", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "meanwhile")
    tip = git(folder, "rev-parse", "HEAD")
    git(folder, "checkout", "-q", "--detach")
    git(folder, "merge", "-q", "--no-ff", "-m", "test merge", "feature")
    merge = git(folder, "rev-parse", "HEAD")
    git(folder, "update-ref", "refs/pull/7/merge", merge)
    git(folder, "checkout", "-q", "main")
    return Server(folder, parted, tip, head, merge)


@pytest.fixture(scope="module")
def built() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp())
    yield build(folder / "acme" / "bots")
    shutil.rmtree(folder)


# --- hosts: the variables of a job that judges ``feature``; the base is ``parted``, of a test merge ``tip`` -----------

Variables = Callable[[Server, Path], dict[str, str]]


def github(server: Server, job: Path) -> dict[str, str]:
    event = job.parent / "event.json"
    sides = {
        "head": {"sha": server.head, "ref": "feature", "repo": {"full_name": "acme/bots"}},
        "base": {"ref": "main", "sha": server.tip},
    }
    event.write_text(json.dumps({"pull_request": {"number": 7, **sides}, "repository": {"default_branch": "main"}}))
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_REPOSITORY": "acme/bots",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_SHA": server.merge,
        "GITHUB_REF": "refs/pull/7/merge",
    }


def github_fork(server: Server, job: Path) -> dict[str, str]:
    variables = github(server, job)
    event = json.loads(Path(variables["GITHUB_EVENT_PATH"]).read_text())
    event["pull_request"]["head"] = {"sha": server.head, "ref": "main", "repo": {"full_name": "mallory/bots"}}
    Path(variables["GITHUB_EVENT_PATH"]).write_text(json.dumps(event))
    return variables


def gitlab(server: Server, job: Path) -> dict[str, str]:
    return {
        "GITLAB_CI": "true",
        "CI_COMMIT_SHA": server.head,
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": server.parted,
        "CI_DEFAULT_BRANCH": "main",
        "CI_PROJECT_PATH": "acme/bots",
    }


def gitlab_without_commit(server: Server, job: Path) -> dict[str, str]:
    return {**gitlab(server, job), "CI_MERGE_REQUEST_DIFF_BASE_SHA": ""}


def gitlab_branch(server: Server, job: Path) -> dict[str, str]:
    return {
        "GITLAB_CI": "true",
        "CI_COMMIT_SHA": server.head,
        "CI_COMMIT_BRANCH": "feature",
        "CI_DEFAULT_BRANCH": "main",
        "CI_PROJECT_PATH": "acme/bots",
    }


def gitlab_fork(server: Server, job: Path) -> dict[str, str]:
    return {
        **gitlab_branch(server, job),
        "CI_COMMIT_BRANCH": "main",
        "CI_COMMIT_BEFORE_SHA": git(server.folder, "rev-parse", f"{server.head}~1"),
        "CI_PROJECT_PATH": "mallory/bots",
        "CI_OPEN_MERGE_REQUESTS": "acme/bots!7",
    }


def azure(server: Server, job: Path) -> dict[str, str]:
    return {
        "TF_BUILD": "True",
        "BUILD_SOURCEVERSION": server.merge,
        "BUILD_SOURCEBRANCH": "refs/pull/7/merge",
        "SYSTEM_PULLREQUEST_TARGETBRANCH": "refs/heads/main",
        "SYSTEM_PULLREQUEST_SOURCECOMMITID": server.head,
    }


def azure_branch(server: Server, job: Path) -> dict[str, str]:
    return {"TF_BUILD": "True", "BUILD_SOURCEVERSION": server.head, "BUILD_SOURCEBRANCH": "refs/heads/feature"}


def bitbucket(server: Server, job: Path) -> dict[str, str]:
    return {
        "BITBUCKET_BUILD_NUMBER": "12",
        "BITBUCKET_COMMIT": server.head,
        "BITBUCKET_PR_ID": "7",
        "BITBUCKET_PR_DESTINATION_BRANCH": "main",
        "BITBUCKET_PR_DESTINATION_COMMIT": server.tip[:12],
    }


def jenkins(server: Server, job: Path) -> dict[str, str]:
    return {"JENKINS_URL": "https://ci.example/", "CHANGE_ID": "7", "CHANGE_TARGET": "main", "BRANCH_NAME": "PR-7"}


def buildkite(server: Server, job: Path) -> dict[str, str]:
    return {
        "BUILDKITE": "true",
        "BUILDKITE_PULL_REQUEST": "7",
        "BUILDKITE_PULL_REQUEST_BASE_BRANCH": "main",
        "BUILDKITE_PIPELINE_DEFAULT_BRANCH": "main",
    }


def circleci(server: Server, job: Path) -> dict[str, str]:
    return {"CIRCLECI": "true", "CIRCLE_BRANCH": "feature", "CIRCLE_SHA1": server.head, "CIRCLE_PR_NUMBER": "7"}


def teamcity(server: Server, job: Path) -> dict[str, str]:
    """A build's variables are in files, of which one names the other."""
    own, all_of_them = job.parent / "build.properties", job.parent / "all.properties"
    all_of_them.write_text(
        "teamcity.pullRequest.number=7\n"
        "teamcity.pullRequest.source.branch=feature\n"
        "teamcity.pullRequest.target.branch=refs/heads/main\n"
    )
    own.write_text(f"teamcity.configuration.properties.file={all_of_them}\n")
    return {
        "TEAMCITY_VERSION": "2026.1",
        "TEAMCITY_BUILD_PROPERTIES_FILE": str(own),
        "BUILD_VCS_NUMBER": server.head,
    }


HOSTS: Final[Mapping[str, Variables]] = {
    one.__name__: one
    for one in (
        *(github, github_fork, gitlab, gitlab_without_commit, gitlab_branch, gitlab_fork, azure, azure_branch),
        *(bitbucket, jenkins, buildkite, circleci, teamcity),
    )
}

# --- checkouts -------------------------------------------------------------------------------------------------------


def full(server: Server, job: Path) -> None:
    git(job.parent, "clone", "-q", server.url, job.name)
    git(job, "checkout", "-q", "-f", "--detach", server.head)


def merged(server: Server, job: Path) -> None:
    git(job.parent, "clone", "-q", server.url, job.name)
    git(job, "fetch", "-q", "origin", "refs/pull/7/merge")
    git(job, "checkout", "-q", "-f", "--detach", server.merge)


def depth_1(server: Server, job: Path) -> None:
    job.mkdir()
    git(job, "init", "-q", "-b", "unused")
    git(job, "remote", "add", "origin", server.url)
    git(job, "fetch", "-q", "--depth=1", "--tags", "origin", server.head)
    git(job, "checkout", "-q", "-f", "--detach", server.head)


def merged_depth_1(server: Server, job: Path) -> None:
    job.mkdir()
    git(job, "init", "-q", "-b", "unused")
    git(job, "remote", "add", "origin", server.url)
    git(job, "fetch", "-q", "--depth=1", "--tags", "origin", server.merge)
    git(job, "checkout", "-q", "-f", "--detach", server.merge)


def single_branch(server: Server, job: Path) -> None:
    git(job.parent, "clone", "-q", "--single-branch", "--branch", "feature", server.url, job.name)
    git(job, "fetch", "-q", "--tags", "origin")


def depth_20(server: Server, job: Path) -> None:
    git(job.parent, "clone", "-q", "--depth", "20", "--branch", "feature", server.url, job.name)
    git(job, "fetch", "-q", "--depth", "20", "--tags", "origin")


def blobless(server: Server, job: Path) -> None:
    git(job.parent, "clone", "-q", "--filter=blob:none", "--branch", "feature", server.url, job.name)


def treeless(server: Server, job: Path) -> None:
    git(job.parent, "clone", "-q", "--filter=tree:0", "--branch", "feature", server.url, job.name)


def worktree(server: Server, job: Path) -> None:
    git(job.parent, "clone", "-q", server.url, "elsewhere")
    git(job.parent / "elsewhere", "worktree", "add", "-q", "--detach", str(job), server.head)


def beside_another_remote(server: Server, job: Path) -> None:
    """The fork is a remote, too, whose ``main`` is the change."""
    full(server, job)
    git(job, "remote", "add", "mallory", "https://example.org/mallory/bots")
    git(job, "update-ref", "refs/remotes/mallory/main", server.head)
    git(job, "symbolic-ref", "refs/remotes/mallory/HEAD", "refs/remotes/mallory/main")


def of_the_fork(server: Server, job: Path) -> None:
    """A full clone of the fork, whose ``main`` is the change."""
    fork = job.parent / "mallory" / "bots"
    git(job.parent, "clone", "-q", "--bare", server.url, str(fork))
    git(fork, "update-ref", "refs/heads/main", server.head)
    git(job.parent, "clone", "-q", f"file://{fork}", job.name)
    git(job, "checkout", "-q", "-f", "--detach", server.head)
    git(job, "remote", "set-url", "origin", "https://example.org/mallory/bots")


def submodule(server: Server, job: Path) -> None:
    """The job's repository has another one inside it, which has a ``main`` of its own."""
    full(server, job)
    inner = job.parent / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    git(inner, "commit", "-q", "--allow-empty", "-m", "of another repository")
    git(job, "submodule", "-q", "add", f"file://{inner}", "inner")


def no_git(server: Server, job: Path) -> None:
    """The files alone, as a tool that needs no git unpacks them."""
    job.mkdir()
    (job / "file").write_text("2")


CHECKOUTS = {
    one.__name__: one
    for one in (
        *(full, merged, depth_1, merged_depth_1, single_branch, depth_20, blobless, treeless, worktree),
        *(beside_another_remote, submodule, of_the_fork, no_git),
    )
}
_WITH_HISTORY = {"full", "blobless", "treeless", "worktree", "beside_another_remote", "submodule"}

# --- tricks: what whoever proposes the change can do to the repository, before it is checked out ----------------------


def nothing(server: Server) -> None:
    """An honest change."""


def tag_like_the_branch(server: Server) -> None:
    git(server.folder, "tag", "main", server.head)


def tag_like_the_remote_branch(server: Server) -> None:
    git(server.folder, "tag", "origin/main", server.head)
    git(server.folder, "update-ref", "refs/tags/refs/remotes/origin/main", server.head)


def branch_like_the_remote_branch(server: Server) -> None:
    for name in ("origin/main", "origin/HEAD", "refs/remotes/origin/main", "refs/heads/main"):
        git(server.folder, "update-ref", f"refs/heads/{name}", server.head)


def names_like_the_commits(server: Server) -> None:
    for commit in (server.tip, server.parted):
        for digits in (7, 8, 12, 40):
            git(server.folder, "update-ref", f"refs/tags/{commit[:digits]}", server.head)
            git(server.folder, "update-ref", f"refs/heads/{commit[:digits]}", server.head)


def branch_called_head(server: Server) -> None:
    git(server.folder, "update-ref", "refs/heads/HEAD", server.head)


def replaced_objects(server: Server) -> None:
    for commit in (server.tip, server.parted):
        git(server.folder, "update-ref", f"refs/replace/{commit}", server.head)


def moved_target(server: Server) -> None:
    """After the job was made, somebody pushed to the target."""
    git(server.folder, "checkout", "-q", "main")
    for number in range(30):
        git(server.folder, "commit", "-q", "--allow-empty", "-m", f"later {number}")


def force_pushed_target(server: Server) -> None:
    """The target does not have the commit any more that the change left it at."""
    git(server.folder, "checkout", "-q", "-B", "main", f"{server.parted}~1")
    git(server.folder, "commit", "-q", "--allow-empty", "-m", "another history")


TRICKS = {
    one.__name__: one
    for one in (
        *(nothing, tag_like_the_branch, tag_like_the_remote_branch, branch_like_the_remote_branch),
        *(names_like_the_commits, branch_called_head, replaced_objects, moved_target, force_pushed_target),
    )
}

ROWS = [
    *(
        (host, checkout, "nothing")
        for host in HOSTS
        for checkout in CHECKOUTS
        if not (host.endswith("_branch") and checkout == "of_the_fork")  # it would be no change
    ),
    *((host, "single_branch", trick) for host in HOSTS for trick in TRICKS if trick != "nothing"),
    *((host, "full", trick) for host in HOSTS for trick in TRICKS if trick != "nothing"),
    *((host, "depth_20", "tag_like_the_branch") for host in HOSTS),
    *((host, "depth_1", "tag_like_the_branch") for host in HOSTS),
    *((host, "merged_depth_1", "tag_like_the_branch") for host in HOSTS),
]


TABLE: Final = Path(__file__).parent / "bases.md"


def copied(built: Server, place: Path) -> Server:
    """Return a copy whose path is that of the repository on its host."""
    folder = place / "acme" / "bots"
    shutil.copytree(built.folder, folder)
    return replace(built, folder=folder)


@pytest.fixture
def server(built: Server, tmp_path: Path) -> Server:
    return copied(built, tmp_path)


def check_out(checkout: str, trick: str, server: Server, job: Path) -> None:
    """Make a checkout of a server on which a trick was tried."""
    TRICKS[trick](server)
    CHECKOUTS[checkout](server, job)
    if trick == "replaced_objects":
        git(job, "fetch", "-q", "origin", "+refs/replace/*:refs/replace/*")


@dataclass(frozen=True)
class CheckOuts:
    """Each checkout is made once for all hosts; each test has it as it was made, where its files say that it is."""

    built: Server
    folder: Path

    def make(self, checkout: str, trick: str) -> tuple[Server, Path]:
        """Return the server and the job's folder."""
        place = self.folder / f"{checkout}-{trick}"
        work, kept = place / "work", place / "kept"
        server, job = replace(self.built, folder=place / "acme" / "bots"), work / "job"
        if kept.exists():
            shutil.rmtree(work)
            shutil.copytree(kept, work, symlinks=True)
        else:
            copied(self.built, place)
            work.mkdir()
            check_out(checkout, trick, server, job)
            shutil.copytree(work, kept, symlinks=True)
        return server, job


@pytest.fixture(scope="module")
def checkouts(built: Server, tmp_path_factory: pytest.TempPathFactory) -> CheckOuts:
    return CheckOuts(built, tmp_path_factory.mktemp("checkouts"))


def described(row: tuple[str, str, str], base: Base | Missing, server: Server) -> str:
    """Return the line of the table: the outcome of a row and its reason."""
    if isinstance(base, Missing):
        outcome, reason = ("out of reach" if isinstance(base, Unreachable) else "none"), base.reason
    else:
        before = git(server.folder, "rev-parse", f"{server.parted}~1")
        places = {server.parted: "where it left `main`", server.tip: "what it is merged into", before: "one before"}
        outcome = places.get(base.commit or "", "another commit")
        reason = f"`{base.branch}`, of a change" if base.of_a_change else f"`{base.branch}`"
    reason = re.sub(r"\b[0-9a-f]{8,40}\b", "COMMIT", reason.replace(server.url, "URL"))
    return f"| {' | '.join(row)} | {outcome} | {reason} |"


def found(host: str, job: Path, variables: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Base | Missing:
    monkeypatch.chdir(job)
    search = BaseSearch(Settings(), find_checkout(job), find_host(variables, None), lambda _what, _error: None)
    return search.find()


@pytest.mark.parametrize("row", ROWS, ids="-".join)
def test_the_base_is_the_one_that_the_host_names(
    row: tuple[str, str, str], checkouts: CheckOuts, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, checkout, trick = row
    server, job = checkouts.make(checkout, trick)

    base = found(host, job, HOSTS[host](server, job), monkeypatch)

    assert described(row, base, server) in TABLE.read_text().splitlines()
    if isinstance(base, Missing):
        assert isinstance(base, Unreachable), base.reason
        has_history = checkout in _WITH_HISTORY or (checkout, host) in {("merged", "azure"), ("merged", "github")}
        assert not (trick == "nothing" and has_history and host != "gitlab_fork"), base.reason
    elif trick == "force_pushed_target":
        assert base.commit in {server.parted, git(server.folder, "rev-parse", f"{server.parted}~1")}
    else:
        assert base.commit in {server.parted, server.tip}
        by_merge = checkout.startswith("merged")
        assert by_merge or base.commit == server.parted


def test_there_are_enough_rows() -> None:
    assert len(set(ROWS)) == len(ROWS) >= 120


NAMED = [
    (named, trick, checkout)
    for named in ("main", "origin/main")
    for trick in TRICKS
    for checkout in ("full", "single_branch", "depth_1")
]


@pytest.mark.parametrize("row", NAMED, ids="-".join)
def test_a_base_that_the_workflow_names_is_that_branch(
    row: tuple[str, str, str], checkouts: CheckOuts, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, trick, checkout = row
    server, job = checkouts.make(checkout, trick)
    monkeypatch.chdir(job)
    host = find_host(circleci(server, job), None)

    base = BaseSearch(Settings(), find_checkout(job), host, lambda _what, _error: None).find_named(named)

    if checkout == "full":
        assert isinstance(base, Base)
        assert base.commit == git(server.folder, "--no-replace-objects", "merge-base", "refs/heads/main", server.head)
    else:
        assert isinstance(base, Unreachable)


@pytest.mark.parametrize("token", ["", "glpat-of-the-fork"])
@pytest.mark.parametrize("opened", ["mallory/bots!3,acme/bots!7", "acme/bots!7,mallory/bots!3"])
def test_a_fork_cannot_name_its_target_by_a_merge_request_of_its_own(
    opened: str, token: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, golden: Golden
) -> None:
    job = tmp_path / "job"
    full(server, job)
    variables = gitlab_fork(server, job) | {"CI_COMMIT_BRANCH": "feature", "CI_OPEN_MERGE_REQUESTS": opened}
    variables |= {"GITLAB_TOKEN": token, "CI_API_V4_URL": "http://127.0.0.1:9/api/v4"}

    base = found("gitlab_fork", job, variables, monkeypatch)

    assert isinstance(base, Unreachable)
    golden(base.reason)


# --- a fork's own branch of the same name, a merge that nobody but its author made, direct pushes --------------------


def test_a_forks_branch_of_the_same_name_is_not_the_target(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head's repository is checked out, whose ``main`` is the change."""
    fork = tmp_path / "mallory" / "bots"
    fork.parent.mkdir()
    git(tmp_path, "clone", "-q", "--bare", server.url, str(fork))
    git(fork, "update-ref", "refs/heads/main", server.head)
    job = tmp_path / "job"
    git(tmp_path, "clone", "-q", f"file://{fork}", "job")
    git(job, "fetch", "-q", server.url, "main")

    base = found("github_fork", job, github_fork(server, job), monkeypatch)

    assert isinstance(base, Base)
    assert base.commit == server.parted
    git(job, "remote", "set-url", "origin", "https://github.com/mallory/bots")
    variables = github_fork(server, job)
    event = json.loads(Path(variables["GITHUB_EVENT_PATH"]).read_text())
    event["pull_request"]["base"]["sha"] = "1" * 40
    Path(variables["GITHUB_EVENT_PATH"]).write_text(json.dumps(event))
    assert isinstance(found("github_fork", job, variables, monkeypatch), Unreachable)


def test_a_merge_that_looks_like_the_hosts_has_no_say(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pushed after the event: its second parent is the head that is judged, its first whatever suits."""
    job = tmp_path / "job"
    full(server, job)
    tree = git(job, "rev-parse", f"{server.head}^{{tree}}")
    decoy = git(job, "commit-tree", tree, "-m", "decoy")
    merge = git(job, "commit-tree", tree, "-p", decoy, "-p", server.head, "-m", "merge")
    git(job, "checkout", "-q", "--detach", merge)

    for host in ("github", "azure"):
        base = found(host, job, HOSTS[host](server, job), monkeypatch)
        assert isinstance(base, Unreachable) or (isinstance(base, Base) and base.commit in {server.parted, server.tip})


def test_a_branch_without_a_change_of_its_own_is_compared_with_what_came_before(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    """Only on a laptop is there nothing to compare the newest commit of the default branch with."""
    job = tmp_path / "job"
    git(tmp_path, "clone", "-q", server.url, "job")
    git(job, "checkout", "-q", "-b", "new")
    variables = gitlab_branch(server, job) | {"CI_COMMIT_BRANCH": "new", "CI_COMMIT_SHA": server.tip}

    base = found("", job, variables, monkeypatch)

    assert isinstance(base, Base)
    assert base.commit == server.parted
    itself = found("", job, {}, monkeypatch)
    assert isinstance(itself, Missing)
    golden(itself.reason)


def github_on_main(server: Server, job: Path, event_name: str) -> dict[str, str]:
    event = job.parent / "event.json"
    event.write_text(json.dumps({"repository": {"default_branch": "main"}}))
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_REPOSITORY": "acme/bots",
        "GITHUB_EVENT_NAME": event_name,
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_SHA": server.tip,
        "GITHUB_REF": "refs/heads/main",
    }


def gitlab_on_main(server: Server, job: Path, source: str) -> dict[str, str]:
    return {
        "GITLAB_CI": "true",
        "CI_PIPELINE_SOURCE": source,
        "CI_COMMIT_SHA": server.tip,
        "CI_COMMIT_BRANCH": "main",
        "CI_COMMIT_BEFORE_SHA": "0" * 40,
        "CI_DEFAULT_BRANCH": "main",
        "CI_PROJECT_PATH": "acme/bots",
    }


ON_MAIN = [
    *((github_on_main, one) for one in ("schedule", "workflow_dispatch", "workflow_run", "issue_comment", "push")),
    *((gitlab_on_main, one) for one in ("web", "schedule", "trigger")),
]


@pytest.mark.parametrize(("host", "started_by"), ON_MAIN)
def test_a_run_on_the_default_branch_that_checks_a_change_out_judges_that(
    host: Callable[[Server, Path, str], dict[str, str]],
    started_by: str,
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = tmp_path / "job"
    full(server, job)
    variables = host(server, job, started_by)

    base = found("", job, variables, monkeypatch)

    assert isinstance(base, Base)
    assert (base.commit, base.of_a_change) == (server.parted, True)
    git(job, "checkout", "-q", "--detach", server.tip)
    git(job, "commit", "-q", "--allow-empty", "-m", "generated")
    base = found("", job, variables, monkeypatch)
    assert isinstance(base, Base)
    if host is gitlab_on_main or started_by == "push":
        assert base.commit == server.parted


@pytest.mark.parametrize(
    "variables",
    [
        {"TF_BUILD": "True", "BUILD_SOURCEBRANCH": "refs/heads/main"},
        {"BITBUCKET_BUILD_NUMBER": "12", "BITBUCKET_BRANCH": "main"},
        {
            "GITLAB_CI": "true",
            "CI_COMMIT_BRANCH": "main",
            "CI_DEFAULT_BRANCH": "main",
            "CI_COMMIT_BEFORE_SHA": "0" * 40,
        },
        {"JENKINS_URL": "https://ci.example/", "BRANCH_NAME": "main"},
        {"CIRCLECI": "true", "CIRCLE_BRANCH": "main"},
        {"BUILDKITE": "true", "BUILDKITE_BRANCH": "main", "BUILDKITE_PIPELINE_DEFAULT_BRANCH": "main"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_a_push_to_the_default_branch_is_compared_with_what_came_before(
    variables: dict[str, str], server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    job = tmp_path / "job"
    git(tmp_path, "clone", "-q", server.url, "job")

    base = found("", job, {**variables, "CI_COMMIT_SHA": server.tip}, monkeypatch)

    assert isinstance(base, Base)
    assert base.commit == server.parted
    git(job, "checkout", "-q", "--orphan", "new")
    git(job, "commit", "-q", "--allow-empty", "-m", "first")
    first = git(job, "rev-parse", "HEAD")
    git(job, "update-ref", "refs/remotes/origin/main", first)
    base = found("", job, {**variables, "CI_COMMIT_SHA": first}, monkeypatch)
    assert isinstance(base, Missing)
    golden(base.reason)
