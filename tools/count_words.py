"""Count the words of the documentation's prose: everything but generated pages, generated blocks and code.

python tools/count_words.py
"""

from __future__ import annotations

import re
from pathlib import Path

import cmarkgfm

ROOT = Path(__file__).parents[1]
GENERATED = frozenset({"findings.md"})
MOST = 30_000
"""A test keeps the pages below this: what is added is to replace something."""
_BESIDE = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md", "tools/release/README.md")
_BLOCK = re.compile(r"<!-- (?P<name>[\w-]+) -->.*?<!-- /(?P=name) -->", re.DOTALL)
_CODE = re.compile(r"<pre.*?</pre>", re.DOTALL)
_WORD = re.compile(r"\S*\w\S*")


def counts() -> dict[str, int]:
    """Return the number of words of each page with prose, by its path."""
    pages = [*(ROOT / page for page in _BESIDE), *sorted((ROOT / "docs").glob("*.md"))]
    return {
        page.relative_to(ROOT).as_posix(): words(page.read_text("utf-8"))
        for page in pages
        if page.name not in GENERATED
    }


def words(text: str) -> int:
    """Return the number of words that a person wrote."""
    html = cmarkgfm.github_flavored_markdown_to_html(_BLOCK.sub("", text))
    return len(_WORD.findall(re.sub(r"<[^>]*>", " ", _CODE.sub("", html))))


if __name__ == "__main__":
    for page, number in sorted(counts().items(), key=lambda item: -item[1]):
        print(f"{number:6,}  {page}")
    print(f"{sum(counts().values()):6,}  in all")
