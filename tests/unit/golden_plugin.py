"""The fixture ``golden`` and ``--accept``, which also takes out the texts of tests that are not there any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from golden_texts import Golden, golden_file, read_golden, test_of, write_golden

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

WHOLE_FILES: Final = pytest.StashKey["dict[Path, set[str]]"]()
"""The files of tests that were collected as a whole, each with the names of its tests that compare wordings."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="write the wordings of golden/ anew (make accept)")


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    folder = config.invocation_params.dir
    parts = {(folder / name.partition("::")[0]).resolve() for name in config.args if "::" in name}
    whole: dict[Path, set[str]] = {}
    for item in () if config.getoption("lf", default=False) else items:
        compares = "golden" in getattr(item, "fixturenames", ())
        if compares:
            item.add_marker("golden")
        if item.path not in parts:
            whole.setdefault(item.path, set()).update([item.name] if compares else ())
    config.stash[WHOLE_FILES] = whole


def without_test(tests: Path, names: Collection[str]) -> set[str]:
    """Return the sections of the texts of a file of tests that none of the tests has."""
    return {section for section in read_golden(golden_file(tests)) if test_of(section) not in names}


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Accept that tests are gone, unless some of those that are there were not to run, or not reached."""
    config = session.config
    selected = any(config.getoption(name, default=False) for name in ("keyword", "deselect", "collectonly"))
    cut = exitstatus in {pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR} or session.shouldfail
    if not config.getoption("accept") or selected or cut:
        return
    for tests, names in config.stash.get(WHOLE_FILES, {}).items():
        if gone := without_test(tests, names):
            file = golden_file(tests)
            left = {section: text for section, text in read_golden(file).items() if section not in gone}
            if left:
                write_golden(file, left)
            else:
                file.unlink()


@pytest.fixture
def golden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Golden:
    accept = request.config.getoption("accept")
    return Golden(golden_file(request.path), request.node.name, accept=accept, folder=tmp_path_factory.getbasetemp())
