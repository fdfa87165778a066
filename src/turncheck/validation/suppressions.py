"""Suppresses findings on purpose: by a comment beside them, or by a list of codes for the whole project.

A comment may be at any place of a finding: of two stories that disagree, beside either.

``# turncheck: ignore CODE`` (several codes with commas) applies to its own line or, on a line of its
own, to the next line that is not a comment. If that line opens a block of text (``examples: |``), it applies to the
whole block, which cannot contain comments. In a Markdown file that is not read, ``<!-- turncheck: ignore CODE
-->`` applies to the file. What is suppressed does not change the exit code, but is counted; a suppression that
suppresses nothing is reported itself, if all checks have run that could have found something for it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from turncheck.messages.finding import Finding, Location, Name, Severity
from turncheck.messages.phrasing import suggestion
from turncheck.project.folder import ProjectFolder
from turncheck.validation.catalogue import CHECKS
from turncheck.validation.facts import ProjectTests, missing_parts
from turncheck.validation.findings import found
from turncheck.validation.load_order import HIDDEN
from turncheck.yaml_tree.tree import YamlDocument, YamlMapping, YamlNode, YamlScalar, YamlSequence, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from turncheck.project.model import Project
    from turncheck.validation.pipeline import Validated
    from turncheck.yaml_tree.source import YamlSource


# The comments in files that leave findings out: ``# turncheck: ignore CODE``, in Markdown ``<!-- … -->``.
#
# Several codes are separated by commas or spaces; what follows them may say why. The comment may be after another
# (``# yamllint disable; turncheck: ignore CODE``), and case is ignored.

_MARK: Final = re.compile(r"turncheck\s*:", re.IGNORECASE)

# Few projects have such comments: what only they need is compiled when one is read.
_HASH: Final = r"(?:^|(?<=\s))#"
_DIRECTIVE: Final = (
    r"(?i:turncheck\s*:\s*ignore\b\s*:?\s*(?P<codes>[a-z][a-z0-9-]*(?:\s*,\s*[a-z][a-z0-9-]*)*)?(?P<rest>.*))"
)
_MALFORMED: Final = r"(?i:#\s*turncheck\s*:|\bturncheck\s*:\s*(?:ignore|disable|skip|noqa)\b)"
_MARKDOWN: Final = r"<!--(?P<text>.*?)-->"

WHOLE_FILE: Final = -1
"""The line number of a comment that applies to its whole file."""

Place = tuple[int, int]
"""A line and a column, both from 1."""


class Comment(NamedTuple):
    """What a comment leaves out: ``codes`` at ``line`` and in the block that it opens. Without codes it is faulty."""

    codes: tuple[str, ...]
    location: Location
    line: int


class Blocks(NamedTuple):
    """Where a file's blocks of text are (they cannot contain comments), by the line that opens each."""

    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    def opening_line(self, line: int) -> int:
        """The line that opens the block around this line, else the line itself."""
        number = bisect_right(self.starts, line) - 1
        return self.starts[number] if number >= 0 and line <= self.ends[number] else line


class _Texts(Struct):
    """Where a file's blocks and quoted texts begin and end."""

    blocks: list[tuple[int, int]] = field(default_factory=list)
    quoted: list[tuple[Place, Place]] = field(default_factory=list)


def may_have_comments(source: YamlSource) -> bool:
    """Whether a file mentions turncheck as such a comment does."""
    return _MARK.search(source.file_text) is not None


def comments_of(path: str, document: YamlDocument) -> tuple[list[Comment], Blocks]:
    """The comments of a file that leave findings out or try to, and its blocks of text."""
    texts = _texts(document.root)
    blocks = Blocks(tuple(start for start, _ in texts.blocks), tuple(end for _, end in texts.blocks))
    comments = []
    last = len(document.source.line_starts)
    for number in range(1, last + 1):
        line = document.source.line(number)
        if _MARK.search(line) is None or blocks.opening_line(number) != number:
            continue
        start = _start_of_comment(line, number, texts.quoted)
        codes = _codes(line[start:]) if start is not None else None
        if start is not None and codes is not None:
            target = number if line[:start].strip() else _next_line(document, number, last)
            comments.append(Comment(codes, Location(path, number, start + 1), target))
    return comments, blocks


