"""The versions of libraries in the keys of the cache, without the module that parses each as an e-mail."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from turncheck.process import cache


@pytest.mark.parametrize("library", cache._LIBRARIES)
def test_each_is_the_installed_one(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    installed = version(library)
    monkeypatch.setitem(sys.modules, "importlib.metadata", None)  # it cannot be loaded

    assert cache._version(library) == installed


@pytest.mark.parametrize("folder", ["a_library-1.2.dist-info", "a.library-1.2.dist-info", "A-Library-1.2.dist-info"])
def test_however_its_folder_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    assert cache._version("a-library") == "1.2"
