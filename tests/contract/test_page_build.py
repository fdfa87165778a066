"""The script that report.html carries is what its sources make, and its types hold."""

from __future__ import annotations

from pathlib import Path

from tools.build_page import PAGE, SCRIPT, build, install, node


def test_the_script_that_is_shipped_is_built_from_its_sources(tmp_path: Path) -> None:
    built = tmp_path / "page.js"
    build(built)

    assert built.read_text("utf-8") == SCRIPT.read_text("utf-8"), "page/src was changed: run `make page`"


def test_the_types_of_the_sources_hold() -> None:
    install()
    checked = node(str(PAGE / "node_modules" / "typescript" / "bin" / "tsc"), "--project", ".")

    assert checked.returncode == 0, checked.stdout


def test_nothing_in_the_script_ends_its_element() -> None:
    script = SCRIPT.read_text("utf-8")

    assert script.isascii()
    assert "</" not in script
    assert "<!--" not in script
