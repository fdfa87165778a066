"""Training data and test stories in the YAML of Rasa 3: the keys ``nlu``, ``responses``, ``stories`` and ``rules``.

Rasa 3.x decides by the lines of a file whether to read it: one line must begin (after white space) with ``nlu:`` or
``responses:`` for NLU data, with ``stories:`` or ``rules:`` for stories. All other files are skipped silently.
:func:`kinds_of` mirrors that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import Struct, field

from turncheck.messages.finding import Finding, Location, Severity
from turncheck.messages.phrasing import misspelt
from turncheck.project.config import read_flows
from turncheck.project.folder import YAML_SUFFIXES, ProjectFolder
from turncheck.project.formats.annotations import AnnotationError, parse_annotations
from turncheck.project.formats.format import NEEDS_OF_RASA, Format, FormatInput, ParsedFile
from turncheck.project.formats.rasa_domain import read_responses
from turncheck.project.formats.rasa_stories import read_rasa_stories
from turncheck.project.model import Domain, Story
from turncheck.project.nlu_data import EntityAnnotation, Example, Lookup, NluData, Regex, Synonym
from turncheck.project.project_file import ANY_KIND, DATA_KEYS, DOMAIN_KEYS, NLU_KEYS, STORY_KEYS
from turncheck.project.rasa_version import version_too_high
from turncheck.yaml_tree.source import EscapeError, ListedTexts, ScalarLines, Source, YamlSource
from turncheck.yaml_tree.tree import YamlDocument, YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


# NLU data: files with the key ``nlu`` → :class:`~turncheck.project.model.NluData`. JSON: :mod:`.rasa_json`.
#
# Mirrors what Rasa 3.x does when it loads these files. Findings made here, each where Rasa warns or refuses while
# loading: ``intent-name-empty``, ``intent-block-empty``, ``example-without-dash``, ``annotation-not-json``,
# ``annotation-invalid``, ``KIND-name-empty`` and ``KIND-without-examples`` (KIND: synonym, regex, lookup);
# ``schema-violation`` if nothing can be read from a value because of its type. Everything around a fault is read if
# possible.

FILE_EMPTY: Final = "file-empty"
"""The code of the finding about a file with nothing in it."""
HOW_TO_FILL: Final = "Bring its content back, or remove the file."

MAX_FAULTY_LINES: Final = 50
"""At most this many lines of one block are reported one by one; of the rest only the number is reported."""

_STRIPPED: Final = "\n\r "


class _Block(NamedTuple):
    """What the examples of one block share."""

    intent: str
    metadata: Mapping[str, Any] | None
    origin: ScalarLines | ListedTexts


class _Collected(Struct):
    """What has been read so far."""

    folder: ProjectFolder
    examples: list[Example] = field(default_factory=list)
    synonyms: list[Synonym] = field(default_factory=list)
    regexes: list[Regex] = field(default_factory=list)
    lookups: list[Lookup] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def note(self, code: str, severity: Severity, message: str, location: Location, hint: str = "") -> None:
        self.findings.append(Finding(code, severity, message, location, hint))


def read_rasa_nlu(folder: ProjectFolder, root: YamlMapping) -> tuple[NluData, list[Finding]]:
    """Read the NLU data of a parsed file."""
    collected = _Collected(folder)
    _read_file(collected, root)
    data = NluData(
        tuple(collected.examples), tuple(collected.synonyms), tuple(collected.regexes), tuple(collected.lookups)
    )
    return data, collected.findings


def _read_file(collected: _Collected, root: YamlMapping) -> None:
    section = root.items.get("nlu")
    if section is None or (isinstance(section, YamlScalar) and section.value is None):
        return
    if not isinstance(section, YamlSequence):
        _note_schema(collected, section, "'nlu' must be a list of blocks")
        return
    lookups: dict[str, tuple[YamlMapping, list[str]]] = {}
    for block in section.items:
        if not isinstance(block, YamlMapping):
            _note_schema(collected, block, "an entry of 'nlu' must be a mapping with intent, synonym, regex or lookup")
        elif "intent" in block.items:
            _read_intent(collected, block)
        elif "synonym" in block.items:
            for name, line, location in _named_lines(collected, block, "synonym"):
                collected.synonyms.append(Synonym(name, line, location))
        elif "regex" in block.items:
            for name, line, location in _named_lines(collected, block, "regex"):
                collected.regexes.append(Regex(name, line, location))
        elif "lookup" in block.items:
            for name, line, _ in _named_lines(collected, block, "lookup"):
                lookups.setdefault(name, (block, []))[1].append(line)
        elif block.items.keys() <= {"examples", "metadata"}:
            message = f"A block of 'nlu' in '{block.source.path}' has no name; it is skipped."
            hint = "It needs one of the keys intent, synonym, regex and lookup."
            collected.note("nlu-block-unknown", "warning", message, block.location, hint)
        else:
            _note_schema(collected, block, "a block of 'nlu' needs one of the keys intent, synonym, regex and lookup")
    collected.lookups += (_lookup(collected, name, block, lines) for name, (block, lines) in lookups.items())


# --- intents ---------------------------------------------------------------------------------------------------------


def _read_intent(collected: _Collected, block: YamlMapping) -> None:
    name = block.items["intent"]
    if not isinstance(name, YamlScalar) or not isinstance(name.value, str | None):
        _note_schema(collected, name, "the name of an intent must be a string")
        return
    if not name.value:
        hint = "Give the intent a name, or remove the block."
        collected.note(
            "intent-name-empty",
            "warning",
            f"The intent of this block in '{name.source.path}' has an empty name; the block is skipped.",
            name.location,
            hint,
        )
        return
    intent = name.value.strip()
    metadata = block.items.get("metadata")
    shared = {"intent": metadata.data} if metadata is not None and metadata.data is not None else None
    before, notes_before = len(collected.examples), len(collected.findings)
    examples = block.items.get("examples")
    if isinstance(examples, YamlSequence):
        _read_list(collected, examples, intent, shared)
    elif isinstance(examples, YamlScalar) and isinstance(examples.value, str):
        _read_block(collected, examples, examples.value, intent, shared)
    elif examples is not None and not (isinstance(examples, YamlScalar) and examples.value is None):
        _note_schema(collected, examples, f"the examples of intent '{intent}' must be a block of text or a list")
        return
    refused = any(note.code.startswith("annotation-") for note in collected.findings[notes_before:])
    if len(collected.examples) == before and not refused:
        collected.note(
            "intent-block-empty",
            "warning",
            f"Intent '{intent}' has no examples in this block of '{name.source.path}'.",
            block.key_location("intent"),
            "Add lines such as '- hello' below 'examples: |', or remove the block.",
        )


def _read_block(
    collected: _Collected, scalar: YamlScalar, value: str, intent: str, metadata: Mapping[str, Any] | None
) -> None:
    """Read a block of examples; this is the inner loop of reading, so sentences without brackets take a shortcut."""
    origin = ScalarLines(scalar)
    block = _Block(intent, metadata, origin)
    append = collected.examples.append
    faulty = _FaultyLines(intent, origin)
    for index, line in enumerate(value.splitlines()):
        if line[:1] != "-":
            faulty.add(index, line)
        elif "[" in line:
            _annotated(collected, line[1:].strip(_STRIPPED), block, index)
        else:
            append(Example(line[1:].strip(_STRIPPED), intent, (), metadata, origin, index))
    faulty.note(collected)


def _read_list(collected: _Collected, sequence: YamlSequence, intent: str, shared: Mapping[str, Any] | None) -> None:
    texts: list[YamlScalar] = []
    origin = ListedTexts(texts)
    for item in sequence.items:
        if isinstance(item, YamlScalar) and item.value is None:
            continue
        text = item.items.get("text") if isinstance(item, YamlMapping) else None
        if not isinstance(text, YamlScalar) or not isinstance(text.value, str):
            _note_schema(collected, item, f"an example of intent '{intent}' must be a mapping with the key 'text'")
            continue
        metadata = shared
        own = item.items.get("metadata") if isinstance(item, YamlMapping) else None
        if own is not None and (own_data := own.data) is not None:
            metadata = {**(shared or {}), "example": own_data}
        texts.append(text)
        _annotated(collected, text.value.strip(_STRIPPED), _Block(intent, metadata, origin), len(texts) - 1)


def _annotated(collected: _Collected, written: str, block: _Block, index: int) -> None:
    try:
        text, entities = parse_annotations(written)
    except AnnotationError as error:
        collected.note(
            error.code,
            "error",
            f"{error}.",
            _shifted(block.origin.locate(index), error.offset),
            'Write it like [Rome]{"entity": "city", "role": "to"}, in double quotes.',
        )
        return
    example = Example(text, block.intent, entities, block.metadata, block.origin, index)
    collected.examples.append(example)
    if entities:
        _imply_synonyms(collected, example, entities)


def _imply_synonyms(collected: _Collected, example: Example, entities: tuple[EntityAnnotation, ...]) -> None:
    for entity in entities:
        text = example.text[entity.start : entity.end]
        if text != entity.value:
            collected.synonyms.append(Synonym(entity.value, text, example.location))


def _shifted(location: Location, columns: int) -> Location:
    if location.column is None:
        return location
    return type(location)(location.path, location.line, location.column + columns)


# --- synonyms, regexes, lookups --------------------------------------------------------------------------------------


def _named_lines(collected: _Collected, block: YamlMapping, kind: str) -> Iterator[tuple[str, str, Location]]:
    """Yield the block's name, a line and its place, for each line of a synonym, regex or lookup block."""
    node = block.items[kind]
    if not isinstance(node, YamlScalar) or not isinstance(node.value, str | None):
        _note_schema(collected, node, f"the name of a {kind} must be a string")
        return
    path = node.source.path
    if not node.value:
        collected.note(
            f"{kind}-name-empty",
            "warning",
            f"A {kind} in '{path}' has an empty name; it is skipped.",
            node.location,
            f"Give the {kind} a name, or remove the block.",
        )
        return
    examples = block.items.get("examples")
    if examples is None or (isinstance(examples, YamlScalar) and not examples.value):
        collected.note(
            f"{kind}-without-examples",
            "warning",
            f"The {kind} '{node.value}' in '{path}' has no examples; it is skipped.",
            block.key_location(kind),
            "Add lines such as '- word' below 'examples: |', or remove the block.",
        )
        return
    if not isinstance(examples, YamlScalar) or not isinstance(examples.value, str):
        _note_schema(collected, examples, f"the examples of {kind} '{node.value}' must be a block of text")
        return
    origin = ScalarLines(examples)
    faulty = _FaultyLines(node.value, origin)
    for index, line in enumerate(examples.value.splitlines()):
        if line[:1] == "-":
            yield node.value, line[1:].strip(_STRIPPED), origin.locate(index)
        else:
            faulty.add(index, line)
    faulty.note(collected)


