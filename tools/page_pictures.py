"""Draw the pictures of the pages in docs/: a made-up pull request of the tests, the examples, and engines compared.

    python tools/page_pictures.py

Needs Chromium (Debian: chromium, fonts-dejavu-core) and what `make test` installs.
"""

from __future__ import annotations

import os
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
    "page-intents.png": ("clinic", "#intents", "light"),
    "page-conversations.png": ("pizzeria", "#conversations", "light"),
    "compare-engines.png": ("engines", "", "light"),
}
"""Each picture: the page, the address in it, and the colour scheme."""
ADDED = {
    "inform": ("one margherita and a cola please", "i would like one ortolana", "two pizzas please"),
    "ask_price": ("can i get one pizza for pickup", "how much for one ortolana"),
}
"""Sentences that a pull request adds to the pizzeria; some of them resemble others too much."""


def draw(folder: Path) -> None:
    """Write all pictures into a folder."""
    from chromium import chromium  # of the tests, found by the paths above
    from page_examples import write_examples
    from tools.build_page import install, node

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
            arguments = (str(pages / f"{page}.html"), str(folder / name), address, scheme)
            done = node(str(ROOT / "tools" / "page_picture.mjs"), *arguments, CHROMIUM=chromium())
            if done.returncode:
                raise SystemExit(done.stderr)
            print(folder / name)


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
    draw(ROOT / "docs")
