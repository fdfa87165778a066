"""What holds for all tests."""

import pytest
from hypothesis import settings

# A busy machine makes a single example slow now and then; what must be fast has a test or a benchmark of its own.
settings.register_profile("turncheck", deadline=None)
settings.load_profile("turncheck")


@pytest.fixture(autouse=True)
def _forgotten_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test gave as a secret is an ordinary word in the next."""
    monkeypatch.setattr("turncheck.process.secret._KNOWN", set())
