"""The base, repaired as a change repairs it: what a file that could not be read there holds is then known.

Only what the repair takes comes from the change: of the lines that it adds, removes or rewrites, the smallest set
without which the file still cannot be read. All else in the file is the base's own, so that whatever the change breaks
beside the repair is new. Where no such set is found, nothing is repaired.
"""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct, structs

from turncheck.messages.errors import UserError
from turncheck.process.regular_file import read_regular
from turncheck.project.files import DEFAULT_CONFIG
from turncheck.project.folder import MAX_FILE_BYTES, ProjectFolder
from turncheck.report.model import FindingCounts, Unread
from turncheck.run.text_steps import (
    LEAST_LIKE,
    MOST_RENAMED,
    Step,
    as_bytes,
    as_text,
    bare_lines,
    brought_by,
    counterparts_of,
    distance_to,
    groups_of,
    hunks_of,
    in_encoding_of,
    is_of_the_base,
    names_things,
    only_rewrites,
    split_lines,
    with_steps,
)
from turncheck.run.unread import unread_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from turncheck.messages.finding import Finding
    from turncheck.process.environment import FileVariables
    from turncheck.report.model import CaseResult, Report, StoryResult
    from turncheck.settings.options import Settings

_MOST_TRIALS: Final = 400
"""How often the base may be read while it is repaired."""
_MOST_TRAININGS: Final = 12
"""How often it may be trained for that."""
_MOST_READ: Final = 64 * 1024 * 1024
"""How many bytes of the project may be read for that."""
_REFUSED: Final = "training-refused"
_DIALOGUE: Final = frozenset({"stories", "sentences", "tests"})
"""The parts whose lines are steps of rules, stories and tests."""
_READ: Final = frozenset({".yml", ".yaml", ".md", ".json", ".csv"})


_Item = TypeVar("_Item")
_Fault = tuple[str, str, str, str]
"""A fault as both sides have it: path, code, part, and the line that it is at, with those that enclose it."""


class _RepairedFile(Struct, frozen=True):
    """A file before and after its repair."""

    path: str
    text: str
    repaired: str

    def brings(self, finding: Finding) -> bool:
        """Whether the repair brings a fault: at a line, or about a name, that the base does not have."""
        names = (name.name for name in (*finding.about, *finding.names))
        if any(name in self.repaired and name not in self.text for name in names):
            return True
        return finding.location.path == self.path and finding.location.line in brought_by(self.text, self.repaired)


class Repair(Struct, frozen=True):
    """What of a base can be read again: ``places``, none if nothing was repaired.

    ``doubtful``: the lines around the repair are others in the change, too, so that what fails there may have passed
    with another repair.
    """

    places: tuple[Unread, ...] = ()
    doubtful: bool = False
    files: tuple[_RepairedFile, ...] = ()


def needs_repair(base: Report) -> bool:
    """Whether anything of a base cannot be read or trained."""
    return bool(base.unread or _refusals_in(base))


def repaired(
    report: Report,
    base: Settings,
    head: Settings,
    fence: Path,
    measure: Callable[..., Report | None],
    *,
    variables: FileVariables | None = None,
) -> tuple[Report, Repair]:
    """Return the report of a base as far as a change repairs it, and what of it is repaired.

    Args:
        report: the base's own.
        base: the settings of the base, whose paths are in its files, which nobody else needs.
        head: those of the change.
        fence: the folder with the base's files; nothing outside it is written.
        measure: measures the base's files as they are now, only these evaluations if any are named.
        variables: what ``${NAME}`` in the files of both stands for.
    """
    known = Repair()
    if report.unread:
        report, known = _measured(report, known, _mend(base, head, fence, variables), measure)
    if refused := _refusals_in(report):
        evaluation = next(one.evaluation for one in report.skipped if one.location == refused[0].location)
        repair = _mend_training(base, head, fence, lambda: _refusals_in(measure(evaluation) or report))
        report, known = _measured(report, known, repair, measure)
    return report, known


def _measured(
    report: Report, known: Repair, repair: Repair, measure: Callable[..., Report | None]
) -> tuple[Report, Repair]:
    """Measure the base once more, unless its repair loses tests."""
    measured = measure() if repair.places else None
    if measured is None or not _has_all_tests_of(report, measured):
        return report, known
    both = Repair((*known.places, *repair.places), known.doubtful or repair.doubtful, (*known.files, *repair.files))
    return _with_faults(measured, report, repair.places, both.files), both


