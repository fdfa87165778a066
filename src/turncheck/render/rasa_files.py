"""The files of ``rasa test nlu``: same names, same shapes, same numbers, so that scripts written for Rasa keep working.

Made from the report alone. ``_errors`` and ``_successes`` files are left out where they would be empty, as Rasa does.
Names and shapes are those of a major version of Rasa, 1 to 3; see :mod:`turncheck.render.older_files` for Rasa NLU 0.x.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from turncheck.render.rendered import Rendered
from turncheck.report.tags import NO_ENTITY, read_tokens, token_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from turncheck.report.model import EntitySpan, Nlu, NluPrediction, ProjectInfo

NAMED_AS_TODAY: Final = 2
"""The first version that names pictures and stories as today; before: :mod:`turncheck.render.older_files`."""
_ACCURACY: Final = "accuracy"
_MICRO: Final = "micro avg"
_WITH_BOTH: Final = 3
"""The first version that writes both accuracy and micro average."""
_WITH_MISTAKES: Final = 2
"""The first version that writes which entities are confused, and which responses are right and wrong."""


def major_of_files(project: ProjectInfo, asked: int | None = None) -> int:
    """Return the major version of Rasa whose files are written: the requested one, else the project's, else 3."""
    if asked is not None:
        return asked
    return int(project.rasa_version.partition(".")[0]) if project.rasa_version else _WITH_BOTH


def nlu_files(nlu: Nlu, *, successes: bool = False, errors: bool = True, major: int = 3) -> list[Rendered]:
    """Return the JSON files of ``rasa test nlu``; ``errors`` and ``successes`` as in its flags."""
    files = _intent_files(nlu, successes=successes, errors=errors, major=major)
    files += _response_files(nlu, successes=successes, errors=errors, major=major)
    for extractor in active_extractors(nlu):
        files += _entity_files(nlu, extractor, successes=successes, errors=errors, major=major)
    return files


def report_of(report: dict[str, Any], major: int) -> dict[str, Any]:
    """Return a report as a major version wrote it: until Rasa 2 with accuracy or the micro average, not with both.

    >>> report_of({"a": {}, "accuracy": 1.0, "micro avg": {}}, 1)
    {'a': {}, 'accuracy': 1.0}
    """
    keys = list(report)
    if major >= _WITH_BOTH or not {_ACCURACY, _MICRO} <= report.keys():
        return report
    left_out = _MICRO if keys.index(_ACCURACY) < keys.index(_MICRO) else _ACCURACY
    return {key: row for key, row in report.items() if key != left_out}


def active_extractors(nlu: Nlu) -> list[str]:
    """Return the extractors that Rasa would write files for: those that found an entity in any sentence."""
    found = {entity.extractor for prediction in nlu.predictions for entity in prediction.predicted.entities}
    return [extractor for extractor in nlu.entities if extractor in found]


@dataclass(frozen=True, slots=True)
class Entries:
    """What a file lists, each entry made of its sentence when it is written."""

    predictions: Sequence[NluPrediction]
    entry: Callable[[NluPrediction], dict[str, Any]]

    def __len__(self) -> int:
        """How many there are."""
        return len(self.predictions)

    def pieces(self) -> Iterator[bytes]:
        """Write them as JSON in Rasa's own layout."""
        separator = "[\n  "
        for prediction in self.predictions:
            text = separator + _json(self.entry(prediction)).replace("\n", "\n  ")
            yield text.encode("utf-8", "backslashreplace")
            separator = ",\n  "
        yield b"\n]" if self.predictions else b"[]"


def intent_errors(nlu: Nlu) -> Entries:
    """Return the content of ``intent_errors.json``: every sentence whose intent was not recognised, in test order."""
    return Entries([prediction for prediction in nlu.predictions if not prediction.correct], _intent_entry)


def intent_successes(nlu: Nlu) -> Entries:
    """Return the content of ``intent_successes.json``: every sentence whose intent was recognised, in test order."""
    right = [prediction for prediction in nlu.predictions if prediction.correct and prediction.expected.intent]
    return Entries(right, _intent_entry)


def entity_outcomes(prediction: NluPrediction, extractor: str) -> tuple[bool, bool]:
    """Return whether the sentence is an error and whether it is a success for the extractor; it may be both.

    An error has a token with a wrong label, a success has a token with a right label other than ``no_entity``.
    """
    tokens = read_tokens(prediction.predicted.tokens)
    expected = token_labels(tokens, prediction.expected.entities)
    found = token_labels(tokens, [one for one in prediction.predicted.entities if one.extractor == extractor])
    pairs = list(zip(expected, found, strict=True))
    error = any(target != label for target, label in pairs)
    success = any(target == label != NO_ENTITY for target, label in pairs)
    return error, success


