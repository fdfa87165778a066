"""The CI hosts that turncheck knows, one per line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from turncheck.registry import Registry
from turncheck.web.addresses import is_same_server

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.ci.builders import Builder
    from turncheck.ci.host import Host
    from turncheck.process.environment import Secret


@dataclass(frozen=True, slots=True)
class RegisteredHost:
    """A registered host: the class ``of`` in ``module``, imported only if one of ``marks`` is among the variables.

    The class has ``detect``, which looks at the variables of a process, and returns the host if they are those of one
    of its jobs. ``builds``: it builds the changes of other hosts, a :class:`~turncheck.ci.builders.Builder`.
    """

    module: str
    of: str
    marks: tuple[str, ...]
    builds: bool = False

    def detect(self, environment: Mapping[str, str], token: Secret | None) -> Host | None:
        """Return the host if this process is one of its jobs."""
        if not any(environment.get(mark) for mark in self.marks):
            return None
        host = cast("Host | None", self.load().detect(environment, token))
        if self.builds and host is not None:
            builder = cast("Builder", host)
            builder.code = _code_of(builder.change_url, environment, token)
        return host

    def load(self) -> Any:
        """Return the class."""
        return getattr(import_module(self.module), self.of)


@dataclass(frozen=True, slots=True)
class CodeHost(RegisteredHost):
    """A host that has repositories and pull requests and can be asked from anywhere: its class also has
    ``of_repository``.

    ``repository``: how it names one. ``variable``: one that names the repository of a process, wherever that runs.
    ``changes``: a pattern of the addresses of changes, on the ``server``: a variable that names it, and the usual one.
    """

    repository: str = ""
    variable: str = ""
    changes: str = ""
    server: tuple[str, str] = ("", "")

    def of_repository(self, repository: str, token: Secret | None, environment: Mapping[str, str]) -> Host:
        """Return the host about this repository."""
        return cast("Host", self.load().of_repository(repository, token, environment))


OF_CODE: Final[Mapping[str, CodeHost]] = {
    "github": CodeHost(
        "turncheck.ci.github.host",
        "GitHub",
        ("GITHUB_REPOSITORY",),
        repository="OWNER/NAME",
        variable="GITHUB_REPOSITORY",
        changes=r"https?://[^/]+/(?P<repository>[^/]+/[^/]+)/pull/(?P<number>\d{1,9})",
        server=("GITHUB_SERVER_URL", "https://github.com"),
    ),
    "gitlab": CodeHost(
        "turncheck.ci.gitlab.host",
        "GitLab",
        ("GITLAB_CI",),
        repository="GROUP/PROJECT",
        changes=r"https?://[^/]+/(?P<repository>.+)/-/merge_requests/(?P<number>\d{1,9})",
        server=("GITLAB_URL", "https://gitlab.com"),
    ),
    "azure": CodeHost("turncheck.ci.azure.host", "Azure", ("TF_BUILD",), repository="ORGANIZATION/PROJECT/REPOSITORY"),
    "bitbucket": CodeHost(
        "turncheck.ci.bitbucket.host",
        "Bitbucket",
        ("BITBUCKET_BUILD_NUMBER",),
        repository="WORKSPACE/REPOSITORY",
        changes=r"https?://bitbucket\.org/(?P<repository>[^/]+/[^/]+)/pull-requests/(?P<number>\d{1,9})",
        server=("BITBUCKET_URL", "https://bitbucket.org"),
    ),
}
"""The hosts with repositories, by their common names; the first is the default."""

HOSTS: Final = Registry(
    "turncheck.hosts",
    {
        "gitlab": OF_CODE["gitlab"],
        "azure": OF_CODE["azure"],
        "bitbucket": OF_CODE["bitbucket"],
        "buildkite": RegisteredHost("turncheck.ci.builders", "Buildkite", ("BUILDKITE",), builds=True),
        "circleci": RegisteredHost("turncheck.ci.builders", "CircleCI", ("CIRCLECI",), builds=True),
        "teamcity": RegisteredHost("turncheck.ci.builders", "TeamCity", ("TEAMCITY_VERSION",), builds=True),
        "jenkins": RegisteredHost("turncheck.ci.builders", "Jenkins", ("JENKINS_URL", "JENKINS_HOME"), builds=True),
        "github": OF_CODE["github"],
        "runner": RegisteredHost(
            "turncheck.ci.github.runner", "Runner", ("GITHUB_ACTIONS", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
        ),
    },
    RegisteredHost,
)
"""In the order in which they are asked; those of plugins, which somebody asked for by name, come first.

GitHub comes last: jobs of the others may have ``GITHUB_REPOSITORY`` as well, for what they publish there."""

NOWHERE: Final = "This is not a job of a CI host"


def name_of(host: Host) -> str | None:
    """Return the name of a host of :data:`OF_CODE`, ``None`` for any other."""
    classes = {(one.__module__, one.__name__) for one in type(host).__mro__}
    return next((name for name, row in OF_CODE.items() if (row.module, row.of) in classes), None)


def find_host(environment: Mapping[str, str], token: Secret | None = None) -> Host:
    """Return the host that this process runs on; a bare :class:`Host` if it runs on none.

    Raises:
        UserError: a variable of the host's holds what it should not, and nothing can be asked without it.
    """
    from turncheck.ci.host import Host  # the help of `report publish` names the hosts, and comes at once

    rows = (*HOSTS.added().values(), *HOSTS.built_in.values())
    return next((host for row in rows if (host := row.detect(environment, token)) is not None), Host())


def _code_of(change_url: str, environment: Mapping[str, str], token: Secret | None) -> tuple[Host, int] | None:
    """Return the host of a change that is built elsewhere, and its number; ``None`` if unknown."""
    for row in OF_CODE.values():
        variable, server = row.server
        here = is_same_server(change_url, environment.get(variable) or server)
        # A token is for its own server alone.
        if row.changes and here and (match := re.fullmatch(row.changes, change_url.rstrip("/"))):
            return row.of_repository(match["repository"], token, environment), int(match["number"])
    return None
