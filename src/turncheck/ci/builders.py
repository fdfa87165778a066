"""CI hosts that build what is elsewhere: Jenkins, Buildkite, CircleCI, TeamCity.

Sources: each host's list of variables: Jenkins' ``/env-vars.html`` (of the plugins Branch API, Git and SCM API),
"Environment variables" of Buildkite, "Project values and variables" of CircleCI, "Predefined build parameters" and
"Pull requests" of TeamCity.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from turncheck.ci.host import Base, CloneAddress, Comment, CommitFiles, Host, HostError, JobHost, Run, Target
from turncheck.process.regular_file import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from turncheck.process.environment import Secret
    from turncheck.render.links import Pages

_REMOTE: Final = re.compile(
    r"(?:(?:https?|git)://(?:[^@/]*@)?|ssh://(?:[^@/]*@)?|(?:[^@/]+@))(?P<host>[\w.-]+)(?::\d+(?=/))?[:/](?P<path>[^:]+?)(?:\.git)?/?"
)
"""What git fetches from, in its three ways of writing."""
_WAYS_TO_CHANGES: Final = (("gitlab", "-/merge_requests"), ("bitbucket", "pull-requests"), ("", "pull"))
_PAGES_OF_CHANGES: Final = (
    re.compile(r"(https?://[^/]+/.+)/-/merge_requests/\d+/?"),
    re.compile(r"(https?://[^/]+/[^/]+/[^/]+)/(?:pull|pulls|pull-requests)/\d+/?"),
    re.compile(r"(https?://[^/]+)/projects/([^/]+)/repos/([^/]+)/pull-requests/\d+(?:/.*)?"),
)
"""Pages of changes on hosts of any address; of Bitbucket Data Center, the parts of a repository's own address."""
_MOST_PROPERTIES: Final = 4 * 1024 * 1024


class Builder(JobHost):
    """A host that builds changes of another one, which gets the results if address and token are known."""

    code: tuple[Host, int] | None = None
    """The host of the change, and its number there."""

    @property
    def change_url(self) -> str:
        """The page of the change that is built; "" where that is not known."""
        return ""

    @property
    def pages(self) -> Pages | None:
        return self.code[0].pages if self.code else None

    @property
    def comment_limit(self) -> int:  # type: ignore[override]
        return self.code[0].comment_limit if self.code else super().comment_limit

    def merge_base(self, branch: str, head: str) -> str | None:
        return self.code[0].merge_base(branch, head) if self.code else None

    def clone_address(self) -> CloneAddress | None:
        if self.code is not None:
            return self.code[0].clone_address()
        found = next((match for way in _PAGES_OF_CHANGES if (match := way.fullmatch(self.change_url))), None)
        if found is None:
            return None
        server, *names = found.groups()
        return CloneAddress("/".join((server, "scm", *names)) if names else server)

    def files_of(self, commit: str) -> AbstractContextManager[CommitFiles] | None:
        return self.code[0].files_of(commit) if self.code else None

    def target(self) -> Target | str:
        if self.code is None:
            return f"{self.name} does not say which pull request this is"
        host, number = self.code
        if host.needs_token:
            return f"there is no token to write it with: {host.needs_token}"
        return Target(number, self.run.commit or "", "")

    def comment(self, target: Target, marker: str, *, passed: bool) -> Comment:
        if self.code is None:
            raise HostError(f"{self.name} does not say which pull request this is")
        return self.code[0].comment(target, marker, passed=passed)


def _page_of_change(remote: str, number: str) -> str:
    """Return the page of a change in the repository that git fetches from; "" where either is not known.

    How a page is addressed depends on the host: GitLab's and Bitbucket's have their names in their own, all others are
    taken to be GitHub's.

    >>> _page_of_change("git@gitlab.example.com:group/bots.git", "7")
    'https://gitlab.example.com/group/bots/-/merge_requests/7'
    """
    match = _REMOTE.fullmatch(remote)
    if match is None or not (number.isascii() and number.isdecimal()):
        return ""
    way = next(way for name, way in _WAYS_TO_CHANGES if name in match["host"])
    return f"https://{match['host']}/{match['path']}/{way}/{number}"


