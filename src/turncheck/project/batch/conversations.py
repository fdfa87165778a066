"""The suite of successful user utterances, from a log with the matched intent of each and whether its task completed.

JSON (a list of objects, one object per line, or a list below ``conversations``, ``messages`` or ``data``) and CSV. An
utterance counts if it matched an intent and its task was completed.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.errors import UserError
from turncheck.messages.location import Location
from turncheck.project.batch.model import SuiteCase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.yaml_tree.source import Source

_UTTERANCE: Final = ("utterance", "input", "text", "message", "userinput")
_INTENT: Final = ("intent", "matchedintent", "task", "taskname", "intentname")
_COMPLETED: Final = ("completed", "taskcompleted", "taskstatus", "completionstatus", "iscompleted", "taskcompletion")
_YES: Final = frozenset({"true", "1", "yes", "completed", "complete", "success", "successful", "done", "finished"})
_NONE: Final = frozenset({"", "none", "default fallback intent", "nlu_fallback"})
_LISTS: Final = ("conversations", "messages", "data", "utterances")


@dataclass(frozen=True, slots=True)
class Successful:
    """The cases, one for each utterance and intent, and how many records were read and left out."""

    cases: tuple[SuiteCase, ...]
    records: int
    left_out: int


def successful_utterances(source: Source) -> Successful:
    """Return the utterances of a log that matched an intent and whose task was completed.

    Raises:
        UserError: it is neither JSON nor CSV, or lacks the utterances, the matched intents or what was completed.
    """
    records = _records(source)
    keys = {_key(name) for record in records for name in record}
    lacking = [
        what
        for what, names in (
            ("the utterance (`utterance`)", _UTTERANCE),
            ("the matched intent (`intent`)", _INTENT),
            ("whether its task was completed (`completed`)", _COMPLETED),
        )
        if keys.isdisjoint(names)
    ]
    if lacking:
        raise UserError(
            f"the log lacks {' and '.join(lacking)}",
            location=Location(source.path),
            remedy="Only utterances whose task ran to its end belong in this suite; export them with these fields.",
        )
    kept: dict[SuiteCase, None] = {}
    left_out = 0
    for record in records:
        text, intent = _value(record, _UTTERANCE), _value(record, _INTENT)
        if text and intent.casefold() not in _NONE and _value(record, _COMPLETED).casefold() in _YES:
            kept.setdefault(SuiteCase(text, (intent,)))
        else:
            left_out += 1
    return Successful(tuple(kept), len(records), left_out)


def _records(source: Source) -> list[Mapping[str, Any]]:
    text = source.file_text
    first = text.lstrip()[:1]
    try:
        if first in {"[", "{"}:
            return _json_records(text)
        return list(csv.DictReader(io.StringIO(text, newline="")))
    except (ValueError, RecursionError, csv.Error) as error:
        line = getattr(error, "lineno", None)
        raise UserError(
            "the log is neither JSON nor CSV", location=Location(source.path, line), remedy="Export it as one of them."
        ) from None


def _json_records(text: str) -> list[Mapping[str, Any]]:
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        data = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(data, dict):
        data = next((data[name] for name in _LISTS if isinstance(data.get(name), list)), [data])
    return [record for record in data if isinstance(record, dict)] if isinstance(data, list) else []


def _key(name: object) -> str:
    return str(name).replace(" ", "").replace("_", "").casefold()


def _value(record: Mapping[str, Any], names: tuple[str, ...]) -> str:
    by_key = {_key(name): value for name, value in record.items()}
    value = next((by_key[name] for name in names if by_key.get(name) is not None), "")
    return str(value).strip() if isinstance(value, str | int | float | bool) else ""
