"""Terms are counted as if no other texts had been counted before, in whatever order, and by however many threads."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncheck.engines import ngrams
from turncheck.engines.ngrams import all_terms, count_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXTS = st.lists(st.text("ab ü中", max_size=6), max_size=6)


def counted_alone(texts: Sequence[str], least: int) -> list[dict[str, int]]:
    rows = [Counter(all_terms(text)) for text in texts]
    documents = Counter(term for row in rows for term in row)
    return [{term: times for term, times in row.items() if documents[term] >= least} for row in rows]


def counted(texts: Sequence[str], least: int) -> list[dict[str, int]]:
    terms, rows = count_terms(texts, all_terms, least)
    assert list(terms) == sorted(terms)
    assert list(terms.values()) == list(range(rows.width))
    names = list(terms)
    found = []
    for first, last in zip(rows.starts[:-1], rows.starts[1:], strict=True):
        columns = rows.columns[first:last].tolist()
        assert columns == sorted(columns)
        found.append({names[at]: int(n) for at, n in zip(columns, rows.values[first:last], strict=True)})
    return found


@given(TEXTS, TEXTS, st.integers(1, 2))
def test_what_was_counted_before_does_not_matter(before: list[str], texts: list[str], least: int) -> None:
    count_terms(before, all_terms, 1)

    assert counted(texts, least) == counted_alone(texts, least)


@pytest.mark.parametrize("most", [0, 3, 1_000])
def test_a_vocabulary_that_is_full_begins_anew(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngrams, "_MOST_KNOWN", most)
    for texts in (["a b", "b c"], ["c d"], ["b c", "a b", "a b"]):
        assert counted(texts, 1) == counted_alone(texts, 1)


def test_threads_count_one_after_the_other() -> None:
    several = [[f"{word}{number}" for number in range(200)] for word in ("who", "what", "when", "where")]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda texts: counted(texts, 1), several)) == [counted_alone(one, 1) for one in several]
