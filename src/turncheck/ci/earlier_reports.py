"""Reports that earlier runs left in archives, searched for a baseline.

The host says which runs there are, and which of them can be trusted; what is used of them is the same everywhere: a
complete report of this project, for exactly the commit that its run measured.
"""

from __future__ import annotations

import stat
import tempfile
import zipfile
import zlib
from collections import Counter
from io import SEEK_END
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final, Protocol, TypeVar

from msgspec import Struct, field

from turncheck.ci.host import PAGE_SUFFIX, PLOTS_SUFFIX, PreviousReport, StoredReport
from turncheck.ci.rest import NotFoundError, RestClient, RestError, TooLargeError
from turncheck.messages.errors import UserError
from turncheck.report.codec import BASELINE_NAME, MAX_BYTES, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from turncheck.report.model import Report


# Reports from artifacts of other runs: untrusted data, read within limits, never unpacked to disk.
#
# Only entries named ``report.json`` (and the baseline beside it) are read, in memory; a manipulated archive (names
# that lead out, links, contents larger than declared) is refused completely.

REPORT_NAME: Final = "report.json"
MOST_BYTES: Final = 256 * 1024 * 1024
"""Maximum size of a compressed archive."""
MOST_ENTRIES: Final = 20_000
MOST_REPORTS: Final = 50
MOST_VALUES: Final = 40_000_000
"""Of all reports in an archive: 100,000 failing stories and their base have 35 million; so many fit into 3 GB."""
_BEFORE_VALUES: Final = (b",", b"[", b"{")
_DIRECTORY_BYTES: Final = 8 * 1024 * 1024
_END: Final = b"PK\x05\x06"
_END_64: Final = b"PK\x06\x07"
_END_BYTES: Final = 22
_LONGEST_END: Final = _END_BYTES + 0xFFFF
_METHODS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_CHUNK: Final = 1024 * 1024
_IN_MEMORY: Final = 32 * 1024 * 1024


class BadArchiveError(UserError):
    """The file is not an archive, or is manipulated."""


def is_ours(name: str, wanted: str) -> bool:
    """Whether an artifact's name is the requested one, or one that begins with it because that was taken."""
    return (name == wanted or name.startswith(f"{wanted}-")) and not name.endswith((PLOTS_SUFFIX, PAGE_SUFFIX))


def download_reports(
    client: RestClient, path: str, *, needs: str | None = None, **parameters: Any
) -> list[StoredReport]:
    """Download a zip file and return the reports in it.

    Raises:
        NotFoundError: it has expired.
        BadArchiveError: it is not an archive, is manipulated, or holds an invalid report.
        RestError: it cannot be downloaded.
    """
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as file:
        taken: BinaryIO = file  # type: ignore[assignment]  # it has what is needed
        try:
            client.download(path, taken, MOST_BYTES, needs=needs, **parameters)
        except TooLargeError as error:
            raise BadArchiveError(error.message) from None
        file.seek(0)
        return list(read_reports(file))


def read_reports(file: IO[bytes]) -> Iterator[StoredReport]:
    """Read every report in a zip file.

    Raises:
        BadArchiveError: as :func:`download_reports`.
    """
    try:
        _check_end(file)
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            _check(entries)
            by_name = {entry.filename: entry for entry in entries}
            found = [entry for entry in entries if PurePosixPath(entry.filename).name == REPORT_NAME]
            if len(found) > MOST_REPORTS:
                raise BadArchiveError(f"it holds more than {MOST_REPORTS} reports")
            budget = _Budget(MAX_BYTES, MOST_VALUES)
            for entry in found:
                beside = by_name.get(str(PurePosixPath(entry.filename).with_name(BASELINE_NAME)))
                report = _decode(_unpacked(archive, entry, budget))
                yield _with_baseline(report, _unpacked(archive, beside, budget) if beside else None)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise BadArchiveError(f"it is not a zip file that could be read ({type(error).__name__})") from None


def _check_end(file: IO[bytes]) -> None:
    """Refuse a directory of millions of entries before it is read: the end record gives its length."""
    size = file.seek(0, SEEK_END)
    file.seek(max(0, size - _LONGEST_END))
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_BYTES:
        raise BadArchiveError("it is not a zip file")
    if _END_64 in tail[max(0, at - 20) : at]:
        raise BadArchiveError("it is a zip file in the format ZIP64")
    if int.from_bytes(tail[at + 12 : at + 16], "little") > _DIRECTORY_BYTES:
        raise BadArchiveError(f"it holds more than {MOST_ENTRIES} files")
    file.seek(0)


