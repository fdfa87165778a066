"""What is asked of a CI host, in plain values: which commit this is, what came before it, where results are published.

A host is a class that overrides :class:`Host`, and a line in :mod:`turncheck.ci.hosts`. No caller refers to one by
name. Most are described by the variables of their jobs (:class:`JobHost`); git is asked for the rest.
"""

from __future__ import annotations

import base64
import re
from abc import abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Final, Protocol, Self

from msgspec import Struct

from turncheck.messages.errors import UserError
from turncheck.messages.plain_text import log_line
from turncheck.process.environment import Secret, secret_of, whole_number
from turncheck.render.markdown import COMMENT_LIMIT
from turncheck.web.addresses import is_http, without_login

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from turncheck.comparison.model import BaselineSource, Missing
    from turncheck.render.annotations import Annotation, Level
    from turncheck.render.links import Pages
    from turncheck.render.rendered import Rendered
    from turncheck.report.model import Report

PLOTS_SUFFIX: Final = "-plots"
PAGE_SUFFIX: Final = ".html"
"""Suffix of the names of artifacts that hold only plots, no report."""


class HostError(UserError):
    """The host could not be asked, or refused: no reason to lose a report or to change a verdict.

    ``forbidden``: the token lacks the permission.
    """

    forbidden = False

    @property
    def why(self) -> str:
        """What happened and what to do, as half a sentence."""
        return f"{self.message}{f' ({self.hint})' if self.hint else ''}"

    @property
    def remedy(self) -> str:
        """The same for a title, where there is room for the one thing to do alone."""
        return self.why


class RunStamp(Struct, frozen=True, order=True):
    """Which run a comment came from; later runs, and later attempts of a run, compare as greater."""

    run_id: int
    attempt: int = 1

    def __str__(self) -> str:
        """The hidden text in a comment."""
        return f"<!-- turncheck:run {self.run_id}.{self.attempt} -->"


NO_RUN: Final = RunStamp(0, 0)
"""No run wrote it, or it is unknown which."""


class Run(Struct, frozen=True):
    """The current run according to the host's variables; what is unknown is ``None`` or empty.

    ``repository`` is its full name, ``commit`` the commit that people look at, ``checked_out`` the one whose files are
    here (a test merge, say), ``workspace`` the folder they are in, ``url`` the run's page.
    """

    repository: str = ""
    commit: str | None = None
    checked_out: str | None = None
    ref: str | None = None
    run_id: str | None = None
    url: str | None = None
    workspace: Path | None = None
    stamp: RunStamp = NO_RUN
    of_a_change: bool = False
    """Whether it judges a change that is to be merged, whose own files must not weaken the gates."""
    of_a_fork: bool = False
    """Whether that change comes from another repository, whose authors may not write here."""
    merges: str | None = None
    """The head of the pull request whose test merge may be checked out."""
    troubles: tuple[str, ...] = ()
    """Variables with invalid values, which were skipped."""


_EXACT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NO_COMMIT: Final = re.compile(r"0+")


def exact_commit(text: object) -> str | None:
    """Return the full object id of a commit; ``None`` for anything else, and for all zeros, which is no commit.

    >>> exact_commit("0123456789abcdef0123456789abcdef01234567")
    '0123456789abcdef0123456789abcdef01234567'
    >>> exact_commit("0123456789ab"), exact_commit("main"), exact_commit("0" * 40)
    (None, None, None)
    """
    found = isinstance(text, str) and _EXACT.fullmatch(text) and not _NO_COMMIT.fullmatch(text)
    return text if found and isinstance(text, str) else None


class Base(Struct, frozen=True):
    """The commit to compare with, as a host names it: by full object ids, and by the name of a branch of the repository
    that the change is to be merged into.

    It is ``commit`` if known, else the point where ``head`` left ``branch``, else the commit before ``child``; without
    any of them, what an earlier run on ``branch`` measured of ``tip`` or what came before it.

    ``tip`` is the commit of the branch at the time of this run; only here an id may be shortened. ``of_a_change``: a
    change is to be merged into the branch, whatever started this run.
    """

    branch: str
    commit: str | None = None
    head: str | None = None
    tip: str | None = None
    child: str | None = None
    of_a_change: bool = False


