"""One file of BotiumScript → a conversation, an utterance list or rows of values, with the findings of the file."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from turncheck.messages.finding import Finding, Location, Severity
from turncheck.messages.phrasing import count, nearest
from turncheck.project.botium.model import SENDERS, Called, Convo, MemoryRow, Plugins, Section, UtteranceList
from turncheck.project.botium.vocabulary import ARGUMENTS, ASSERTERS, HOOKS, INPUTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.project.botium.model import Sender
    from turncheck.yaml_tree.source import Source

_LINE_ENDS: Final = re.compile(r"\r\n|\r|\n")
_TRAILING: Final = re.compile(r"[\n\t\r]+$")
_TAG: Final = re.compile(r"#\s*(\w+)\s*$")
_WORD: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")
"""A word in capitals with an underscore, which is hardly meant as text."""
_ESCAPED_BAR: Final = "\0"


class FileLines(Struct):
    """The lines of a file, and what was found in them."""

    path: str
    lines: list[str]
    findings: list[Finding] = field(default_factory=list)

    @classmethod
    def of(cls, source: Source) -> FileLines:
        """Split the text as Botium does: at any kind of line end."""
        return cls(source.path, _LINE_ENDS.split(source.text))

    def at(self, number: int) -> Location:
        """Return the place of a line, counted from 1."""
        return Location(self.path, number, 1)

    def fault(self, number: int, message: str, hint: str = "", severity: Severity = "error") -> None:
        """Note what is wrong in a line."""
        self.fault_at(self.at(number), message, hint, severity)

    def fault_at(self, location: Location, message: str, hint: str = "", severity: Severity = "error") -> None:
        """Note what is wrong at a place."""
        code = "botium-syntax" if severity == "error" else "botium-doubtful"
        self.findings.append(Finding(code, severity, message, location, hint))


# Conversations: a header, then sections that begin with a line such as `#me`.


def read_convo(file: FileLines, plugins: Plugins) -> Convo | None:
    """Read a conversation; ``None`` if it cannot mean what is written, which is among the findings then."""
    header: list[str] = []
    sections: list[Section | None] = []
    start, tag, body = 1, "", list[tuple[int, str]]()
    for number, line in enumerate(file.lines, 1):
        word = line[1:].split(" ")[0].strip() if line.startswith("#") else ""
        if line.startswith("#") and line[1:].split(" ")[0] in SENDERS:
            if tag:
                sections.append(_section(file, start, tag, body, plugins))
            start, tag, body = number, line[1:].strip(), []
            continue
        if line.startswith("#"):
            _doubt_tag(file, number, line, word)
        if tag:
            body.append((number, line))
        else:
            header.append(line)
    if tag:
        sections.append(_section(file, start, tag, body, plugins))
    read = [section for section in sections if section is not None]
    if len(read) < len(sections):
        return None
    return Convo(header[0] if header else "", file.at(1), tuple(read), "\n".join(header[1:]))


def _doubt_tag(file: FileLines, number: int, line: str, word: str) -> None:
    """A line that seems to be meant as the beginning of a section is read as text."""
    alone = _TAG.fullmatch(line)
    meant = alone[1] if alone else word
    if alone or nearest(meant.lower(), SENDERS):
        known = ", ".join(f"#{name}" for name in SENDERS)
        message = f"'#{meant}' begins no section: the line is read as text."
        file.fault(number, message, f"The sections are {known}.", "warning")


def _section(file: FileLines, start: int, tag: str, body: list[tuple[int, str]], plugins: Plugins) -> Section | None:
    name, _, channel = tag.partition(" ")
    sender: Sender = name  # type: ignore[assignment]  # it is one of SENDERS
    found = Body(file, sender, plugins)
    for number, line in body:
        if not found.take(file.at(number), line):
            return None
    return finished_section(found, file.at(start), channel.strip() or None)


def finished_section(found: Body, location: Location, channel: str | None) -> Section | None:
    """Make a section of its lines; ``None`` if it cannot mean what is written, which is among the findings then."""
    text, negated, optional = _message(found.texts)
    json_text = " ".join(text)
    data = None
    if text and _looks_like_json(json_text):
        try:
            data = json.loads(json_text)
        except (ValueError, RecursionError) as error:
            found.file.fault_at(location, f"The message of #{found.sender} looks like JSON, but is not: {error}.")
            return None
    message = None if not text or data is not None else _TRAILING.sub("", "\n".join(text))
    flags = {*({optional} if message else ()), *(one.optional for one in found.asserters)}
    if len(flags) > 1:
        why = f"Some of the lines of #{found.sender} begin with '?', others do not: a section is optional or it is not."
        found.file.fault_at(location, why, "Begin all of them with '?', or none.")
        return None
    return Section(
        found.sender,
        location,
        channel,
        message,
        data,
        negated,
        optional,
        tuple(found.asserters),
        tuple(found.hooks),
        tuple(found.inputs),
    )


class Body(Struct):
    """The lines of a section, sorted by what they are."""

    file: FileLines
    sender: Sender
    plugins: Plugins
    asserters: list[Called] = field(default_factory=list)
    hooks: list[Called] = field(default_factory=list)
    inputs: list[Called] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    """Lines of text that count only if there is more text after them."""
    written: list[str] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """The lines of the message; empty lines alone are an empty message."""
        return self.written or self.waiting

    def take(self, location: Location, text: str) -> bool:
        """Take the next line; whether it may be there."""
        rest, negated, optional = _signs(text)
        name = rest.split(" ")[0]
        of_me = self.sender == "me"
        if not of_me and name in ASSERTERS | self.plugins.asserters:
            self.asserters.append(self._called(location, name, rest, negated=negated, optional=optional))
        elif of_me and name in INPUTS | self.plugins.inputs:
            self.inputs.append(self._called(location, name, rest))
        elif name in HOOKS | self.plugins.hooks:
            self.hooks.append(self._called(location, name, rest))
        elif of_me and (self.inputs or self.hooks):
            if text.strip():
                message = f"No text is expected after {(self.inputs or self.hooks)[0].name}: '{text.strip()}'."
                self.file.fault_at(location, message, "Write the message before it.")
                return False
        else:
            self._doubt_word(location, name)
            self.waiting.append(text)
        if self.waiting and text.strip():
            self.written += self.waiting
            self.waiting = []
        return True

    def _called(
        self, location: Location, name: str, line: str, *, negated: bool = False, optional: bool = False
    ) -> Called:
        args = _arguments(line[len(name) + 1 :]) if len(line) > len(name) else ()
        called = Called(name, args, location, negated, optional)
        self.check_arguments(called)
        return called

    def check_arguments(self, called: Called) -> None:
        """Note it if there are too many or too few."""
        name, args = called.name, called.args
        least, most = ARGUMENTS.get(name, (0, None))
        if name not in self.plugins.names and not least <= len(args) <= (len(args) if most is None else most):
            wanted = str(least) if least == most else f"{least} or more" if most is None else f"{least} to {most}"
            message = f"{name} has {count(len(args), 'argument')}; expected {wanted}."
            severity: Severity = "error" if name == "INCLUDE" else "warning"
            self.file.fault_at(called.location, message, "Arguments are separated with '|'.", severity)

    def _doubt_word(self, location: Location, name: str) -> None:
        known = sorted(ASSERTERS if self.sender != "me" else INPUTS | HOOKS)
        if _WORD.match(name) and (meant := nearest(name, known)):
            what = "an asserter" if self.sender != "me" else "a user input or a logic hook"
            message = f"'{name}' is not {what}: the line is read as text."
            self.file.fault_at(location, message, f"Did you mean '{meant[0]}'?", "warning")


def _signs(line: str) -> tuple[str, bool, bool]:
    """Return a line without ``?`` and ``!`` at its beginning, whether it is negated, and whether it is optional.

    ``??`` and ``!!`` are the characters themselves.
    """
    negated = optional = False
    if line.startswith("?"):
        optional = not line.startswith("??")
        line = line[1:]
    if line.startswith("!"):
        negated = not line.startswith("!!")
        line = line[1:]
    return line, negated, optional


def _message(lines: list[str]) -> tuple[list[str], bool, bool]:
    if not lines:
        return [], False, False
    first, negated, optional = _signs(lines[0])
    return [first, *lines[1:]], negated, optional


def _arguments(text: str) -> tuple[str, ...]:
    if not text:
        return ()
    parts = text.replace("\\|", _ESCAPED_BAR).split("|")
    return tuple(part.replace(_ESCAPED_BAR, "|").strip() for part in parts)


def _looks_like_json(text: str) -> bool:
    """Whether Botium takes a text for JSON: an object with a key, or a list whose last item looks like one."""
    squeezed = re.sub(r"\s", "", text)
    while len(squeezed) > 1 and squeezed.startswith("[") and squeezed.endswith("]"):
        squeezed = squeezed[1:-1]
        if "},{" in squeezed:
            squeezed = "{" + squeezed.rpartition("},{")[2]
    is_object = len(squeezed) > 1 and squeezed.startswith("{") and squeezed.endswith("}")
    return is_object and re.search(r'".*?":', squeezed) is not None


# Utterance lists: the name, then one text a line.


def read_utterances(file: FileLines) -> UtteranceList | None:
    """Read a list; ``None`` if it has no name."""
    name = file.lines[0].strip()
    if not name:
        hint = "Its first line is its name, each other line a text."
        file.fault(1, "The utterance list has no name: nothing can use it.", hint, "warning")
        return None
    texts = tuple(text for line in file.lines[1:] if (text := _TRAILING.sub("", line)))
    if not texts:
        file.fault(1, f"The utterance list '{name}' is empty.", "Write one text a line below its name.", "warning")
    return UtteranceList(name, texts, file.at(1))


# Tables of values: a row for each test case and a column for each variable, or the other way round.


def read_memory(file: FileLines, columns: str, places: Sequence[Location] = ()) -> tuple[MemoryRow, ...]:
    """Read a table; ``columns`` says what its columns are, ``VARNAMES`` or ``TESTCASENAMES``, else the table does.

    ``places``: where its lines are, if not each in its own line of the file.
    """

    def at(number: int) -> Location:
        return places[number - 1] if places else file.at(number)

    if len(file.lines) < 2:
        return ()
    by_case = columns == "TESTCASENAMES" if columns else file.lines[1].strip().startswith("$")
    cells = [
        (number, [cell.strip() for cell in line.split("|")])
        for number, line in enumerate(file.lines, 1)
        if line or number == 1
    ]
    (_, head), body = cells[0], cells[1:]
    rows: list[tuple[int, str, dict[str, str | None]]] = []
    if by_case:
        for column, name in enumerate(head[1:], 1):
            rows.append((1, name, {row[0]: (row[column] if column < len(row) else "") or None for _, row in body}))
    else:
        for number, row in body:
            values = {name: row[column] if column < len(row) else None for column, name in enumerate(head[1:], 1)}
            rows.append((number, row[0], values))
    for number, name, values in rows:
        if not name:
            file.fault_at(at(number), "The row has no name.", "Its name becomes a part of the names of test cases.")
        elif not values:
            file.fault_at(
                at(number), f"'{name}' has no values.", "Write the names of variables in the first line: |$product."
            )
        elif "" in values:
            file.fault_at(
                at(number), f"A value of '{name}' has no name.", "Give each variable a name, such as $product."
            )
    return tuple(MemoryRow(name, values, at(number)) for number, name, values in rows)


def as_data(convo: Convo) -> list[dict[str, Any]]:
    """Return the sections as plain data, for the results of end-to-end cases."""
    return [_plain(section) for section in convo.sections]


def _plain(section: Section) -> dict[str, Any]:
    said = section.text if section.json is None else json.dumps(section.json, ensure_ascii=False)
    lines = [] if said is None else [f"{'?' if section.optional else ''}{'!' if section.negated else ''}{said}"]
    for one in (*section.inputs, *section.asserters, *section.hooks):
        signs = f"{'?' if one.optional else ''}{'!' if one.negated else ''}"
        lines.append(f"{signs}{one.name} {'|'.join(one.args)}".rstrip())
    return {section.sender: "\n".join(lines)}