def _check(entries: list[zipfile.ZipInfo]) -> None:
    if len(entries) > MOST_ENTRIES:
        raise BadArchiveError(f"it holds more than {MOST_ENTRIES} files")
    names = set()
    for entry in entries:
        path = PurePosixPath(entry.filename)
        if path.is_absolute() or ".." in path.parts or "\\" in entry.filename or ":" in entry.filename:
            raise BadArchiveError("it holds a name that leads out of it")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise BadArchiveError("it holds a link")
        if entry.filename in names:
            raise BadArchiveError("it holds a name twice")
        names.add(entry.filename)


class _Budget(Struct):
    """Bytes and values that may still be unpacked, all reports together.

    A value of two bytes takes some seventy in memory, and a report of a fork may hold nothing else.
    """

    left: int
    values: int


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, budget: _Budget) -> bytes:
    """Read one entry within the limit, whatever size it declares."""
    if entry.compress_type not in _METHODS or entry.flag_bits & 0x1:
        raise BadArchiveError("it is compressed in a way that is not supported (encrypted, or an unusual method)")
    content = bytearray()
    with archive.open(entry) as packed:
        while chunk := packed.read(_CHUNK):
            content += chunk
            budget.left -= len(chunk)
            if budget.left < 0:
                raise BadArchiveError(f"the reports in it are larger than {MAX_BYTES // 2**20} MiB")
            budget.values -= sum(map(chunk.count, _BEFORE_VALUES))
            if budget.values < 0:
                raise BadArchiveError(f"the reports in it hold more than {MOST_VALUES:,} values")
    return bytes(content)


def _with_baseline(report: Report, content: bytes | None) -> StoredReport:
    """A report remains usable if the baseline beside it cannot be read."""
    try:
        return StoredReport(report, None if content is None else decode(content, name="the baseline beside it"))
    except UserError as error:
        return StoredReport(report, None, error.message)


def _decode(content: bytes) -> Report:
    try:
        return decode(content, name="the report in it")
    except UserError as error:
        raise BadArchiveError(error.message) from None


OF_A_FORK: Final = "of a fork"
EXPIRED: Final = "expired"
MOST_RUNS: Final = 300
MOST_ANCESTORS: Final = 300
_NOT_READABLE: Final = "not readable"
_MOST_DOWNLOADS: Final = 10


class EarlierRun(Struct, frozen=True):
    """A run that measured a commit; ``unusable`` says why it is ignored: "of a fork"."""

    id: int
    commit: str
    unusable: str = ""


class Archive(Struct, frozen=True):
    """A zip file that a run left, by the host's own identifier; ``unusable`` as for a run.

    ``run`` is what the page of its run is addressed by, where that is not the run's own number.
    """

    id: str
    unusable: str = ""
    run: str = ""


class EarlierRuns(Protocol):
    """The runs before this one that measured a commit of the repository itself, newest first.

    Each method raises :class:`turncheck.ci.rest.RestError` if the host cannot be asked.
    """

    def of_commit(self, branch: str, commit: str) -> Iterable[EarlierRun]:
        """Those of a commit, on the branch that it is in: only who may write to that can have started them."""

    def of_branch(self, branch: str) -> Iterable[EarlierRun]:
        """Those of a branch."""

    def ancestors(self, commit: str) -> Iterable[str]:
        """A commit and what came before it, nearest first."""

    def archives(self, run: EarlierRun) -> Iterable[Archive]:
        """The archives of a run that may hold reports, newest first."""

    def read(self, archive: Archive) -> Sequence[StoredReport]:
        """Download an archive, and return its content; raises :class:`BadArchiveError` if it cannot be read."""


Asked = TypeVar("Asked")


class CachedRuns:
    """Earlier runs that are asked for each list and each archive once: several assistants look into the same ones.

    A list is fetched as far as it is needed. A host that could not be asked is asked again by the next assistant.
    """

    def __init__(self, runs: EarlierRuns) -> None:
        self._runs = runs
        self._lists: dict[tuple[str, ...], tuple[list[Any], Iterator[Any]]] = {}
        self._archives: dict[str, Sequence[StoredReport] | BadArchiveError | NotFoundError] = {}

    def of_commit(self, branch: str, commit: str) -> Iterator[EarlierRun]:
        """Return those of a commit."""
        return self._listed(("commit", branch, commit), lambda: self._runs.of_commit(branch, commit))

    def of_branch(self, branch: str) -> Iterator[EarlierRun]:
        """Return those of a branch."""
        return self._listed(("branch", branch), lambda: self._runs.of_branch(branch))

    def ancestors(self, commit: str) -> Iterator[str]:
        """Return a commit and what came before it."""
        return self._listed(("ancestors", commit), lambda: self._runs.ancestors(commit))

    def archives(self, run: EarlierRun) -> Iterator[Archive]:
        """Return the archives of a run."""
        return self._listed(("archives", str(run.id)), lambda: self._runs.archives(run))

    def read(self, archive: Archive) -> Sequence[StoredReport]:
        """Return what is in an archive.

        Raises:
            RestError: it cannot be had; :class:`NotFoundError` where it is gone.
            BadArchiveError: there is nothing to read in it.
        """
        if archive.id not in self._archives:
            try:
                self._archives[archive.id] = self._runs.read(archive)
            except (BadArchiveError, NotFoundError) as error:
                self._archives[archive.id] = error
        found = self._archives[archive.id]
        if isinstance(found, Exception):
            raise found
        return found

    def _listed(self, key: tuple[str, ...], ask: Callable[[], Iterable[Asked]]) -> Iterator[Asked]:
        if key not in self._lists:
            self._lists[key] = [], iter(ask())
        known, rest = self._lists[key]
        place = 0
        while True:
            if place == len(known):
                try:
                    known.append(next(rest))
                except StopIteration:
                    return
                except RestError:
                    self._lists.pop(key, None)
                    raise
            yield known[place]
            place += 1


