"""Write docs/pull_request.md: what turncheck says about the pull requests of examples/first-pull-request.

    python tools/make_example_page.py

Their pages (report.html) are kept packed in tools/pictures/first-pull-request; the documentation site unpacks them. A
test judges the pull requests anew, and says when what is kept is old.
"""

from __future__ import annotations

import base64
import gzip
import html
import re
import sys
import tempfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "unit"))

PAGE = ROOT / "docs" / "pull_request.md"
KEPT = ROOT / "tools" / "pictures" / "first-pull-request"
FOLDER = "first-pull-request"
"""Of the pages, on the site."""
_SITE = "https://turncheck.github.io/turncheck"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\dZ| UTC)")
_FIGURE = re.compile(r"\d+\.\d+(?:e-?\d+)?")
_DATA = re.compile(r'<template id="data">([A-Za-z0-9+/=]*)</template>')
_COMMAND = re.compile(r"::(error|warning|notice) (.*?)::(.*)")


def example() -> Any:
    """Return the module of the example, whose folder is not the name of a module."""
    spec = spec_from_file_location("first_pull_request", ROOT / "examples" / FOLDER / "run.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"examples/{FOLDER}/run.py is not there")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def written(page: str, out: Path) -> str:
    """Return the page with what a run of the example has left in its folder."""
    for one in example().PULL_REQUESTS:
        folder, name = out / one.branch, f"pull-request-{one.number}"
        parts = (
            f"```diff\n{_change(folder)}\n```",
            f"<blockquote>{_comment(folder)}</blockquote>",
            f"```text\n{shown_annotations((folder / 'log.txt').read_text('utf-8'))}\n```",
            f"[The page of this run]({_SITE}/{FOLDER}/{one.branch}.html)",
        )
        start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        before, found, rest = page.partition(start)
        _, ended, after = rest.partition(end)
        if not found or not ended:
            raise SystemExit(f"{PAGE} has no place for {name}")
        page = "\n".join([before + start, "\n\n".join(parts), end + after])
    return page


def _change(folder: Path) -> str:
    """Return the changed lines below the names of their files, without what only git reads."""
    lines = (folder / "change.diff").read_text("utf-8").splitlines()
    shown = (re.sub(r"^diff --git a/(.*) b/\1$", r"\1", line) for line in lines)
    return "\n".join(line for line in shown if not line.startswith(("index ", "--- ", "+++ ")))


def _comment(folder: Path) -> str:
    """Return the comment as GitHub shows it, in one line; its links lead to a repository that does not exist."""
    from github_markdown import to_html  # of the tests, found by the path above

    shown = to_html((folder / "comment.md").read_text("utf-8"))
    shown = re.sub(r"</?a\b[^>]*>", "", shown)
    shown = re.sub(r"<(/?)h[1-6]>", lambda one: "</strong></p>" if one[1] else "<p><strong>", shown)
    shown = re.sub(r"measured [\d: -]+UTC · ", "", shown)
    return re.sub(r"\n+", " ", shown).strip()


def shown_annotations(log: str) -> str:
    """Return the annotations of a log as GitHub shows them in a file: place, title, text."""
    found = []
    for kind, properties, text in _COMMAND.findall(log):
        known = dict(one.partition("=")[::2] for one in properties.split(","))
        if "file" in known:
            place = f"{known['file']}:{known.get('line', '1')}"
            found.append(f"{kind}  {place}\n    {_plain(known.get('title', ''))}\n    {_plain(text)}")
    return "\n".join(found) or "(no annotations)"


def _plain(text: str) -> str:
    for escaped, character in (("%0A", "\n    "), ("%0D", ""), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escaped, character)
    return text


def comparable(text: str) -> str:
    """Return a text without what differs from run to run, or from one type of processor to the next.

    What a page has packed is unpacked.
    """
    for packed in _DATA.findall(text):
        text += gzip.decompress(base64.b64decode(packed)).decode()
    text = html.unescape(_DATA.sub("", text))
    return _FIGURE.sub("#", _MOMENT.sub("then", text))


def kept_pages() -> dict[str, bytes]:
    """Return the pages by the names that they have on the site."""
    return {
        path.name.removesuffix(".html.gz"): gzip.decompress(path.read_bytes())
        for path in sorted(KEPT.glob("*.html.gz"))
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        example().main(Path(temporary))
        PAGE.write_text(written(PAGE.read_text("utf-8"), Path(temporary)), "utf-8")
        KEPT.mkdir(exist_ok=True)
        for one in example().PULL_REQUESTS:
            report = (Path(temporary) / one.branch / "report.html").read_bytes()
            (KEPT / f"{one.branch}.html.gz").write_bytes(gzip.compress(report, mtime=0))
    print(PAGE)
