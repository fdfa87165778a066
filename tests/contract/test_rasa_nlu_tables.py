"""Scores and files against tables that real Rasa 3.6.21 computed (``tests/oracle/nlu/table_*``)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from turncheck.engines.conversation import Parse, PredictedEntity, PredictedIntent, SelectedResponse
from turncheck.evaluations.nlu.judging import evaluate_held_out
from turncheck.project.model import Project
from turncheck.project.nlu_data import EntityAnnotation, Example, NluData
from turncheck.render.rasa_files import nlu_files
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

TABLES = Path(__file__).parent.parent / "oracle" / "nlu"


class Scripted:
    """An engine that gives the recorded predictions, one after the other."""

    info = EngineInfo(name="scripted", version="0")

    def __init__(self, parses: Sequence[Parse], extractors: tuple[str, ...] = ()) -> None:
        self.parses = list(parses)
        self.extractors = extractors

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        assert len(texts) == len(self.parses)
        return self.parses


def table(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((TABLES / name / "expected.json").read_text(encoding="utf-8"))
    return content


def written(examples: Sequence[Example], parses: Sequence[Parse], extractors: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return name and content of every file written, errors and successes among them."""
    project = Project(Path("bot"), "bot")
    nlu = evaluate_held_out(project, Scripted(parses, extractors), NluData(tuple(examples))).section
    return {file.name: json.loads(file.encoded) for file in nlu_files(nlu, successes=True)}


def assert_same(ours: Any, theirs: Any, where: str = "") -> None:
    """Compare as JSON, numbers up to rounding in the last digits, keys in any order."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), where
        for key, value in theirs.items():
            assert_same(ours[key], value, f"{where}/{key}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(one, other, f"{where}/{place}")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-13), where
    else:
        assert ours == theirs, where


def recorded_sets(name: str) -> list[Any]:
    return table(name)["sets"]  # type: ignore[no-any-return]  # parsed JSON


@pytest.mark.parametrize("recorded", recorded_sets("table_intent_evaluation"))
@pytest.mark.follows(
    page="rasa-3", sentence="The intent report has precision, recall and F1 of each intent, and an overall average."
)
def test_intents_are_scored_and_written_as_rasa_does(recorded: dict[str, Any]) -> None:
    pairs = recorded["pairs_target_predicted"]
    examples = [Example(f"text {place}", target) for place, (target, _) in enumerate(pairs)]
    parses = [
        Parse(f"text {place}", PredictedIntent(predicted, 0.5 + place / 100))
        for place, (_, predicted) in enumerate(pairs)
    ]
    assert_same(written(examples, parses), recorded["files"])


@pytest.mark.parametrize("recorded", recorded_sets("table_response_evaluation"))
@pytest.mark.follows(page="rasa-1", sentence="All response selectors are evaluated in one combined report.")
@pytest.mark.follows(
    page="rasa-3",
    sentence="Response selectors are evaluated like intents, all in one report: `response_selection_report.json`.",
)
def test_responses_are_scored_and_written_as_rasa_does(recorded: dict[str, Any]) -> None:
    pairs = recorded["pairs_target_predicted"]
    examples = [Example(f"text {place}", target or "plain") for place, (target, _) in enumerate(pairs)]
    parses = []
    for place, (_, predicted) in enumerate(pairs):
        selected = SelectedResponse("default", predicted, 0.0 if predicted is None else 0.5 + place / 100)
        intent = PredictedIntent(examples[place].base_intent, 1.0)
        parses.append(Parse(f"text {place}", intent, responses={"default": selected}))
    files = {name: content for name, content in written(examples, parses).items() if name.startswith("response")}
    assert_same(files, recorded["files"])


def recorded_entities() -> list[Any]:
    tags = table("table_tag_scoring")
    return [table("table_entity_evaluation"), *tags["each_alone"], tags["all_together"]]


@pytest.mark.parametrize("recorded", recorded_entities())
@pytest.mark.follows(
    page="rasa-3", sentence="Recall, precision and F1 are reported for each entity type of each trainable extractor."
)
def test_entities_are_scored_and_written_as_rasa_does(recorded: dict[str, Any]) -> None:
    examples = []
    parses = []
    for row in recorded["rows"]:
        examples.append(Example(row["text"], None, tuple(annotation(entity) for entity in row["target_entities"])))
        found = tuple(finding(entity) for entity in row["predicted_entities"])
        tokens = tuple(borders(row["text"], row["tokens"]))
        parses.append(Parse(row["text"], PredictedIntent("any", 1.0), (), found, tokens=tokens))
    extractor = recorded["extractor"]
    files = written(examples, parses, (extractor,))
    assert_same(files, recorded["files"])
    figures = recorded["metrics"][extractor]
    report = files[f"{extractor}_report.json"]
    assert_same(report.get("accuracy", 0.0), figures["accuracy"])
    assert_same(report.get("weighted avg", {}).get("f1-score", 0.0), figures["f1_score"])


def annotation(entity: dict[str, Any]) -> EntityAnnotation:
    return EntityAnnotation(
        entity["start"], entity["end"], entity["entity"], entity["value"], entity.get("role"), entity.get("group")
    )


def finding(entity: dict[str, Any]) -> PredictedEntity:
    return PredictedEntity(
        entity["start"],
        entity["end"],
        entity["entity"],
        entity["value"],
        entity["extractor"],
        entity.get("role"),
        entity.get("group"),
        entity.get("confidence_entity"),
    )


def borders(text: str, tokens: list[str]) -> list[tuple[int, int]]:
    found, place = [], 0
    for token in tokens:
        start = text.index(token, place)
        place = start + len(token)
        found.append((start, place))
    return found
