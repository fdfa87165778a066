"""The base, repaired as a change repairs it: what a file that could not be read there holds is then known.

Only what the repair takes comes from the change: of the lines that it adds, removes or rewrites, the smallest set
without which the file still cannot be read. All else in the file is the base's own, so that whatever the change breaks
beside the repair is new. Where no such set is found, nothing is repaired.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct, structs

from turncheck.messages.errors import UserError
from turncheck.process.regular_file import read_regular
from turncheck.project.files import DEFAULT_CONFIG
from turncheck.project.folder import MAX_FILE_BYTES, ProjectFolder
from turncheck.report.model import FindingCounts, Unread
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
_LIKE: Final = 0.5
"""Two lines are one line that was rewritten, two files one that was renamed, if they share this ratio of letters."""
_MOST_PAIRED: Final = 10_000
"""Pairs of lines of a hunk that are compared."""
_MOST_RENAMED: Final = 50
"""Files of the change that may be the new name of one."""
_MARKER: Final = re.compile(r"(<<<<<<<|=======|>>>>>>>|\|\|\|\|\|\|\|)")
"""What git leaves where two changes conflict: never the base's own words."""
_WORD: Final = re.compile(r"\w")
_WORDS: Final = re.compile(r"\w+")
_KEY: Final = re.compile(r"(- +)?\w+ *:( *[|>][-+]?)?")
"""A line that is nothing but a key, which may have been misspelt."""
_TOKEN: Final = re.compile(r"\w+|\s+|[^\w\s]")
_NAMES: Final = re.compile(r"(- *)?[\w./-]+ *:?")
"""A line of a domain that is nothing but a name: of an intent, of a response …"""
_REFUSED: Final = "training-refused"
_DIALOGUE: Final = frozenset({"stories", "sentences", "tests"})
"""The parts whose lines are steps of rules, stories and tests."""
_READ: Final = frozenset({".yml", ".yaml", ".md", ".json", ".csv"})


class _Edit(Struct, frozen=True):
    """A part of a text that is replaced: where it begins and ends, and by what. Those that begin alike keep order."""

    start: int
    end: int
    text: str
    order: tuple[int, int] = (0, 0)


_Step = tuple[_Edit, ...]
"""Edits that are made together or not at all."""
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
        return finding.location.path == self.path and finding.location.line in _brought(self.text, self.repaired)


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
            counterparts = _counterparts(*(_lines_of(root / path) for root in (self._root, self._other_root)))
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
        lines = _lines(_text(content))
        for name, found in candidates[:_MOST_RENAMED]:
            try:
                other = read_regular(found, most=MAX_FILE_BYTES, follow=False)
            except OSError:
                continue
            matcher = SequenceMatcher(None, _bare(lines), _bare(_lines(_text(other))))
            ratio = matcher.ratio()
            if ratio >= _LIKE and (best is None or ratio > best[0]):
                best = ratio, name, other
        if best is None:
            return None
        self._renamed[best[1]] = path
        return best[2]

    def _as_other(self, path: str, content: bytes, other: bytes, parts: set[str]) -> bytes | None:
        text = _text(_in_utf8(content, other))
        new = _text(other)
        allowed = Counter[_Fault]()
        for (name, *what), number in self._faults_of_head.items():
            if self._renamed.get(name, name) == path:
                allowed[path, what[0], what[1], what[2]] += number

        def holds(steps: Iterable[_Step]) -> bool:
            (self._root / path).write_bytes(_bytes(_edited(text, steps)))
            now = self._read()
            is_refused = any(one.code == _REFUSED for one in now)
            here = [one for one in now if one.location.path == path]
            return not is_refused and not _counted(here, self._root) - allowed

        if holds(()):
            return _bytes(text)
        first = min(((one.location.line or 1) for one in self._at_first if one.location.path == path), default=1)
        found = _hunks(text, new, whole_items=path == self._config)
        hunks = sorted(found, key=lambda hunk: _distance(hunk, text, first))
        by_line = _smallest(_enough(hunks, holds), holds)
        if by_line is None or (parts & _DIALOGUE and not _rewrites_only(text, by_line)):
            return None
        parts_of_lines = [part for step in by_line for part in _groups(text, step)]
        steps = _smallest(parts_of_lines, holds) or by_line
        repaired = _edited(text, steps)
        if not _is_the_bases(text, repaired):
            return None
        left = [step for hunk in hunks if set(hunk) & set(by_line) for step in hunk if step not in by_line]
        left += [step for step in parts_of_lines if step not in steps]
        self._doubtful |= bool(left if parts & _DIALOGUE else parts != {"nlu"} and _name_things(text, left))
        self._repaired.append(_RepairedFile(path, text, repaired))
        return _bytes(repaired)

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
        found.append((path, one.code, one.part, "\n".join(_bare(_enclosing(files[path], line)))))
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
        return _lines(_text(read_regular(path, most=MAX_FILE_BYTES)))
    except OSError:
        return []


