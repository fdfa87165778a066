"""Write the golden documents anew: python tests/unit/accept_golden.py; then look at the difference."""

from __future__ import annotations

from pathlib import Path

from pull_request import LINKS, pull_request

from turncheck.render.console import render_console
from turncheck.render.junit import render_junit
from turncheck.render.markdown import render_comment, render_summary

if __name__ == "__main__":
    for render in (render_comment, render_summary, render_junit, render_console):
        rendered = render(*pull_request(), LINKS)
        (Path(__file__).parent / "golden" / rendered.name).write_bytes(rendered.encoded)