def _mend(base: Settings, head: Settings, fence: Path, variables: FileVariables | None) -> Repair:
    """Repair the files of a base, in place, as far as the change repairs them."""
    try:
        at_first = unread_now(head, variables)
        return _Mending(base, head, fence.resolve(), lambda: unread_now(base, variables), at_first).mended()
    except UserError:  # a path that only one side has, say: then nothing is known
        return Repair()


def _mend_training(base: Settings, head: Settings, fence: Path, refused: Callable[[], tuple[Unread, ...]]) -> Repair:
    """Do the same for a base that can be read and not trained; ``refused`` trains it, and says what keeps it from that.

    The cause may be in the configuration, wherever it shows: forms without a policy for them, say.
    """
    try:
        return _Mending(base, head, fence.resolve(), refused, (), _MOST_TRAININGS).trained()
    except (UserError, _TooMuchError):
        return Repair()


def _refusals_in(report: Report) -> tuple[Unread, ...]:
    """Return what keeps a project from being trained, although it can be read."""
    unread = {one.location for one in report.unread}
    return tuple(
        Unread(location=one.location, code=_REFUSED, part="pipeline" if one.evaluation == "nlu" else "policies")
        for one in report.skipped
        if one.fault and not one.part and one.location is not None and one.location not in unread
    )


def _has_all_tests_of(base: Report, mended: Report) -> bool:
    """Whether a repair left all tests that the base ran."""
    return all(
        {(test.name, test.location.path) for test in tests(base)}
        <= {(test.name, test.location.path) for test in tests(mended)}
        for tests in (_stories, _cases)
    )


def _stories(report: Report) -> tuple[StoryResult, ...]:
    return report.core.stories if report.core else ()


def _cases(report: Report) -> tuple[CaseResult, ...]:
    return report.e2e.cases if report.e2e else ()


def _with_faults(mended: Report, base: Report, repaired: Iterable[Unread], files: Sequence[_RepairedFile]) -> Report:
    """Return the report of a repaired base with what the base has beside it, and without what only the change brings.

    These are its findings about what was repaired, and what kept evaluations from running that do not run yet.
    """
    kept = {one.evaluation: one for one in base.skipped if one.fault and not one.part}
    skipped = tuple(one if one.no_tests or one.part else kept.get(one.evaluation, one) for one in mended.skipped)
    mended = structs.replace(mended, skipped=skipped)
    if mended.validation is None or base.validation is None:
        return mended
    places = {(one.location, one.code) for one in repaired}
    own = [one for one in mended.validation.findings if not any(file.brings(one) for file in files)]
    known = set(mended.validation.findings)
    faults = [one for one in base.validation.findings if (one.location, one.code) in places and one not in known]
    findings = tuple(sorted((*own, *faults), key=lambda finding: finding.order))
    number = Counter(finding.severity for finding in findings)
    counts = FindingCounts(error=number["error"], warning=number["warning"], info=number["info"])
    return structs.replace(mended, validation=structs.replace(mended.validation, findings=findings, counts=counts))


class _TooMuchError(Exception):
    """The repair cannot be found with a bounded number of trials."""