def _lookup(collected: _Collected, name: str, block: YamlMapping, lines: list[str]) -> Lookup:
    """Make a lookup table; a single element that names a text file of the project is replaced by the file's lines."""
    location = block.key_location("lookup")
    if len(lines) == 1 and lines[0].endswith((".txt", ".csv", ".lst")):
        path = collected.folder.named_file(lines[0])
        if path is not None:
            source = collected.folder.read(path)
            if source is not None:
                elements = tuple(stripped for line in source.text.splitlines() if (stripped := line.strip()))
                return Lookup(name, elements, location, collected.folder.name(path))
    return Lookup(name, tuple(lines), location)


# --- findings --------------------------------------------------------------------------------------------------------


class _FaultyLines(Struct):
    """The lines of a block that lack their dash."""

    item: str
    origin: ScalarLines
    first: list[tuple[int, str]] = field(default_factory=list)
    more: int = 0

    def add(self, index: int, line: str) -> None:
        if len(self.first) < MAX_FAULTY_LINES:
            self.first.append((index, line))
        else:
            self.more += 1

    def note(self, collected: _Collected) -> None:
        hint = "Put '- ' before the line, or remove it."
        for index, line in self.first:
            location = self.origin.locate(index)
            what = f"'{line}' under '{self.item}' in '{location.path}' does not start with '-'; the line is skipped."
            collected.note("example-without-dash", "warning", what, location, hint)
        if self.more:
            what = f"{self.more} more lines under '{self.item}' do not start with '-'."
            collected.note("example-without-dash", "warning", what, self.origin.locate(self.first[-1][0]), hint)


