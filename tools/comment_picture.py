"""Draw docs/comment.png: a pull-request comment as a browser shows it, from the golden one of the tests.

Needs what tests do not need: Chromium with an emoji font (Debian: chromium, fonts-noto-color-emoji), GitHub's style:

    npm install github-markdown-css
    python tools/comment_picture.py node_modules/github-markdown-css/github-markdown-light.css
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "unit"))

PAGE = """<!doctype html><meta charset=utf-8>
<style>{style} body {{max-width: 880px; margin: 0; padding: 24px}}</style>
<article class=markdown-body>{body}</article>"""


def draw(style: Path, picture: Path, size: str = "928,1566") -> None:
    """Render the golden comment to HTML as GitHub does, and take a picture of its beginning."""
    from github_markdown import to_html  # of the tests, found by the path above

    body = to_html((ROOT / "tests" / "unit" / "golden" / "comment.md").read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "comment.html"
        page.write_text(PAGE.format(style=style.read_text("utf-8"), body=body), "utf-8")
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        subprocess.run(
            ["chromium", *options, f"--window-size={size}", f"--screenshot={picture}", page.as_uri()], check=True
        )


if __name__ == "__main__":
    draw(Path(sys.argv[1]), ROOT / "docs" / "comment.png")
