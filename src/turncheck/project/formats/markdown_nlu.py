"""NLU data and responses in the Markdown of Rasa 0.x to 2.x, as Rasa 1.10 reads it.

Sections begin with ``## intent:name`` (or synonym, regex, lookup), their items with ``-``, ``*`` or ``+``. Findings
made here: ``markdown-refused`` where Rasa ends, ``markdown-ignored`` for what it skips silently,
``markdown-read-otherwise`` for what it reads differently than one expects, ``annotation-…`` and
``lookup-file-missing``. Everything around a fault is read if possible.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from turncheck.messages.finding import Finding, Location, Severity
from turncheck.project.formats.annotations import AnnotationError, parse_annotations
from turncheck.project.formats.rasa_json import lookup_file_missing
from turncheck.project.model import Response, ResponseVariation
from turncheck.project.nlu_data import EntityAnnotation, Example, Lookup, NluData, Regex, Synonym

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.project.folder import ProjectFolder
    from turncheck.yaml_tree.source import Source


# Markdown of Rasa 0.x to 2.x as text: its comments and lines, and where each of them is in the file.

COMMENT: Final = "<!--"
COMMENT_END: Final = "-->"
BULLETS: Final = "-*+"

IGNORED: Final = "markdown-ignored"
REFUSED: Final = "markdown-refused"
OTHERWISE: Final = "markdown-read-otherwise"


class Line(Struct, frozen=True):
    """A line (numbered from 1) without the white space around it, and where it begins in :class:`Uncommented`."""

    text: str
    number: int
    start: int


class Uncommented:
    """A text without its comments, which may span lines; a comment that is never closed stays in it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._ends: list[int] = []
        self._shifts: list[int] = []
        parts: list[str] = []
        text, done, length = source.text, 0, 0
        while (opening := text.find(COMMENT, done)) >= 0:
            closing = text.find(COMMENT_END, opening + len(COMMENT))
            if closing < 0:
                break
            parts.append(text[done:opening])
            length += opening - done
            done = closing + len(COMMENT_END)
            self._ends.append(length)
            self._shifts.append(done - length)
        parts.append(text[done:])
        self.text = "".join(parts)
        self.open_comment = self.text.find(COMMENT)

    def location(self, offset: int) -> Location:
        """Return the location of the character at an offset in the text without comments."""
        number = bisect_right(self._ends, offset) - 1
        return self.source.location(offset + (self._shifts[number] if number >= 0 else 0))

    def lines(self) -> Iterator[Line]:
        """Yield the lines as Python splits them: a form feed or U+2028 ends a line, too."""
        start = 0
        for number, line in enumerate(self.text.splitlines(keepends=True), 1):
            stripped = line.strip()
            yield Line(stripped, number, start + len(line) - len(line.lstrip()))
            start += len(line)


class Notes(Struct):
    """Collects findings while a file is read."""

    findings: list[Finding] = field(default_factory=list)

    def note(self, code: str, severity: Severity, message: str, location: Location, hint: str) -> None:
        """Note a finding."""
        self.findings.append(Finding(code, severity, message, location, hint))

    def ignored(self, message: str, location: Location, hint: str) -> None:
        """Note what Rasa skips silently."""
        self.note(IGNORED, "warning", message, location, hint)

    def refused(self, message: str, location: Location, hint: str) -> None:
        """Note a fault at which Rasa ends."""
        self.note(REFUSED, "error", message, location, hint)

    def otherwise(self, message: str, location: Location, hint: str) -> None:
        """Note what is read differently than one expects."""
        self.note(OTHERWISE, "warning", message, location, hint)

    def whole_file(self, message: str, location: Location, hint: str, *, read_as: str) -> None:
        """Note that nothing of a file is read as what it is meant to be."""
        self.findings.append(Finding(OTHERWISE, "warning", message, location, hint, subject=read_as))


def item_of(line: str) -> str | None:
    """Return what follows a line's bullet; ``None`` if the line is not a list item."""
    if line[:1] and line[0] in BULLETS:
        return line[1:].lstrip() or None
    return None


