"""What is recorded of Botium is what botium-core does."""

from __future__ import annotations

import json
import os
import random
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from node_tools import node_folder, npm_package

from turncheck.evaluations.e2e.botium.texts import found
from turncheck.project.botium.patterns import as_pattern, to_utf16_units, why_not_read
from turncheck.yaml_tree.shapes import pattern_problem

HERE = Path(__file__).parent
DATA = HERE.parent / "data" / "botium"
VERSION = "1.15.13"
UNUSED = ("xregexp", "promise.allsettled")
"""Neither is read by what it compiles and runs here; Node.js has the second one itself."""

pytestmark = pytest.mark.slow


def _node(script: str, *arguments: str, given: str = "") -> Any:
    package = npm_package("botium-core", VERSION, UNUSED)
    binaries = node_folder() / "bin"
    command = [str(binaries / "node"), str(HERE / script), str(package), *arguments]
    environment = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "en_US.UTF-8"}
    ran = subprocess.run(
        command, input=given, stdout=subprocess.PIPE, check=True, text=True, encoding="utf-8", env=environment
    )
    return json.loads(ran.stdout)


def _records(name: str) -> Any:
    return json.loads((DATA / name).read_text("utf-8"))


def test_its_compiler_reads_its_files_as_recorded(tmp_path: Path) -> None:
    files = _records("files.json")
    for name, file in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file["text"].encode())

    read = _node("botium_compiler.cjs", str(tmp_path))
    assert read["files"] == {name: file["read"] for name, file in files.items()}
    assert read["folders"] == _records("suites.json")
    assert read["names"] == _records("names.json")


def test_its_conversations_end_as_recorded() -> None:
    runs = _records("runs.json")

    assert _node("botium_runs.cjs", given=json.dumps(runs)) == {name: run["outcomes"] for name, run in runs.items()}


def test_its_dates_are_as_recorded() -> None:
    dates = _records("dates.json")
    asked = {
        "times": [*dates["written"]],
        "patterns": [*next(iter(dates["written"].values()))],
        "steps": dates["steps"],
    }

    assert _node("botium_dates.cjs", given=json.dumps(asked)) == {"written": dates["written"], "moved": dates["moved"]}


_ESCAPES = [
    *(f"\\{character}" for character in "dDwWsSbBfnrtvAZzGQEeaqpxucN.-]}/^$+?\\"),
    *(r"\cJ", r"\c!", r"\c1", r"\x5a", r"\x5", r"\u00e9", r"\u00e", r"\u{4}", r"\ud83d", r"\0", r"\07", r"\132", r"\8"),
]
_IN_A_SET = ["a", "Z", "_", "-", "-", "4", "é", "😀", "[", "^", "&&", "a-z", "+-.", *_ESCAPES, *_ESCAPES]
_PARTS = ["a", "Z", "_", "4", "é", "k", "😀", "{", "}", "]", "{,2}", "|", "^", "$", "$ab", *(["."] * 3), *_ESCAPES]
_GROUPS = ["(", "(", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?<x>", "(?<é>", "(?<$y>", "(?i)", "(?>"]
_REFERENCES = [r"\1", r"\1", r"\2", r"\k<x>", r"\k"]
_REPETITIONS = ["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "??", "{2}?", "{e}", "++"]
_CHARACTERS = [
    *"aaZ_-4kezsS\n\r\b.{}],2+\\",
    "٤",
    "é",
    "É",
    "\u2028",
    "\u212a",
    "ſ",
    "\ufeff",
    "\x85",
    "\x07",
    "😀",
    "😃",
]
"""Among them two that Python takes for `k` and `s` in capitals, and white space of one of the two languages."""


def _written(at: random.Random, depth: int = 0) -> str:
    """A pattern: parts, sets, groups and references to them, with a repetition now and then."""

    def part() -> str:
        match at.choices(["set", "group", "reference", "part"], [3, 3 if depth < 3 else 0, 1, 5])[0]:
            case "set":
                return f"[{at.choice(['', '^'])}{''.join(at.choices(_IN_A_SET, k=at.randint(0, 3)))}]"
            case "group":
                return f"{at.choice(_GROUPS)}{_written(at, depth + 1)})"
            case "reference":
                return at.choice(_REFERENCES)
            case _:
                return at.choice(_PARTS)

    return "".join(part() + at.choice([*_REPETITIONS, *([""] * 30)]) for _ in range(at.randint(1, 3)))


def _text(at: random.Random, pattern: str) -> str:
    """A text, now and then of characters of the pattern."""
    return "".join(at.choices(at.choice([_CHARACTERS, ["a", "b", "4"], [*pattern, "a"]]), k=at.randint(0, 5)))


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    """Patterns, each with a text."""
    at = random.Random(7)
    return [(pattern, _text(at, pattern)) for pattern in (_written(at) for _ in range(2_700))]


@cache
def _problem(pattern: str) -> str | None:
    """What the flags are nothing to: asked once for all of them."""
    return pattern_problem(as_pattern(pattern), for_re=False)


@pytest.mark.parametrize("flags", ["", "i", "m"])
def test_patterns_find_what_they_find_in_javascript(flags: str, pairs: list[tuple[str, str]]) -> None:
    script = """
        const [flags, pairs] = JSON.parse(require('fs').readFileSync(0, 'utf8'))
        const test = ([pattern, text]) => { try { return new RegExp(pattern, flags).test(text) } catch { return null } }
        console.log(JSON.stringify(pairs.map(test)))"""
    node = str(node_folder() / "bin" / "node")
    given = json.dumps([flags, pairs])
    ran = subprocess.run([node, "-e", script], input=given, stdout=subprocess.PIPE, check=True, text=True)

    legal = [(pair, there) for pair, there in zip(pairs, json.loads(ran.stdout), strict=True) if there is not None]
    judged = [(pattern, text, there) for (pattern, text), there in legal if not why_not_read(pattern)]
    assert len(judged) > 0.95 * len(legal) > 1_500
    assert sum(there for *_, there in judged) > 300
    assert [one for one in judged if _is_found(one[0], one[1], flags) != one[2]] == []
    assert [pattern for pattern, *_ in judged if _problem(pattern)] == []


def _is_found(pattern: str, text: str, flags: str) -> bool:
    ignores_case = flags == "i"
    translated = as_pattern(pattern, ignores_case=ignores_case, multiline=flags == "m")
    return found(translated, to_utf16_units(text, ignores_case=ignores_case))
