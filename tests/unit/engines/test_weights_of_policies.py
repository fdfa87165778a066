"""What the stand-ins of policies learn is the same with sparse rows, in any order, and with examples in any parts."""

from __future__ import annotations

import random

import pytest

from turncheck.engines.embedded.policies import stand_ins
from turncheck.engines.embedded.policies.stand_ins import Example, HistoryModel


def examples(seed: int) -> list[Example]:
    """Some of which have the same features and other labels."""
    chance = random.Random(seed)
    seen = [{f"{back}|{chance.randrange(9)}": 0.6**back for back in range(3)} for _ in range(25)]
    return [Example(chance.choice(seen), f"utter_{chance.randrange(5)}", chance.randrange(1, 40)) for _ in range(80)]


@pytest.mark.parametrize("seed", range(4))
def test_many_stories_are_learnt_as_few_are(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    few = HistoryModel.fit(examples(seed))
    monkeypatch.setattr(stand_ins, "_DENSE_WORK", 0)
    many = HistoryModel.fit(examples(seed))

    assert few is not None
    assert many is not None
    assert many.to_json() == few.to_json()


@pytest.mark.parametrize("seed", range(4))
def test_neither_order_nor_parts_of_examples_matter(seed: int) -> None:
    whole = HistoryModel.fit(examples(seed))
    apart = [Example(dict(reversed(one.features.items())), one.label, 1) for one in examples(seed)[::-1]]
    rest = [Example(one.features, one.label, one.number - 1) for one in examples(seed) if one.number > 1]
    again = HistoryModel.fit([*apart, *rest])

    assert whole is not None
    assert again is not None
    assert again.to_json() == whole.to_json()


def test_each_situation_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    matrix = stand_ins._matrix

    def counted(cells: list[list[tuple[int, float]]], columns: int, *, is_dense: bool) -> object:
        rows.append(len(cells))
        return matrix(cells, columns, is_dense=is_dense)

    monkeypatch.setattr(stand_ins, "_matrix", counted)
    HistoryModel.fit(examples(1))
    assert rows == [len({tuple(sorted(one.features.items())) for one in examples(1)})]
