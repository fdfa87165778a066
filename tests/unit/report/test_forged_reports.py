"""A report of a stranger: what no renderer can show is refused when it is read, in words that name the field."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from golden_texts import Golden
from tools.fuzzing.full_report import as_bytes, full_report
from tools.fuzzing.reports import show

from turncheck.messages.errors import UserError
from turncheck.report.codec import decode

if TYPE_CHECKING:
    from pathlib import Path

HUGE = 10**30
FIELDS: list[tuple[tuple[str | int, ...], Any]] = [
    (("project", "rasa_version"), "@octocat"),
    (("project", "rasa_version"), "7.x"),
    (("project", "rasa_version"), "3.x\n"),
    (("project", "rasa_version"), "\u0663.x"),
    (("nlu", "predictions", 0, "predicted", "tokens"), "@octocat"),
    (("nlu", "predictions", 0, "predicted", "tokens"), "0-5 6"),
    (("nlu", "predictions", 0, "predicted", "tokens"), "0-5-6"),
    (("nlu", "predictions", 0, "predicted", "tokens"), "-1-5"),
    (("nlu", "predictions", 0, "predicted", "tokens"), "0-5\n"),
    (("nlu", "predictions", 0, "predicted", "tokens"), f"0-{'9' * 5000}"),
    (("nlu", "predictions", 0, "predicted", "confidence"), 1e308),
    (("nlu", "intents", "f1"), -1e300),
    (("nlu", "folds"), -1),
    (("nlu", "confused"), []),
    (("core", "stories", 0, "written", 0, "step"), {"slot_was_set": 7}),
    (("core", "stories", 0, "written", 0, "step"), {"intent": "greet", "entities": "@octocat"}),
    (("core", "stories", 0, "written", 0, "step"), {"active_loop": {"a": 1}}),
    (("core", "stories", 0, "written", 0, "entity_comments"), {"7": "predicted: city"}),
    (("core", "stories", 0, "written", 0, "entity_comments"), {"\u0660": "predicted: city"}),
    (("core", "accuracy"), 10**400),
    (("trust", "date"), "2026-\u0661\u0661-\u00b9"),
    (("trust", "date"), "2026-13-01"),
    (("source", "measured"), "2026-11-12T17:43:05Z\n"),
    (("trust", "agreements", "sentences", "both"), HUGE),
    (("strength", "killed_by"), {"@octocat": 1}),
    (("robustness", "variants"), HUGE),
    (("timings",), {"nlu": 1e300}),
]


@pytest.mark.parametrize(("field", "value"), FIELDS, ids=[".".join(map(str, field)) for field, _ in FIELDS])
def test_a_field_that_cannot_be_is_refused_when_it_is_read(
    field: tuple[str | int, ...], value: Any, golden: Golden
) -> None:
    report = full_report(random.Random(1))
    decode(as_bytes(report))  # which was right
    holder: Any = report
    for name in field[:-1]:
        holder = holder[name]
    holder[field[-1]] = value

    with pytest.raises(UserError) as refused:
        decode(json.dumps(report).encode())
    golden(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_reports_with_every_field_are_shown_in_every_way(seed: int, tmp_path: Path) -> None:
    """What is fuzzed is what a run could have written."""
    chance = random.Random(seed)
    head, base = full_report(chance), full_report(chance)
    base["source"]["commit"], head["source"]["commit"] = "1" * 40, "2" * 40
    base["project"]["root"] = head["project"]["root"]

    assert "turncheck/report/v1" in show(as_bytes(head), as_bytes(base), tmp_path)
