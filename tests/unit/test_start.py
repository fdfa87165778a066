"""What a short command loads: nothing that it does not need, since loading takes most of its time."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from small_project import write_project

if TYPE_CHECKING:
    from pathlib import Path

CODE = """\
import sys
from turncheck.__main__ import main
sys.argv[0] = "turncheck"
main()
sys.stderr.write(" ".join(sys.modules))
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The modules that a command has loaded in this folder when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    return set(done.stderr.split())


def test_the_version_needs_no_parser(tmp_path: Path) -> None:
    names = loaded(tmp_path, "--version")
    ours = {name for name in names if name.startswith("turncheck.")}
    assert not names & {"argparse", "threading", "dataclasses", "inspect", "tempfile", "logging"}
    assert ours <= {
        "turncheck.__main__",
        "turncheck.cli",
        "turncheck.messages",
        "turncheck.messages.errors",
        "turncheck.process",
        "turncheck.process.interrupts",
        "turncheck.process.little_memory",
        "turncheck.process.streams",
    }


@pytest.mark.slow
def test_validation_loads_readers_only_of_what_is_there(tmp_path: Path) -> None:
    ours = {name.removeprefix("turncheck.") for name in loaded(write_project(tmp_path), "data", "validate")}
    assert "validation.pipeline" in ours
    assert not ours & {
        "project.batch.model",
        "project.e2e.model",
        "project.e2e.reader",
        "project.formats.markdown_files",
        "platforms.kore.reader",
        "settings.file",
        "report.model",
        "ci.host",
    }
    assert not {"numpy", "requests", "rich", "zipfile"} & ours
