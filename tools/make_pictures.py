"""Draw the pictures of the documentation from today's code: the comment, the page, engines compared.

    make pictures

Needs Chromium with fonts (Debian: chromium-headless-shell, fonts-dejavu-core, fonts-noto-color-emoji), and what
`make test` installs. What the pictures show is noted in tools/pictures/noted.json; tests say when it has changed since.
The reports that two of them show are kept beside it, so that a test can have their page written anew without measuring.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
for folder in (ROOT, ROOT / "tests" / "unit", ROOT / "tests" / "contract"):
    sys.path.insert(0, str(folder))

PICTURES = {
    "page.png": ("bank", "", "light"),
    "page-sentences.png": ("bank", "#sentences?all=1", "dark"),
    "page-intents.png": ("pizzeria-base", "#intents", "light"),
    "page-conversations.png": ("pizzeria", "#conversations", "light"),
    "compare-engines.png": ("engines", "", "light"),
}
"""Each picture of a page: the page, the address in it, and the colour scheme."""
PAGE_SIZE = (1100, 773, 1)
"""Width, height and scale: as high as whole rows of the matrix are."""
COMMENTS = {"comment.png": (928, 0, 1), "comment-narrow.png": (440, 0, 2)}
"""Width, height (0: all of it) and scale: the comment as a desk and a telephone show it."""
LAST_SECTION = "#### Newly failing tests"
"""The pictures of the comment end with this one."""
COMMENT = """<!doctype html><html lang=en data-ready><meta charset=utf-8>
<style>{style} body {{margin: 0; padding: min(24px, 3vw)}}</style>
<article class=markdown-body>{body}</article>"""
KEPT = ROOT / "tools" / "pictures"
NOTED = KEPT / "noted.json"
SIDES = ("base", "head")
EXAMPLE = ROOT / "examples" / "pizzeria"
ADDED = {
    "inform": ("one margherita and a cola please", "i would like one ortolana", "two pizzas please"),
    "ask_price": ("can i get one pizza for pickup", "how much for one ortolana"),
}
"""Sentences that a pull request adds to the pizzeria; some of them resemble others too much."""
_DATA = re.compile(r'<template id="data">([A-Za-z0-9+/=]*)</template>')
_FRACTION = re.compile(r"\d+\.\d{3,}")
_OF_THE_RUN = re.compile(r"\b\d+\.\d+\.\d+\b|asked [^<]*|<tr><th scope=\"row\">seconds</th>.*?</tr>")
"""What differs from run to run: versions, when it was, how long it took."""


def write_bank(folder: Path) -> None:
    """Write bank.html: a pull request that is made up."""
    from page_examples import write_examples  # of the tests, found by the paths above

    write_examples(folder)


def write_pizzeria(folder: Path) -> None:
    """Write pizzeria-base.html and pizzeria.html, of the reports that are kept."""
    from page_examples import MANUAL  # of the tests, found by the paths above
    from pull_request import LINKS

    from turncheck.comparison.compare import compare
    from turncheck.comparison.model import Missing, Present
    from turncheck.render.assistants import Run
    from turncheck.render.page.page import render_page
    from turncheck.render.wording.gates import judge
    from turncheck.report.codec import decode

    base, head = map(decode, kept_reports().values())
    for name, report, against in (("pizzeria-base", base, Missing("none")), ("pizzeria", head, Present(base, "git"))):
        comparison = compare(report, against)
        page = render_page([Run(report, comparison, judge(report, comparison, report.settings), LINKS)], MANUAL)
        (folder / f"{name}.html").write_bytes(page.encoded)


def measure_pizzeria(folder: Path) -> dict[str, bytes]:
    """Return two reports of the example: in cross-validation, and the same with added sentences."""
    project = folder / "pizzeria"
    shutil.copytree(EXAMPLE, project)
    (project / "tests" / "test_nlu.yml").unlink()
    _run(project, folder / "base", "none")
    nlu = project / "data" / "nlu.yml"
    text = nlu.read_text("utf-8")
    for intent, sentences in ADDED.items():
        head = f"- intent: {intent}\n    examples: |\n"
        text = text.replace(head, head + "".join(f"      - {sentence}\n" for sentence in sentences))
    nlu.write_text(text, "utf-8")
    _run(project, folder / "head", str(folder / "base" / "report.json"))
    return {side: (folder / side / "report.json").read_bytes() for side in SIDES}


def kept_reports() -> dict[str, bytes]:
    """Return the reports of the example that pictures show."""
    return {side: gzip.decompress((KEPT / f"{side}.json.gz").read_bytes()) for side in SIDES}


def example_files() -> str:
    """Return the files of the example as one text: if they change, it is measured anew."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=EXAMPLE, check=True, capture_output=True, text=True).stdout
    return "\0".join((EXAMPLE / name).read_text("utf-8") for name in names.split("\0") if name)


