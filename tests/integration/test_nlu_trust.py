"""What ``test nlu`` prints says how far the stand-in can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from turncheck.cli import run_command_line

if TYPE_CHECKING:
    import pytest

SMALL = """version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
    - hi
- intent: bye
  examples: |
    - bye
    - see you
"""


def printed(folder: Path, component: str, capsys: pytest.CaptureFixture[str]) -> str:
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "nlu.yml").write_text(SMALL, encoding="utf-8")
    (folder / "domain.yml").write_text("intents: [greet, bye]\n", encoding="utf-8")
    pipeline = (
        f"language: en\npipeline:\n- name: WhitespaceTokenizer\n- name: CountVectorsFeaturizer\n- name: {component}\n"
    )
    (folder / "config.yml").write_text(pipeline, encoding="utf-8")
    assert not run_command_line(
        ["test", "nlu", "--project", str(folder), "--no-plot", "--out", str(folder / "results")]
    )
    return capsys.readouterr().out


def test_where_something_stands_in_it_says_that_it_was_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "Measured with small models of turncheck, not with your Rasa"
    assert words in printed(tmp_path, "DIETClassifier", capsys)
    assert words not in printed(tmp_path, "KeywordIntentClassifier", capsys)