def shown(line: str) -> str:
    """Return a line as a message shows it."""
    return line if len(line) <= 60 else f"{line[:57]}..."


SECTIONS: Final = ("intent", "synonym", "regex", "lookup")
MARKERS: Final = tuple(f"## {section}:" for section in SECTIONS)
"""Headers that make a file NLU data, wherever they are in it."""
_EXAMPLES: Final = "`- intent: NAME` with `examples: |` and a line `- text` for each"
_HINT: Final = f"In YAML it is {_EXAMPLES}; `turncheck data convert nlu` writes that."


class _Places:
    """Where the examples of a file are."""

    def __init__(self, text: Uncommented, starts: list[int]) -> None:
        self._text = text
        self._starts = starts

    def locate(self, index: int) -> Location:
        return self._text.location(self._starts[index])


class _Table(Struct):
    """A lookup table that is being read: its items, or the path of its file."""

    name: str
    location: Location
    items: list[str] = field(default_factory=list)
    path: str | None = None


class _Reading(Struct):
    text: Uncommented
    notes: Notes = field(default_factory=Notes)
    section: str | None = None
    title: str = ""
    examples: list[Example] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    synonyms: list[Synonym] = field(default_factory=list)
    regexes: list[Regex] = field(default_factory=list)
    tables: list[_Table] = field(default_factory=list)
    is_skipping: bool = False
    """Whether the current section is one that Rasa refuses."""
    too_deep: Location | None = None
    """The header of an intent with more than one slash, which Rasa refuses at its first example."""


def read_markdown_nlu(folder: ProjectFolder, source: Source) -> tuple[NluData, list[Finding]]:
    """Read a file of NLU data in Markdown."""
    text = Uncommented(source)
    reading = _Reading(text)
    origin = _Places(text, reading.starts)
    if text.open_comment >= 0:
        what = f"A comment in '{source.path}' is never closed; it stays in the text."
        reading.notes.otherwise(what, text.location(text.open_comment), "Close it with '-->'.")
    for line in text.lines():
        header = find_header(line.text)
        if header is not None:
            _begin_section(reading, line, *header)
        elif (item := item_of(line.text)) is not None:
            _read_item(reading, line, item, origin)
        elif line.text:
            _read_other(reading, line)
    lookups = [_lookup(folder, reading.notes, table) for table in reading.tables]
    data = NluData(tuple(reading.examples), tuple(reading.synonyms), tuple(reading.regexes), tuple(lookups))
    return data, reading.notes.findings


def find_header(line: str) -> tuple[str, str] | None:
    """Return section and title of the first header in a line: ``##``, spaces, section, ``:``, title.

    >>> find_header("## intent: greet")
    ('intent', ' greet')
    """
    marks = line.find("##")
    if marks < 0:
        return None
    begin = marks + 2
    word = begin + len(line[begin:]) - len(line[begin:].lstrip())
    colon = line.find(":", word + 1)
    if 0 <= colon < len(line) - 1:
        return line[word:colon], line[colon + 1 :]
    if begin < word < len(line) - 1 and line[word] == ":":
        return line[word - 1], line[word + 1 :]
    return None


def _begin_section(reading: _Reading, line: Line, section: str, title: str) -> None:
    location = reading.text.location(line.start)
    path = location.path
    if not line.text.startswith("##"):
        what = (
            f"'{shown(line.text)}' in '{path}' is not an item: the '##' in it begins the {section} '{title.strip()}'."
        )
        reading.notes.otherwise(what, location, f"Write the line without '##'. {_HINT}")
    if section not in SECTIONS:
        what = f"The section '{section}' in '{path}' is not one of {', '.join(SECTIONS)}; Rasa ends here."
        reading.notes.refused(what, location, f"Write `## intent:NAME`, without a blank before the colon. {_HINT}")
        reading.is_skipping = True
        return
    reading.is_skipping, reading.too_deep = False, None
    reading.section, reading.title = section, title.strip()
    if section == "intent" and title.count("/") > 1:
        reading.too_deep = location
    elif section != "intent" and title != title.strip():
        what = f"The blanks around the name of the {section} '{title}' belong to it in Rasa 1; they are left out."
        reading.notes.otherwise(what, location, f"Write `## {section}:{title.strip()}`; in YAML `- {section}: NAME`.")