class Jenkins(Builder):
    """Jenkins: a multibranch pipeline names the change (``CHANGE_…``), and so do plugins for GitHub and GitLab.

    The plugins are "GitHub Pull Request Builder" (``ghprb…``) and "GitLab" (``gitlab…``), by their lists of variables.
    """

    name = "Jenkins"
    mark = "JENKINS_URL"
    full_history_hint = 'a checkout without "Shallow clone", with the target branch in its refspec'
    keeps_files_by = "`archiveArtifacts`"
    formats = ("sarif",)

    @classmethod
    def detect(cls, environment: Mapping[str, str], token: Secret | None) -> Self | None:
        """Return the host, which knows its address only where somebody has configured that."""
        inside = environment.get(cls.mark) or (environment.get("JENKINS_HOME") and environment.get("BUILD_NUMBER"))
        return cls.of(environment, token) if inside else None

    @property
    def run(self) -> Run:
        variables = self.variables
        return Run(
            commit=variables.commit("ghprbActualCommit", "GIT_COMMIT"),
            ref=variables.branch("CHANGE_BRANCH", "ghprbSourceBranch", "gitlabSourceBranch", "BRANCH_NAME")
            or variables.branch("GIT_BRANCH").removeprefix("origin/")
            or None,
            run_id=variables.text("BUILD_NUMBER") or None,
            url=variables.address("BUILD_URL"),
            workspace=variables.folder("WORKSPACE"),
            stamp=variables.stamp("BUILD_NUMBER"),
            of_a_change=bool(variables.text("CHANGE_ID", "ghprbPullId", "gitlabMergeRequestIid")),
            of_a_fork=bool(variables.text("CHANGE_FORK"))
            or variables.text("gitlabSourceNamespace") != variables.text("gitlabTargetNamespace"),
        )

    @property
    def change_url(self) -> str:
        variables = self.variables
        number, project = variables.text("gitlabMergeRequestIid"), variables.address("gitlabTargetRepoHttpUrl")
        in_gitlab = f"{project.removesuffix('.git')}/-/merge_requests/{number}" if number and project else ""
        return variables.text("CHANGE_URL", "ghprbPullLink") or in_gitlab

    def base(self, warn: Callable[[str, HostError], None]) -> Base | None:  # noqa: ARG002
        variables = self.variables
        target = variables.branch("CHANGE_TARGET", "ghprbTargetBranch")
        if not target and variables.text("gitlabMergeRequestIid"):  # of a push it is the branch that was pushed to
            target = variables.branch("gitlabTargetBranch")
        return Base(target, head="HEAD") if target else None


class Buildkite(Builder):
    """Buildkite names the branch that a pull request is to be merged into, and the pipeline's default branch."""

    name = "Buildkite"
    mark = "BUILDKITE"
    full_history_hint = "`BUILDKITE_GIT_CLONE_FLAGS` and `BUILDKITE_GIT_FETCH_FLAGS` without `--depth`"
    keeps_files_by = "`artifact_paths`"

    @property
    def run(self) -> Run:
        variables = self.variables
        return Run(
            commit=variables.commit("BUILDKITE_COMMIT"),
            ref=variables.branch("BUILDKITE_BRANCH") or None,
            run_id=variables.text("BUILDKITE_BUILD_NUMBER") or None,
            url=variables.address("BUILDKITE_BUILD_URL"),
            workspace=variables.folder("BUILDKITE_BUILD_CHECKOUT_PATH"),
            stamp=variables.stamp("BUILDKITE_BUILD_NUMBER", "BUILDKITE_RETRY_COUNT"),
            of_a_change=variables.text("BUILDKITE_PULL_REQUEST") not in {"", "false"},
            of_a_fork=self._is_of_a_fork(),
        )

    def _is_of_a_fork(self) -> bool:
        """Whether the repository of the pull request is another one than that of the pipeline."""
        matches = (_REMOTE.fullmatch(self.variables.text(f"BUILDKITE_{one}")) for one in ("PULL_REQUEST_REPO", "REPO"))
        head, own = (match["path"].lower() if match else "" for match in matches)
        return head not in {"", own}

    @property
    def change_url(self) -> str:
        return _page_of_change(self.variables.text("BUILDKITE_REPO"), self.variables.text("BUILDKITE_PULL_REQUEST"))

    def base(self, warn: Callable[[str, HostError], None]) -> Base | None:  # noqa: ARG002
        default = self.variables.branch("BUILDKITE_PIPELINE_DEFAULT_BRANCH")
        target = self.variables.branch("BUILDKITE_PULL_REQUEST_BASE_BRANCH") if self.run.of_a_change else ""
        return Base(target or default, head="HEAD") if target or default else None


