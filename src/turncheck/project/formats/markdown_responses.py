"""The responses of retrieval intents in the Markdown of Rasa 1.x: ``* faq/ask_name`` and its texts below."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from turncheck.project.formats.markdown_text import Notes, shown
from turncheck.project.model import Response, ResponseVariation

if TYPE_CHECKING:
    from turncheck.messages.finding import Finding
    from turncheck.messages.location import Location
    from turncheck.yaml_tree.source import Source

_REMEDY: Final = "In YAML it is `responses:` with `utter_INTENT/KEY:` and a line `- text: …` for each."
_HEADER: Final = re.compile(r"##(?:[^\n]*+\n|\s*+(?<=\n)|\s*+[^\n]*+\n)\*")
"""A header and the line of an intent after it; if the header has no title, only white space is between them."""


def is_responses_file(text: str) -> bool:
    """Whether Rasa reads a file as one of responses.

    It looks for a header, below it a line with a slash and without a colon before it, and below that an item.
    """
    slashes = _slashes_above_items(text)
    for header in _HEADER.finditer(text) if slashes else ():
        number = bisect_left(slashes, header.end())
        colon = text.find(":", header.end())
        if number < len(slashes) and not 0 <= colon < slashes[number]:
            return True
    return False


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
        place = source.location(start + len(written) - len(written.lstrip())) if line else None
        start += len(written)
        if place is None:
            continue
        if line.startswith("#"):
            finish()
            if intent is not None and intent[0]:
                texts = []
            intent = None
        elif line.startswith("-"):
            text = "-".join(line.split("- ")[1:]).replace("\\n", "\n")
            texts.append(ResponseVariation({"text": text}, place))
            _note_changed(notes, line, text, place)
        elif line.startswith("*"):
            intent = "*".join(line.split("* ")[1:]), place
        else:
            what = f"'{shown(line)}' in '{source.path}' is neither a header, an intent nor a response; it is ignored."
            notes.ignored(what, place, f"Begin a response with '- ', or remove the line. {_REMEDY}")
    finish()
    return found, notes.findings


def _note_changed(notes: Notes, line: str, text: str, place: Location) -> None:
    if "<!--" in line:
        what = f"The comment in '{shown(line)}' stays in the text: Rasa removes none from responses."
        notes.otherwise(what, place, f"Remove it. {_REMEDY}")
    elif not text:
        what = f"'{shown(line)}' in '{place.path}' is an empty response: Rasa requires a blank after the dash."
        notes.otherwise(what, place, f"Write '- ' before the text. {_REMEDY}")
    elif "- " in line[2:]:
        what = f"In '{shown(line)}' Rasa 1 drops the blank after a dash: the text is '{shown(text)}'."
        notes.otherwise(what, place, _REMEDY)
