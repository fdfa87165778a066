"""Writes NLU data and responses in the Markdown of Rasa 1, in the order and notation of Rasa's own writer."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.project.model import Response
    from turncheck.project.nlu_data import EntityAnnotation, Example, NluData

_ESCAPES: Final = str.maketrans({"\b": "\\b", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"})


def write_nlu_markdown(data: NluData) -> str:
    """Return the data as Markdown: intents, synonyms, patterns, lookup tables; each synonym pair only once."""
    by_intent: dict[str, list[str]] = {}
    for example in data.examples:
        by_intent.setdefault(example.intent or "", []).append(_marked(example))
    sections = [("intent", name, texts) for name, texts in by_intent.items()]
    synonyms = sorted({one.synonym: str(one.value) for one in data.synonyms}.items(), key=lambda pair: pair[1])
    for value, pairs in groupby(synonyms, key=lambda pair: pair[1]):
        sections.append(("synonym", value, [text for text, _ in pairs]))
    for name, patterns in groupby(data.regexes, key=lambda one: one.name):
        sections.append(("regex", name, [one.pattern for one in patterns]))
    written = [_section(*section) for section in sections]
    written += (
        f"## lookup:{one.name}\n  {one.file}\n" if one.file else _section("lookup", one.name, one.elements)
        for one in data.lookups
    )
    return "\n".join(written)


def write_responses_markdown(responses: Iterable[Response]) -> str:
    """Return responses of retrieval intents as Markdown; "" if there are none."""
    blocks = []
    for response in responses:
        name = response.name.removeprefix("utter_")
        texts = "".join(f"- {_line(str(one.content.get('text', '')))}\n" for one in response.variations)
        blocks.append(f"## {name}\n* {name}\n{texts}")
    return "\n".join(blocks)


def _section(kind: str, title: str, items: Iterable[str]) -> str:
    return "".join([f"## {kind}:{_line(title)}\n", *(f"- {_line(item)}\n" for item in items)])


def _line(text: str) -> str:
    return text.translate(_ESCAPES)


def _marked(example: Example) -> str:
    parts, place = [], 0
    for entity in sorted(example.entities, key=lambda one: one.start):
        parts += [example.text[place : entity.start], _mark(entity, example.text[entity.start : entity.end])]
        place = entity.end
    return "".join([*parts, example.text[place:]])


def _mark(entity: EntityAnnotation, surface: str) -> str:
    more = {"role": entity.role, "group": entity.group, "value": entity.value if entity.value != surface else None}
    given = {key: value for key, value in more.items() if value is not None}
    return f"[{surface}]{json.dumps({'entity': entity.entity, **given})}" if given else f"[{surface}]({entity.entity})"