class _Mending:
    def __init__(  # noqa: PLR0917 - both sides, and what is wrong with them
        self,
        base: Settings,
        head: Settings,
        fence: Path,
        faults: Callable[[], tuple[Unread, ...]],
        of_head: tuple[Unread, ...],
        trials: int = _MOST_TRIALS,
    ) -> None:
        self._base = base
        self._faults = faults
        self._fence = fence
        self._root, self._other_root = Path(base.project), Path(head.project)
        self._config = ProjectFolder(self._root).name(Path(base.config or self._root / DEFAULT_CONFIG))
        self._at_first = faults()
        self._renamed: dict[str, str] = {}
        self._doubtful = False
        self._repaired: list[_RepairedFile] = []
        self._left = trials
        self._left_bytes = _MOST_READ
        self._of_head = of_head
        self._faults_of_head = _counted(of_head, self._other_root) + _counted(self._rewritten(), self._root)
        self._faults_of_head += Counter(self._moved())

    def mended(self) -> Repair:
        at_first = _identified(self._at_first, self._root)
        repaired = Counter(at_first) - self._faults_of_head
        for path in sorted({fault[0] for fault in repaired}):
            self._mend_file(path)
        if not repaired:
            return Repair((), self._doubtful, tuple(self._repaired))
        left = Counter(_identified(self._faults(), self._root))
        gone = [one for fault, one in zip(at_first, self._at_first, strict=True) if not _taken(left, fault)]
        otherwise = Counter(fault[:3] for fault in left.elements())  # in a line that the repair words otherwise
        found = [one for one in gone if not _taken(otherwise, _key(one))]
        return Repair(tuple(found), self._doubtful, tuple(self._repaired))

    def _rewritten(self) -> Iterator[Unread]:
        """Faults of the base in lines that the change words otherwise, with the same fault: they are not repaired."""
        there = {(*_key(one), one.location.line) for one in self._of_head}
        for path in sorted({one.location.path for one in self._at_first}):
            counterparts = counterparts_of(*(_lines_of(root / path) for root in (self._root, self._other_root)))
            for one in self._at_first:
                if one.location.path == path and (*_key(one), counterparts.get(one.location.line or 0)) in there:
                    yield one

    def _moved(self) -> Iterator[_Fault]:
        """Faults of the base whose lines the change took to another file, with the same fault: nor are they."""
        here = Counter(_identified(self._at_first, self._root)) - self._faults_of_head
        there = _counted(self._of_head, self._other_root) - Counter(_identified(self._at_first, self._root))
        elsewhere = Counter(fault[1:] for fault in there.elements() if fault[-1])
        return (fault for fault in here.elements() if _taken(elsewhere, fault[1:]))

    def trained(self) -> Repair:
        paths = [self._config, *(one.location.path for one in self._at_first)]
        for path in dict.fromkeys(paths):
            self._mend_file(path)
            if not self._read():
                return Repair(self._at_first, self._doubtful, tuple(self._repaired))
        return Repair()

    def _mend_file(self, path: str) -> None:
        """Repair one file, or leave it as it is."""
        place = self._root / path
        if place.is_symlink() or not place.resolve().is_relative_to(self._fence):
            return
        parts = {one.part for one in self._at_first if one.location.path == path}
        try:
            content = read_regular(place, most=MAX_FILE_BYTES, follow=False)
        except OSError:
            return
        other = self._other_of(path, content)
        try:
            if other is None:
                repaired = None if "tests" in parts else self._without(path)
            else:
                repaired = self._as_other(path, content, other, parts)
        except (_TooMuchError, UserError):
            repaired = None
        place.write_bytes(content)
        if other is None and repaired is not None:
            place.unlink()
        elif repaired is not None:
            place.write_bytes(repaired)

    def _without(self, path: str) -> bytes | None:
        """A file of training data that the change deletes: the base without it."""
        (self._root / path).unlink()
        before = _counted(self._at_first, self._root)
        return b"" if not _counted(self._read(), self._root) - before else None

    def _other_of(self, path: str, content: bytes) -> bytes | None:
        """The file as the change has it, also under another name; ``None`` if it deleted it."""
        try:
            return read_regular(self._other_root / path, most=MAX_FILE_BYTES, follow=False)
        except OSError:
            pass
        return self._renamed_file(path, content)

    def _renamed_file(self, path: str, content: bytes) -> bytes | None:
        suffix = Path(path).suffix
        top = Path(path).parts[0] if len(Path(path).parts) > 1 else ""
        candidates = []
        for found in sorted((self._other_root / top).rglob(f"*{suffix}")):
            name = found.relative_to(self._other_root).as_posix()
            if not found.is_symlink() and found.is_file() and not (self._root / name).exists():
                candidates.append((name, found))
        best: tuple[float, str, bytes] | None = None
        lines = split_lines(as_text(content))
        for name, found in candidates[:MOST_RENAMED]:
            try:
                other = read_regular(found, most=MAX_FILE_BYTES, follow=False)
            except OSError:
                continue
            matcher = SequenceMatcher(None, bare_lines(lines), bare_lines(split_lines(as_text(other))))
            ratio = matcher.ratio()
            if ratio >= LEAST_LIKE and (best is None or ratio > best[0]):
                best = ratio, name, other
        if best is None:
            return None
        self._renamed[best[1]] = path
        return best[2]

    def _as_other(self, path: str, content: bytes, other: bytes, parts: set[str]) -> bytes | None:
        text = as_text(in_encoding_of(content, other))
        new = as_text(other)
        allowed = Counter[_Fault]()
        for (name, *what), number in self._faults_of_head.items():
            if self._renamed.get(name, name) == path:
                allowed[path, what[0], what[1], what[2]] += number

        def holds(steps: Iterable[Step]) -> bool:
            (self._root / path).write_bytes(as_bytes(with_steps(text, steps)))
            now = self._read()
            is_refused = any(one.code == _REFUSED for one in now)
            here = [one for one in now if one.location.path == path]
            return not is_refused and not _counted(here, self._root) - allowed

        if holds(()):
            return as_bytes(text)
        first = min(((one.location.line or 1) for one in self._at_first if one.location.path == path), default=1)
        found = hunks_of(text, new, whole_items=path == self._config)
        hunks = sorted(found, key=lambda hunk: distance_to(hunk, text, first))
        by_line = _smallest(_enough(hunks, holds), holds)
        if by_line is None or (parts & _DIALOGUE and not only_rewrites(text, by_line)):
            return None
        parts_of_lines = [part for step in by_line for part in groups_of(text, step)]
        steps = _smallest(parts_of_lines, holds) or by_line
        repaired = with_steps(text, steps)
        if not is_of_the_base(text, repaired):
            return None
        left = [step for hunk in hunks if set(hunk) & set(by_line) for step in hunk if step not in by_line]
        left += [step for step in parts_of_lines if step not in steps]
        self._doubtful |= bool(left if parts & _DIALOGUE else parts != {"nlu"} and names_things(text, left))
        self._repaired.append(_RepairedFile(path, text, repaired))
        return as_bytes(repaired)

    def _read(self) -> tuple[Unread, ...]:
        """What cannot be read now; a bounded number of times."""
        self._left -= 1
        self._left_bytes -= sum(path.stat().st_size for path in self._files())
        if self._left < 0 or self._left_bytes < 0:
            raise _TooMuchError
        return self._faults()

    def _files(self) -> Iterator[Path]:
        folder = self._root if self._root.is_dir() else self._root.parent
        return (path for path in folder.rglob("*.*") if path.suffix in _READ and path.is_file())