def _counterparts(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """The numbers of the lines that were rewritten: alike ones, or as many lines that became as many others."""
    found: dict[int, int] = {}
    for kind, first, end, start, stop in SequenceMatcher(None, old, new).get_opcodes():
        if kind != "replace":
            continue
        if end - first == stop - start:
            found |= {first + offset + 1: start + offset + 1 for offset in range(end - first)}
        taken = start
        for place in range(first, end if (end - first) * (stop - start) <= _MOST_PAIRED else first):
            near = next((other for other in range(taken, stop) if _alike(old[place], new[other])), None)
            if near is not None:
                found[place + 1], taken = near + 1, near + 1
    return found


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _lines(text: str) -> list[str]:
    return [f"{line}\n" for line in text.split("\n")[:-1]] + [text.rpartition("\n")[2]]


def _bare(lines: Sequence[str]) -> list[str]:
    return ["".join(line.split()) for line in lines]


def _in_utf8(content: bytes, other: bytes) -> bytes:
    """A file in another encoding, in that of the change: its words are the base's own."""
    if _is_utf8(content) or not _is_utf8(other):
        return content
    encoding = "utf-16" if content[:2] in {b"\xff\xfe", b"\xfe\xff"} else "cp1252"
    try:
        return content.decode(encoding).encode("utf-8")
    except UnicodeDecodeError:
        return content


def _is_utf8(content: bytes) -> bool:
    return content.decode("utf-8", "ignore").encode() == content


# The difference of two texts, in steps.


def _hunks(text: str, new: str, *, whole_items: bool) -> list[list[_Step]]:
    """The differences of two texts: hunks of steps, a line each; lines that are only indented otherwise are one.

    ``whole_items``: the lines of an item of a list, which was removed or added, are one as well.
    """
    before, after = _lines(text), _lines(new)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    hunks = []
    for kind, first, end, start, stop in SequenceMatcher(None, before, after).get_opcodes():
        if kind == "equal":
            continue
        indented: list[_Edit] = []
        steps: list[_Step] = []
        for order, (old, line) in enumerate(_paired(before[first:end], after[start:stop], first)):
            at, until = starts[old.start], starts[old.stop]
            edit = _Edit(at, until, line, (order, 0))
            if _bare([text[at:until]]) == _bare([line]):
                indented.append(edit)
            else:
                steps.append((edit,))
        by_line = _whole_items(text, steps) if whole_items else steps
        hunks.append([*([tuple(indented)] if indented else []), *by_line])
    return hunks


def _whole_items(text: str, steps: Iterable[_Step]) -> Iterator[_Step]:
    """The steps; those that remove or add an item of a list are one: its keys belong to no other item."""
    item: list[_Edit] = []
    begun = "", 0
    for edit in (edit for step in steps for edit in step):
        old = text[edit.start : edit.end]
        kind, line = "rewritten" if old and edit.text else "removed" if old else "added", old or edit.text
        indent = len(line) - len(line.lstrip())
        if item and kind == begun[0] and line.strip() and indent > begun[1]:
            item.append(edit)
            continue
        if item:
            yield tuple(item)
        item = []
        if kind != "rewritten" and line.lstrip().startswith("- "):
            item, begun = [edit], (kind, indent)
        else:
            yield (edit,)
    if item:
        yield tuple(item)


def _paired(old: Sequence[str], new: Sequence[str], first: int) -> Iterator[tuple[slice, str]]:
    """Pair the lines of a hunk: rewritten ones with what they became; the others were removed or added."""
    compared = len(old) * len(new) <= _MOST_PAIRED
    matcher = SequenceMatcher(None, _bare(old), _bare(new), autojunk=False)
    for kind, one, end, start, stop in matcher.get_opcodes():
        if kind == "equal":
            for offset in range(end - one):
                yield slice(first + one + offset, first + one + offset + 1), new[start + offset]
            continue
        taken = start
        for place in range(one, end):
            others = range(taken, stop) if compared else ()
            near = next((other for other in others if _alike(old[place], new[other])), None)
            if near is None:
                yield slice(first + place, first + place + 1), ""
                continue
            for added in range(taken, near):
                yield slice(first + place, first + place), new[added]
            yield slice(first + place, first + place + 1), new[near]
            taken = near + 1
        for added in range(taken, stop):
            yield slice(first + end, first + end), new[added]


def _alike(line: str, other: str) -> bool:
    return SequenceMatcher(None, line.strip()[:200], other.strip()[:200], autojunk=False).ratio() >= _LIKE


def _edited(text: str, steps: Iterable[_Step]) -> str:
    parts = []
    at = 0
    for edit in sorted((edit for step in steps for edit in step), key=lambda one: (one.start, one.order)):
        parts += [text[at : edit.start], edit.text]
        at = max(at, edit.end)
    return "".join([*parts, text[at:]])


def _distance(hunk: Sequence[_Step], text: str, line: int) -> tuple[int, int]:
    """How many lines a hunk is away from a line; those above come first, since a fault shows late."""
    near = min(abs(text.count("\n", 0, edit.start) + 1 - line) for step in hunk for edit in step)
    return near, min(edit.start for step in hunk for edit in step)


def _enough(hunks: Sequence[Sequence[_Step]], holds: Callable[[Iterable[_Step]], bool]) -> list[_Step] | None:
    """The nearest hunks that repair the file together."""
    number = 1
    while number // 2 < len(hunks):
        steps = [step for hunk in hunks[:number] for step in hunk]
        if holds(steps):
            return steps
        number *= 2
    return None


def _smallest(steps: list[_Step] | None, holds: Callable[[Iterable[_Step]], bool]) -> list[_Step] | None:
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


def _rewrites_only(text: str, steps: Iterable[_Step]) -> bool:
    """Whether no line with a word in it is added or removed."""
    for edit in (edit for step in steps for edit in step):
        old = text[edit.start : edit.end]
        one_sided = edit.text if not old else old if not edit.text else ""
        if _WORD.search(one_sided) and not _MARKER.match(one_sided):
            return False
    return True


def _name_things(text: str, steps: Iterable[_Step]) -> bool:
    """Whether any line is one that the names of a domain are in, and not only the text of a response."""
    edits = [edit for step in steps for edit in step]
    return any(_NAMES.fullmatch(side.strip()) for edit in edits for side in (text[edit.start : edit.end], edit.text))


def _groups(text: str, step: _Step) -> Iterator[_Step]:
    """The parts of a rewritten line that differ, each a step of its own: a line may hold several rules."""
    if len(step) > 1 or not (old := text[step[0].start : step[0].end]) or not step[0].text:
        yield step
        return
    (edit,) = step
    before, after = _TOKEN.findall(old), _TOKEN.findall(edit.text)
    starts = [edit.start]
    for token in before:
        starts.append(starts[-1] + len(token))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for number, (kind, first, end, start, stop) in enumerate(matcher.get_opcodes()):
        if kind != "equal":
            yield (_Edit(starts[first], starts[end], "".join(after[start:stop]), (edit.order[0], number)),)


def _is_the_bases(text: str, repaired: str) -> bool:
    """Whether a repaired file still has half of the words that it had."""
    before, after = (Counter(line for line in _bare(_lines(side)) if _WORD.search(line)) for side in (text, repaired))
    return (before & after).total() >= _LIKE * before.total()


@lru_cache(maxsize=8)
def _brought(text: str, repaired: str) -> frozenset[int]:
    """The lines of the repaired text whose words are not those of a line of the base; not keys without a value."""
    own = [set(_WORDS.findall(line)) for line in _lines(text)]
    bare = set(_bare(_lines(text)))
    return frozenset(
        number
        for number, line in enumerate(_lines(repaired), 1)
        if "".join(line.split()) not in bare
        and not _KEY.fullmatch(line.strip())
        and not any(set(_WORDS.findall(line)) <= known for known in own)
    )
