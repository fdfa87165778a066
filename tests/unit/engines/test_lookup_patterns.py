"""A large lookup table finds what Rasa's alternation of all its entries finds, in the time of those that occur."""

from __future__ import annotations

import json
import re
import sys
from re import _casefix  # type: ignore[attr-defined]

from hypothesis import given
from hypothesis import strategies as st
from timing import Timing

from turncheck.engines.embedded.nlu.patterns import LookupTable, NamedPattern, _compared, alternation

_LETTERS = st.text(st.sampled_from("aAbBiİıſsSKkßﬅﬆ -.()|"), max_size=5)


@given(
    elements=st.lists(_LETTERS, min_size=1, max_size=8),
    text=st.text(st.sampled_from("aAbBiİıſsSKkßﬅﬆ -.()|"), max_size=20),
    border=st.sampled_from([r"\b", ""]),
    flags=st.sampled_from([0, int(re.IGNORECASE)]),
)
def test_it_finds_what_the_alternation_finds(elements: list[str], text: str, border: str, flags: int) -> None:
    table = NamedPattern("city", LookupTable.of(tuple(elements), border, flags))
    everything = re.compile(alternation(elements, border), flags)
    assert table.spans(text) == [match.span() for match in everything.finditer(text)]
    again = NamedPattern.from_json(json.loads(json.dumps(table.as_json())))
    assert again == table
    assert again.spans(text) == table.spans(text)


def test_what_python_takes_for_the_same_letter_is_compared_as_the_same() -> None:
    cased = [letter for letter in map(chr, range(sys.maxunicode + 1)) if len(letter.lower()) == 1]
    pairs = [(letter, letter.lower()) for letter in cased if letter != letter.lower()]
    pairs += [(chr(one), chr(other)) for one, others in _casefix._EXTRA_CASES.items() for other in others]
    assert all(re.match(one, other, re.IGNORECASE) for one, other in pairs)
    different = [pair for pair in pairs if len({_compared(letter, re.IGNORECASE) for letter in pair}) > 1]
    assert not different
    assert re.match("İ", "i", re.IGNORECASE)
    assert _compared("İ", re.IGNORECASE) == _compared("i", re.IGNORECASE)


def test_a_table_of_fifty_thousand_names_is_quick(timing: Timing) -> None:
    table = LookupTable.of(tuple(f"name{number}" for number in range(50_000)), r"\b", int(re.IGNORECASE))
    texts = [f"My NAME{number} is not what you think it is, dear bot" for number in range(0, 50_000, 100)]
    with timing.at_most(1):
        found = [[match[0] for match in table.finditer(text)] for text in texts]
    assert found == [[text.split()[1]] for text in texts]