class CircleCI(Builder):
    """CircleCI names no target branch: the host of the change is asked for it, else the base is git's default
    branch."""

    name = "CircleCI"
    mark = "CIRCLECI"
    full_history_hint = "a `checkout` step with `method: full`"
    keeps_files_by = "`store_artifacts`"

    @property
    def run(self) -> Run:
        variables = self.variables
        return Run(
            repository="/".join(
                part for part in (variables.text("CIRCLE_PROJECT_USERNAME"), self._repository()) if part
            ),
            commit=variables.commit("CIRCLE_SHA1"),
            ref=variables.branch("CIRCLE_BRANCH") or None,
            run_id=variables.text("CIRCLE_BUILD_NUM") or None,
            url=variables.address("CIRCLE_BUILD_URL"),
            workspace=None,
            stamp=variables.stamp("CIRCLE_BUILD_NUM"),
            of_a_change=bool(variables.text("CIRCLE_PULL_REQUEST", "CIRCLE_PR_NUMBER")),
            of_a_fork=bool(variables.text("CIRCLE_PR_REPONAME", "CIRCLE_PR_USERNAME")),
        )

    @property
    def change_url(self) -> str:
        return self.variables.text("CIRCLE_PULL_REQUEST")

    def base(self, warn: Callable[[str, HostError], None]) -> Base | None:
        if self.code is None or self.code[0].needs_token:
            return None
        host, number = self.code
        try:
            return Base(host.target_of_number(number).base_ref, head="HEAD")
        except HostError as error:
            warn("the target of this pull request, so git's default branch is taken to be it", error)
            return None

    def _repository(self) -> str:
        return self.variables.text("CIRCLE_PROJECT_REPONAME")


class TeamCity(Builder):
    """TeamCity hands its parameters over in files, the pull request's (of the build feature) among them."""

    name = "TeamCity"
    mark = "TEAMCITY_VERSION"
    full_history_hint = "a full checkout on the agent (`teamcity.git.shallowClone=false`)"
    keeps_files_by = "the build's artifact paths"

    @cached_property
    def _parameters(self) -> Mapping[str, str]:
        """The build's properties, and those of its configuration, whose file they name."""
        own = _properties(self.variables.text("TEAMCITY_BUILD_PROPERTIES_FILE"))
        return {**own, **_properties(own.get("teamcity.configuration.properties.file", ""))}

    @property
    def run(self) -> Run:
        variables, known = self.variables, self._parameters
        return Run(
            commit=variables.commit("BUILD_VCS_NUMBER"),
            ref=known.get("teamcity.pullRequest.source.branch") or known.get("teamcity.build.branch") or None,
            run_id=known.get("teamcity.build.id") or variables.text("BUILD_NUMBER") or None,
            workspace=Path(known["teamcity.build.checkoutDir"]) if "teamcity.build.checkoutDir" in known else None,
            of_a_change="teamcity.pullRequest.number" in known,
        )

    @property
    def change_url(self) -> str:
        known = self._parameters
        return _page_of_change(known.get("vcsroot.url", ""), known.get("teamcity.pullRequest.number", ""))

    def base(self, warn: Callable[[str, HostError], None]) -> Base | None:  # noqa: ARG002
        target = self._parameters.get("teamcity.pullRequest.target.branch", "").removeprefix("refs/heads/")
        return Base(target, head="HEAD") if target else None


def _properties(path: str) -> dict[str, str]:
    """Read a file of Java properties, as TeamCity writes them: a line each, a backslash before what is special."""
    try:
        content = read_regular(Path(path), most=_MOST_PROPERTIES)
    except (OSError, ValueError):  # a path with a null byte
        return {}
    try:
        text = content.decode()
    except UnicodeDecodeError:  # what Java itself writes is ASCII
        text = content.decode("latin-1")
    found = {}
    for line in text.splitlines():
        match = re.match(r"\s*(?![#!])((?:[^\\=:\s]|\\.)+)\s*[=:]\s*(.*)", line)
        if match:
            name, value = (re.sub(r"\\(u[0-9a-fA-F]{4}|.)", _unescaped, part) for part in match.groups())
            found[name] = value
    return found


def _unescaped(match: re.Match[str]) -> str:
    kind = match[1]
    return chr(int(kind[1:], 16)) if len(kind) == 5 else {"n": "\n", "t": "\t", "r": "\r"}.get(kind, kind)
