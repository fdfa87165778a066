"""The documentation site, built once: its links, its structure, and what a browser makes of it at 360 and 1440 px."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urldefrag

import lxml.html
import pytest
from chromium import chromium
from documentation import ROOT, as_html
from tools.build_page import install, node

if TYPE_CHECKING:
    from collections.abc import Iterator

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


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name it has in the base class
        """Say nothing."""


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """The site on a server, which search needs."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def parsed(page: Path) -> lxml.html.HtmlElement:
    return lxml.html.document_fromstring(page.read_text("utf-8"))


def test_every_page_and_schema_is_on_it(site: Path) -> None:
    assert {page.stem for page in site.glob("*.html")} - {"404"} == set(PAGES)
    assert len(PAGES) <= 24, "a page is one thing that somebody wants to know: put what is new where it belongs"
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


@pytest.mark.slow
def test_axe_finds_nothing_and_search_answers_without_a_network(site: Path, address: str) -> None:
    install()
    names = sorted(page.name for page in site.glob("*.html") if page.name != "404.html")  # it leads to its real place
    done = node(str(Path(__file__).with_name("site_browser.mjs")), address, *names, CHROMIUM=chromium())

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() == ""


def test_language_models_get_a_list_of_the_pages_and_all_texts_in_one(site: Path) -> None:
    listed = (site / "llms.txt").read_text("utf-8")
    urls = re.findall(r"\]\(https://turncheck\.github\.io/turncheck/([\w.]+)\)", listed)
    assert sorted(urls) == [f"{name}.html" for name in PAGES]
    assert urls[:3] == ["index.html", "start.html", "github.html"], "in the order of the navigation"
    whole = (site / "llms-full.txt").read_text("utf-8")
    assert all(f"turncheck/{url} -->" in whole for url in urls)


def test_a_search_puts_guides_before_pages_to_look_something_up_in(site: Path) -> None:
    found = json.loads((site / "search" / "search_index.json").read_text("utf-8"))["docs"]
    boosts = {entry["location"].partition("#")[0]: entry.get("boost", 1) for entry in found}
    assert boosts["gates.html"] > 1 > boosts["report.html"]


def test_the_header_leads_to_the_repository(site: Path) -> None:
    page = lxml.html.fromstring((site / "start.html").read_text("utf-8"))
    assert page.xpath("//header//a[@href='https://github.com/turncheck/turncheck']")
