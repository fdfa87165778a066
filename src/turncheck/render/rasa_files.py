"""The files of ``rasa test``: same names, same shapes, same numbers, so that scripts written for Rasa keep working.

Made from the report alone. ``_errors`` and ``_successes`` files are left out where they would be empty, as Rasa does.
Names and shapes are those of a major version of Rasa, 1 to 3; see :mod:`turncheck.render.older_files` for Rasa NLU 0.x.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

import yaml
from msgspec import Struct

from turncheck.render.rendered import Rendered
from turncheck.report.entities import NO_ENTITY, found_by, of_dimension, read_tokens, to_find, token_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from turncheck.report.model import Core, EntitySpan, Nlu, NluPrediction, ProjectInfo, StoryResult, WrittenStep


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
    found = {
        (entity.extractor, entity.entity) for prediction in nlu.predictions for entity in prediction.predicted.entities
    }
    active = {name for name, _ in found} | {of_dimension(name, entity) for name, entity in found if name}
    return [extractor for extractor in nlu.entities if extractor in active]


class Entries(Struct, frozen=True):
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
    return Entries([prediction for prediction in nlu.predictions if prediction.misclassified], _intent_entry)


def intent_successes(nlu: Nlu) -> Entries:
    """Return the content of ``intent_successes.json``: every sentence whose intent was recognised, in test order."""
    right = [prediction for prediction in nlu.predictions if prediction.correct and prediction.expected.intent]
    return Entries(right, _intent_entry)


def entity_outcomes(prediction: NluPrediction, extractor: str, scored: Iterable[str] = ()) -> tuple[bool, bool]:
    """Return whether the sentence is an error and whether it is a success for the extractor; it may be both.

    An error has a token with a wrong label, a success has a token with a right label other than ``no_entity``.
    """
    tokens = read_tokens(prediction.predicted.tokens)
    expected = token_labels(tokens, to_find(extractor, prediction.expected.entities, scored))
    found = token_labels(tokens, found_by(extractor, prediction.predicted.entities))
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
        error, success = entity_outcomes(prediction, extractor, nlu.entities)
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
    """Retrieval intents and custom extractors may have any name; files may not.

    >>> file_part("faq+x"), file_part("DucklingEntityExtractor (time)")
    ('faq_x', 'DucklingEntityExtractor_time')
    """
    plain = name.replace(" (", "_").removesuffix(")")
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in plain)


# The files of ``rasa test core``: same names, same shapes, same lines, so that scripts written for Rasa keep working.
#
# Made from the report alone. Stories that Rasa drops as duplicates are omitted, as Rasa does.

REPORT: Final = "story_report.json"
FAILED: Final = "failed_test_stories.yml"
SUCCESSFUL: Final = "successful_test_stories.yml"
WITH_WARNINGS: Final = "stories_with_warnings.yml"
POLICY_ENTITIES_REPORT: Final = "TEDPolicy_report.json"
"""Entities that policies found: Rasa writes it whatever the policies are, even if no message has an entity."""
POLICY_ENTITIES_ERRORS: Final = "TEDPolicy_errors.json"

_FORMAT_VERSIONS: Final = {2: "2.0", 3: "3.1"}
_YAML: Final = "application/yaml"
_WIDTH: Final = 4096
REPLACEMENT: Final = "\ufffd"
_TRUTH: Final = re.compile("true|True|TRUE|false|False|FALSE")


def story_files(
    core: Core, *, errors: bool = True, warnings: bool = True, successes: bool = False, major: int = 3
) -> list[Rendered]:
    """Return the JSON and YAML files; ``errors``, ``warnings`` and ``successes`` as in Rasa's flags.

    ``major``: the version whose files they are, 2 or 3; those of older ones are in :mod:`turncheck.render.older_files`.
    """
    policy_entities = core.policy_entities
    files = [
        _json_file(REPORT, report_of(core.report, major)),
        _json_file(POLICY_ENTITIES_REPORT, policy_entities.report if policy_entities else {}),
    ]
    if errors and policy_entities and policy_entities.errors:
        files.append(_json_file(POLICY_ENTITIES_ERRORS, policy_entities.errors))
    judged = [story for story in core.stories if not story.duplicate]
    if errors:
        failed = [story for story in judged if not story.passed]
        files.append(_stories(FAILED, failed, "None of the test stories failed - all good!", major))
    if successes:
        passed = [story for story in judged if story.passed]
        files.append(_stories(SUCCESSFUL, passed, "None of the test stories succeeded :(", major))
    if warnings:
        files.append(_stories(WITH_WARNINGS, by_severity(judged), "No warnings for test stories", major))
    return files


def by_severity(stories: Iterable[StoryResult]) -> list[StoryResult]:
    """Return the stories that passed with a warning, the most severe first."""
    return sorted((story for story in stories if story.warned), key=lambda story: -(story.severity or 0.0))


def _json_file(name: str, content: Any) -> Rendered:
    return Rendered(name, "application/json", json.dumps(content, indent=2, ensure_ascii=False))


def _stories(name: str, stories: Sequence[StoryResult], otherwise: str, major: int) -> Rendered:
    if not stories:
        return Rendered(name, _YAML, f"# {otherwise}")
    return Rendered(name, _YAML, partial(_blocks, stories, major))


def _blocks(stories: Sequence[StoryResult], major: int) -> Iterator[bytes]:
    yield f'version: "{_FORMAT_VERSIONS[major]}"\nstories:\n'.encode()
    for story in stories:
        yield story_block(story).encode("utf-8", "backslashreplace")


def story_block(story: StoryResult) -> str:
    """Write one story as an entry of ``stories:``, its name followed by the path of its file."""
    title = f"story: {_scalar(f'{story.name} ({story.location.path})')}"
    steps = "".join(_step(step) for step in story.written)
    return f"- {title}\n  steps:\n{steps}" if steps else f"- {title}\n  steps: []\n"


def _step(step: WrittenStep) -> str:
    lines = _lines(step.step)
    if step.comment is not None:
        lines[0] += _comment(step.comment)
    for index, comment in step.entity_comments.items():
        lines[_entity_line(step.step, int(index))] += _comment(comment)
    return "".join(f"  {line}\n" for line in lines)


def _lines(step: dict[str, Any]) -> list[str]:
    """Write a step. Nearly all are one key with a name, or a slot with a value; only the others need a YAML dump."""
    if len(step) == 1:
        key, value = next(iter(step.items()))
        if isinstance(value, str | None) and key != "user":
            return [f"- {key}: {_scalar(value)}"]
        if key == "slot_was_set" and len(value) == 1 and len(value[0]) == 1:
            slot, filled = next(iter(value[0].items()))
            if isinstance(filled, str | bool | int | float | None):
                return [f"- {key}:", f"  - {_scalar(slot)}: {_scalar(filled)}"]
    said = step.get("user")
    return _dumped([{**step, "user": _Block(said)} if isinstance(said, str) else step]).split("\n")


@lru_cache(maxsize=4096, typed=True)
def _scalar(value: str | float | None) -> str:
    return _dumped({"x": value})[3:]


def _comment(comment: str) -> str:
    """A comment ends with its line: it must not begin another, nor contain what YAML does not allow."""
    line = " ".join(comment.splitlines())
    return f"  # {''.join(letter if letter.isprintable() else REPLACEMENT for letter in line)}"


def _entity_line(step: dict[str, Any], index: int) -> int:
    """Return the line of an entity: it goes below the intent and the line ``entities:``."""
    before = [key for key in step if key != "user"].index("entities") + 1
    return before + sum(_dumped([entity]).count("\n") + 1 for entity in step["entities"][:index])


class _Block(str):
    """What a user said: Rasa writes it below its key."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Writes like Rasa: strings on one line, keys in order, no aliases; ``yes`` and ``no`` are strings (YAML 1.2)."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - declared so by its base
        letter: [
            (tag, _TRUTH if tag.endswith(":bool") else pattern)
            for tag, pattern in resolvers
            if not tag.endswith(":bool") or letter in "tTfF"
        ]
        for letter, resolvers in yaml.SafeDumper.yaml_implicit_resolvers.items()
    }

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - every value is written in full
        """Write each value in full, even if it occurs elsewhere."""
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = '"' if any(not letter.isprintable() for letter in value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _block(dumper: yaml.SafeDumper, value: _Block) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|")


_Dumper.add_representer(str, _text)
_Dumper.add_representer(_Block, _block)


def _dumped(value: Any) -> str:
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True, width=_WIDTH
    )
    return text.rstrip("\n")