def _note_schema(collected: _Collected, node: YamlNode, what: str) -> None:
    message = f"In '{node.source.path}' {what}."
    collected.note(
        "schema-violation", "error", message, node.location, "See Rasa's training data format for its shape."
    )


_KEY_LINE: Final = re.compile(rf"(?:^|(?<=\r))[^\S\r\n]*({'|'.join(DATA_KEYS)}):", re.MULTILINE)
_TOP_KEY: Final = re.compile(r"^([^\W\d]\w*)[ \t]*:", re.MULTILINE)
_QUOTED_KEY: Final = re.compile(rf"""^(["'])({"|".join((*NLU_KEYS, *STORY_KEYS))})\1[ \t]*:""", re.MULTILINE)
_TOP_ITEM: Final = re.compile(r"^ *- +(story|rule|intent|synonym|regex|lookup) *:", re.MULTILINE)
_KEY_OF_ITEM: Final = {"story": "stories", "rule": "rules"}
_ONLY_OF_DOMAIN: Final = tuple(key for key in DOMAIN_KEYS if key not in DATA_KEYS)
_READ_TOGETHER: Final = (NLU_KEYS, STORY_KEYS)
"""The keys of one kind of data: where Rasa sees one of them, it reads the others, too."""


def keys_of_lines(source: Source) -> frozenset[str]:
    """Return the data keys with which a line begins. Rasa does not see a key after a byte order mark."""
    return frozenset(match[1] for match in _KEY_LINE.finditer(source.text, _start(source)))


