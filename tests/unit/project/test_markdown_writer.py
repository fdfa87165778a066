"""NLU data and responses are written in the Markdown of Rasa 1, and read again as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.project.folder import ProjectFolder
from turncheck.project.formats.markdown_nlu import read_markdown_nlu, read_markdown_responses
from turncheck.project.formats.rasa_nlu_writer import write_nlu_markdown, write_responses_markdown
from turncheck.yaml_tree.source import Source

if TYPE_CHECKING:
    from pathlib import Path

WRITTEN = """## intent:order
- one [small](size) tea
- a [big]{"entity": "size", "role": "cup", "value": "L"} one

## intent:greet
- hello

## synonym:L
- big
- large

## regex:zip
- [0-9]{5}
- [A-Z]+

## lookup:town
- Rome

## lookup:street
  streets.txt
"""
RESPONSES = """## faq/name
* faq/name
- I am a bot.
- Two\\nlines
"""


def test_what_is_written_is_what_was_read(tmp_path: Path) -> None:
    (tmp_path / "streets.txt").write_text("Elm Road\n", encoding="utf-8")
    data, findings = read_markdown_nlu(ProjectFolder(tmp_path), Source("nlu.md", WRITTEN))
    assert not findings
    assert write_nlu_markdown(data) == WRITTEN


def test_responses_are_written_as_they_were_read() -> None:
    responses, _ = read_markdown_responses(Source("responses.md", RESPONSES))
    assert write_responses_markdown(responses.values()) == RESPONSES
    assert write_responses_markdown([]) == ""
