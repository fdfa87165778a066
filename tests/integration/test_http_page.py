"""The page for bots over HTTP: its commands lead from nothing to a run that fails, with a bot that runs beside it."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from documentation import ROOT, fences
from test_start_page import Newcomer

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs" / "http.md"


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    """Somebody whose bot is stopped in the end, whatever happened."""
    somebody = Newcomer(tmp_path)
    yield somebody
    pid = tmp_path / "museum" / "bot.pid"
    if pid.exists():
        somebody.types(f"kill $(cat {pid}) 2>/dev/null || true")


@pytest.mark.slow
def test_the_page_leads_to_a_failing_run(newcomer: Newcomer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    codes, shown = [], 0
    for fence in fences(PAGE):
        text = fence.text.replace("8000", port)
        if fence.language == "sh":
            wait = f"for i in $(seq 100); do (echo > /dev/tcp/127.0.0.1/{port}) 2>/dev/null && break; sleep 0.1; done\n"
            is_started = text.rstrip().endswith(("bot.pid", "sleep 1"))
            codes.append(newcomer.types(text + (wait if is_started and "kill" not in text.splitlines()[-1] else "")))
            assert codes[-1] in {0, 1}, newcomer.output
        elif fence.language == "text":
            shown += 1
            missing = [line for line in text.splitlines() if line not in newcomer.output.splitlines()]
            assert missing == [], newcomer.output
    assert codes.count(1) == 1, "the broken bot fails, and nothing else"
    assert shown == 3
    assert not os.path.lexists(newcomer.place / "bot.py.old")
