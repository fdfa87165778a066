"""The CI hosts that turncheck knows, one per line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.ci.azure.host import Azure
from turncheck.ci.bitbucket.host import Bitbucket
from turncheck.ci.builders import Builder, Buildkite, CircleCI, Jenkins, TeamCity
from turncheck.ci.github.host import GitHub
from turncheck.ci.github.runner import Runner
from turncheck.ci.gitlab.host import GitLab
from turncheck.ci.host import Host
from turncheck.web.addresses import origin_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turncheck.process.secret import Secret

    CodeHost = Callable[[str, Secret | None, Mapping[str, str]], Host]

HOSTS: Final[tuple[Callable[[Mapping[str, str], Secret | None], Host | None], ...]] = (
    GitLab.detect,
    Azure.detect,
    Bitbucket.detect,
    Buildkite.detect,
    CircleCI.detect,
    TeamCity.detect,
    Jenkins.detect,
    GitHub.detect,
    Runner.detect,
)
"""Each looks at the variables of a process, and returns the host if they are those of one of its jobs.

GitHub comes last: jobs of the others may have ``GITHUB_REPOSITORY`` as well, for what they publish there."""

OF_CODE: Final[Mapping[str, CodeHost]] = {
    "github": GitHub.of_repository,
    "gitlab": GitLab.of_repository,
    "azure": Azure.of_repository,
    "bitbucket": Bitbucket.of_repository,
}
"""Hosts that keep code and have pull requests, asked from anywhere: each takes a repository, a token and variables."""

REPOSITORIES: Final[Mapping[str, str]] = {
    "github": "OWNER/NAME",
    "gitlab": "GROUP/PROJECT",
    "azure": "ORGANIZATION/PROJECT/REPOSITORY",
    "bitbucket": "WORKSPACE/REPOSITORY",
}
"""How each of them names a repository."""
_CLASSES: Final[Mapping[str, type[Host]]] = {"github": GitHub, "gitlab": GitLab, "azure": Azure, "bitbucket": Bitbucket}

_CHANGES: Final = (
    ("gitlab", re.compile(r"https?://[^/]+/(?P<repository>.+)/-/merge_requests/(?P<number>\d{1,9})")),
    ("github", re.compile(r"https?://[^/]+/(?P<repository>[^/]+/[^/]+)/pull/(?P<number>\d{1,9})")),
    ("bitbucket", re.compile(r"https?://bitbucket\.org/(?P<repository>[^/]+/[^/]+)/pull-requests/(?P<number>\d{1,9})")),
)
"""How the pages of changes are addressed."""
_SERVERS: Final[Mapping[str, tuple[str, str]]] = {
    "gitlab": ("GITLAB_URL", "https://gitlab.com"),
    "github": ("GITHUB_SERVER_URL", "https://github.com"),
    "bitbucket": ("BITBUCKET_URL", "https://bitbucket.org"),
}
"""Where each is: a variable that names it, and the usual address."""

NOWHERE: Final = "This is not a job of a CI host"


def name_of(host: Host) -> str | None:
    """Return the name of a host of :data:`OF_CODE`, ``None`` for any other."""
    return next((name for name, kind in _CLASSES.items() if isinstance(host, kind)), None)


def find_host(environment: Mapping[str, str], token: Secret | None = None) -> Host:
    """Return the host that this process runs on; a bare :class:`Host` where it runs on none.

    Raises:
        UserError: a variable of the host's holds what it should not, and nothing can be asked without it.
    """
    host = next((host for detect in HOSTS if (host := detect(environment, token)) is not None), Host())
    if isinstance(host, Builder):
        host.code = _code_of(host.change_url, environment, token)
    return host


def _code_of(change_url: str, environment: Mapping[str, str], token: Secret | None) -> tuple[Host, int] | None:
    """Return the host of a change that is built elsewhere, and its number; ``None`` where that is not known."""
    for name, address in _CHANGES:
        variable, server = _SERVERS[name]
        here = origin_of(change_url) == origin_of(environment.get(variable) or server)
        if here and (match := address.fullmatch(change_url.rstrip("/"))):  # a token is for its own server alone
            return OF_CODE[name](match["repository"], token, environment), int(match["number"])
    return None
