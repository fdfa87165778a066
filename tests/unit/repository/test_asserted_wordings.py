"""What the program says is compared with golden texts; few assertions repeat its sentences, and they become fewer.

An assertion hangs on a wording if three words in a row of a text in it are in the source too: whoever words them
better has to mend the test. ``golden(text)`` says it instead, and beside it stands what the text is about: its kind,
its place, its numbers.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[3]
LEFT: Final = 120
"""How many there may be. It only falls: who brings them below it by twenty writes the lower number."""
WORD: Final = r"[A-Za-z][a-z]*(?:['’-][a-z]+)*"
WORDS: Final = re.compile(rf"{WORD}(?:,? {WORD}){{2,}}")
NO_TEXT: Final = re.compile(r'"""(?s:.*?)"""|^\s*#.*$', re.MULTILINE)
"""Docstrings and comments."""


def in_a_row(text: str) -> Iterator[tuple[str, ...]]:
    """Each three words that follow each other in a text."""
    for run in WORDS.findall(text.replace("\\", "")):
        words = run.replace(",", "").lower().split(" ")
        yield from zip(words, words[1:], words[2:], strict=False)


def asserted(tree: ast.AST) -> Iterator[set[tuple[str, ...]]]:
    """The words of each assertion, and of each message that an error is expected to have."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            inner: ast.expr = node.test
        elif isinstance(node, ast.keyword) and node.arg == "match":
            inner = node.value
        else:
            continue
        texts = (one.value for one in ast.walk(inner) if isinstance(one, ast.Constant) and isinstance(one.value, str))
        yield {words for text in texts for words in in_a_row(text)}


def said() -> set[tuple[str, ...]]:
    """The words that the source has in its texts."""
    files = [file for suffix in ("py", "html", "js", "sh") for file in (ROOT / "src").rglob(f"*.{suffix}")]
    texts = (NO_TEXT.sub("", file.read_text("utf-8")) for file in (*files, ROOT / "action.yml"))
    return {words for text in texts for words in in_a_row(text)}


def test_few_assertions_hang_on_a_wording_and_they_become_fewer() -> None:
    source = said()
    counts = Counter(
        file.name
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        for words in asserted(ast.parse(file.read_bytes()))
        if not words.isdisjoint(source)
    )
    most = ", ".join(f"{name} {count}" for name, count in counts.most_common(10))
    assert LEFT - 20 < counts.total() <= LEFT, f"write golden(text), or a lower LEFT if there are fewer ({most})"


def test_an_assertion_hangs_on_three_words_that_the_source_has() -> None:
    tests = 'assert "the base\'s file is gone, here" in told\nassert x == "no, it"\nraises(A, match=r"is not YAML\\.")'
    found = list(asserted(ast.parse(tests)))
    assert [len(words) for words in found] == [4, 0, 1]
    assert ("file", "is", "gone") in found[0]