def comments_of_markdown(source: YamlSource) -> list[Comment]:
    """The comments ``<!-- turncheck: ignore CODE -->`` of a file that is not read; each applies to the whole file."""
    comments = []
    for number in range(1, len(source.line_starts) + 1):
        line = source.line(number)
        for match in re.finditer(_MARKDOWN, line):
            codes = _codes(f"# {match['text']}")
            if codes is not None:
                comments.append(Comment(codes, Location(source.path, number, match.start() + 1), WHOLE_FILE))
    return comments


def _start_of_comment(line: str, number: int, quoted: list[tuple[Place, Place]]) -> int | None:
    for match in re.finditer(_HASH, line):
        place = (number, match.start() + 1)
        before = bisect_right(quoted, (place, place)) - 1
        if before < 0 or place >= quoted[before][1]:
            return match.start()
    return None


def _codes(comment: str) -> tuple[str, ...] | None:
    """The codes that a comment names, none if it is faulty, ``None`` if it is about something else."""
    match = re.search(_DIRECTIVE, comment)
    if match is None or not match["codes"]:
        return () if re.search(_MALFORMED, comment) else None
    codes = [code.strip().lower() for code in match["codes"].split(",")]
    for word in match["rest"].lower().split():
        if word.strip(",") not in CHECKS:
            break
        codes.append(word.strip(","))
    return tuple(codes)


def _next_line(document: YamlDocument, number: int, last: int) -> int:
    """The next line that is neither empty nor a comment."""
    for following in range(number + 1, last + 1):
        text = document.source.line(following).strip()
        if text and not text.startswith("#"):
            return following
    return number


def _texts(root: YamlNode | None) -> _Texts:
    texts = _Texts()
    for node in _scalars(root):
        first = node.source.location(node.start)
        if node.style in {"|", ">"}:
            last = node.source.location(max(node.start, node.end - 1))
            texts.blocks.append((first.line or 1, last.line or first.line or 1))
        elif node.style:
            end = node.source.location(node.end)
            texts.quoted.append(((first.line or 1, first.column or 1), (end.line or 1, end.column or 1)))
    texts.blocks.sort()
    texts.quoted.sort()
    return texts


def _scalars(root: YamlNode | None) -> Iterator[YamlScalar]:
    stack = [root]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, YamlScalar):
            yield node
        elif isinstance(node, YamlMapping):
            stack += [*node.keys.values(), *node.items.values()]
        elif isinstance(node, YamlSequence):
            stack += node.items


_EVERYWHERE: Final = 0


class Suppression(NamedTuple):
    """One code to leave out at a line of a file (and in the block that it opens), in all of it, or everywhere.

    For a faulty comment the code is empty.
    """

    code: str
    location: Location
    line: int = _EVERYWHERE


class _Index:
    """Finds the suppressions of a finding by its place and code."""

    def __init__(self, suppressions: Sequence[Suppression], blocks: Mapping[str, Blocks]) -> None:
        self._blocks = blocks
        self._numbers: dict[tuple[str, int, str], list[int]] = {}
        for number, suppression in enumerate(suppressions):
            path = suppression.location.path if suppression.line else ""
            self._numbers.setdefault((path, suppression.line, suppression.code), []).append(number)

    def of(self, finding: Finding) -> list[int]:
        """The indexes of the suppressions that apply to the finding. What Rasa stops at is never suppressed."""
        hidden = [name.name for name in finding.names if name.kind == "code" and finding.code == HIDDEN]
        codes = [code for code in (finding.code, *hidden) if not _ends_reading(code)]
        places = [("", _EVERYWHERE)]
        for location in (finding.location, *finding.others):
            line = self._blocks.get(location.path, Blocks()).opening_line(location.line or 0)
            places += [(location.path, line), (location.path, WHOLE_FILE)]
        return [number for code in codes for place in places for number in self._numbers.get((*place, code), ())]