def _intent_files(nlu: Nlu, *, successes: bool, errors: bool, major: int) -> list[Rendered]:
    if nlu.intents is None:
        return []
    files = [as_json("intent_report.json", report_of(nlu.intents.report, major))]
    files += _listed("intent_successes.json", intent_successes(nlu) if successes else None)
    files += _listed("intent_errors.json", intent_errors(nlu) if errors else None)
    return files


def _intent_entry(prediction: NluPrediction) -> dict[str, Any]:
    return {
        "text": prediction.text,
        "intent": prediction.expected.intent,
        "intent_prediction": {
            "name": prediction.predicted.intent or "",
            "confidence": prediction.predicted.confidence,
        },
    }


def _response_files(nlu: Nlu, *, successes: bool, errors: bool, major: int) -> list[Rendered]:
    if nlu.response_selection is None:
        return []
    judged = [entry for entry in nlu.predictions if entry.expected.response]
    wrong = [entry for entry in judged if entry.predicted.response != entry.expected.response]
    right = [entry for entry in judged if entry.predicted.response == entry.expected.response]
    files = [as_json("response_selection_report.json", report_of(nlu.response_selection.report, major))]
    if major < _WITH_MISTAKES:
        return files
    if len(nlu.responses) > 1 and major >= _WITH_BOTH:
        files += [
            as_json(f"response_selection_{file_part(selector)}_report.json", scores.report)
            for selector, scores in nlu.responses.items()
        ]
    files += _listed("response_selection_successes.json", Entries(right, _response_entry) if successes else None)
    files += _listed("response_selection_errors.json", Entries(wrong, _response_entry) if errors else None)
    return files


def _response_entry(prediction: NluPrediction) -> dict[str, Any]:
    return {
        "text": prediction.text,
        "intent_response_key_target": prediction.expected.response,
        "intent_response_key_prediction": {
            "name": prediction.predicted.response or "",
            "confidence": prediction.predicted.response_confidence or 0.0,
        },
    }


def _entity_files(nlu: Nlu, extractor: str, *, successes: bool, errors: bool, major: int) -> list[Rendered]:
    right: list[NluPrediction] = []
    wrong: list[NluPrediction] = []
    for prediction in nlu.predictions:
        error, success = entity_outcomes(prediction, extractor)
        if error:
            wrong.append(prediction)
        if success:
            right.append(prediction)
    name = file_part(extractor)
    report = report_of(nlu.entities[extractor].report, major)
    if major < _WITH_MISTAKES:
        report = {label: _without_confused(row) for label, row in report.items()}
    files = [as_json(f"{name}_report.json", report)]
    files += _listed(f"{name}_successes.json", Entries(right, _entity_entry) if successes else None)
    files += _listed(f"{name}_errors.json", Entries(wrong, _entity_entry) if errors else None)
    return files


def _without_confused(row: Any) -> Any:
    return {key: figure for key, figure in row.items() if key != "confused_with"} if isinstance(row, dict) else row


def _entity_entry(prediction: NluPrediction) -> dict[str, Any]:
    """``predicted_entities`` holds what all extractors found, as in Rasa."""
    return {
        "text": prediction.text,
        "entities": [_expected_entity(entity) for entity in prediction.expected.entities],
        "predicted_entities": [_found_entity(entity) for entity in prediction.predicted.entities],
    }


def _expected_entity(entity: EntitySpan) -> dict[str, Any]:
    named = {"start": entity.start, "end": entity.end, "value": entity.value, "entity": entity.entity}
    return named | _role_and_group(entity)


def _found_entity(entity: EntitySpan) -> dict[str, Any]:
    extra = dict(entity.extra or {})
    named: dict[str, Any] = {"entity": entity.entity, "start": entity.start, "end": entity.end}
    if entity.confidence is not None:
        named["confidence_entity"] = entity.confidence
    for key, name in _role_and_group(entity).items():
        named[key] = name
        if (confidence := extra.pop(f"confidence_{key}", None)) is not None:
            named[f"confidence_{key}"] = confidence
    return named | {"value": entity.value, "extractor": entity.extractor} | extra


def _role_and_group(entity: EntitySpan) -> dict[str, str]:
    return {name: value for name, value in (("role", entity.role), ("group", entity.group)) if value is not None}


def _listed(name: str, entries: Entries | None) -> list[Rendered]:
    return [as_json(name, entries)] if entries else []


def as_json(name: str, content: Any) -> Rendered:
    """Write JSON in Rasa's own layout: indented by two spaces, without ASCII escapes."""
    return Rendered(name, "application/json", content.pieces if isinstance(content, Entries) else _json(content))


def _json(content: Any) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False)


def file_part(name: str) -> str:
    """Retrieval intents and custom extractors may have any name; files may not."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)
