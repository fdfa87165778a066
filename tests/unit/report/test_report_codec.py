"""The report document: what is written is read again, and what is foreign or damaged is refused with a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from turncheck.messages.errors import UserError
from turncheck.messages.finding import Finding, Location
from turncheck.report.codec import decode, encode, json_schema
from turncheck.report.model import (
    Confusion,
    EngineInfo,
    ExpectedParse,
    FindingCounts,
    IntentScores,
    Nlu,
    NluPrediction,
    PredictedParse,
    ProjectInfo,
    Report,
    Skipped,
    Substitution,
    Tool,
    Validation,
)

SCHEMA_FILE = Path(__file__).parents[3] / "docs" / "report.schema.json"


def some_report() -> Report:
    place = Location("data/nlu.yml", 3, 7)
    return Report(
        tool=Tool(name="turncheck", version="1"),
        project=ProjectInfo(name="bot", root="bots/one"),
        seed=1,
        engine=EngineInfo(
            name="embedded",
            version="1",
            substitutions=(Substitution(component="DIETClassifier", used="a linear model", reason="none"),),
        ),
        validation=Validation(
            findings=(Finding("yaml-syntax", "error", "It is broken.", Location("a.yml", 1, 1)),),
            counts=FindingCounts(error=1, warning=0, info=0),
        ),
        nlu=Nlu(
            mode="cross-validation",
            folds=5,
            examples=1,
            intents=IntentScores(
                report={"greet": {"precision": 1.0}},
                accuracy=1.0,
                precision=1.0,
                recall=1.0,
                f1=1.0,
                confusions=(Confusion(expected="a", predicted="b", count=1),),
            ),
            predictions=(
                NluPrediction(
                    text="hällo \U0001f44b",
                    location=place,
                    correct=True,
                    expected=ExpectedParse(intent="greet"),
                    predicted=PredictedParse(intent="greet", confidence=0.9),
                ),
            ),
        ),
        skipped=(Skipped(evaluation="core", reason="no test stories"),),
    )


def changed(**keys: Any) -> bytes:
    document = json.loads(encode(some_report()))
    document.update(keys)
    return json.dumps(document).encode()


def test_what_is_written_is_read_again() -> None:
    report = some_report()

    assert decode(encode(report)) == report


def test_what_is_written_follows_the_published_schema() -> None:
    jsonschema.validate(json.loads(encode(some_report())), json.loads(SCHEMA_FILE.read_text()))


def test_the_published_schema_is_made_from_the_types() -> None:
    assert json.loads(SCHEMA_FILE.read_text()) == json.loads(json.dumps(json_schema())), (
        "run tools/write_schemas.py after changing the report's types"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a report"),
        (b"[]", "not a report"),
        (b"\xff\xfe", "not a report"),
        (b"{" * 100_000, "not a report"),
        (b'{"schema": ' + b"[" * 100_000, "not a report"),
        (b'{"schema": "turncheck/report/v1", "tool": {"name": "\xff"}}', "not a valid report"),
        (b'{"schema": "turncheck/report/v2"}', "has the schema 'turncheck/report/v2'"),
        (b'{"schema": "turncheck/report/v1"}', "missing required field"),
        (changed(seed="1"), "Expected `int`, got `str`"),
        (changed(surprise=1), "unknown field `surprise`"),
        (changed(validation={"findings": [], "counts": {"error": 1, "warning": 0, "info": 0}}), "contradicts itself"),
    ],
)
def test_what_is_foreign_or_damaged_is_refused_with_a_reason(content: bytes, said: str) -> None:
    with pytest.raises(UserError, match=said):
        decode(content, name="base.json")


def test_a_very_large_report_is_written_in_one_line_and_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    indented = encode(some_report())
    monkeypatch.setattr("turncheck.report.codec.LONGEST_INDENTED", 100)
    in_one_line = encode(some_report())
    assert in_one_line.count(b"\n") == 1 < indented.count(b"\n")
    assert json.loads(in_one_line) == json.loads(indented)
    assert decode(in_one_line) == some_report()
