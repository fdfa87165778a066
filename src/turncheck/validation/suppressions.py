"""Leaving findings out on purpose: a comment beside them, or a list of codes for the whole project.

``# turncheck: ignore CODE`` (several codes with commas) counts for its own line, or, where it stands on a line of its
own, for the next line that is no comment. Where that line opens a block of text (``examples: |``), it counts for the
whole block, in which no comment can stand. What is suppressed does not change the exit code; a suppression that
suppresses nothing is reported itself, where all checks have run that could have found something for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turncheck.finding import Finding
from turncheck.location import Location
from turncheck.project.folder import ProjectFolder
from turncheck.project.yaml_positions import YamlMapping, YamlScalar, YamlSequence, parse_yaml
from turncheck.validation.facts import suggestion
from turncheck.validation.findings import found
from turncheck.validation.incomplete import missing_parts
from turncheck.validation.load_order import EMPTYING, HIDDEN, STOPPING
from turncheck.validation.registry import CHECKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from turncheck.finding import Severity
    from turncheck.project.model import Example, Project, Story
    from turncheck.project.yaml_positions import YamlDocument, YamlNode
    from turncheck.validation.pipeline import Validated

_COMMENT: Final = re.compile(
    r"(?:^|(?<=\s))#\s*turncheck:\s*ignore\s+(?P<codes>[a-z][a-z0-9-]*(?:\s*,\s*[a-z][a-z0-9-]*)*)"
)
_MARK: Final = "turncheck:"


@dataclass(frozen=True, slots=True)
class Suppression:
    """One code that is to be left out: at these lines of a file, or (``lines`` is ``None``) everywhere."""

    code: str
    location: Location
    lines: range | None = None

    def covers(self, finding: Finding) -> bool:
        """Whether the finding is meant. What Rasa stops at is never suppressed."""
        is_hidden = finding.code == HIDDEN and finding.message.startswith(f"{self.code}: ")
        if self.code in STOPPING or (finding.code != self.code and not is_hidden):
            return False
        if self.lines is None:
            return True
        return finding.location.path == self.location.path and (finding.location.line or 0) in self.lines


def suppress(
    validated: Validated,
    project: Project,
    ignored: Sequence[tuple[str, Location]] = (),
    *,
    tests: Sequence[Story] = (),
    test_examples: Sequence[Example] = (),
    strict: bool = False,
    stories_only: bool = False,
) -> Validated:
    """Leave out what comments in the files of the project and its tests, and ``ignored`` (code, its place) name.

    Unused suppressions are added, at their true severity if ``strict``. ``stories_only``: the checks were those of
    ``data validate stories``, so that other codes could not come up.
    """
    documents = {file.path: file.document for file in project.files if file.document is not None}
    documents |= _documents_of_tests(project.root, (*tests, *test_examples))
    suppressions = [*_comments(documents), *(Suppression(code, place) for code, place in ignored)]
    if not suppressions:
        return validated
    used: set[int] = set()
    hidden: set[int] = set()
    for index, finding in enumerate(validated.findings):
        for number, suppression in enumerate(suppressions):
            if suppression.covers(finding):
                used.add(number)
                hidden.add(index)
    severity: Severity = CHECKS["suppression-unused"].severity if strict else "info"
    everything_ran = _everything_ran(validated, project)
    unused = [
        _unused(suppression, severity)
        for number, suppression in enumerate(suppressions)
        if number not in used and (_is_futile(suppression.code) or (everything_ran and _ran(suppression, stories_only)))
    ]
    return validated.without(hidden, unused)


def _everything_ran(validated: Validated, project: Project) -> bool:
    """Whether nothing was left unread or unchecked, for which a suppression may have been written."""
    cutting_short = STOPPING | EMPTYING | {"version-too-high"}
    is_cut_short = any(finding.code in cutting_short for finding in validated.findings)
    return project.calm is None and not missing_parts(project) and not is_cut_short


def _ran(suppression: Suppression, stories_only: bool) -> bool:
    return not stories_only or CHECKS[suppression.code].stage == "stories"


def _is_futile(code: str) -> bool:
    """Whether no finding with this code can ever be suppressed."""
    return code not in CHECKS or code in STOPPING


def _unused(suppression: Suppression, severity: Severity) -> Finding:
    code = suppression.code
    if code not in CHECKS:
        message, near = f"There is no finding with the code '{code}' to suppress.", suggestion(code, CHECKS)
    elif code in STOPPING:
        message, near = f"'{code}' cannot be suppressed: something is not read because of it.", ""
    else:
        message, near = f"The suppression of '{code}' suppresses nothing.", ""
    finding = found("suppression-unused", message, suppression.location, near)
    return Finding(finding.code, severity, finding.message, finding.location, finding.hint)


def _documents_of_tests(root: Path, tests: Iterable[Story | Example]) -> dict[str, YamlDocument]:
    """The test files that hold such a comment; they are read again, for that alone."""
    folder = ProjectFolder(root)
    sources = {path: folder.read(root / path) for path in sorted({test.location.path for test in tests})}
    return {path: parse_yaml(source) for path, source in sources.items() if source and _MARK in source.text}


def _comments(documents: Mapping[str, YamlDocument]) -> Iterator[Suppression]:
    for path, document in documents.items():
        if _MARK in document.source.text:
            yield from _comments_of(path, document)


def _comments_of(path: str, document: YamlDocument) -> Iterator[Suppression]:
    blocks = list(_blocks(document.root)) if document.root is not None else []
    inside = {line for block in blocks for line in block[1:]}
    last = len(document.source.line_starts)
    for number in range(1, last + 1):
        text = document.source.line(number)
        match = _COMMENT.search(text) if _MARK in text and number not in inside else None
        if match is None or _is_quoted(text, match.start()):
            continue
        target = number
        if not text[: match.start()].strip():
            target = _next_line(document, number, last)
        lines = next((block for block in blocks if block.start == target), range(target, target + 1))
        for code in match["codes"].split(","):
            yield Suppression(code.strip(), Location(path, number, match.start() + 1), lines)


def _next_line(document: YamlDocument, number: int, last: int) -> int:
    """The next line that is neither empty nor a comment."""
    for following in range(number + 1, last + 1):
        text = document.source.line(following).strip()
        if text and not text.startswith("#"):
            return following
    return number


def _is_quoted(text: str, offset: int) -> bool:
    """Whether a quote is open before the offset: then the sign begins no comment."""
    before = text[:offset]
    return before.count('"') % 2 == 1 or before.count("'") % 2 == 1


def _blocks(root: YamlNode) -> Iterator[range]:
    """The lines of each block of text; the first is the one that opens it."""
    stack: list[YamlNode] = [root]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, YamlScalar) and node.style in {"|", ">"}:
            first = node.source.location(node.start).line or 1
            last = node.source.location(max(node.start, node.end - 1)).line or first
            yield range(first, last + 1)
        elif isinstance(node, YamlMapping):
            stack.extend(node.items.values())
        elif isinstance(node, YamlSequence):
            stack.extend(node.items)
