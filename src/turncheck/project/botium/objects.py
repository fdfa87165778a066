"""A suite of BotiumScript in YAML or JSON: conversations, utterance lists and values in one file, with their places."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from turncheck.messages.finding import Finding
from turncheck.messages.phrasing import not_one_of
from turncheck.project.botium.lines import Body, FileLines, finished_section, read_memory
from turncheck.project.botium.model import SENDERS, Called, Convo, MemoryRow, UtteranceList
from turncheck.project.botium.vocabulary import ASSERTERS, HOOKS, INPUTS
from turncheck.yaml_tree.json_tree import parse_json
from turncheck.yaml_tree.source import EscapeError, Source, YamlSource
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.project.botium.model import Plugins, Section, Sender

CONVOS: Final = "convos"
_PARTIALS: Final = "partialConvos"
_MEMORY: Final = "scriptingMemory"
_KINDS: Final = (
    ("asserter", ("asserter",)),
    ("logic hook", ("logichook", "logicHook")),
    ("user input", ("userinput", "userInput")),
)
_NEGATED: Final = ("!", "NOT_")
_OPTIONAL: Final = ("?", "OPTIONAL_")


class Objects(Struct):
    """What a file has, and what is wrong in it. A conversation without a name has that of the file."""

    file: FileLines
    convos: list[Convo] = field(default_factory=list)
    partials: list[Convo] = field(default_factory=list)
    utterances: list[UtteranceList] = field(default_factory=list)
    rows: list[MemoryRow] = field(default_factory=list)


def read_objects(source: Source, plugins: Plugins, columns: str) -> Objects:
    """Read a file; a conversation that cannot mean what is written is left out, and a finding says why."""
    found = Objects(FileLines.of(source))
    root = _root(source, found.file.findings)
    if isinstance(root, YamlMapping):
        reader = _Reader(found, plugins)
        found.convos += _without_repeats(found.file, reader.convos(root.items.get(CONVOS)))
        found.partials += reader.convos(root.items.get(_PARTIALS))
        reader.take_utterances(root.items.get("utterances"))
        reader.take_memory(root.items.get(_MEMORY), columns)
    return found


def _root(source: Source, findings: list[Finding]) -> YamlNode | None:
    if source.path.endswith(".json"):
        document = parse_json(source)
        for fault in document.faults:
            message = f"'{source.path}' is not JSON: {fault.what}."
            findings.append(Finding("botium-syntax", "error", message, fault.location, fault.hint))
        return document.root
    try:
        yaml = parse_yaml(YamlSource.of(source))
    except EscapeError as error:
        findings.append(error.finding(source))
        return None
    findings += yaml.findings
    return yaml.root


def _without_repeats(file: FileLines, convos: Iterator[Convo]) -> Iterator[Convo]:
    known: dict[str, Convo] = {}
    for convo in convos:
        if (other := known.setdefault(convo.name, convo)) is not convo:
            message = f"The conversation '{convo.name}' appears twice, first in {other.location}."
            file.fault(convo.location.line or 1, message, "Give each conversation of a file a name of its own.")
        else:
            yield convo


class _Reader(Struct, frozen=True):
    found: Objects
    plugins: Plugins

    def _fault(self, node: YamlNode, message: str, hint: str = "") -> None:
        self.found.file.findings.append(Finding("botium-syntax", "error", message, node.location, hint))

    # --- conversations ------------------------------------------------------------------------------------------------

    def convos(self, node: YamlNode | None) -> Iterator[Convo]:
        """Yield the conversations of a list."""
        for one in self._items(node, "A list of conversations"):
            convo = self._convo(one)
            if convo is not None:
                yield convo

    def _items(self, node: YamlNode | None, what: str) -> list[YamlNode]:
        if node is None or node.data is None:
            return []
        if isinstance(node, YamlSequence):
            return node.items
        self._fault(node, f"{what} is expected here.")
        return []

    def _convo(self, node: YamlNode) -> Convo | None:
        steps = node.items.get("steps") if isinstance(node, YamlMapping) else None
        if not isinstance(node, YamlMapping) or not isinstance(steps, YamlSequence):
            self._fault(node, "A conversation is expected here.", "Write its `name` and its `steps`, a list.")
            return None
        sections = [self._section(step) for step in steps.items]
        read = tuple(section for section in sections if section is not None)
        if len(read) < len(sections):
            return None
        name, description = (_written(node.items.get(key)) for key in ("name", "description"))
        return Convo(name or self.found.file.path.rpartition("/")[2], node.location, read, description)

    def _section(self, node: YamlNode) -> Section | None:
        keys = list(node.items) if isinstance(node, YamlMapping) else []
        if not isinstance(node, YamlMapping) or len(keys) != 1 or keys[0] not in SENDERS:
            self._fault(node, "A step with one key is expected here.", f"The keys are {', '.join(SENDERS)}.")
            return None
        sender: Sender = keys[0]
        content = node.items[sender]
        if not isinstance(content, YamlSequence):
            self._fault(content, f"A list of lines is expected at '{sender}'.", f"Write `- {sender}: [Hello]`.")
            return None
        body = Body(self.found.file, sender, self.plugins)
        for line in content.items:
            if not self._take(body, line):
                return None
        return finished_section(body, node.location, None)

    def _take(self, body: Body, line: YamlNode) -> bool:
        if isinstance(line, YamlScalar) and isinstance(line.value, str):
            return body.take(line.location, line.value)
        if isinstance(line, YamlMapping) and line.items:
            return self._take_object(body, line)
        self._fault(
            line,
            f"The line {json.dumps(line.data, ensure_ascii=False, default=str)} is not text.",
            "Write it in quotes.",
        )
        return False

    def _take_object(self, body: Body, line: YamlMapping) -> bool:
        """Take ``{asserter: TEXT, args: [Hello], not: true}``, or the same as ``NOT_TEXT: [Hello]``."""
        for kind, keys in _KINDS:
            key = next((key for key in keys if line.items.get(key) is not None), None)
            if key is not None:
                name, args = _written(line.items[key]), _args(line.items.get("args"))
                flags = (bool(_data(line.items.get(flag))) for flag in ("not", "optional"))
                return self._add(body, line, kind, Called(name, args, line.location, *flags))
        written = str(next(iter(line.items)))
        args = _args(line.items[next(iter(line.items))])
        name, optional = _without(written, _OPTIONAL)
        name, negated = _without(name, _NEGATED)
        return self._add(body, line, "", Called(name, args, line.location, negated, optional))

    def _add(self, body: Body, line: YamlMapping, kind: str, called: Called) -> bool:
        of_me = body.sender == "me"
        place, known, is_here = {
            "asserter": (
                body.asserters,
                ASSERTERS | self.plugins.asserters,
                body.sender == "bot" or (not kind and not of_me),
            ),
            "user input": (body.inputs, INPUTS | self.plugins.inputs, of_me),
            "logic hook": (body.hooks, HOOKS | self.plugins.hooks, True),
        }[kind or self._kind(called.name, of_me=of_me)]
        if called.name in known and is_here:
            body.check_arguments(called)
            place.append(called)
            return True
        if called.name in known:
            self._fault(line, f"{called.name} cannot be in the section '{body.sender}'.")
        else:
            self._fault(line, not_one_of(called.name, sorted(known)))
        return False

    def _kind(self, name: str, *, of_me: bool) -> str:
        if not of_me and name in ASSERTERS | self.plugins.asserters:
            return "asserter"
        return "user input" if of_me and name in INPUTS | self.plugins.inputs else "logic hook"

    # --- utterance lists and values -----------------------------------------------------------------------------------

    def take_utterances(self, node: YamlNode | None) -> None:
        """Take the lists of texts, by their names."""
        if node is None or node.data is None:
            return
        if not isinstance(node, YamlMapping):
            self._fault(node, "Utterance lists by their names are expected here.")
            return
        for name, texts in node.items.items():
            if not isinstance(texts, YamlSequence):
                self._fault(texts, f"The utterance list '{name}' is not a list.")
                continue
            said = tuple(text for one in texts.items if (text := _shown(one.data)))
            location = node.key_location(name)
            if not said:
                message = f"The utterance list '{name}' is empty."
                self.found.file.findings.append(Finding("botium-doubtful", "warning", message, location))
            self.found.utterances.append(UtteranceList(str(name).strip(), said, location))

    def take_memory(self, node: YamlNode | None, columns: str) -> None:
        """Take the rows of values: each with its ``header`` and ``values``, or the lines of a table."""
        rows = self._items(node, "A list of rows")
        if rows and all(isinstance(row, YamlScalar) and isinstance(row.value, str) for row in rows):
            table = FileLines(self.found.file.path, [str(row.data) for row in rows], self.found.file.findings)
            self.found.rows += read_memory(table, columns, [row.location for row in rows])
            return
        for row in rows:
            header, values = row.at("header", "name"), row.at("values")
            if not _written(header) or not isinstance(values, YamlMapping) or not values.items or "" in values.items:
                hint = "Write `header: {name: …}` and `values`, by the names of variables."
                self._fault(row, "A row with a name and values is expected here.", hint)
                continue
            given = {str(name): None if one.data is None else _shown(one.data) for name, one in values.items.items()}
            self.found.rows.append(MemoryRow(_written(header), given, row.location))


def _data(node: YamlNode | None) -> Any:
    return None if node is None else node.data


def _written(node: YamlNode | None) -> str:
    data = _data(node)
    return "" if data is None else _shown(data)


def _args(node: YamlNode | None) -> tuple[str, ...]:
    data = _data(node)
    if isinstance(data, (list, tuple)):
        return tuple(map(_shown, data))
    return () if data is None or data in (False, "") else (_shown(data),)


def _shown(data: Any) -> str:
    """Return a value as JavaScript writes it."""
    if isinstance(data, str):
        return data
    if isinstance(data, float) and data.is_integer() and abs(data) < 1e21:
        return str(int(data))
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=str)


def _without(name: str, signs: tuple[str, ...]) -> tuple[str, bool]:
    sign = next((sign for sign in signs if name.startswith(sign)), None)
    return (name, False) if sign is None else (name.removeprefix(sign), True)
