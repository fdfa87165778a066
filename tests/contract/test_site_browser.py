"""The documentation site in a real browser, at 360 and 1440 px, in both colour schemes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from chromium import chromium
from tools.build_page import install, node

ROOT = Path(__file__).parents[2]


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name it has in the base class
        """Say nothing."""


@pytest.mark.slow
def test_axe_finds_nothing_and_search_answers_without_a_network(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    install()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        names = sorted(page.name for page in tmp_path.glob("*.html"))
        script = Path(__file__).with_name("site_browser.mjs")
        address = f"http://127.0.0.1:{server.server_port}/"
        done = node(str(script), address, *names, CHROMIUM=chromium())
        server.shutdown()

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() == ""
