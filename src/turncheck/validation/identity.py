"""What a finding is recognised by in another report: what it is about, what it stands in, and its line.

Its words have no part in this: a suggestion, a count or another place in them may change with any edit.
"""

from __future__ import annotations

from bisect import bisect_right
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from turncheck.messages.finding import Finding, Name
from turncheck.project.folder import ProjectFolder
from turncheck.validation.catalogue import CHECKS
from turncheck.validation.checks import FILE, PLACE
from turncheck.validation.load_order import HIDDEN
from turncheck.yaml_tree.json_tree import parse_json
from turncheck.yaml_tree.source import EscapeError, Source, YamlSource
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from turncheck.messages.finding import Location
    from turncheck.project.model import Project

_KINDS: Final[Mapping[str, str]] = {
    "intents": "intent",
    "entities": "entity",
    "slots": "slot",
    "forms": "form",
    "responses": "response",
    "actions": "action",
}
"""The sections of a domain, and what the names in them are."""
_TITLES: Final = ("story", "rule", "intent", "synonym", "regex", "lookup", "test_case", "fixture", "name", "test", "id")
"""The keys that name an item of a list."""
_DEEPEST: Final = 20
_LONGEST: Final = 200
"""Of a name: a sentence or a value may be as long as a book."""
_DIGEST_BYTES: Final = 6
_LARGEST_JSON: Final = 200_000
"""Characters of a file of JSON: a larger one takes seconds."""


def identified(findings: Iterable[Finding], project: Project | None) -> list[Finding]:
    """Return findings with what they are recognised by, as their checks declare it.

    ``project``: where they are, ``None`` if it was not read.
    """
    files = _Files(project)
    return [_identified(finding, files) for finding in findings]


def _identified(finding: Finding, files: _Files) -> Finding:
    kinds = _kinds(finding)
    # The file is where it stands: names of files are those of others, which only lie near.
    about = {_shortened(name) for name in finding.about or finding.names if name.kind in kinds and name.kind != FILE}
    in_place = PLACE in kinds or (not about and FILE not in kinds)
    return replace(
        finding,
        about=tuple(sorted(about, key=_by_kind)),
        stands_in=files.stands_in(finding.location) if in_place else (),
        lines=files.lines(finding.location),
    )


def _kinds(finding: Finding) -> tuple[str, ...]:
    """What a finding is recognised by; one that Rasa does not get to see, by what the hidden one is, and its code."""
    if finding.code == HIDDEN:
        hidden = next((CHECKS[name.name].about for name in finding.names[:1] if name.name in CHECKS), (PLACE,))
        return ("code", *hidden)
    return CHECKS[finding.code].about if finding.code in CHECKS else (PLACE,)


def _shortened(name: Name) -> Name:
    if len(name.name) <= _LONGEST:
        return name
    return Name(name.kind, f"{name.name[:_LONGEST]}…{_digest(name.name)}")


def _by_kind(name: Name) -> tuple[str, str]:
    return name.kind, name.name


def _digest(text: str) -> str:
    """A digest of text without the white space around it; "" if there is none."""
    text = text.strip()
    return _digest_of_bytes(text.encode("utf-8", "surrogatepass")) if text else ""


def _digest_of_bytes(content: bytes) -> str:
    return blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()


class _Files:
    """The files of a project and of its tests, by their paths; each is read at most once more."""

    def __init__(self, project: Project | None) -> None:
        files = project.files if project is not None else ()
        self._folder = ProjectFolder(project.root) if project is not None else None
        self._sources: dict[str, Source | None] = {file.path: file.source for file in files}
        self._roots: dict[str, YamlNode | None] = {
            file.path: file.document.root for file in files if file.document is not None
        }

    def lines(self, location: Location) -> tuple[str, str, str]:
        """The digests of a line, of the one above and of the one below; without a line, of the whole file.

        So of a file that is not text.
        """
        source = self._source(location.path)
        if source is None:
            content = self._content(location.path)
            return _digest_of_bytes(content) if content else "", "", ""
        if location.line is None:
            return _digest(source.file_text), "", ""
        last = len(source.line_starts)
        at, above, below = (
            _digest(source.line(number)) if 1 <= number <= last else ""
            for number in (location.line, location.line - 1, location.line + 1)
        )
        return at, above, below

    def stands_in(self, location: Location) -> tuple[Name, ...]:
        """The keys that lead to a place, and the names of the items on the way; of Markdown its heading."""
        source = self._source(location.path)
        if source is None or location.line is None or location.line > len(source.line_starts):
            return ()
        if location.path.endswith((".md", ".markdown")):
            return _heading(source, location.line)
        root = self._root_of(location.path, source)
        if root is None:
            return ()
        offset = source.line_starts[location.line - 1] + (location.column or 1) - 1
        return tuple(_shortened(name) for name in _way(root, offset))

    def _source(self, path: str) -> Source | None:
        if path not in self._sources:
            self._sources[path] = self._read(path)
        return self._sources[path]

    def _read(self, path: str) -> Source | None:
        content = self._content(path)
        return self._folder.decode(path, content) if self._folder is not None and content is not None else None

    def _content(self, path: str) -> bytes | None:
        """The bytes of a file of the project; nothing else is opened for a path that a finding names."""
        if self._folder is None or not path or path.startswith(("/", "../")):
            return None
        file = self._folder.root / path
        return self._folder.read_bytes(file) if file.is_file() else None

    def _root_of(self, path: str, source: Source) -> YamlNode | None:
        if path not in self._roots:
            self._roots[path] = _parsed(source)
        return self._roots[path]


def _parsed(source: Source) -> YamlNode | None:
    """The top of a file of tests, which is read a second time for this, unless it takes long."""
    if source.path.endswith(".json"):
        return parse_json(source).root if len(source.file_text) <= _LARGEST_JSON else None
    if not source.path.endswith((".yml", ".yaml")):
        return None
    try:
        return parse_yaml(YamlSource.of(source)).root
    except EscapeError:
        return None


def _heading(source: Source, line: int) -> tuple[Name, ...]:
    for number in range(line, 0, -1):
        text = source.line(number).strip()
        if text.startswith("## "):
            kind, colon, name = text[3:].partition(":")
            return (_shortened(Name(kind.strip(), name.strip()) if colon else Name("story", text[3:].strip())),)
    return ()


def _way(root: YamlNode, offset: int) -> Iterator[Name]:
    """The names on the way from the top of a file to a place in it."""
    node: YamlNode | None = root
    section = ""
    for _ in range(_DEEPEST):
        if isinstance(node, YamlMapping):
            keys = [*node.items]
            position = bisect_right(node.key_nodes, offset, key=_start) - 1
            if position < 0:
                return
            key = keys[position]
            yield Name(_KINDS.get(section, "key"), str(key))
            section = str(key) if node is root else ""
            node = node.items[key]
        elif isinstance(node, YamlSequence):
            position = bisect_right(node.items, offset, key=_start) - 1
            if position < 0:
                return
            node = node.items[position]
            yield from _title(node, section)
        else:
            return


def _start(node: YamlNode) -> int:
    return node.start


def _title(item: YamlNode, section: str) -> Iterator[Name]:
    """What an item of a list is called: a name in a list of them, the value of a key such as ``story``."""
    if section in _KINDS and isinstance(item, YamlScalar):
        yield Name(_KINDS[section], str(item.value))
    elif isinstance(item, YamlMapping):
        named: list[tuple[str, Any]] = [(key, item.items[key]) for key in _TITLES if key in item.items]
        yield from (Name(key, str(node.value)) for key, node in named[:1] if isinstance(node, YamlScalar))
