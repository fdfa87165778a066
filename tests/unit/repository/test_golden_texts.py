"""Accepted wordings come back as they were written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from golden_plugin import WHOLE_FILES, without_test
from golden_texts import Golden, read_golden, write_golden
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

UNIT: Final = Path(__file__).parents[1]
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
    golden(accept=True)("one")
    assert read_golden(file) == {"test_it": "one"}


def test_it_may_be_about_some_lines_and_knows_no_folder_or_port_of_a_test(tmp_path: Path) -> None:
    file = tmp_path / "it.txt"
    golden = Golden(file, "test_it", accept=True, folder=tmp_path.parent)
    golden(f"passed\n  {tmp_path}/nlu.yml:3: empty (0.4 s)\n{tmp_path}: done", only="nlu.yml")
    golden(f"{tmp_path}: http://127.0.0.1:43117/x")
    assert read_golden(file) == {"test_it": "TMP/nlu.yml:3: empty", "test_it (2)": "TMP: http://127.0.0.1:PORT/x"}
    with pytest.raises(AssertionError, match="domain"):
        golden("nlu.yml", only="domain")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("selection", "kept"),
    [
        (["-m", "not rasa"], ["test_it[1]", "test_kept"]),
        (["-k", "it"], ["test_gone", "test_it[1]", "test_it[2]", "test_it[2] (2)", "test_kept"]),
        (["test_some.py::test_it"], ["test_gone", "test_it[1]", "test_it[2]", "test_it[2] (2)", "test_kept"]),
    ],
)
def test_texts_of_tests_that_are_gone_go_with_the_whole_file(
    selection: list[str], kept: list[str], tmp_path: Path
) -> None:
    (tmp_path / "test_some.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('number', [1])\ndef test_it(number, golden): golden(number)\n"
        "@pytest.mark.rasa\ndef test_kept(golden): golden('accepted')\n"
    )
    file = tmp_path / "golden" / "some.txt"
    names = ("test_it[1]", "test_it[1] (2)", "test_it[2]", "test_it[2] (2)", "test_kept", "test_gone")
    write_golden(file, dict.fromkeys(names, "accepted"))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    rasa\n    golden\n")
    command = (sys.executable, "-m", "pytest", "-q", "-p", "golden_plugin", "--accept", *selection)
    variables = {**os.environ, "PYTHONPATH": str(UNIT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    subprocess.run(command, cwd=tmp_path, env=variables, check=True, capture_output=True)
    assert sorted(read_golden(file)) == kept


def test_every_text_is_one_of_a_test_that_is_there(request: pytest.FixtureRequest) -> None:
    whole = request.config.stash[WHOLE_FILES]
    gone = {path.name: names for path, tests in whole.items() if (names := without_test(path, tests))}
    assert gone == {}, "make accept takes them out"
    texts = (path for path in UNIT.parent.glob("*/golden/*.txt") if read_golden(path))
    assert [path.name for path in texts if not any(path.parents[1].rglob(f"test_{path.name[:-4]}.py"))] == []
