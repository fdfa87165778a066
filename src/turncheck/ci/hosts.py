"""The CI hosts that turncheck knows, a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.ci.azure.host import Azure
from turncheck.ci.bitbucket.host import Bitbucket
from turncheck.ci.builders import Buildkite, CircleCI, Jenkins, TeamCity
from turncheck.ci.github.host import GitHub
from turncheck.ci.github.runner import Runner
from turncheck.ci.gitlab.host import GitLab
from turncheck.ci.host import Host

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turncheck.process.secret import Secret

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

NOWHERE: Final = "This is not a job of a CI host"


def find_host(environment: Mapping[str, str], token: Secret | None = None) -> Host:
    """Return the host that this process runs on; a bare :class:`Host` where it runs on none.

    Raises:
        UserError: a variable of the host's holds what it should not, and nothing can be asked without it.
    """
    return next((host for detect in HOSTS if (host := detect(environment, token)) is not None), Host())
