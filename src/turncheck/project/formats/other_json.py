"""NLU data that LUIS, Wit.ai and Dialogflow export as JSON."""

from __future__ import annotations

from typing import Final

from turncheck.project.formats.format import NEEDS_OF_RASA, Format, Opened, Parts


def _read(file: Opened) -> Parts:
    from turncheck.project.formats.other_json_reader import read_other_json  # most projects have no JSON

    return read_other_json(file)


FORMAT: Final = Format(
    "JSON of LUIS, Wit.ai and Dialogflow",
    lambda path, _: path.suffix == ".json",
    frozenset({"nlu"}),
    _read,
    needs=NEEDS_OF_RASA,
)