def kinds_of(document: YamlDocument) -> frozenset[str]:
    """Return the data keys that begin a line of the file: at its top level, or anywhere if it could not be parsed."""
    text = document.source.text
    if not isinstance(document.root, YamlMapping):
        return frozenset(_KEY_LINE.findall(text))
    return frozenset(
        key
        for key, node in document.root.keys.items()
        if key in DATA_KEYS and _KEY_LINE.match(text, max(text.rfind(end, 0, node.start) for end in "\r\n") + 1)
    )


def _read(file: FormatInput) -> ParsedFile:
    try:
        source = YamlSource.of(file.source)
    except EscapeError as error:
        return ParsedFile(findings=(error.finding(file.source),), kinds=keys_of_lines(file.source) or ANY_KIND)
    if not source.text.strip():
        return ParsedFile(belongs=False, findings=(_empty(source),))
    if not _KEY_LINE.search(source.text, _start(source)):
        if unseen := unseen_key(source):
            meant, finding = unseen
            if not _quoted_key(source):
                file.folder.misnamed_files[source.path] = meant
            return ParsedFile(belongs=False, findings=(finding,))
        return ParsedFile(belongs=False, findings=() if _names(source, DOMAIN_KEYS) else (_without_data(source),))
    document = file.folder.parse_expanded(source)
    kinds = kinds_of(document)
    root, findings = document.root, list(document.findings)
    if not isinstance(root, YamlMapping):
        findings += () if root is None else (_no_mapping(document),)
        return ParsedFile(findings=tuple(findings), kinds=kinds, document=document)
    version = version_too_high(root)
    if version is not None:
        return ParsedFile(findings=(*findings, version), kinds=kinds, document=document)
    if (quoted := _quoted_key(source)) and not any(quoted[0] in keys for keys in _READ_TOGETHER if kinds & {*keys}):
        findings.append(quoted[1])
    nlu, domain, stories = NluData(), None, tuple[Story, ...]()
    if not kinds.isdisjoint(NLU_KEYS) and not file.wanted.isdisjoint(NLU_KEYS):
        nlu, of_nlu = read_rasa_nlu(file.folder, root)
        responses, of_responses = read_responses(root)
        domain = Domain(responses=responses) if responses else None
        findings += (*of_responses, *of_nlu)
    if not kinds.isdisjoint(STORY_KEYS) and not file.wanted.isdisjoint(STORY_KEYS):
        stories, of_stories = read_rasa_stories(root, checks_keys=file.is_test)
        findings += of_stories
    flows, location = read_flows(root) if "flows" in kinds else ((), None)
    return ParsedFile(nlu, stories, domain, flows, location, findings=tuple(findings), kinds=kinds, document=document)