def suppress(
    validated: Validated,
    project: Project,
    ignored: Sequence[tuple[str, Location]] = (),
    *,
    tests: ProjectTests | None = None,
    strict: bool = False,
    stories_only: bool = False,
    cases_read: bool = False,
) -> Validated:
    """Leave out the findings that comments in the project and its tests, or ``ignored`` (code, its place), name.

    Unused suppressions are added, at their true severity if ``strict``. ``stories_only``: the checks were those of
    ``data validate stories``, so other codes could not be found. ``cases_read``: end-to-end test cases were read to
    be run, so their faults are among the findings.
    """
    documents = {file.path: file.document for file in project.files if file.document is not None}
    documents |= _documents_of_tests(project.root, tests.files if tests else ())
    suppressions, blocks = _from_comments(documents)
    suppressions += _from_markdown(project.root, validated.findings)
    suppressions += [Suppression(code, location) for code, location in ignored]
    if not suppressions:
        return validated
    index = _Index(suppressions, blocks)
    used: set[int] = set()
    hidden: set[int] = set()
    for position, finding in enumerate(validated.findings):
        numbers = index.of(finding)
        used.update(numbers)
        if numbers:
            hidden.add(position)

    def ran(code: str) -> bool:
        stage = CHECKS[code].stage
        if stage == "suites":
            return False
        return cases_read if stage == "cases" else not stories_only or stage == "stories"

    severity: Severity = CHECKS["suppression-unused"].severity if strict else "info"
    everything_ran = _everything_ran(validated, project)
    unused = [
        _unused(suppression, severity)
        for number, suppression in enumerate(suppressions)
        if number not in used and (_is_futile(suppression.code) or (everything_ran and ran(suppression.code)))
    ]
    suppressed = tuple(validated.findings[position] for position in sorted(hidden))
    return replace(validated.without(hidden, unused), suppressed=suppressed)


def _everything_ran(validated: Validated, project: Project) -> bool:
    """Whether everything was read and checked that a suppression may have been written for."""
    is_cut_short = any(
        finding.code == "version-too-high" or CHECKS[finding.code].then != "goes on" for finding in validated.findings
    )
    return project.calm is None and not missing_parts(project) and not is_cut_short


def _ends_reading(code: str) -> bool:
    return code in CHECKS and CHECKS[code].then == "stops"


def _is_futile(code: str) -> bool:
    """Whether no finding with this code can ever be suppressed."""
    return code not in CHECKS or _ends_reading(code)


def _unused(suppression: Suppression, severity: Severity) -> Finding:
    code = suppression.code
    if not code:
        message = "This comment leaves nothing out, since it names no code."
        near = "Write '# turncheck: ignore CODE'."
    elif code not in CHECKS:
        message, near = f"There is no finding with the code '{code}' to suppress.", suggestion(code, CHECKS)
    elif _ends_reading(code):
        message, near = f"'{code}' cannot be suppressed: something is not read because of it.", ""
    else:
        message, near = f"The suppression of '{code}' suppresses nothing.", ""
    finding = found("suppression-unused", message, suppression.location, near, about=(Name("code", code),))
    return Finding(finding.code, severity, finding.message, finding.location, finding.hint, about=finding.about)


def _documents_of_tests(root: Path, files: Iterable[str]) -> dict[str, YamlDocument]:
    """The test files that hold such a comment; they are read again only for that."""
    folder = ProjectFolder(root)
    sources = {path: folder.read(root / path) for path in files}
    return {path: parse_yaml(source) for path, source in sources.items() if source and may_have_comments(source)}


def _from_comments(documents: Mapping[str, YamlDocument]) -> tuple[list[Suppression], dict[str, Blocks]]:
    suppressions: list[Suppression] = []
    blocks: dict[str, Blocks] = {}
    for path, document in documents.items():
        if may_have_comments(document.source):
            comments, blocks[path] = comments_of(path, document)
            suppressions += [
                Suppression(code, comment.location, comment.line)
                for comment in comments
                for code in comment.codes or ("",)
            ]
    return suppressions, blocks


def _from_markdown(root: Path, findings: Iterable[Finding]) -> list[Suppression]:
    """The comments of the Markdown files that have findings."""
    folder = ProjectFolder(root)
    paths = sorted({finding.location.path for finding in findings if finding.location.path.endswith(".md")})
    sources = [source for path in paths if (source := folder.read(root / path)) is not None]
    return [
        Suppression(code, comment.location, comment.line)
        for source in sources
        for comment in comments_of_markdown(source)
        for code in comment.codes or ("",)
    ]
