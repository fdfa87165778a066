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

    def golden(*, accept: bool = False) -> Golden:
        return Golden(file, "test_it", accept=accept, folder=tmp_path)

    with pytest.raises(AssertionError, match="'test_it'"):
        golden()("one")
    accepting = golden(accept=True)
    accepting("one")
    accepting("two", "three")
    golden()("one")
    with pytest.raises(AssertionError, match="make accept"):
        golden()("two")
    assert read_golden(file) == {"test_it": "one", "test_it (2)": "two\nthree"}


def test_it_may_be_about_some_lines_and_knows_no_folder_or_port_of_a_test(tmp_path: Path) -> None:
    file = tmp_path / "it.txt"
    golden = Golden(file, "test_it", accept=True, folder=tmp_path.parent)
    golden(f"passed\n  {tmp_path}/nlu.yml:3: empty (0.4 s)\n{tmp_path}: done", only="nlu.yml")
    golden(f"{tmp_path}: http://127.0.0.1:43117/x")
    assert read_golden(file) == {"test_it": "TMP/nlu.yml:3: empty", "test_it (2)": "TMP: http://127.0.0.1:PORT/x"}
    with pytest.raises(AssertionError, match="domain"):
        golden("nlu.yml", only="domain")