def _start(source: Source) -> int:
    return source.text.find("\n") + 1 if source.has_byte_order_mark else 0


def _no_mapping(document: YamlDocument) -> Finding:
    path = document.source.path
    message = f"The top level of '{path}' must be a mapping with keys such as nlu, stories or rules."
    hint = "Write the keys at the beginning of the line, without '- '."
    location = Location(path) if document.root is None else document.root.location
    return Finding("schema-violation", "error", message, location, hint)


def unseen_key(source: Source) -> tuple[str, Finding] | None:
    """For a file without keys that Rasa reads: the intended key, and the finding that says why Rasa does not see it."""
    if source.has_byte_order_mark and (first := _TOP_KEY.match(source.text)) and first[1] in {*ANY_KIND, "flows"}:
        message = f"Nothing in '{source.path}' is read: Rasa does not see '{first[1]}' after the byte order mark."
        return first[1], _unseen(message, source, 1, "Save the file without a byte order mark.")
    if quoted := _quoted_key(source):
        return quoted
    for match in _TOP_KEY.finditer(source.text):
        if meant := misspelt(match[1], ANY_KIND):
            line = source.text.count("\n", 0, match.start()) + 1
            message = f"Nothing in '{source.path}' is read: '{match[1]}' is not a key of training data."
            words = f"{message} Did you mean '{meant}'?"
            return meant, _unseen(words, source, line, "Correct the spelling of the key.")
    return None


def how_to_begin(source: Source) -> str:
    """Say which key is missing above what is a list of stories, say, at the top level; empty if there is none."""
    item = _TOP_ITEM.search(source.text)
    if item is None or any(match[1] != "version" for match in _TOP_KEY.finditer(source.text)):
        return ""
    return f"Write `{_KEY_OF_ITEM.get(item[1], 'nlu')}:` above the first `- {item[1]}:`."


def _names(source: Source, keys: Iterable[str]) -> bool:
    """Whether one of these is written like a key, wherever in the file."""
    return any(f"{key}{quote}:" in source.text for key in keys for quote in ("", '"', "'"))


def _quoted_key(source: Source) -> tuple[str, Finding] | None:
    """The first data key in quotes: Rasa looks for one without. A domain's ``"responses":`` is none."""
    match = _QUOTED_KEY.search(source.text)
    if match is None or _names(source, _ONLY_OF_DOMAIN):
        return None
    quote, key = match[1], match[2]
    line = source.text.count("\n", 0, match.start()) + 1
    message = f"'{key}' of '{source.path}' is not read: Rasa does not see a key in quotes."
    return key, _unseen(message, source, line, f"Write {key}: without the quotes, not {quote}{key}{quote}:.")


def _unseen(message: str, source: Source, line: int, hint: str) -> Finding:
    return Finding("data-key-unseen", "error", message, Location(source.path, line, 1), hint)


def _empty(source: Source) -> Finding:
    message = f"'{source.path}' is empty."
    return Finding(FILE_EMPTY, "warning", message, Location(source.path, 1, 1), HOW_TO_FILL)


def _without_data(source: Source) -> Finding:
    return Finding(
        "file-without-data",
        "info",
        f"'{source.path}' holds none of the keys nlu, responses, stories and rules; Rasa skips it.",
        Location(source.path, 1, 1),
        how_to_begin(source) or "Check the spelling of its keys, or move the file out of the data folder.",
    )


FORMAT: Final = Format(
    "Rasa YAML",
    lambda path, _: path.suffix in YAML_SUFFIXES,
    ANY_KIND | {"flows"},
    _read,
    look=keys_of_lines,
    needs=NEEDS_OF_RASA,
    has_annotations=True,
)
