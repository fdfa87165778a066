"""The image as it was pushed, on an example, the way the runner starts it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tools.release.build import built
from tools.release.place import ReleaseError, run

if TYPE_CHECKING:
    from tools.release.place import Place

EXAMPLE = "pizzeria"


def smoke_test(place: Place) -> bool:
    """Pull the very digest and run the action on an example.

    Raises:
        ReleaseError: it cannot be pulled, does not name the version, or the example does not pass.
    """
    pulled, first = first_line(place.source, f"{place.image}@{built(place).digest}")
    print(f"from pull to first line: {pulled + first:.1f} s (pulled in {pulled:.1f} s)")
    return True


def first_line(source: Path, reference: str) -> tuple[float, float]:
    """Pull an image and run the action on an example; return the seconds of the pull, and then until it said something.

    Raises:
        ReleaseError: it cannot be pulled, or the example does not pass.
    """
    tool = str(source / "tools" / "build_image.sh")
    started = time.monotonic()
    run([tool, "pull", reference])
    pulled = time.monotonic() - started
    try:
        # The container is root, and so are the files that it leaves in the workspace.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            first = _run(source, tool, reference, Path(folder))
    finally:
        run([tool, "remove", reference])
    return pulled, first


def _run(source: Path, tool: str, reference: str, folder: Path) -> float:
    """Run the action; return how many seconds it took until it said something."""
    workspace, temp = folder / "workspace", folder / "temp"
    shutil.copytree(source / "examples" / EXAMPLE, workspace)
    commands = temp / "_runner_file_commands"
    commands.mkdir(parents=True)
    variables = [f"GITHUB_{name.upper()}=/github/file_commands/{name}" for name in ("output", "step_summary")]
    for name in ("output", "step_summary"):
        (commands / name).touch()
    inputs = ["INPUT_BASELINE=none", "INPUT_FAIL-ON=errors, test-failures"]
    # What GitHub sets for this very job, whose API and files the container must not see.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("INPUT_", "GITHUB_"))}
    command = [tool, "run", reference, str(workspace), str(temp), *variables, *inputs]
    started = time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        output = process.stdout
        lines = [] if output is None else [output.readline()]
        first = time.monotonic() - started
        lines += output or []
    if process.returncode:
        raise ReleaseError(
            f"{reference} failed on examples/{EXAMPLE} with {process.returncode}: {''.join(lines)[-2000:]}"
        )
    if "passed" not in (commands / "output").read_text("utf-8").splitlines():
        raise ReleaseError(f"{reference} gave no verdict on examples/{EXAMPLE}: {''.join(lines)[-2000:]}")
    return first