def write_engines(folder: Path) -> None:
    """Write engines.html: the engines of the documentation's example."""
    from engines_example import compare_as_documented  # of the tests, found by the paths above

    compare_as_documented(folder)
    shutil.copy(folder / "out" / "engines.html", folder / "engines.html")


def digest_of_comment() -> str:
    """Return the digest of the comment that is drawn, and of how it is."""
    return _digest(f"{_comment()}{COMMENT}{COMMENTS}")


def digest_of_page(html: str, measured: str = "") -> str:
    """Return the digest of a page (design, script, data, fractions to two places) and of the files it was measured of.

    The last digits depend on the type of processor; versions, the moment and the duration on the run.
    """
    data = "".join(gzip.decompress(base64.b64decode(packed)).decode() for packed in _DATA.findall(html))
    text = _OF_THE_RUN.sub("", _DATA.sub("", html) + data) + measured
    return _digest(_FRACTION.sub(lambda found: f"{float(found[0]):.2f}", text))


def digests(folder: Path) -> dict[str, str]:
    """Return the digest of what each picture shows, from the pages in a folder, as far as they are there."""
    found = dict.fromkeys(COMMENTS, digest_of_comment())
    for picture, (page, _, _) in PICTURES.items():
        if not (folder / f"{page}.html").exists():
            continue
        measured = example_files() + repr(ADDED) if page.startswith("pizzeria") else ""
        found[picture] = digest_of_page((folder / f"{page}.html").read_text("utf-8"), measured)
    return found


def ensure_signs_are_drawn() -> None:
    """End where no font has the signs of verdicts: each would be an empty box."""
    fonts = subprocess.run(("fc-list", ":charset=274c"), capture_output=True, text=True, check=True).stdout
    if "Emoji" not in fonts:
        raise SystemExit("No font has colour signs such as the cross of a failed run: install fonts-noto-color-emoji.")


def draw(pages: Path, pictures: Path) -> None:
    """Draw all pictures, those of pages from a folder, into another."""
    from tools.build_page import PAGE, install

    install()
    style = PAGE / "node_modules" / "github-markdown-css" / "github-markdown-light.css"
    comment = pages / "comment.html"
    comment.write_text(COMMENT.format(style=style.read_text("utf-8"), body=_comment()), "utf-8")
    for name, size in COMMENTS.items():
        _draw(comment, pictures / name, size)
    for name, (page, address, scheme) in PICTURES.items():
        _draw(pages / f"{page}.html", pictures / name, PAGE_SIZE, address, scheme)


def _comment() -> str:
    """Return the top of a comment as HTML: of a change that leaves the rules as they are."""
    from github_markdown import to_html  # of the tests, found by the paths above
    from pull_request import LINKS, base_report, head_report
    from report_builder import with_changes

    from turncheck.comparison.compare import compare
    from turncheck.comparison.model import Present
    from turncheck.render.markdown import render_comment
    from turncheck.render.wording.gates import judge

    head = head_report()
    base = with_changes(base_report(), settings=head.settings)
    comparison = compare(head, Present(base, "artifact", run_id="55"))
    text = str(render_comment(head, comparison, judge(head, comparison, head.settings), LINKS).content)
    before, heading, after = text.partition(LAST_SECTION)
    section, _, _ = after.partition("\n#### ")
    return to_html(before + heading + section)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _draw(page: Path, picture: Path, size: tuple[int, int, int], address: str = "", scheme: str = "light") -> None:
    from chromium import chromium  # of the tests, found by the paths above
    from tools.build_page import node

    arguments = (str(page), str(picture), address, scheme, *map(str, size))
    done = node(str(ROOT / "tools" / "page_picture.mjs"), *arguments, CHROMIUM=chromium())
    if done.returncode:
        raise SystemExit(done.stderr)
    print(picture)


def _run(project: Path, out: Path, baseline: str) -> None:
    from in_process import turncheck  # of the tests, found by the paths above

    done = turncheck("run", "--project", project, "--out", out, "--baseline", baseline, "--quiet", cwd=project.parent)
    if done.returncode > 1:
        raise SystemExit(done.stderr)


if __name__ == "__main__":
    ensure_signs_are_drawn()
    with tempfile.TemporaryDirectory() as temporary:
        for side, report in measure_pizzeria(Path(temporary)).items():
            (KEPT / f"{side}.json.gz").write_bytes(gzip.compress(report, mtime=0))
        for write in (write_bank, write_pizzeria, write_engines):
            write(Path(temporary))
        draw(Path(temporary), ROOT / "docs")
        NOTED.write_text(json.dumps(digests(Path(temporary)), indent=2) + "\n", "utf-8")
