"""Draw the pictures of the documentation from today's code: the comment, the page, engines compared.

    make pictures

Needs Chromium with fonts (Debian: chromium, fonts-dejavu-core, fonts-noto-color-emoji) and what `make test` installs.
What the pictures show is noted in tools/pictures.json; a test says when it has changed since.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
for folder in (ROOT, ROOT / "tests" / "unit", ROOT / "tests" / "contract"):
    sys.path.insert(0, str(folder))

from turncheck import __version__  # noqa: E402  # after the paths

PICTURES = {
    "page.png": ("bank", "", "light"),
    "page-sentences.png": ("bank", "#sentences?all=1", "dark"),
    "page-intents.png": ("clinic", "#intents", "light"),
    "page-conversations.png": ("pizzeria", "#conversations", "light"),
    "compare-engines.png": ("engines", "", "light"),
}
"""Each picture of a page: the page, the address in it, and the colour scheme."""
PAGE_SIZE = (1100, 780, 1)
COMMENTS = {"comment.png": (928, 1566, 1), "comment-narrow.png": (390, 1400, 2)}
"""Width, height and scale of the pictures: the comment as a desk and a telephone show it."""
COMMENT = """<!doctype html><html lang=en data-ready><meta charset=utf-8>
<style>{style} body {{margin: 0; padding: min(24px, 3vw)}}</style>
<article class=markdown-body>{body}</article>"""
NOTED = ROOT / "tools" / "pictures.json"
EXAMPLES = {
    "page-intents.png": ("examples/clinic",),
    "page-conversations.png": ("examples/pizzeria",),
    "compare-engines.png": (
        "examples/bike_workshop",
        "tests/contract/engines_example.py",
        "tests/contract/fake_kore.py",
    ),
}
"""What the other pages are run on."""
ADDED = {
    "inform": ("one margherita and a cola please", "i would like one ortolana", "two pizzas please"),
    "ask_price": ("can i get one pizza for pickup", "how much for one ortolana"),
}
"""Sentences that a pull request adds to the pizzeria; some of them resemble others too much."""


def shown() -> dict[str, str]:
    """Return a digest of what each picture shows: its rendered source, or the page's design and the files of its run.

    A release alone changes none: the version is left out.
    """
    from page_examples import write_examples  # of the tests, found by the paths above

    with tempfile.TemporaryDirectory() as temporary:
        write_examples(Path(temporary))
        bank = (Path(temporary) / "bank.html").read_text("utf-8").replace(__version__, "VERSION")
    digests = {**dict.fromkeys(COMMENTS, _digest(_comment())), "page.png": _digest(bank), "page-sentences.png": _digest(bank)}
    design = [path.read_text("utf-8") for path in sorted((ROOT / "templates" / "page").iterdir())]
    for picture, names in EXAMPLES.items():
        files = subprocess.run(["git", "ls-files", "-z", *names], cwd=ROOT, check=True, capture_output=True, text=True)
        read = [(ROOT / name).read_text("utf-8") for name in files.stdout.split("\0") if name]
        digests[picture] = _digest("\0".join([*design, repr(ADDED), *read]))
    return digests


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _comment() -> str:
    from github_markdown import to_html  # of the tests, found by the path above

    return to_html((ROOT / "tests" / "unit" / "golden" / "comment.md").read_text("utf-8"))


def draw_comments(folder: Path) -> None:
    """Write the pictures of the beginning of the golden comment, with GitHub's own style, into a folder."""
    from tools.build_page import PAGE, install

    install()
    style = PAGE / "node_modules" / "github-markdown-css" / "github-markdown-light.css"
    with tempfile.TemporaryDirectory() as temporary:
        page = Path(temporary) / "comment.html"
        page.write_text(COMMENT.format(style=style.read_text("utf-8"), body=_comment()), "utf-8")
        for name, size in COMMENTS.items():
            _draw(page, folder / name, size)


def _draw(page: Path, picture: Path, size: tuple[int, int, int], address: str = "", scheme: str = "light") -> None:
    """Take a picture of a page at an address in it."""
    from chromium import chromium  # of the tests, found by the paths above
    from tools.build_page import node

    arguments = (str(page), str(picture), address, scheme, *map(str, size))
    done = node(str(ROOT / "tools" / "page_picture.mjs"), *arguments, CHROMIUM=chromium())
    if done.returncode:
        raise SystemExit(done.stderr)
    print(picture)


def draw_pages(folder: Path) -> None:
    """Write the pictures of pages into a folder."""
    from page_examples import write_examples  # of the tests, found by the paths above
    from tools.build_page import install

    install()
    with tempfile.TemporaryDirectory() as temporary:
        pages = Path(temporary)
        write_examples(pages)
        _run(ROOT / "examples" / "clinic", pages / "clinic", "none")
        _run_pull_request(pages / "pizzeria")
        _compare_engines(pages / "engines")
        for name in ("clinic", "pizzeria"):
            shutil.copy(pages / name / "report.html", pages / f"{name}.html")
        for name, (page, address, scheme) in PICTURES.items():
            _draw(pages / f"{page}.html", folder / name, PAGE_SIZE, address, scheme)


def _run_pull_request(out: Path) -> None:
    """Run the pizzeria as it is and with the added sentences."""
    project = out.parent / "project" / "pizzeria"
    shutil.copytree(ROOT / "examples" / "pizzeria", project)
    _run(project, out.parent / "base", "none")
    nlu = project / "data" / "nlu.yml"
    text = nlu.read_text("utf-8")
    for intent, sentences in ADDED.items():
        head = f"- intent: {intent}\n    examples: |\n"
        text = text.replace(head, head + "".join(f"      - {sentence}\n" for sentence in sentences))
    nlu.write_text(text, "utf-8")
    _run(project, out, str(out.parent / "base" / "report.json"))


def _compare_engines(out: Path) -> None:
    """Compare the engines of the documentation's example."""
    from engines_example import example_platform, flags_of
    from fake_kore import SECRET, serving

    bot = ROOT / "examples" / "bike_workshop"
    names = ["embedded", "kore:published", "kore:in-development"]
    command = [sys.executable, "-m", "turncheck", "compare-engines", "--engines", *names, "--project", str(bot)]
    with serving(example_platform(bot)) as kore:
        flags = [*flags_of(kore), "--thresholds", "agreement >= 0.9", "--out", str(out), "--quiet"]
        environment = {**os.environ, "TURNCHECK_KORE_CLIENT_SECRET": SECRET}
        subprocess.run([*command, *flags], check=False, stdout=subprocess.DEVNULL, env=environment)
    shutil.copy(out / "engines.html", out.with_suffix(".html"))


def _run(project: Path, out: Path, baseline: str) -> None:
    command = [sys.executable, "-m", "turncheck", "run", "--project", str(project), "--out", str(out)]
    subprocess.run([*command, "--baseline", baseline, "--quiet"], check=False, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    draw_comments(ROOT / "docs")
    draw_pages(ROOT / "docs")
    NOTED.write_text(json.dumps(shown(), indent=2) + "\n", "utf-8")
