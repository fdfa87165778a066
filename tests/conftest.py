"""What holds for all tests."""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis.internal import entropy
from timing import Timing
from tools.interrupts import heed_interrupts

pytest_plugins = ["golden_plugin"]
UNIT = Path(__file__).parent / "unit"

# A busy machine makes a single example slow now and then; what must be fast has a test or a benchmark of its own.
settings.register_profile("turncheck", deadline=None)
settings.load_profile("turncheck")
# Nothing draws from numpy's own generator: with this in its place Hypothesis does not keep its state for each example.
entropy.NP_RANDOM = Random()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--timing", action="store_true", help="assert how long things take, too (make bench)")


def pytest_configure() -> None:
    """`make test &` works as `make test` does: what the tests interrupt would inherit that SIGINT is ignored."""
    heed_interrupts()
    # Tests run beside each other already: a run that is not told how many processes to start computes in its own.
    os.environ["LOKY_MAX_CPU_COUNT"] = "1"
    # For the same reason numpy gets one thread, before it is imported: those of several workers wait for each other.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    # Of the repositories that tests make, none needs examples of hooks, and none is ever large enough to be tidied up.
    quiet = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "maintenance.auto", "GIT_CONFIG_VALUE_0": "false"}
    os.environ |= {"GIT_TEMPLATE_DIR": "", **quiet}


@pytest.fixture(autouse=True)
def _no_host_is_known_to_be_out_of_reach() -> Iterator[None]:
    """A process asks one that did not answer less often: the next test has another, at the same address."""
    yield
    if rest := sys.modules.get("turncheck.ci.rest"):
        rest.OUT_OF_REACH.clear()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """The tests themselves are kept to the end: no collection of garbage looks at them, neither now nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(
            20_000
        )  # tests make and drop large reports: looking at each 700 objects costs a twentieth of the time
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    for item in items:
        if "timing" in getattr(item, "fixturenames", ()):
            item.add_marker("timing")
    yield  # `-m` selects
    items[:] = longest_first(items, getattr(config, "workerinput", {"workercount": 1})["workercount"])


def longest_first(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Begin each worker's part with the files that have long tests, so that none is left when the others are done."""
    long = {item.path for item in items if UNIT not in item.path.parents or item.get_closest_marker("slow")}
    part = max(len(items) // workers, 1)
    parts = (items[start : start + part] for start in range(0, len(items), part))
    return [item for one in parts for item in sorted(one, key=lambda item: item.path not in long)]


@pytest.fixture
def timing(request: pytest.FixtureRequest) -> Timing:
    return Timing(asserted=request.config.getoption("--timing"))


@pytest.fixture(scope="session", autouse=True)
def _cache_of_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The cache of fixtures that several tests share: none writes to the home folder."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def _cache_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test is spared a training by another one, unless it asks for that."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / f"cache-{uuid4().hex}"))


@pytest.fixture
def _shared_cache(_cache_of_its_own: None, _cache_of_all: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same assistant is trained once for all tests that use this: those to which learning is beside the point."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(_cache_of_all))


@pytest.fixture(autouse=True)
def _no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test asks a server outside of this machine: git would, for a base that is not in a checkout."""
    monkeypatch.setattr("turncheck.ci.git._ONLINE", ("-c", "protocol.allow=never", "-c", "protocol.file.allow=always"))


@pytest.fixture(autouse=True)
def _forgotten_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test gave as a secret is an ordinary word in the next."""
    monkeypatch.setattr("turncheck.process.environment._KNOWN", set())