def _key(one: Unread) -> tuple[str, str, str]:
    return one.location.path, one.code, one.part


def _counted(unread: Iterable[Unread], root: Path) -> Counter[_Fault]:
    """The faults of each kind: lines move, and several faults may be of one."""
    return Counter(_identified(unread, root))


def _identified(unread: Iterable[Unread], root: Path) -> list[_Fault]:
    """The faults, each with the text of its line and its place."""
    files: dict[str, list[str]] = {}
    found: list[_Fault] = []
    for one in unread:
        path, line = one.location.path, one.location.line or 0
        if path not in files:
            files[path] = _lines_of(root / path)
        found.append((path, one.code, one.part, "\n".join(bare_lines(_enclosing(files[path], line)))))
    return found


def _taken(left: Counter[_Item], one: _Item) -> bool:
    """Whether there is one left, which then is not."""
    there = left[one] > 0
    left[one] -= there
    return there


def _enclosing(lines: Sequence[str], number: int) -> list[str]:
    """The line of this number, if there is one, and above it the nearest lines that are indented less and less."""
    found = list(lines[number - 1 : number]) if number else []
    for line in reversed(lines[: number - 1] if found else ()):
        if line.strip() and len(line) - len(line.lstrip()) < len(found[-1]) - len(found[-1].lstrip()):
            found.append(line)
    return found


def _lines_of(path: Path) -> list[str]:
    try:
        return split_lines(as_text(read_regular(path, most=MAX_FILE_BYTES)))
    except OSError:
        return []


def _enough(hunks: Sequence[Sequence[Step]], holds: Callable[[Iterable[Step]], bool]) -> list[Step] | None:
    """The nearest hunks that repair the file together."""
    number = 1
    while number // 2 < len(hunks):
        steps = [step for hunk in hunks[:number] for step in hunk]
        if holds(steps):
            return steps
        number *= 2
    return None


def _smallest(steps: list[Step] | None, holds: Callable[[Iterable[Step]], bool]) -> list[Step] | None:
    """Those of the steps without any of which the file still cannot be read."""
    size = len(steps) // 2 if steps else 0
    while steps and size:
        at = 0
        while at < len(steps):
            rest = [*steps[:at], *steps[at + size :]]
            if rest and holds(rest):
                steps = rest
            else:
                at += size
        size //= 2
    return steps
