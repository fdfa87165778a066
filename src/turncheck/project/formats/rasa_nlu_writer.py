"""Writes NLU data as Rasa 3 YAML, so that reading it again gives the same data; as Markdown and JSON for Rasa 1.

The layout is that of Rasa's own writer: examples grouped by intent, in a literal block if plain lines can hold them,
else as a list of ``text`` and ``metadata``.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.project.model import Response
    from turncheck.project.nlu_data import EntityAnnotation, Example, NluData


_FORMAT_VERSION: Final = "3.1"

_PLAIN: Final = re.compile(r"[^\W_](?:[\w.,!?'()/+-]|(?: (?![#\s-]|$)))*")
"""Strings that need no quotes in YAML 1.1 and 1.2: without ``: ``, without `` #``, without a leading bracket …"""

_RESERVED: Final = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))

_UNICODE_ESCAPE: Final = re.compile(r"\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}")

_NOT_FOR_BLOCKS: Final = re.compile("[^\t -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""What must not be in a literal block: line breaks of any script, control characters, the byte order mark."""


def write_nlu_yaml(data: NluData) -> str:
    """Return the data as YAML, "" if there are none.

    Raises:
        UserError: an example has entities that partly overlap, which the format cannot express.
    """
    lines: list[str] = []
    for intent, shared, examples in _by_block(data.examples):
        lines += _intent_block(intent, shared, examples)
    for key, blocks in _named_blocks(data).items():
        for name, entries in blocks.items():
            lines += [f"- {key}: {_scalar(name)}", *_examples(entries)]
    return _document("nlu:", lines)


def write_responses_yaml(responses: Iterable[Response]) -> str:
    """Return the responses as YAML, "" if there are none."""
    content = {response.name: [dict(variation.content) for variation in response.variations] for response in responses}
    return _document("responses:", list(_block(content, "  ")))


def yaml_lines(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a YAML file with these top-level keys."""
    return _block(content, "")


def yaml_scalar(value: str) -> str:
    """Return a string as it is written in these files."""
    return _scalar(value)


def annotated(example: Example) -> str:
    """Return the text with its entities marked, in the short form ``[Rome](city)`` if that is enough.

    Raises:
        UserError: entities overlap with different borders.
    """
    text, parts, place = example.text, [], 0
    by_border: dict[tuple[int, int], list[EntityAnnotation]] = defaultdict(list)
    for entity in example.entities:
        by_border[entity.start, entity.end].append(entity)
    for (start, end), entities in sorted(by_border.items()):
        if start < place:
            raise UserError(
                f"the entities of {text!r} overlap in part, which cannot be written as training data",
                location=example.location,
                hint="Give them the same borders, or let one begin where the other ends.",
            )
        surface = text[start:end]
        marks = [_mark(entity, surface) for entity in entities]
        if len(entities) > 1:
            mark = f"[{', '.join(json_mark for json_mark, _ in marks)}]"
        else:
            json_mark, short = marks[0]
            mark = f"({entities[0].entity})" if short else json_mark
        parts += [text[place:start], f"[{surface}]", mark]
        place = end
    return "".join([*parts, text[place:]])


def _mark(entity: EntityAnnotation, surface: str) -> tuple[str, bool]:
    """Return the annotation as JSON, and whether the entity's name alone says the same."""
    named: dict[str, Any] = {"entity": entity.entity}
    named |= {key: value for key, value in (("role", entity.role), ("group", entity.group)) if value is not None}
    if entity.value != surface:
        named["value"] = entity.value
    # A reader ends the annotation at the first closing bracket, even inside a string.
    text = json.dumps(named, ensure_ascii=False)
    body = text[1:-1].replace("}", "\\u007d").replace("]", "\\u005d")
    return "{" + body + "}", len(named) == 1 and not set(entity.entity) & set(":()")


def _document(section: str, lines: Sequence[str]) -> str:
    """In an ASCII-only file Rasa decodes every ``\\uXXXX`` before parsing: a single other character prevents that."""
    if not lines:
        return ""
    document = "\n".join([f'version: "{_FORMAT_VERSION}"', section, *lines, ""])
    if document.isascii() and _UNICODE_ESCAPE.search(document):
        return f"# “\\u” stands for itself in this file.\n{document}"
    return document


def _by_block(examples: Iterable[Example]) -> Iterator[tuple[str, Any, list[Example]]]:
    """Yield intent, metadata of the block, and examples. Examples with other block metadata get a block of their own.

    Rasa's format cannot express an example without an intent; its reader never makes one.
    """
    blocks: dict[tuple[str, str], tuple[Any, list[Example]]] = {}
    for example in examples:
        if example.intent:
            shared = (example.metadata or {}).get("intent")
            key = example.intent, _flow(shared)
            blocks.setdefault(key, (shared, []))[1].append(example)
    for (intent, _), (shared, members) in blocks.items():
        yield intent, shared, members


def _intent_block(intent: str, shared: Any, examples: Sequence[Example]) -> list[str]:
    lines = [f"- intent: {_scalar(intent)}"]
    if shared is not None:
        lines += _keyed("  metadata:", shared)
    texts = [annotated(example) for example in examples]
    own = [dict(example.metadata or {}) for example in examples]
    if not any("example" in metadata for metadata in own):
        return [*lines, *_examples(texts)]
    lines.append("  examples:")
    for text, metadata in zip(texts, own, strict=True):
        lines += _text_item(text)
        if "example" in metadata:
            lines += _keyed("    metadata:", metadata["example"])
    return lines


def _examples(texts: Sequence[str]) -> list[str]:
    """A literal block if each string is one printable line, else a list of quoted strings."""
    if any(_NOT_FOR_BLOCKS.search(text) for text in texts):
        return ["  examples:", *(line for text in texts for line in _text_item(text))]
    return ["  examples: |", *(f"    - {text}" for text in texts)]


def _text_item(text: str) -> list[str]:
    if _NOT_FOR_BLOCKS.search(text) or not text or text[0].isspace():
        return [f"  - text: {_flow(text)}"]
    return ["  - text: |", f"      {text}"]


def _keyed(head: str, value: Any) -> list[str]:
    """A key with its value, which may be a mapping or a list."""
    if isinstance(value, dict | list) and value:
        indent = head[: len(head) - len(head.lstrip())]
        return [head, *_block(value, f"{indent}  " if isinstance(value, dict) else indent)]
    return [f"{head} {_scalar(value)}"]


def _named_blocks(data: NluData) -> dict[str, dict[str, list[str]]]:
    """A synonym's name must be a string, or Rasa cannot read it again; an annotation's value may be a number.

    Of a text's contradicting synonyms only the last is written, which is the one that Rasa uses.
    """
    synonyms = {synonym.synonym: str(synonym.value) for synonym in data.synonyms}
    return {
        "synonym": _grouped((value, text) for text, value in synonyms.items()),
        "regex": _grouped((regex.name, regex.pattern) for regex in data.regexes),
        "lookup": _grouped((table.name, element) for table in data.lookups for element in table.elements),
    }


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = defaultdict(list)
    for name, entry in dict.fromkeys(pairs):
        grouped[name].append(entry)
    return grouped


def _block(value: Mapping[str, Any] | Sequence[Any], indent: str) -> Iterator[str]:
    """Yield the lines of a mapping or a list; lists are indented like the key they belong to, as Rasa writes them."""
    entries = (
        [(f"{_scalar(key)}:", one) for key, one in value.items()]
        if isinstance(value, dict)
        else [("-", one) for one in value]
    )
    for head, one in entries:
        if isinstance(one, dict) and one and head == "-":
            first, *rest = _block(one, f"{indent}  ")
            yield from (f"{indent}- {first.strip()}", *rest)
        elif isinstance(one, dict | list) and one:
            yield f"{indent}{head}"
            yield from _block(one, f"{indent}  " if isinstance(one, dict) or head == "-" else indent)
        else:
            yield f"{indent}{head} {_scalar(one)}"


def _scalar(value: Any) -> str:
    """Return a value that is not a non-empty mapping or list, so that YAML reads the same value."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _RESERVED:
        may_be_number = value[0].isnumeric() and " " not in value
        if not may_be_number:
            return value
    return _flow(value)


def _flow(value: Any) -> str:
    """Return any value in flow style: JSON, which is also YAML, with characters escaped that YAML does not accept."""
    return _NOT_FOR_BLOCKS.sub(_escaped, json.dumps(value, ensure_ascii=False, default=str))


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


# Writes NLU data and responses in the Markdown of Rasa 1, in the order and notation of Rasa's own writer.

_ENTITY_KEYS: Final = ("start", "end", "value", "entity", "role", "group")
_ESCAPES: Final = str.maketrans({"\b": "\\b", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"})


def write_nlu_markdown(data: NluData) -> str:
    """Return the data as Markdown: intents, synonyms, patterns, lookup tables; each synonym pair only once."""
    by_intent: dict[str, list[str]] = {}
    for example in data.examples:
        by_intent.setdefault(example.intent or "", []).append(_marked(example))
    sections = [("intent", name, texts) for name, texts in by_intent.items()]
    synonyms = sorted(
        {synonym.synonym: str(synonym.value) for synonym in data.synonyms}.items(), key=lambda pair: pair[1]
    )
    for value, pairs in groupby(synonyms, key=lambda pair: pair[1]):
        sections.append(("synonym", value, [text for text, _ in pairs]))
    for name, patterns in groupby(data.regexes, key=lambda regex: regex.name):
        sections.append(("regex", name, [pattern.pattern for pattern in patterns]))
    written = [_section(*section) for section in sections]
    written += (
        f"## lookup:{lookup.name}\n  {lookup.file}\n"
        if lookup.file
        else _section("lookup", lookup.name, lookup.elements)
        for lookup in data.lookups
    )
    return "\n".join(written)


def write_nlu_json(data: NluData) -> str:
    """Return the data as the JSON of Rasa 1, in the order of its own writer."""
    synonyms = sorted(
        {synonym.synonym: synonym.value for synonym in data.synonyms}.items(), key=lambda pair: str(pair[1])
    )
    content = {
        "common_examples": [_in_json(example) for example in data.examples],
        "regex_features": [{"name": regex.name, "pattern": regex.pattern} for regex in data.regexes],
        "lookup_tables": [
            {"name": lookup.name, "elements": lookup.file or list(lookup.elements)} for lookup in data.lookups
        ],
        "entity_synonyms": [
            {"value": value, "synonyms": [text for text, _ in pairs]}
            for value, pairs in groupby(synonyms, key=lambda pair: pair[1])
        ],
    }
    return json.dumps({"rasa_nlu_data": content}, indent=2, ensure_ascii=False) + "\n"


def _in_json(example: Example) -> dict[str, Any]:
    entities = [
        {key: value for key in _ENTITY_KEYS if (value := getattr(entity, key)) is not None or key == "value"}
        for entity in example.entities
    ]
    intent = {} if example.intent is None else {"intent": example.intent}
    return {"text": example.text, **intent, **({"entities": entities} if entities else {})}


def write_responses_markdown(responses: Iterable[Response]) -> str:
    """Return responses of retrieval intents as Markdown; "" if there are none."""
    blocks = []
    for response in responses:
        name = response.name.removeprefix("utter_")
        texts = "".join(f"- {_line(str(variation.content.get('text', '')))}\n" for variation in response.variations)
        blocks.append(f"## {name}\n* {name}\n{texts}")
    return "\n".join(blocks)


def _section(kind: str, title: str, items: Iterable[str]) -> str:
    return "".join([f"## {kind}:{_line(title)}\n", *(f"- {_line(item)}\n" for item in items)])


def _line(text: str) -> str:
    return text.translate(_ESCAPES)


def _marked(example: Example) -> str:
    parts, place = [], 0
    for entity in sorted(example.entities, key=lambda entity_annotation: entity_annotation.start):
        parts += [example.text[place : entity.start], _markdown_mark(entity, example.text[entity.start : entity.end])]
        place = entity.end
    return "".join([*parts, example.text[place:]])


def _markdown_mark(entity: EntityAnnotation, surface: str) -> str:
    more = {"role": entity.role, "group": entity.group, "value": entity.value if entity.value != surface else None}
    given = {key: value for key, value in more.items() if value is not None}
    return f"[{surface}]{json.dumps({'entity': entity.entity, **given})}" if given else f"[{surface}]({entity.entity})"
