"""Dates in the patterns of Botium are what Moment.js makes of them (`tests/contract/test_botium.py` records it)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from turncheck.evaluations.e2e.botium.dates import shifted, written

RECORDED = json.loads((Path(__file__).parents[2] / "data" / "botium" / "dates.json").read_text("utf-8"))
PATTERNS = list(next(iter(RECORDED["written"].values())))


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_token_is_written_as_by_moment_at_all_times_of_day_and_year(pattern: str) -> None:
    expected = {at: by_pattern[pattern] for at, by_pattern in RECORDED["written"].items()}

    assert {at: written(datetime.fromisoformat(at), pattern) for at in expected} == expected


@pytest.mark.parametrize(
    ("number", "amount", "unit"), [(number, *step) for number, step in enumerate(RECORDED["steps"])]
)
def test_earlier_and_later_dates_are_those_of_moment(number: int, amount: float, unit: str) -> None:
    expected = {at: steps[number] for at, steps in RECORDED["moved"].items()}

    found = {at: shifted(datetime.fromisoformat(at), amount, unit) for at in expected}
    assert {at: date and date.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] for at, date in found.items()} == expected
