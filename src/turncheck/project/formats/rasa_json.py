"""NLU data in Rasa's JSON format (``{"rasa_nlu_data": {…}}``), which Rasa 3 still reads, with a warning.

Rasa skips what is not JSON. Findings made here: ``data-not-json`` for such a file, ``format-deprecated`` for any
other, ``schema-violation`` where Rasa refuses it, ``entity-out-of-range`` for an entity that is outside its sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.finding import Finding, Location
from turncheck.project.formats.format import NEEDS_OF_RASA, Format, FormatInput, ParsedFile
from turncheck.project.nlu_data import EntityAnnotation, Example, Lookup, NluData, Regex, Synonym
from turncheck.project.rasa_version import version_too_high
from turncheck.yaml_tree.source import ListedTexts, Source, text_location
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.project.folder import ProjectFolder
    from turncheck.yaml_tree.json_tree import JsonDocument


# Checks that all NLU data in JSON share, whichever tool wrote them.

_COUNT: Final = "Count characters, not bytes, from 0, the end exclusive."


DATA_NOT_JSON: Final = "data-not-json"


def not_json(document: JsonDocument) -> Finding | None:
    """Why a file is not JSON, which Rasa skips silently; ``None`` if it is."""
    path = document.source.path
    if document.source.has_byte_order_mark:
        what = f"'{path}' is not read: it begins with a byte order mark, so that Rasa does not take it for JSON."
        hint = "Save it without one: Rasa silently skips the file."
        return Finding(DATA_NOT_JSON, "error", what, Location(path, 1, 1), hint)
    fault = next((json_fault for json_fault in document.faults if json_fault.kind != "duplicate-key"), None)
    if fault is None:
        return None
    what = f"'{path}' is not read: it is not JSON: {fault.what}."
    hint = "Correct it there: Rasa silently skips the file. `turncheck data convert nlu` writes YAML."
    return Finding(DATA_NOT_JSON, "error", what, fault.location, hint)


LOOKUP_FILE_MISSING: Final = "lookup-file-missing"


def lookup_file_missing(name: str, path: str, location: Location, *, is_read: bool = True) -> Finding:
    """A lookup table whose file does not exist, which is an error if a component reads it."""
    what = f"The file '{path[:60]}' of the lookup table '{name}' does not exist"
    hint = "Correct the path; it counts from the project."
    if is_read:
        return Finding(LOOKUP_FILE_MISSING, "error", f"{what}; training fails.", location, hint)
    return Finding("pattern-unread", "warning", f"{what}.", location, hint)


def out_of_range(entity: EntityAnnotation, text: str, location: Location) -> Iterator[Finding]:
    """An entity whose offsets are outside its sentence; Rasa does not check offsets."""
    if not 0 <= entity.start < entity.end <= len(text):
        what = (
            f"The entity '{entity.entity}' at {entity.start} to {entity.end} lies outside of its sentence of "
            f"{len(text)} characters, and nothing is learnt from it."
        )
        yield Finding("entity-out-of-range", "warning", what, location, _COUNT)


TOP_KEY: Final = "rasa_nlu_data"
_EXAMPLES: Final = ("common_examples", "intent_examples", "entity_examples")
_HINT: Final = "`rasa data convert nlu` writes Rasa's YAML format."


def _read(file: FormatInput) -> ParsedFile:
    from turncheck.yaml_tree.json_tree import parse_json  # most projects have no JSON

    document = parse_json(file.source)
    root = document.root
    refusal = not_json(document)
    if refusal is not None:
        return ParsedFile(findings=(refusal,))
    if not isinstance(root, YamlMapping) or TOP_KEY not in root.items:
        return ParsedFile(findings=(_without_key(file.source),), belongs=False)
    findings = [
        Finding("yaml-duplicate-key", "error", f"In JSON too, {fault.what}.", fault.location, fault.hint)
        for fault in document.faults
    ]
    version = version_too_high(root)
    if version is not None or "nlu" not in file.wanted:
        return ParsedFile(findings=(*findings, *((version,) if version else ())))
    nlu, more = _read_root(file.folder, root)
    return ParsedFile(nlu, findings=(*findings, *more))


def _without_key(source: Source) -> Finding:
    """Why Rasa does not read a file as NLU data, although it has the key for it."""
    what = f"'{source.path}' is not read: its top level has no key '{TOP_KEY}'."
    return Finding("format-not-read", "warning", what, Location(source.path, 1, 1), _HINT)


def _read_root(folder: ProjectFolder, root: YamlMapping) -> tuple[NluData, list[Finding]]:
    findings = [
        *_keys_beside(root),
        Finding(
            "format-deprecated",
            "warning",
            f"'{root.source.path}' is NLU data in JSON: Rasa 3 is the last version that reads it.",
            root.key_location(TOP_KEY),
            _HINT,
        ),
    ]
    section = root.items[TOP_KEY]
    if not isinstance(section, YamlMapping):
        findings.append(_violation(section, f"'{TOP_KEY}' must be an object"))
        return NluData(), findings
    examples: list[Example] = []
    synonyms: list[Synonym] = []
    for node, value, words in _named(section, "entity_synonyms", "value", "synonyms", findings):
        synonyms += (Synonym(value, word, node.location) for word in words)
    texts: list[YamlScalar] = []
    origin = ListedTexts(texts)
    for key in _EXAMPLES:
        for node in _items(section, key, findings):
            made = _example(node, findings)
            if made is not None:
                scalar, text, intent, entities = made
                texts.append(scalar)
                examples.append(Example(text, intent, entities, None, origin, len(texts) - 1))
    regexes = [
        Regex(name, pattern, node.location)
        for node, name, patterns in _named(section, "regex_features", "name", "pattern", findings)
        for pattern in patterns
    ]
    lookups = [
        _lookup(folder, node, name, elements)
        for node, name, elements in _named(section, "lookup_tables", "name", "elements", findings)
    ]
    return NluData(tuple(examples), tuple(synonyms), tuple(regexes), tuple(lookups)), findings


def _keys_beside(root: YamlMapping) -> Iterator[Finding]:
    """Report any other key at the top level: Rasa ends there."""
    for key in root.items:
        if key not in {TOP_KEY, "version"}:
            what = f"In '{root.source.path}' the key '{key}' is beside '{TOP_KEY}', which Rasa refuses."
            yield Finding("schema-violation", "error", what, root.key_location(key), "Remove the key.")
            return


def _items(section: YamlMapping, key: str, findings: list[Finding]) -> Iterator[YamlMapping]:
    node = section.items.get(key)
    if node is None:
        return
    if not isinstance(node, YamlSequence):
        findings.append(_violation(node, f"'{key}' must be a list"))
        return
    for item in node.items:
        if isinstance(item, YamlMapping):
            yield item
        else:
            findings.append(_violation(item, f"an entry of '{key}' must be an object"))


def _named(
    section: YamlMapping, key: str, name_key: str, value_key: str, findings: list[Finding]
) -> Iterator[tuple[YamlMapping, str, list[str]]]:
    """Yield entries that have a name and a string or a list of strings; Rasa ignores an entry that lacks either."""
    for item in _items(section, key, findings):
        name, value = _plain(item, name_key), _plain(item, value_key)
        texts = value if isinstance(value, list) else [value]
        if name is None or value is None:
            continue
        if isinstance(name, str) and all(isinstance(text, str) for text in texts):
            yield item, name, texts
        else:
            findings.append(_violation(item, f"'{name_key}' and '{value_key}' of '{key}' must be strings"))


def _example(
    node: YamlMapping, findings: list[Finding]
) -> tuple[YamlScalar, str, str | None, tuple[EntityAnnotation, ...]] | None:
    scalar, intent = node.items.get("text"), _plain(node, "intent")
    if not isinstance(scalar, YamlScalar) or not isinstance(scalar.value, str) or not scalar.value:
        findings.append(_violation(node, "an example must have a 'text'"))
        return None
    if not isinstance(intent, str | None):
        findings.append(_violation(node, "the 'intent' of an example must be a string"))
        return None
    entities = []
    for item in _items(node, "entities", findings):
        entity = _entity(item, scalar, findings)
        if entity is not None:
            entities.append(entity)
    return scalar, scalar.value, intent or None, tuple(entities)


def _entity(node: YamlMapping, sentence: YamlScalar, findings: list[Finding]) -> EntityAnnotation | None:
    text = str(sentence.value)
    start, end, name, value, role, group = (
        _plain(node, key) for key in ("start", "end", "entity", "value", "role", "group")
    )
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(name, str)):
        findings.append(_violation(node, "an entity must have the numbers 'start' and 'end' and the string 'entity'"))
        return None
    if not isinstance(role, str | None) or not isinstance(group, str | None):
        findings.append(_violation(node, "the 'role' and 'group' of an entity must be strings"))
        return None
    entity = EntityAnnotation(start, end, name, text[start:end] if value is None else value, role, group)
    findings += out_of_range(entity, text, node.location)
    return entity


def _lookup(folder: ProjectFolder, node: YamlMapping, name: str, elements: list[str]) -> Lookup:
    """Make a lookup table; a string in place of the list is the path of a project file with one element per line."""
    if isinstance(node.items["elements"], YamlSequence):
        return Lookup(name, tuple(elements), node.location)
    path = folder.named_file(elements[0])
    if path is None:
        return Lookup(name, tuple(elements), node.location, elements[0])
    source = folder.read(path)
    lines = source.text.splitlines() if source is not None else []
    return Lookup(name, tuple(filter(None, map(str.strip, lines))), node.location, folder.name(path))


def _plain(node: YamlMapping, key: str) -> Any:
    value = node.items.get(key)
    return None if value is None else value.data


def _violation(node: YamlNode, what: str) -> Finding:
    location = text_location(node) if isinstance(node, YamlScalar) and isinstance(node.value, str) else node.location
    return Finding("schema-violation", "error", f"In '{node.source.path}' {what}.", location, _HINT)


FORMAT: Final = Format(
    "Rasa NLU JSON",
    lambda path, content: path.suffix == ".json" and f'"{TOP_KEY}"'.encode() in content(),
    frozenset({"nlu"}),
    _read,
    needs=NEEDS_OF_RASA,
)
