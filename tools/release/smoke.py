"""The image as it was pushed, on an example, the way the runner starts it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tools.release.build import built
from tools.release.place import PACKAGE, ReleaseError, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.release.place import Place

EXAMPLE = "pizzeria"


def smoke_test(place: Place) -> bool:
    """Pull the very digest, run the action on an example, and ask it for its version.

    Raises:
        ReleaseError: it cannot be pulled, does not name the version, or the example does not pass.
    """
    reference = f"{place.image}@{built(place).digest}"
    with _pulled(place.source, reference) as (pulled, folder):
        first = _run(place.source, reference, folder)
        _ensure_version(place, reference, folder)
    print(f"from pull to first line: {pulled + first:.1f} s (pulled in {pulled:.1f} s)")
    return True


def first_line(source: Path, reference: str) -> tuple[float, float]:
    """Pull an image and run the action on an example; return the seconds of the pull, and then until it said something.

    Raises:
        ReleaseError: it cannot be pulled, or the example does not pass.
    """
    with _pulled(source, reference) as (pulled, folder):
        return pulled, _run(source, reference, folder)


@contextmanager
def _pulled(source: Path, reference: str) -> Iterator[tuple[float, Path]]:
    """Pull an image, which is removed at the end; yield the seconds that it took, and a folder for what it runs on."""
    tool = _tool(source)
    started = time.monotonic()
    run([tool, "pull", reference])
    pulled = time.monotonic() - started
    try:
        # The container is root, and so are the files that it leaves in the workspace.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            yield pulled, Path(folder)
    finally:
        run([tool, "remove", reference])


def _tool(source: Path) -> str:
    return str(source / "tools" / "build_image.sh")


def _ensure_version(place: Place, reference: str, folder: Path) -> None:
    """Ask the package in the image, by another entry point than that of the action."""
    options = {"RUN_OPTIONS": f"--entrypoint /opt/{PACKAGE}/bin/{PACKAGE}"}
    places = [str(folder / "workspace"), str(folder / "temp")]
    said = run([_tool(place.source), "run", reference, *places, "--", "--version"], env=options).strip()
    if said != f"{PACKAGE} {place.version}":
        raise ReleaseError(f"{reference} says that it is {said!r}, expected '{PACKAGE} {place.version}'")


def _run(source: Path, reference: str, folder: Path) -> float:
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
    command = [_tool(source), "run", reference, str(workspace), str(temp), *variables, *inputs]
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