def _read_item(reading: _Reading, line: Line, item: str, origin: _Places) -> None:
    start = line.start + len(line.text) - len(item)
    if reading.is_skipping:
        return
    if reading.section is None:
        location = reading.text.location(line.start)
        what = f"'{shown(line.text)}' in '{location.path}' comes before the first header; it is lost."
        reading.notes.ignored(what, location, f"Put it below a header such as `## intent:NAME`. {_HINT}")
    elif reading.section == "intent":
        _read_example(reading, item, start, origin)
    elif reading.section == "synonym":
        reading.synonyms.append(Synonym(reading.title, item, reading.text.location(start)))
    elif reading.section == "regex":
        reading.regexes.append(Regex(reading.title, item, reading.text.location(start)))
    else:
        _read_element(reading, item, reading.text.location(start))


def _read_example(reading: _Reading, item: str, start: int, origin: _Places) -> None:
    location = reading.text.location(start)
    if reading.too_deep is not None:
        what = f"The intent '{reading.title}' in '{location.path}' has more than one '/'; Rasa ends here."
        hint = "Write it as INTENT/KEY. In YAML it is `- intent: INTENT/KEY`."
        reading.notes.refused(what, reading.too_deep, hint)
        reading.too_deep = None
    try:
        text, entities = parse_annotations(item, lists=False)
    except AnnotationError as error:
        where = reading.text.location(start + error.offset)
        hint = 'Write it like [Rome]{"entity": "city", "role": "to"}, with strings alone.'
        reading.notes.note(error.code, "error", f"{error}.", where, hint)
        return
    for entity in entities:
        if not isinstance(entity.value, str):
            what = f"The value {entity.value!r} of the entity '{entity.entity}' is not a string; Rasa 1 ends here."
            reading.notes.note("annotation-invalid", "error", what, location, "Put it in double quotes.")
            return
    reading.starts.append(start)
    reading.examples.append(Example(text, reading.title, entities, None, origin, len(reading.starts) - 1))
    reading.synonyms += _implied(text, entities, location)


def _implied(text: str, entities: tuple[EntityAnnotation, ...], location: Location) -> list[Synonym]:
    """Return the synonyms that annotations imply: a value that differs from the text applies to the whole project."""
    marked = ((entity, text[entity.start : entity.end]) for entity in entities)
    return [Synonym(entity.value, word, location) for entity, word in marked if word != entity.value]


def _read_other(reading: _Reading, line: Line) -> None:
    """Read a line that is neither a header nor an item: the path of a lookup table's file, or nothing."""
    if reading.is_skipping:
        return
    location = reading.text.location(line.start)
    if reading.section == "lookup" and line.text[0] not in BULLETS:
        reading.tables.append(_Table(reading.title, location, path=line.text))
        return
    what = f"'{shown(line.text)}' in '{location.path}' is neither a header nor an item; it is ignored."
    hint = "Begin a header with '## intent:' and an item with '- ', or remove the line."
    reading.notes.ignored(what, location, f"{hint} {_HINT}")


# --- lookup tables ---------------------------------------------------------------------------------------------------


def _read_element(reading: _Reading, item: str, location: Location) -> None:
    table = next((table for table in reading.tables if table.name == reading.title), None)
    if table is None:
        table = _Table(reading.title, location)
        reading.tables.append(table)
    if table.path is not None:
        what = f"The lookup table '{reading.title}' in '{location.path}' has a file and then items; Rasa ends here."
        reading.notes.refused(what, location, "Put the items into the file, or the lines of the file here.")
        return
    table.items.append(item)


