"""A CI host as described by the variables of its jobs: which commit this is and what it is to be merged into.

Git is asked for the rest; such a host gets files and the exit status, which every host reads.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from turncheck.ci.host import NO_RUN, Host, RunStamp
from turncheck.messages.errors import UserError
from turncheck.process.environment import secret_of, whole_number
from turncheck.web.addresses import is_http, without_login

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from turncheck.ci.host import Run, Target
    from turncheck.process.environment import Secret

_NO_COMMIT: Final = "0" * 40
_OF_BRANCHES: Final = re.compile(r"refs/(?:heads|remotes/[^/]+)/")


@dataclass(frozen=True, slots=True)
class Variables:
    """The variables of a job, read by type; one that is not set is empty."""

    given: Mapping[str, str] = field(repr=False)

    def text(self, *names: str) -> str:
        """The first of these that is set."""
        return next((text for name in names if (text := self.given.get(name, "").strip())), "")

    def branch(self, *names: str) -> str:
        """The short name of a branch: ``refs/heads/main`` is ``main``, but ``origin/main`` may be one's own name."""
        text = self.text(*names)
        prefix = _OF_BRANCHES.match(text)
        return text[prefix.end() :] if prefix else text

    def commit(self, *names: str) -> str | None:
        """A commit; ``None`` for all zeros."""
        text = self.text(*names).lower()
        return text if text and text != _NO_COMMIT else None

    def number(self, *names: str) -> int | None:
        """A whole number."""
        return whole_number(self.text(*names))

    def address(self, *names: str) -> str | None:
        """An address that can be shown: without a login, without a slash at the end."""
        text = self.text(*names)
        return without_login(text).rstrip("/") if is_http(text) else None

    def folder(self, *names: str) -> Path | None:
        """A folder."""
        text = self.text(*names)
        return Path(text) if text else None

    def stamp(self, run: str, attempt: str = "") -> RunStamp:
        """Which run this is, by the names of two numbers."""
        number = self.number(run)
        return NO_RUN if number is None else RunStamp(number, self.number(attempt) or 1)


def server_address(environment: Mapping[str, str], name: str, usual: str) -> str:
    """Return the address of a server that a variable names, without a slash at the end; the usual one if it is not set.

    Raises:
        UserError: it is not an address. The usual server must not get what is for another one.
    """
    url = environment.get(name, "").strip() or usual
    if url and not is_http(url):
        hint = f"Usually it is {usual}." if usual else "Write it as https://host/path."
        raise UserError(f"{name} is not an address: {without_login(url)[:200]!r}", hint=hint)
    return url.rstrip("/")


@dataclass(eq=False)
class JobHost(Host):
    """A CI host, asked from within one of its jobs."""

    variables: Variables
    token: Secret | None = None
    mark: ClassVar[str]
    """A variable that each of its jobs has."""
    server_variables: ClassVar[tuple[str, ...]] = ()
    """The variables that say which server gets the token."""
    token_variables: ClassVar[tuple[str, ...]] = ()
    """The variables of the token if no flag sets it; the first that is set counts."""
    keeps_files_by: ClassVar[str] = "the means of the pipeline"

    @classmethod
    def detect(cls, environment: Mapping[str, str], token: Secret | None) -> Self | None:
        """Return the host if the variables are those of one of its jobs.

        Raises:
            UserError: a variable for the token holds what cannot be sent, or one for a server is not an address.
        """
        return cls.of(environment, token) if environment.get(cls.mark) else None

    @classmethod
    def of(cls, environment: Mapping[str, str], token: Secret | None) -> Self:
        """Return the host that these variables describe, with the given token or that of a variable.

        Raises:
            UserError: that one holds what cannot be sent, or it is not known to which server.
        """
        for name in cls.server_variables:
            server_address(environment, name, "")
        return cls(Variables(environment), token or secret_of(environment, *cls.token_variables))

    @property
    @abstractmethod
    def run(self) -> Run:
        """The run that this is."""

    def target(self) -> Target | str:
        return f"{self.name} itself has no pull requests"

    def artifacts(self, write: object) -> str:  # noqa: ARG002
        return f"no artifact: keep the output folder by {self.keeps_files_by}"
