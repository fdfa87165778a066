"""Hosts that build changes of others: what their variables tell of the run, the base and the change."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden

from turncheck.ci.builders import Builder
from turncheck.ci.host import Base, HostError, Target
from turncheck.ci.hosts import HOSTS, find_host, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.ci.host import Host

HEAD = "b" * 40
JENKINS = {
    "JENKINS_URL": "https://ci.example/",
    "CHANGE_ID": "7",
    "CHANGE_TARGET": "develop",
    "CHANGE_URL": "https://github.com/acme/bots/pull/7",
    "CHANGE_BRANCH": "feature",
    "BRANCH_NAME": "PR-7",
    "GIT_COMMIT": HEAD,
    "BUILD_NUMBER": "12",
    "BUILD_URL": "https://ci.example/job/bots/12/",
}
CIRCLECI = {
    "CIRCLECI": "true",
    "CIRCLE_SHA1": HEAD,
    "CIRCLE_BRANCH": "feature",
    "CIRCLE_BUILD_NUM": "12",
    "CIRCLE_BUILD_URL": "https://circleci.com/gh/acme/bots/12",
    "CIRCLE_PROJECT_USERNAME": "acme",
    "CIRCLE_PROJECT_REPONAME": "bots",
    "CIRCLE_PULL_REQUEST": "https://github.com/acme/bots/pull/7",
}
BUILDKITE = {
    "BUILDKITE": "true",
    "BUILDKITE_COMMIT": HEAD,
    "BUILDKITE_BRANCH": "feature",
    "BUILDKITE_BUILD_NUMBER": "12",
    "BUILDKITE_BUILD_URL": "https://buildkite.com/acme/bots/builds/12",
    "BUILDKITE_REPO": "git@github.com:acme/bots.git",
    "BUILDKITE_PULL_REQUEST": "7",
    "BUILDKITE_PULL_REQUEST_BASE_BRANCH": "develop",
    "BUILDKITE_PIPELINE_DEFAULT_BRANCH": "main",
}


@pytest.fixture
def teamcity(tmp_path: Path) -> dict[str, str]:
    """Its parameters lie in files, one of which names the other."""
    own, configuration = tmp_path / "build.properties", tmp_path / "configuration.properties"
    own.write_text(
        f"#written by the agent\nteamcity.configuration.properties.file={configuration}\n"
        "teamcity.build.id=12\nteamcity.build.checkoutDir=C\\:\\\\agent\\\\work\n"
    )
    configuration.write_text(
        "teamcity.pullRequest.number=7\nteamcity.pullRequest.target.branch=refs/heads/develop\n"
        "teamcity.pullRequest.source.branch = feature\nvcsroot.url=https\\://github.com/acme/bots\n"
    )
    return {"TEAMCITY_VERSION": "2026.1", "TEAMCITY_BUILD_PROPERTIES_FILE": str(own), "BUILD_VCS_NUMBER": HEAD}


def host_of(variables: Mapping[str, str], **more: str) -> Host:
    return find_host({**variables, **more})


def refuse(what: str, error: object) -> None:
    raise AssertionError((what, error))


@pytest.mark.parametrize("variables", [JENKINS, CIRCLECI, BUILDKITE], ids=["jenkins", "circleci", "buildkite"])
def test_the_change_is_told_where_it_lies(variables: dict[str, str]) -> None:
    host = host_of(variables, GITHUB_TOKEN="ghp-x")
    assert isinstance(host, Builder)
    assert host.code is not None
    assert (name_of(host.code[0]), host.code[1]) == ("github", 7)
    assert host.target() == Target(7, HEAD, "")
    assert host.run.of_a_change
    assert (host.run.commit, host.run.ref, host.run.run_id) == (HEAD, "feature", "12")
    assert host.pages is not None
    assert host.pages.file(HEAD, "data/nlu.yml", 3) == f"https://github.com/acme/bots/blob/{HEAD}/data/nlu.yml#L3"


def test_so_does_teamcity(teamcity: dict[str, str]) -> None:
    host = host_of(teamcity, GITHUB_TOKEN="ghp-x")
    assert host.target() == Target(7, HEAD, "")
    assert host.base(refuse) == Base("develop", head="HEAD")
    assert (host.run.ref, host.run.run_id, str(host.run.workspace)) == ("feature", "12", "C:\\agent\\work")


@pytest.mark.parametrize("variables", [JENKINS, CIRCLECI, BUILDKITE], ids=["jenkins", "circleci", "buildkite"])
def test_without_a_token_it_says_which_to_set(variables: dict[str, str], golden: Golden) -> None:
    told = host_of(variables).target()
    assert isinstance(told, str)
    golden(told)
    assert "GITHUB_TOKEN" in told


def test_the_base_is_as_far_as_they_tell() -> None:
    assert host_of(JENKINS).base(refuse) == Base("develop", head="HEAD")
    assert host_of(BUILDKITE).base(refuse) == Base("develop", head="HEAD")
    assert host_of({**BUILDKITE, "BUILDKITE_PULL_REQUEST": "false"}).base(refuse) == Base("main", head="HEAD")
    assert host_of(CIRCLECI).base(refuse) is None, "git is asked, or --base names it"
    assert host_of({"JENKINS_URL": "https://ci.example/"}).base(refuse) is None


@pytest.mark.parametrize(
    ("remote", "host", "variable"),
    [
        ("git@github.com:acme/bots.git", "github", {}),
        ("https://token@github.com/acme/bots", "github", {}),
        ("ssh://git@github.com:22/acme/bots.git", "github", {}),
        ("git@gitlab.com:acme/team/bots.git", "gitlab", {}),
        ("https://gitlab.example.com/acme/bots.git", "gitlab", {"GITLAB_URL": "https://gitlab.example.com"}),
        ("git@bitbucket.org:acme/bots.git", "bitbucket", {}),
    ],
)
def test_buildkite_builds_from_any_remote(remote: str, host: str, variable: dict[str, str]) -> None:
    found = host_of({**BUILDKITE, **variable}, BUILDKITE_REPO=remote)
    assert isinstance(found, Builder)
    assert found.code is not None
    assert (name_of(found.code[0]), found.code[1]) == (host, 7)


@pytest.mark.parametrize(
    "remote",
    ["https://gitlab.evil.example/acme/bots.git", "git@github.com.evil.example:acme/bots", "/srv/git/bots", ""],
)
def test_a_token_is_for_its_own_server_alone(remote: str, golden: Golden) -> None:
    host = host_of(BUILDKITE, BUILDKITE_REPO=remote, GITHUB_TOKEN="ghp-x", GITLAB_TOKEN="glpat-x")
    assert isinstance(host, Builder)
    assert host.code is None
    golden(host.target())


@pytest.mark.parametrize(
    "url", ["https://github.evil.example/acme/bots/pull/7", "javascript:alert(1)", "https://github.com/x"]
)
def test_an_address_that_is_no_change_of_a_known_server_is_none(url: str) -> None:
    for variables, name in ((JENKINS, "CHANGE_URL"), (CIRCLECI, "CIRCLE_PULL_REQUEST")):
        host = host_of({**variables, name: url}, GITHUB_TOKEN="ghp-x")
        assert isinstance(host, Builder)
        assert host.code is None


@pytest.mark.parametrize("mark", ["GITEA_ACTIONS", "FORGEJO_ACTIONS"])
def test_gitea_and_forgejo_are_asked_at_their_own_address(mark: str, tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text(
        '{"repository": {"default_branch": "main"}, "pull_request": {"number": 7, "base": {"ref": "develop"}, '
        f'"head": {{"sha": "{HEAD}", "ref": "feature", "repo": {{"full_name": "acme/bots"}}}}}}}}'
    )
    host = find_host(
        {
            mark: "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": "acme/bots",
            "GITHUB_SERVER_URL": "https://code.example",
            "GITHUB_API_URL": "https://code.example/api/v1",
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_SHA": HEAD,
            "GITHUB_REF": "refs/pull/7/head",
            "GITHUB_RUN_ID": "12",
        }
    )
    assert host.base(refuse) == Base("develop", head=HEAD)
    assert host.run.of_a_change
    assert host.pages is not None
    assert host.pages.run("12").startswith("https://code.example/acme/bots/actions/runs/")


GHPRB = {
    "JENKINS_HOME": "/var/jenkins_home",
    "BUILD_NUMBER": "12",
    "ghprbPullId": "7",
    "ghprbTargetBranch": "develop",
    "ghprbSourceBranch": "feature",
    "ghprbActualCommit": HEAD,
    "ghprbPullLink": "https://github.com/acme/bots/pull/7",
    "GIT_COMMIT": "c" * 40,
}
GITLAB_PLUGIN = {
    "JENKINS_URL": "https://ci.example/",
    "gitlabMergeRequestIid": "7",
    "gitlabTargetBranch": "develop",
    "gitlabSourceBranch": "feature",
    "gitlabTargetRepoHttpUrl": "https://gitlab.com/acme/bots.git",
    "GIT_COMMIT": HEAD,
}


@pytest.mark.parametrize(
    ("variables", "where"), [(GHPRB, "github"), (GITLAB_PLUGIN, "gitlab")], ids=["ghprb", "gitlab"]
)
def test_the_plugins_of_jenkins_name_their_changes(variables: dict[str, str], where: str) -> None:
    host = host_of(variables, GITHUB_TOKEN="ghp-x", GITLAB_TOKEN="glpat-x")

    assert host.name == "Jenkins"
    assert host.base(refuse) == Base("develop", head="HEAD")
    assert (host.run.commit, host.run.ref, host.run.of_a_change) == (HEAD, "feature", True)
    assert isinstance(host, Builder)
    assert host.code is not None
    assert name_of(host.code[0]) == where
    target = host.target()
    assert isinstance(target, Target)
    assert target.number == 7


def test_a_push_that_the_plugin_of_gitlab_builds_has_no_target() -> None:
    host = host_of({"JENKINS_URL": "https://ci.example/", "gitlabTargetBranch": "main", "gitlabBranch": "main"})

    assert host.base(refuse) is None
    assert not host.run.of_a_change


def test_circleci_has_the_target_of_its_change_asked_for(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    host = host_of(CIRCLECI, GITHUB_TOKEN="ghp-x")
    assert isinstance(host, Builder)
    assert host.code is not None
    code, _ = host.code
    monkeypatch.setattr(code, "target_of_number", lambda number: Target(number, HEAD, "develop"), raising=False)
    assert host.base(refuse) == Base("develop", head="HEAD")

    def fail(_: int) -> Target:
        raise HostError("GitHub answers 403")

    monkeypatch.setattr(code, "target_of_number", fail, raising=False)
    warned: list[str] = []
    assert host.base(lambda what, error: warned.append(f"{what}: {error.message}")) is None
    golden(*warned)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
def test_the_parameters_of_teamcity_are_read_as_they_are_written(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "build.properties"
    name = "f\\u00fcr" if encoding == "ascii" else "f\u00fcr"
    file.write_bytes(f"teamcity.pullRequest.number=7\nteamcity.pullRequest.target.branch={name}\n".encode(encoding))

    host = host_of({"TEAMCITY_VERSION": "2026.1", "TEAMCITY_BUILD_PROPERTIES_FILE": str(file)})

    assert host.base(refuse) == Base("f\u00fcr", head="HEAD")


@pytest.mark.slow
def test_only_the_host_that_a_job_is_one_of_is_imported() -> None:
    """Each looks at variables that no other has; what it costs to load is for its own jobs alone."""
    look = "import os, sys; from turncheck.ci.hosts import find_host; print(type(find_host(os.environ)).__name__); "
    loaded = "print(*sorted({name.split('.')[2] for name in sys.modules if name.startswith('turncheck.ci.')}))"
    for variables, expected in (
        ({}, ["Host", "host hosts"]),
        ({"BUILDKITE": "true"}, ["Buildkite", "builders host hosts"]),
        ({"GITHUB_STEP_SUMMARY": "summary.md"}, ["Runner", "github host hosts"]),
    ):
        seen = subprocess.run([sys.executable, "-c", look + loaded], env=variables, check=True, capture_output=True)
        assert seen.stdout.decode().splitlines() == expected


def test_a_host_is_looked_for_by_each_variable_that_it_knows_itself_by() -> None:
    for row in HOSTS.values():
        assert getattr(row.load(), "mark", row.marks[0]) in row.marks
