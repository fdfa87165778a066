"""Reads NLU data exported by LUIS, Wit.ai and Dialogflow, which are recognised by their JSON keys, as in Rasa.

Dialogflow writes an intent or entity (``NAME.json``) and its sentences (``NAME_usersays_en.json``) or entries
(``NAME_entries_en.json``) to separate files; the files that describe the agent and the package have nothing to read.
Findings made here: ``data-not-json``, ``schema-violation``, ``entity-out-of-range``, and ``file-without-data`` if no
tool's keys are found, or a Dialogflow intent lacks its sentences.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from turncheck.messages.finding import Finding, Location, Severity
from turncheck.project.formats.format import FormatInput, ParsedFile
from turncheck.project.formats.rasa_json import not_json, out_of_range
from turncheck.project.nlu_data import EntityAnnotation, Example, Lookup, NluData, Regex, Synonym
from turncheck.yaml_tree.json_tree import parse_json
from turncheck.yaml_tree.source import ListedTexts, Source
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_HINT: Final = "`turncheck data convert nlu` writes Rasa's YAML format."
_NEWEST_LUIS: Final = 5
_IGNORED: Final = "@sys.ignore"


class _Collected(Struct):
    file: FormatInput
    examples: list[Example] = field(default_factory=list)
    synonyms: list[Synonym] = field(default_factory=list)
    regexes: list[Regex] = field(default_factory=list)
    lookups: list[Lookup] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    texts: list[YamlScalar] = field(default_factory=list)

    def note(self, code: str, severity: Severity, what: str, location: Location, hint: str = _HINT) -> None:
        self.findings.append(Finding(code, severity, what, location, hint))

    def violation(self, node: YamlNode, what: str) -> None:
        self.note("schema-violation", "error", f"In '{node.source.path}' {what}.", node.location)

    def example(self, at: YamlScalar, text: str, intent: str | None, entities: list[EntityAnnotation]) -> None:
        self.texts.append(at)
        for entity in entities:
            self.findings += out_of_range(entity, text, at.location)
        made = Example(text, intent or None, tuple(entities), None, ListedTexts(self.texts), len(self.texts) - 1)
        self.examples.append(made)


def read_other_json(file: FormatInput) -> ParsedFile:
    """Read a file that one of these tools wrote, along with the neighbouring files that belong to it."""
    document = parse_json(file.source)
    refusal = not_json(document)
    if refusal is not None:
        return ParsedFile(findings=(refusal,), belongs=False)
    reader = _reader(document.root, file.source.path)
    if reader is None:
        what = f"'{file.source.path}' is not read: its keys are not those of Rasa, LUIS, Wit.ai or Dialogflow."
        location = Location(file.source.path, 1, 1)
        hint = "Correct its keys, or move the file out of the data folder."
        return ParsedFile(findings=(Finding("file-without-data", "info", what, location, hint),), belongs=False)
    collected = _Collected(file)
    if isinstance(document.root, YamlMapping) and "nlu" in file.wanted:
        reader(collected, document.root)
    nlu = NluData(
        tuple(collected.examples), tuple(collected.synonyms), tuple(collected.regexes), tuple(collected.lookups)
    )
    return ParsedFile(nlu, findings=tuple(collected.findings))


def _reader(root: YamlNode | None, path: str) -> Callable[[_Collected, YamlMapping], None] | None:
    """Return the reader for a file with this content; the order of the checks is Rasa's."""
    if isinstance(root, YamlMapping):
        if isinstance(root.items.get("data"), YamlSequence):
            return _read_wit
        if "luis_schema_version" in root.items:
            return _read_luis
        if "supportedLanguages" in root.items or root.items.keys() == {"version"}:
            return _read_nothing
        if "responses" in root.items:
            return _read_dialogflow_intent
        if "isEnum" in root.items:
            return _read_dialogflow_entity
    return _read_nothing if "_usersays_" in path or "_entries_" in path else None


def _read_nothing(collected: _Collected, root: YamlMapping) -> None:
    """Read nothing: the file describes an agent, or is read along with another file."""


# --- LUIS and Wit.ai -------------------------------------------------------------------------------------------------


def _read_luis(collected: _Collected, root: YamlMapping) -> None:
    version = str(_plain(root, "luis_schema_version")).partition(".")[0]
    if re.fullmatch("[0-9]{1,9}", version) and int(version) > _NEWEST_LUIS:
        what = f"'{root.source.path}' is of LUIS schema {version}; Rasa was tried with those up to {_NEWEST_LUIS}."
        collected.note("markdown-read-otherwise", "warning", what, root.key_location("luis_schema_version"))
    for node in _items(collected, root, "regex_features"):
        name, pattern = _plain(node, "name"), _plain(node, "pattern")
        if _plain(node, "activated") is True and isinstance(name, str) and isinstance(pattern, str):
            collected.regexes.append(Regex(name, pattern, node.location))
    for node in _items(collected, root, "utterances"):
        scalar, text = _text(collected, node)
        if scalar is None:
            continue
        entities = []
        for item in _items(collected, node, "entities"):
            start, end, name = (_plain(item, key) for key in ("startPos", "endPos", "entity"))
            if isinstance(start, int) and isinstance(end, int) and isinstance(name, str):
                entities.append(EntityAnnotation(start, end + 1, name, text[start : end + 1]))
            else:
                collected.violation(item, "an entity must have 'entity' and the numbers 'startPos' and 'endPos'")
        collected.example(scalar, text, _intent(_plain(node, "intent")), entities)


