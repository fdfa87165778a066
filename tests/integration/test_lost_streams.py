"""Streams that are closed, full or left by their reader, and little memory: never exit code 1, which is a verdict."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIZZERIA = ROOT / "examples" / "pizzeria"
TURNCHECK = f"{sys.executable} -m turncheck"
RUN = f"{TURNCHECK} run {PIZZERIA} --baseline none --evaluations validate,core --out out"


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False, timeout=300, env={**os.environ}
    )


@pytest.mark.usefixtures("_shared_cache")
@pytest.mark.parametrize(
    "streams",
    [
        "2>&-",
        ">&-",
        ">&- 2>&-",
        "<&- >&- 2>&-",
        "2>/dev/full",
        "2>&1 | head -c 10; exit ${PIPESTATUS[0]}",
        "2>&1 | true; exit ${PIPESTATUS[0]}",
        "2> >(head -c 1)",
    ],
)
def test_the_report_is_written_and_the_verdict_counts(tmp_path: Path, streams: str) -> None:
    done = shell(f"{RUN} {streams}", tmp_path)

    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["core"]["as_written"]["failed"] == 0
    assert (tmp_path / "out" / "comment.md").is_file()
    # What is written to a closed stream does not end up in a file that is open under its number.
    written = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not any(b"Reading the project" in content for content in written)


@pytest.mark.usefixtures("_shared_cache")
@pytest.mark.parametrize("streams", [">/dev/full", ">/dev/full 2>&1"])
def test_a_verdict_that_could_not_be_printed_is_none(tmp_path: Path, streams: str) -> None:
    done = shell(f"{RUN} {streams}", tmp_path)

    assert done.returncode == 2, done.stderr
    assert json.loads((tmp_path / "out" / "verdict.json").read_text())["outcome"] == "passed"


@pytest.mark.parametrize("streams", [">/dev/full", "| true; exit ${PIPESTATUS[0]}"])
def test_a_command_whose_output_is_lost_is_not_done(tmp_path: Path, streams: str) -> None:
    done = shell(f"{TURNCHECK} --version {streams}", tmp_path)

    assert done.returncode == 2
    assert ("standard output cannot be written" in done.stderr) == ("full" in streams)


@pytest.mark.parametrize("mistake", ["run nowhere", "no-such-command", "run --no-such-flag", ""])
@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full", ">&- 2>&-"])
def test_a_mistake_is_2_also_where_nobody_hears_of_it(tmp_path: Path, mistake: str, streams: str) -> None:
    assert shell(f"{TURNCHECK} {mistake} {streams}", tmp_path).returncode == 2


@pytest.mark.parametrize("kilobytes", [40_000, 80_000, 120_000, 150_000, 200_000, 225_000, 350_000, 400_000])
def test_little_memory_is_no_verdict(tmp_path: Path, kilobytes: int) -> None:
    done = shell(f"ulimit -v {kilobytes}; exec {RUN.replace('validate,core', 'nlu,core')}", tmp_path)

    # 127: not even Python can be loaded. It is enough where a library needs less than usual.
    assert done.returncode in {2, 127} or (done.returncode == 0 and kilobytes > 300_000), done.stderr
    assert "Traceback" not in done.stderr or done.returncode == 127
