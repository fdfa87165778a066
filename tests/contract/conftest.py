"""The fake GitHub, alone and behind Prism, which each test finds empty; the real Rasa."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import release_world
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


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bare repository with the files of this one, prepared as a release; who changes it takes a copy."""
    release_world.ensure_tools()
    return release_world.repository(tmp_path_factory.mktemp("prepared"), containers=True)


@pytest.fixture(scope="session")
def image(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image of that commit: built once, as the release, which exports the same files, then finds each step done."""
    folder = tmp_path_factory.mktemp("image")
    archive = folder / "source.tar"
    release_world.git(prepared, "archive", "--format=tar", f"--output={archive}", "HEAD")
    shutil.unpack_archive(archive, folder / "source", filter="data")
    name = "localhost/turncheck:test"
    subprocess.run([ROOT / "tools" / "build_image.sh", "build", folder / "source", name], check=True, timeout=1800)
    return name
