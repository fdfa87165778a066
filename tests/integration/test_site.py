"""The documentation site, built: its links resolve, nothing is loaded from elsewhere, pages look as on GitHub."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urldefrag

import lxml.html
import pytest
from documentation import ROOT, as_html

PLACE = "/turncheck/"
"""Where the site is, on GitHub Pages."""
PAGES = sorted(path.stem for path in (ROOT / "docs").glob("*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site") / "site")


def build(folder: Path) -> Path:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr, "mkdocs warns: " + done.stderr
    return folder


def parsed(page: Path) -> lxml.html.HtmlElement:
    return lxml.html.document_fromstring(page.read_text("utf-8"))


def test_every_page_and_schema_is_on_it(site: Path) -> None:
    assert {page.stem for page in site.glob("*.html")} - {"404"} == set(PAGES)
    for schema in (ROOT / "docs").glob("*.json"):
        assert (site / schema.name).read_bytes() == schema.read_bytes()


def test_every_link_and_anchor_of_the_built_pages_resolves(site: Path) -> None:
    documents = {page.name: parsed(page) for page in site.glob("*.html")}
    ids = {name: {str(value) for value in document.xpath("//@id")} for name, document in documents.items()}
    broken = []
    for name, document in documents.items():
        for target in map(str, document.xpath("//a/@href | //img/@src | //link/@href | //script/@src")):
            if target.startswith(("https://", "http://", "mailto:")):
                continue
            if name == "404.html":  # is shown at any address, and so leads to the site's own
                assert target.startswith(PLACE), target
                target = target.removeprefix(PLACE) or "index.html"  # noqa: PLW2901
            path, anchor = urldefrag(target)
            file = site / unquote(path) if path else site / name
            if not file.exists() or (anchor and file.suffix == ".html" and unquote(anchor) not in ids[file.name]):
                broken.append((name, target))
    assert broken == []


def test_a_reader_fetches_nothing_from_elsewhere(site: Path) -> None:
    for page in site.glob("*.html"):
        loaded = parsed(page).xpath("//script/@src | //img/@src | //link[not(@rel='canonical')]/@href | //iframe/@src")
        assert [target for target in map(str, loaded) if "//" in target] == [], page.name
    for style in site.rglob("*.css"):
        assert "url(http" not in style.read_text("utf-8"), style.name


def test_pages_have_the_same_structure_as_on_github(site: Path) -> None:
    """The two parsers differ in what begins a list, a table and a code block."""
    different = []
    for name in PAGES:
        on_github = as_html((ROOT / "docs" / f"{name}.md").read_text("utf-8"))
        (on_site,) = parsed(site / f"{name}.html").xpath("//article")
        for element in ("li", "tr", "*[self::td or self::th]", "pre", "h1", "h2", "h3", "img", "strong", "ol", "ul"):
            here, there = (len(page.xpath(f".//{element}")) for page in (on_site, on_github))
            if here != there:
                different.append(f"{name}: {here} instead of {there} <{element}>")
    assert different == []