def _read_wit(collected: _Collected, root: YamlMapping) -> None:
    for node in _items(collected, root, "data"):
        if "entities" not in node.items or _plain(node, "entities") is None:
            what = f"The sentence in '{node.source.path}' has no key 'entities'; Rasa skips it."
            collected.note("markdown-ignored", "warning", what, node.location)
            continue
        scalar, text = _text(collected, node)
        if scalar is None:
            continue
        intents, entities = [], []
        for item in _items(collected, node, "entities"):
            name, value = _plain(item, "entity"), _plain(item, "value")
            start, end = _plain(item, "start"), _plain(item, "end")
            if name == "intent":
                intents.append(value)
            elif isinstance(start, int) and isinstance(end, int) and isinstance(name, str) and isinstance(value, str):
                entities.append(EntityAnnotation(start, end, name, value.strip('"')))
            elif "start" in item.items and "end" in item.items:
                collected.violation(item, "an entity must have 'entity', 'value' and the numbers 'start' and 'end'")
        first = intents[0] if intents else None
        collected.example(scalar, text, first.strip('"') if isinstance(first, str) else None, entities)


# --- Dialogflow ------------------------------------------------------------------------------------------------------


def _read_dialogflow_intent(collected: _Collected, root: YamlMapping) -> None:
    intent = _intent(_plain(root, "name"))
    for node in _beside(collected, root, "usersays"):
        text, entities, first = "", [], None
        for chunk in _items(collected, node, "data"):
            scalar = chunk.items.get("text")
            if not isinstance(scalar, YamlScalar) or not isinstance(scalar.value, str):
                collected.violation(chunk, "a part of a sentence must have the string 'text'")
                continue
            first = first or scalar
            name = _plain(chunk, "alias") or _plain(chunk, "meta")
            if isinstance(name, str) and name != _IGNORED:
                entities.append(EntityAnnotation(len(text), len(text) + len(scalar.value), name, scalar.value))
            text += scalar.value
        if first is not None:
            collected.example(first, text, intent, entities)


def _read_dialogflow_entity(collected: _Collected, root: YamlMapping) -> None:
    name, elements = str(_plain(root, "name")), []
    for node in _beside(collected, root, "entries"):
        value = _plain(node, "value")
        synonyms = _plain(node, "synonyms")
        for synonym in synonyms if isinstance(synonyms, list) else []:
            if isinstance(synonym, str):
                if isinstance(value, str):
                    collected.synonyms.append(Synonym(value, synonym, node.location))
                elements += [synonym] if "@" not in synonym else []
    if elements:
        collected.lookups.append(Lookup(name, tuple(elements), root.location))


def _beside(collected: _Collected, root: YamlMapping, kind: str) -> Iterator[YamlMapping]:
    """Yield the entries of the file that belongs to this one: the English one, else the only one there is."""
    folder = collected.file.folder
    path = folder.root / root.source.path
    paths = sorted(path.parent.glob(f"{_literal(path.stem)}_{kind}_*.json"))
    best = next((one for one in paths if one.stem.endswith("_en")), paths[0] if paths else None)
    source = None if best is None else folder.read_bytes(best)
    decoded: Source | None = None if best is None or source is None else folder.decode(folder.name(best), source)
    if decoded is None:
        what = f"'{root.source.path}' has no '{path.stem}_{kind}_en.json' beside it; nothing is read."
        collected.note("file-without-data", "warning", what, Location(root.source.path, 1, 1), "Export both files.")
        return
    document = parse_json(decoded)
    refusal = not_json(document)
    if refusal is not None:
        collected.findings.append(refusal)
        return
    entries = document.root
    for node in entries.items if isinstance(entries, YamlSequence) else ():
        if isinstance(node, YamlMapping):
            yield node


def _literal(name: str) -> str:
    """Return a glob pattern that matches only this file name."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)


# --- values ----------------------------------------------------------------------------------------------------------


def _items(collected: _Collected, node: YamlMapping, key: str) -> Iterator[YamlMapping]:
    section = node.items.get(key)
    if section is None or (isinstance(section, YamlScalar) and section.value is None):
        return
    if not isinstance(section, YamlSequence):
        collected.violation(section, f"'{key}' must be a list")
        return
    for item in section.items:
        if isinstance(item, YamlMapping):
            yield item
        else:
            collected.violation(item, f"an entry of '{key}' must be an object")


def _text(collected: _Collected, node: YamlMapping) -> tuple[YamlScalar | None, str]:
    scalar = node.items.get("text")
    if isinstance(scalar, YamlScalar) and isinstance(scalar.value, str):
        return scalar, scalar.value
    collected.violation(node, "a sentence must have the string 'text'")
    return None, ""


def _intent(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) else None


def _plain(node: YamlMapping, key: str) -> Any:
    value = node.items.get(key)
    return None if value is None else value.data
