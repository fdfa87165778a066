"""The pages that people read: their files, headings, links and fenced examples, as GitHub reads Markdown."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urldefrag

import cmarkgfm
import lxml.html

ROOT: Final = Path(__file__).parents[2]
OURS: Final = "https://github.com/turncheck/turncheck/"
_BESIDE: Final = ("benchmarks/README.md", "tests/README.md", "tests/followed.md", "tools/release/README.md")
"""Pages beside what they are about."""
_FENCE: Final = re.compile(r"^```(?P<language>[a-z]*)[^\n]*\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_OUTSIDE: Final = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def pages() -> list[Path]:
    """Return all pages: those at the top, those of the site, and the READMEs of the examples."""
    return [
        *(
            ROOT / name
            for name in (
                "README.md",
                "CONTRIBUTING.md",
                "CHANGELOG.md",
                "SECURITY.md",
                "AGENTS.md",
                "CODE_OF_CONDUCT.md",
            )
            if (ROOT / name).exists()
        ),
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "examples").rglob("README.md")),
        *(path for name in _BESIDE if (path := ROOT / name).exists()),
    ]


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced example of a page."""

    language: str
    text: str


def fences(page: Path) -> list[Fence]:
    """Return the fenced examples of a page, in its order."""
    return [Fence(match["language"], match["text"]) for match in _FENCE.finditer(page.read_text("utf-8"))]


def as_html(text: str) -> lxml.html.HtmlElement:
    """Return Markdown as GitHub's own parser sees it."""
    html = cmarkgfm.github_flavored_markdown_to_html(text, cmarkgfm.cmark.Options.CMARK_OPT_UNSAFE)
    return lxml.html.fromstring(f"<div>{html}</div>")


@cache
def anchors(text: str) -> set[str]:
    """Return what a link can lead to within a page: its headings as GitHub names them, and elements with an id."""
    document = as_html(text)
    seen: Counter[str] = Counter()
    found = {str(name) for name in document.xpath("//@id | //a/@name")}
    for heading in document.xpath("//h1|//h2|//h3|//h4|//h5|//h6"):
        slug = re.sub(r"[^\w\- ]", "", heading.text_content().strip().lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def broken(page: Path, text: str | None = None) -> list[str]:
    """Return the links and pictures of a page that lead to no file of the repository, or to no heading of it."""
    if text is None:
        text = page.read_text("utf-8")
    own = anchors(text)
    targets = [str(target) for target in as_html(text).xpath("//a/@href | //img/@src")]
    return [target for target in targets if not _leads_somewhere(page, target, own)]


def _leads_somewhere(page: Path, target: str, own: set[str]) -> bool:
    if target.startswith((f"{OURS}blob/main/", f"{OURS}tree/main/")):
        target = "/" + target.removeprefix(OURS).split("/", 2)[2]
    elif _OUTSIDE.match(target):
        return True
    path, anchor = urldefrag(target)
    if not path:
        return unquote(anchor) in own
    file = ROOT / path.removeprefix("/") if path.startswith("/") else page.parent / unquote(path)
    if not file.exists() or not file.resolve().is_relative_to(ROOT):
        return False
    return not anchor or file.suffix != ".md" or unquote(anchor) in anchors(file.read_text("utf-8"))
