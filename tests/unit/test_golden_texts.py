"""Accepted wordings come back as they were written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden, read_golden, write_golden
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

LINES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=10) | st.just("## no")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.from_regex(r"test_[a-z]+(\[\w+\])?", fullmatch=True), st.lists(LINES).map("\n".join)))
def test_what_is_written_is_read(tmp_path: Path, texts: dict[str, str]) -> None:
    write_golden(tmp_path / "it.txt", texts)
    assert read_golden(tmp_path / "it.txt") == texts


def test_another_wording_fails_until_it_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "golden" / "it.txt"
    with pytest.raises(AssertionError, match="has no section 'test_it'"):
        Golden(file, "test_it", accept=False)("one")
    accepting = Golden(file, "test_it", accept=True)
    accepting("one")
    accepting("two")
    Golden(file, "test_it", accept=False)("one")
    with pytest.raises(AssertionError, match="the wording has changed"):
        Golden(file, "test_it", accept=False)("two")
    assert read_golden(file) == {"test_it": "one", "test_it (2)": "two"}
