"""Commands that pages show are taken as they are, flags included; examples in JSON and YAML can be read."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from typing import TYPE_CHECKING, Final

import pytest
import yaml
from documentation import ROOT, fences, pages
from tools.make_reference import pages as reference

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


INLINE: Final = re.compile(r"`(turncheck [^`]+)`")


@pytest.mark.parametrize("name", ["AGENTS.md", "skills/turncheck/SKILL.md"])
def test_commands_that_agents_are_told_are_accepted(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bot").mkdir()
    monkeypatch.chdir(tmp_path)
    told = [shlex.split(line) for line in INLINE.findall((ROOT / name).read_text("utf-8"))]
    told = [words for words in told if words[-1] != "--help"]
    assert len(told) > 5
    for words in told:
        assert build_parser(*words[1:3]).parse_args(words[1:]).handler, words


def test_every_command_and_every_argument_says_what_it_does() -> None:
    silent = []
    parsers = [build_parser()]
    while parsers:
        parser = parsers.pop()
        silent += [parser.prog] if not parser.description else []
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                said = {kind.dest for kind in action._choices_actions if kind.help}
                silent += [f"{parser.prog}: {name}" for name in action.choices if name not in said]
                parsers += action.choices.values()
            elif not action.help:
                silent.append(f"{parser.prog} {'/'.join(action.option_strings) or action.dest}")

    assert silent == []


def test_every_row_and_section_of_the_generated_reference_has_a_text() -> None:
    for page, text in reference().items():
        for block in re.findall(r"^<!-- (?!situations)\w+ -->\n(.*?)^<!-- /", text, re.DOTALL | re.MULTILINE):
            headed: list[str] = []
            for line in block.splitlines():
                cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
                headed = [] if not cells else headed or cells
                empty = {name for name, cell in zip(headed, cells, strict=True) if not cell}
                assert empty <= {"default", "file"}, f"{page}: {line}"
            assert not re.findall(r"^#+ .*\n+(?=#|\Z)", block, re.MULTILINE), page


@pytest.mark.parametrize("page", [page for page in PAGES if page.id != "docs/findings.md"])  # which shows faults, too
def test_examples_in_json_and_yaml_can_be_read(page: Path) -> None:
    for fence in fences(page):
        if fence.language == "json":
            json.loads(fence.text)
        if fence.language in {"yaml", "yml"}:
            assert list(yaml.safe_load_all(fence.text))