def _lookup(folder: ProjectFolder, notes: Notes, table: _Table) -> Lookup:
    if table.path is None:
        return Lookup(table.name, tuple(table.items), table.location)
    path = folder.named_file(table.path)
    if path is None:
        notes.findings.append(lookup_file_missing(table.name, table.path, table.location))
        return Lookup(table.name, (), table.location, table.path)
    source = folder.read(path)
    lines = source.file_text.splitlines() if source is not None else []
    return Lookup(table.name, tuple(filter(None, map(str.strip, lines))), table.location, folder.name(path))


# The responses of retrieval intents in the Markdown of Rasa 1.x: ``* faq/ask_name`` and its texts below.

_HINT_OF_RESPONSES: Final = "In YAML it is `responses:` with `utter_INTENT/KEY:` and a line `- text: …` for each."
_HEADER: Final = re.compile(r"##(?:[^\n]*+\n|\s*+(?<=\n)|\s*+[^\n]*+\n)\*")
"""A header and the line of an intent after it; if the header has no title, only white space is between them."""


def is_responses_file(text: str) -> bool:
    """Whether Rasa reads a file as one of responses."""
    return shows_responses(text) is not None


def shows_responses(text: str) -> int | None:
    """Return where the slash is for which Rasa reads a file as one of responses; ``None`` if it does not.

    It looks for a header, below it a line with a slash and without a colon before it, and below that an item.
    """
    slashes = _slashes_above_items(text)
    for header in _HEADER.finditer(text) if slashes else ():
        number = bisect_left(slashes, header.end())
        colon = text.find(":", header.end())
        if number < len(slashes) and not 0 <= colon < slashes[number]:
            return slashes[number]
    return None


def _slashes_above_items(text: str) -> list[int]:
    """Return the position of the first slash in each line that has one and is followed by an item."""
    found = []
    end, is_above_item = len(text), False
    for line in reversed(text.split("\n")):
        start = end - len(line)
        if is_above_item and "/" in line:
            found.append(start + line.index("/"))
        if line.strip():
            is_above_item = line.lstrip().startswith("-")
        end = start - 1
    return found[::-1]


def read_markdown_responses(source: Source) -> tuple[dict[str, Response], list[Finding]]:
    """Read a file of responses, under names such as ``utter_faq/ask_name``."""
    notes = Notes()
    found: dict[str, Response] = {}
    intent: tuple[str, Location] | None = None
    texts: list[ResponseVariation] = []

    def finish() -> None:
        if intent is not None and intent[0]:
            name = f"utter_{intent[0]}"
            found[name] = Response(name, tuple(texts), intent[1])

    start = 0
    for written in source.text.splitlines(keepends=True):
        line = written.strip()
        location = source.location(start + len(written) - len(written.lstrip())) if line else None
        start += len(written)
        if location is None:
            continue
        if line.startswith("#"):
            finish()
            if intent is not None and intent[0]:
                texts = []
            intent = None
        elif line.startswith("-"):
            text = "-".join(line.split("- ")[1:]).replace("\\n", "\n")
            texts.append(ResponseVariation({"text": text}, location))
            _note_changed(notes, line, text, location)
        elif line.startswith("*"):
            intent = "*".join(line.split("* ")[1:]), location
        else:
            what = f"'{shown(line)}' in '{source.path}' is neither a header, an intent nor a response; it is ignored."
            notes.ignored(what, location, f"Begin a response with '- ', or remove the line. {_HINT_OF_RESPONSES}")
    finish()
    return found, notes.findings


def _note_changed(notes: Notes, line: str, text: str, location: Location) -> None:
    if "<!--" in line:
        what = f"The comment in '{shown(line)}' stays in the text: Rasa removes none from responses."
        notes.otherwise(what, location, f"Remove it. {_HINT_OF_RESPONSES}")
    elif not text:
        what = f"'{shown(line)}' in '{location.path}' is an empty response: Rasa requires a blank after the dash."
        notes.otherwise(what, location, f"Write '- ' before the text. {_HINT_OF_RESPONSES}")
    elif "- " in line[2:]:
        what = f"In '{shown(line)}' Rasa 1 drops the blank after a dash: the text is '{shown(text)}'."
        notes.otherwise(what, location, _HINT_OF_RESPONSES)