class CloneAddress(Struct, frozen=True):
    """Where git fetches the repository that a change is to be merged into, and what it says there to be let in."""

    url: str
    authorization: Secret | None = None


def login_with(user: str, token: Secret | None) -> Secret | None:
    """Return what git says to be let in with a token as the password of a user."""
    return token and Secret(f"Basic {base64.b64encode(f'{user}:{token.reveal()}'.encode()).decode()}")


class CommitFiles(Struct, frozen=True):
    """The files of a commit in a temporary folder.

    ``left_out``: paths that the commit has and the folder has not: what an archive omits, the files of a submodule.
    """

    folder: Path
    way: BaselineSource
    left_out: frozenset[str] = frozenset()

    def lacks(self, path: str) -> str | None:
        """Return a path that is left out at or below a path of the repository, if there is one."""
        below = f"{path}/" if path else ""
        found = (one for one in self.left_out if one == path or one.startswith(below) or path.startswith(f"{one}/"))
        return min(found, default=None)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing at all."""
        return not any(self.folder.iterdir())


class Target(Struct, frozen=True):
    """The pull request to comment on. ``reads_only`` says why its runs cannot write, if so.

    ``other_base_refs``: what other pull requests of the same branch are to be merged into.
    """

    number: int
    head_sha: str
    base_ref: str
    reads_only: str = ""
    other_base_refs: frozenset[str] = frozenset()


class StoredReport(Struct, frozen=True):
    """A stored report, and the baseline that was stored beside it, or why that cannot be used."""

    report: Report
    baseline: Report | None = None
    baseline_fault: str = ""


class PreviousReport(Struct, frozen=True):
    """A report that a run left, the commit it measured, and the run."""

    report: Report
    commit: str
    run_id: str


class EarlierReports(Protocol):
    """The reports of one project that earlier runs left; raises :class:`HostError` if the host cannot be asked."""

    @property
    def other_projects(self) -> bool:
        """Whether there were reports, but of other projects of the repository only."""

    @property
    def unreadable(self) -> bool:
        """Whether an artifact that should hold a report holds none."""

    def of_commit(self, branch: str, commit: str) -> PreviousReport | None:
        """Return the newest report of a commit, from a run on the branch that it is in."""

    def of_ancestor(self, branch: str, commit: str) -> PreviousReport | None:
        """Return the report of the nearest ancestor of a commit that has one."""

    def of_earlier_run(self, branch: str, commit: str) -> PreviousReport | None:
        """Return the newest report of a branch as it is at a commit, or was before."""

    def in_words(self) -> str:
        """What was found but could not be used, in one line: "2 expired, 1 of a fork"."""


class OtherRun(Struct, frozen=True):
    """A run whose results are published by this one, whose token may write.

    ``stored`` are the reports of its own commit, each with the address of the artifact it came in. ``earlier`` gives
    what runs that can be trusted left before it, of the project at a path. ``target`` is its pull request, or why
    there is none. ``fork`` is the repository of the change if that is another one, whose authors write what they like
    into the artifacts; empty if it is this one.
    """

    commit: str
    url: str
    stamp: RunStamp
    target: Target | str
    stored: tuple[tuple[StoredReport, str], ...]
    earlier: Callable[[str], EarlierReports]
    fork: str = ""


class CommentResult(Struct, frozen=True):
    """The outcome of commenting. ``note`` says why nothing was written, if so."""

    url: str | None
    note: str = ""


class Comment(Protocol):
    """The one comment of an assistant on a pull request. Each method raises :class:`HostError` if it cannot be
    written."""

    def write(self, body: str, stamp: RunStamp) -> CommentResult:
        """Write it: into the existing comment, else into a new one; an older run does not overwrite a newer one."""

    def update(self, body: str, stamp: RunStamp) -> CommentResult:
        """Write it only if there is a comment already."""

    def confirm(self) -> None:
        """Check again, some time after writing: concurrent runs may have overwritten it."""


class UploadedArtifact(Struct, frozen=True):
    """An uploaded artifact; ``url`` is empty if it has no page."""

    name: str
    url: str = ""


class Artifacts(Protocol):
    """Keeps files of this run."""

    def retention(self, days: int) -> tuple[int, str]:
        """Limit the requested days to what is allowed; the text says so if that was needed."""

    def keep(
        self, name: str, files: Sequence[tuple[str, bytes]], days: int, distinction: str | None = None
    ) -> UploadedArtifact:
        """Keep files under ``name``; with a ``distinction``, under a name that begins with it if another job has taken
        it.

        Raises:
            HostError: they could not be kept.
        """

    def keep_page(self, name: str, content: bytes, days: int) -> UploadedArtifact:
        """Keep a page as a separate artifact, so that its address opens it in a browser.

        Raises:
            HostError: it could not be kept so.
        """


class HostCache(Protocol):
    """Keeps archives of cache entries between the runs of a repository, each under a key; none is ever changed.

    ``signed``: whether an entry counts only with the signature of a secret, whoever wrote it. Methods raise
    :class:`HostError`.
    """

    def restore(self, prefix: str, file: BinaryIO, *, signed: bool) -> str | None:
        """Write the newest archive whose key begins so into a file, and return its key; ``None`` if there is none.

        Without signatures, it is one that no change can have written.
        """

    def saves(self, *, signed: bool) -> bool:
        """Whether what this run trained is of use to later ones."""

    def save(self, key: str, chunks: Iterable[bytes]) -> bool:
        """Keep an archive, and return whether it is new; another job may have kept one under this key."""


class Check(Struct, frozen=True):
    """A verdict on a commit, with annotations; ``text`` is Markdown, ``key`` distinguishes assistants.

    ``by_fork``: the run of a fork measured it, so that it must not look like a verdict of the repository's own.
    """

    key: str
    commit: str | None
    passed: bool
    title: str
    text: str
    stamp: RunStamp
    details_url: str | None = None
    annotations: Sequence[Annotation] = ()
    by_fork: bool = False


class Checked(Struct, frozen=True):
    """Whether a check was created, and a note about it."""

    made: bool
    note: str = ""


class Host:
    """A CI host, asked from within one of its runs. This base class is the absence of a host: git is asked, nothing is
    published.

    A host overrides what it supports. Strings that are returned instead of a value are reasons, shown as they are; a
    method that asks the host raises :class:`HostError` if that fails.
    """

    name: str = ""
    """Its common name; empty if there is no host."""
    formats: tuple[str, ...] = ()
    """The files that it reads, besides JUnit."""
    annotates_by_check: bool = False
    """Whether it always annotates by a check."""
    comment_limit: int = COMMENT_LIMIT
    """The longest comment it takes, in UTF-16 code units."""
    full_history_hint: str = "a clone with its whole history"
    """How to get the history that a shallow checkout lacks, in the host's own words."""

    @property
    def run(self) -> Run:
        """The current run."""
        return Run()

    @property
    def pages(self) -> Pages | None:
        """The host's addresses of files, commits and runs."""
        return None

    def results_url(self, folder: str, file: str = "") -> str | None:  # noqa: ARG002
        """Return the page of the files in a folder, or of one of them, if it is known before they are uploaded."""
        return None

    # --- what is compared with ---------------------------------------------------------------------------------------

    def base(self, warn: Callable[[str, HostError], None]) -> Base | Missing | None:  # noqa: ARG002
        """Return the commit to compare with, or why there is none; ``None`` if the host names none, so that it is the
        default branch.

        ``warn`` is called with what could not be found out.
        """
        return None

    def clone_address(self) -> CloneAddress | None:
        """Return where git fetches the repository that changes are merged into; ``None`` if only the checkout knows."""
        return None

    def merge_base(self, branch: str, head: str) -> str | None:  # noqa: ARG002
        """Return where ``head`` left a branch (never a tag of that name), ``None`` if unknown."""
        return None

    def is_between(self, start: str | None, commit: str, branch: str) -> bool:  # noqa: ARG002
        """Whether a commit is part of a branch's history, and no older than ``start``."""
        return False

    def files_of(self, commit: str) -> AbstractContextManager[CommitFiles] | None:  # noqa: ARG002
        """Return a commit's files, compared with the list of its tree; ``None`` if the host cannot be asked."""
        return None

    def earlier_reports(self, artifact_name: str, root: str) -> EarlierReports | None:  # noqa: ARG002
        """Return the reports of the project at a path that earlier runs left; ``None`` if the host cannot be asked for
        them."""
        return None

    def other_run(self, run_id: str, artifact_name: str, say: Callable[[str], object]) -> OtherRun:  # noqa: ARG002
        """Return a run and its artifacts; ``say`` is called with what cannot be used."""
        raise HostError("results of other runs cannot be had here")

    # --- where it is said --------------------------------------------------------------------------------------------

    def target(self) -> Target | str:
        """Return the pull request to comment on, or why there is none."""
        return "there are no pull requests here"

    @property
    def needs_token(self) -> str:
        """How to set the token that is missing and needed to write; "" if there is one."""
        return ""

    def target_of_number(self, number: int) -> Target:
        """Return a pull request by its number."""
        raise HostError(f"there is no pull request {number} here")

    def comment(self, target: Target, marker: str, *, passed: bool) -> Comment:
        """Return the comment on a pull request that begins with a marker; only called on a host with pull requests.

        ``passed``: the verdict, for hosts whose comments are open or resolved.
        """
        raise NotImplementedError

    def deferred_comment_note(self, target: Target) -> str:
        """Say what writes the comment for a run that may only read."""
        return f"no comment: this run may only read, since the change comes from {target.reads_only}"

    def artifacts(self, write: Callable[[str], object]) -> Artifacts | str:  # noqa: ARG002
        """Return the store of artifacts, or what to do instead; ``write`` prints to the log."""
        return "no artifact: there is no place for one here"

    def cache(self, write: Callable[[str], object]) -> HostCache | str:  # noqa: ARG002
        """Return the host's cache, or what to do instead, "" if nothing; ``write`` prints to the log."""
        return ""

    def check(self, check: Check) -> Checked:  # noqa: ARG002
        """Publish a verdict and its annotations on a commit."""
        return Checked(False, "no check run: there is no place for one here")

    def scan(self, sarif: bytes) -> str:  # noqa: ARG002
        """Publish a SARIF log as alerts on the code; return why there is no place for them, "" if it was done."""
        return "no code scanning: there is no place for it here"

    def log_line(self, level: Level, text: str) -> str:
        """Return the line of the log that shows a message with its level."""
        return f"turncheck: {level}: {log_line(text)}"

    def annotations(self, found: Sequence[Annotation], said: Mapping[Level, int]) -> Iterable[str]:  # noqa: ARG002
        """Return the lines of the log that annotate; ``said``: how often each level was used already."""
        return ()

    def summarize(self, summary: Rendered, notes: Sequence[str]) -> Iterable[str]:  # noqa: ARG002
        """Show a summary (Markdown) on the run's page, and sentences below it; return lines of the log that do so."""
        return ()

    def set_outputs(self, outputs: Mapping[str, str]) -> Iterable[str]:  # noqa: ARG002
        """Pass values to the job's next steps, if the host supports it; return lines of the log that do so."""
        return ()


_ZEROS: Final = "0" * 40
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
        return text if text and text != _ZEROS else None

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
