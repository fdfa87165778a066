"""The fake GitHub, alone and behind Prism, which each test finds empty; the real Rasa."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_github import FakeGitHub
from fake_results import FakeResults
from prism import prism_before
from python_3_10 import python_with

ROOT = Path(__file__).parents[2]
pytest.register_assert_rewrite("real_rasa")


@pytest.fixture(scope="session")
def _server() -> Iterator[FakeGitHub]:
    server = FakeGitHub()
    yield server
    server.close()


@pytest.fixture(scope="session")
def _checked(_server: FakeGitHub) -> Iterator[str]:
    with prism_before(_server.url) as address:
        yield address


@pytest.fixture
def fake(_server: FakeGitHub) -> FakeGitHub:
    """The fake itself, for what is about timing and trouble."""
    _server.reset()
    return _server


@pytest.fixture
def github(_server: FakeGitHub, _checked: str) -> FakeGitHub:
    """The fake behind Prism: ``public`` is where to send requests to."""
    _server.reset()
    _server.public = _checked
    return _server


@pytest.fixture(scope="session")
def _results() -> Iterator[FakeResults]:
    server = FakeResults()
    yield server
    server.close()


@pytest.fixture
def results(_results: FakeResults) -> FakeResults:
    """The results service, empty."""
    _results.reset()
    return _results


@pytest.fixture(scope="session")
def rasa() -> str:
    """How Rasa is called; ``RASA_PYTHON`` may name the Python of an environment that has it already."""
    python = os.environ.get("RASA_PYTHON") or python_with("rasa", "-r", str(ROOT / "requirements" / "rasa.txt"))
    found = subprocess.run(
        [str(python), "-c", "import rasa; print(rasa.__version__)"], capture_output=True, text=True, check=False
    )
    assert found.stdout.strip() == "3.6.21", found.stderr
    return f"{python} -m rasa"