class Reports(Struct):
    """The reports that earlier runs left of one project.

    Args:
        runs: the runs that can be trusted.
        root: the project's path in the repository: several assistants may be measured in one run.

    Reports that cannot be used are counted, for one line in the comment.
    """

    runs: EarlierRuns
    root: str
    other_projects: bool = False
    """Whether there were reports, but of other projects of the repository only."""
    _unusable: Counter[str] = field(default_factory=Counter)
    _downloads: int = 0

    def of_commit(self, branch: str, commit: str) -> PreviousReport | None:
        """Return the newest report of a commit, from a run on the branch that it is in.

        Raises:
            RestError: the host could not be asked.
        """
        return self._first(self.runs.of_commit(branch, commit))

    def of_ancestor(self, branch: str, commit: str) -> PreviousReport | None:
        """Return the report of the nearest ancestor of a commit that has one.

        Raises:
            RestError: the host could not be asked.
        """
        by_commit = self._by_commit(branch)
        by_commit.pop(commit, None)  # that one was already looked up
        return self._nearest(by_commit, commit)

    def of_earlier_run(self, branch: str, commit: str) -> PreviousReport | None:
        """Return the report that an earlier run left of a branch as it is at a commit, or was before.

        A run of a tag with the name of the branch is listed with those of the branch, whatever commit it is of.

        Raises:
            RestError: the host could not be asked.
        """
        return self._nearest(self._by_commit(branch), commit)

    def _by_commit(self, branch: str) -> dict[str, list[EarlierRun]]:
        found: dict[str, list[EarlierRun]] = {}
        for run in self.runs.of_branch(branch):
            found.setdefault(run.commit, []).append(run)
        return found

    def _nearest(self, runs: Mapping[str, Sequence[EarlierRun]], commit: str) -> PreviousReport | None:
        for ancestor in self.runs.ancestors(commit) if runs else ():
            if previous_report := self._first(runs.get(ancestor, ())):
                return previous_report
        return None

    @property
    def unreadable(self) -> bool:
        """Whether an archive held no report."""
        return self._unusable[_NOT_READABLE] > 0

    def in_words(self) -> str:
        """What was skipped, in a line: "2 expired, 1 of a fork"."""
        return ", ".join(f"{number} {what}" for what, number in sorted(self._unusable.items()))

    def _first(self, runs: Iterable[EarlierRun]) -> PreviousReport | None:
        for run in runs:
            if run.unusable:
                self._unusable[run.unusable] += 1
                continue
            if left := self._of_run(run):
                return left
            if self._downloads >= _MOST_DOWNLOADS:
                return None
        return None

    def _of_run(self, run: EarlierRun) -> PreviousReport | None:
        for archive in self.runs.archives(run):
            if archive.unusable:
                self._unusable[archive.unusable] += 1
                continue
            if self._downloads >= _MOST_DOWNLOADS:
                return None
            self._downloads += 1
            try:
                stored_reports = self.runs.read(archive)
            except NotFoundError:
                self._unusable[EXPIRED] += 1
                continue
            except BadArchiveError:
                self._unusable[_NOT_READABLE] += 1
                continue
            if report := self._of_this_project(stored_reports, run.commit):
                return PreviousReport(report, run.commit, archive.run or str(run.id))
        return None

    def _of_this_project(self, stored_reports: Iterable[StoredReport], commit: str) -> Report | None:
        for stored in stored_reports:
            if stored.report.project.root != self.root:
                self.other_projects = True
                continue  # another assistant's, which is no problem
            if stored.report.stopped is not None:
                self._unusable["cut short"] += 1
                continue
            if stored.report.source.commit == commit:
                return stored.report
            self._unusable["of another commit"] += 1
        return None
