"""The fake GitHub, alone and behind Prism; each test finds it empty."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fake_github import FakeGitHub
from fake_results import FakeResults
from prism import prism_before


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
