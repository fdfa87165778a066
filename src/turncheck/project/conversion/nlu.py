"""NLU data and responses in Markdown or JSON → YAML."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from turncheck.messages.errors import UserError
from turncheck.project.conversion.result import with_comments
from turncheck.project.formats.annotations import parse_annotations
from turncheck.project.formats.rasa_nlu_writer import annotated, write_nlu_yaml, write_responses_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.project.conversion.result import Converted
    from turncheck.project.files import DataFile
    from turncheck.project.nlu_data import Example, NluData, Synonym


def convert_nlu(file: DataFile, converted: Converted) -> None:
    """Convert a file of NLU data, or of responses for retrieval intents."""
    source = file.file.source
    text = write_nlu_yaml(_writable(file.parts.nlu, converted))
    if file.parts.domain is not None:
        text += write_responses_yaml(file.parts.domain.responses.values())
    if text:
        is_markdown = source is not None and file.file.path.endswith(".md")
        converted.add(file.file.path, with_comments(text, source.file_text) if source and is_markdown else text)


def _writable(data: NluData, converted: Converted) -> NluData:
    """Leave out, and note, what the current format cannot express."""
    examples = []
    for example in data.examples:
        why = _why_not(example)
        if why:
            converted.note(f"The sentence '{example.text}' is left out: {why}.", example.location, "Write it anew.")
        else:
            examples.append(example)
    return replace(data, examples=tuple(examples), synonyms=tuple(_written_synonyms(data, examples)))


def _why_not(example: Example) -> str:
    if not example.intent:
        return "it has no intent"
    if not example.text.strip():
        return "it has no text"
    try:
        text, entities = parse_annotations(annotated(example).strip())
    except (UserError, ValueError):
        return "its entities overlap, or lie outside of it"
    if text.strip() != example.text.strip():
        return "what is in its brackets would be read as an entity, which it is not"
    offset = len(example.text) - len(example.text.lstrip())
    ours = {(one.start - offset, one.end - offset, one.entity, one.value) for one in example.entities}
    if ours != {(one.start, one.end, one.entity, one.value) for one in entities}:
        return "its entities cannot be marked"
    return ""


def _written_synonyms(data: NluData, examples: Iterable[Example]) -> list[Synonym]:
    """Return the synonyms that annotations do not imply; of contradicting ones the last, which is the one used."""
    last = {one.synonym: one for one in data.synonyms}
    implied = {
        example.text[entity.start : entity.end]: str(entity.value)
        for example in examples
        for entity in example.entities
        if example.text[entity.start : entity.end] != entity.value
    }
    return [one for text, one in last.items() if implied.get(text) != one.value]
