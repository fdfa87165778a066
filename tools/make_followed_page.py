"""Write tests/followed.md from the tests marked with ``@pytest.mark.follows(page=..., sentence=...)``.

A test keeps them equal. The marks are read from the source: nothing is run, so that a test that needs a real Rasa or
the built image has its row like any other.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "tests" / "followed.md"

INTRODUCTION = """\
# What is followed

The pages on testing that the makers of Rasa and Kore.ai have published, sentence by sentence: what each one says, in
our words, and the tests that show that turncheck does so. Where turncheck does something else on purpose, the row
says what.

This page is generated from the tests (`python tools/make_followed_page.py`); a row without a test cannot exist.
"""

PAGES = {
    "rasa-0": (
        "Rasa NLU 0.x: Evaluating and improving models",
        "https://legacy-docs.rasa.com/docs/nlu/0.14.4/evaluation/",
    ),
    "rasa-1.0": ("Rasa 1.0 to 1.7: Evaluating models", "https://rasa.com/docs/rasa/user-guide/evaluating-models/"),
    "rasa-1": (
        "Rasa 1.8 to 1.10: Testing your assistant",
        "https://github.com/RasaHQ/rasa/blob/1.10.x/docs/user-guide/testing-your-assistant.rst",
    ),
    "rasa-3": ("Rasa 3.x: Testing your assistant", "https://legacy-docs-oss.rasa.com/docs/rasa/testing-your-assistant"),
    "rasa-cli": (
        "Rasa 3.x: Command line interface",
        "https://legacy-docs-oss.rasa.com/docs/rasa/command-line-interface",
    ),
    "rasa-pro": (
        "Rasa Pro: Testing your assistant",
        "https://rasa.com/docs/rasa-pro/production/testing-your-assistant",
    ),
    "kore-batch": (
        "Kore.ai: Batch testing",
        "https://developer.kore.ai/docs/bots/bot-builder/optimizing-bots/batch-testing/managing-test-suites/",
    ),
}
"""The pages that sentences are of: what a mark calls them, their title, where they are."""


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A test that shows that a sentence of a page is followed."""

    page: str
    sentence: str
    file: str
    test: str


def marks_of(tests: Path) -> list[Mark]:
    """Return all marks of the test files below a folder.

    Raises:
        SyntaxError: a mark's page is unknown, its arguments are not two literal texts, or it is not on a test.
    """
    found = (
        mark
        for path in sorted(tests.rglob("test_*.py"))
        if "oracle" not in path.parts
        for mark in _marks_in(path, tests)
    )
    return sorted(found)


def followed_page(marks: list[Mark]) -> str:
    """Return the page: a table for each documentation page, a sentence a row."""
    parts = [INTRODUCTION]
    for page, (title, address) in PAGES.items():
        rows: dict[str, list[str]] = defaultdict(list)
        for mark in marks:
            if mark.page == page:
                file = mark.file.removeprefix("tests/")
                rows[mark.sentence].append(f"[{mark.test}]({file})")
        if rows:
            lines = [f"| {_cell(sentence)} | {'<br>'.join(tests)} |" for sentence, tests in rows.items()]
            parts.append("\n".join([f"## [{title}]({address})", "", "| sentence | test |", "|---|---|", *lines, ""]))
    return "\n".join(parts)


def _cell(sentence: str) -> str:
    return sentence.replace("|", "\\|")


def _marks_in(path: Path, tests: Path) -> list[Mark]:
    source = path.read_text(encoding="utf-8")
    if "mark.follows(" not in source:
        return []
    file = path.relative_to(tests.parent).as_posix()
    found: list[Mark] = []
    of_tests: set[ast.expr] = set()
    tree = ast.parse(source, str(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            of_tests.update(node.decorator_list)
            found += [_mark(call, file, node.name) for call in node.decorator_list if _is_mark(call)]
    for node in ast.walk(tree):
        if _is_mark(node) and node not in of_tests:
            raise _fault("stands on no test", node, file)
    return found


def _is_mark(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.follows"


def _mark(call: ast.expr, file: str, test: str) -> Mark:
    if not isinstance(call, ast.Call):
        raise _fault("is not called", call, file)
    given = {keyword.arg: _text(keyword.value, file) for keyword in call.keywords}
    if call.args or set(given) != {"page", "sentence"}:
        raise _fault("takes page= and sentence=", call, file)
    if given["page"] not in PAGES:
        raise _fault(f"names the page '{given['page']}', which is none of {', '.join(PAGES)}", call, file)
    return Mark(given["page"], given["sentence"], file, test)


def _text(value: ast.expr, file: str) -> str:
    if not isinstance(value, ast.Constant) or not isinstance(value.value, str) or not value.value.strip():
        raise _fault("takes literal texts", value, file)
    return value.value


def _fault(what: str, node: ast.AST, file: str) -> SyntaxError:
    return SyntaxError(f"{file}:{getattr(node, 'lineno', 0)}: the mark 'follows' {what}")


if __name__ == "__main__":
    PAGE.write_text(followed_page(marks_of(ROOT / "tests")), encoding="utf-8")
    print(PAGE)
