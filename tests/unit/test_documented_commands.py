"""Commands that pages show are taken as they are, flags included; examples in JSON and YAML can be read."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Final

import pytest
import yaml
from documentation import ROOT, fences, pages

from turncheck.cli import build_parser

if TYPE_CHECKING:
    from pathlib import Path

PAGES: Final = [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages() if page.name != "CHANGELOG.md"]
_FENCED: Final = re.compile(r"^```[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_INDENTED: Final = re.compile(r"(?:^ {4,}\S.*\n)+", re.MULTILINE)
_COMMAND: Final = re.compile(r"^(?:\s|\$|-|run:|script:|\[)*(turncheck .*?)$", re.MULTILINE)
_BETWEEN: Final = frozenset({"&&", "||", "|", ";", "<", ">"})


def commands(text: str) -> list[list[str]]:
    """Return the words of every turncheck command in the examples of a page, one after the other."""
    examples = [*_FENCED.findall(text), *_INDENTED.findall(_FENCED.sub("", text))]
    lines = [line for example in examples for line in _COMMAND.findall(re.sub(r"\\\n\s*", " ", example))]
    return [words for line in lines for words in _parts_of(line) if words[0] == "turncheck"]


def _parts_of(line: str) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for word in shlex.split(line, comments=True):
        if word in _BETWEEN:
            found.append([])
        else:
            found[-1].append(word)
    return [words for words in found if words]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_is_shown_is_accepted(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bot").mkdir()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    for words in commands(page.read_text("utf-8")):
        assert build_parser(*words[1:3]).parse_args(words[1:]).handler, words


def test_commands_are_found_in_indented_and_fenced_examples_and_continued_lines() -> None:
    indented = "    turncheck run bot \\\n        --folds 3   # why\n"
    fenced = "```yaml\n- run: turncheck parse hi && turncheck run\n```\n"
    assert commands(f"{indented}\n{fenced}") == [
        ["turncheck", "parse", "hi"],
        ["turncheck", "run"],
        ["turncheck", "run", "bot", "--folds", "3"],
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if page.id != "docs/findings.md"])  # which shows faults, too
def test_examples_in_json_and_yaml_can_be_read(page: Path) -> None:
    for fence in fences(page):
        if fence.language == "json":
            json.loads(fence.text)
        if fence.language in {"yaml", "yml"}:
            assert list(yaml.safe_load_all(fence.text))
