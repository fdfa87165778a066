"""Interrupts whole runs at random moments, and looks for anything but an orderly end.

    make interrupts                                     a hundred SIGINT and a hundred SIGTERM for each case
    .venv/bin/python tools/interrupts.py --count 10     fewer

An orderly end: exit code 130 (or the verdict's, where all was written before the signal came), nothing like a traceback
on the screen, each file whole, no process and no temporary file left. A run is killed at any time from the moment at
which it listens to signals; ``--replay NUMBER`` repeats the kill of that number.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from turncheck.messages.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK
from turncheck.report.codec import decode

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "pizzeria"
PATIENCE = 60.0
"""Seconds after which an interrupted run counts as hanging."""
_OF_PYTHON = re.compile(r"Traceback|fault of its own|Exception ignored|\w(?:Error|Warning):")
"""What Python prints; a run's own warning, which begins with "Warning:", is none of it."""


@dataclass(frozen=True, slots=True)
class Case:
    """A run to interrupt: which project, with which flags."""

    name: str
    held_out: bool = False
    flags: tuple[str, ...] = ("--folds", "3")
    whole_group: bool = False
    """Whether all its processes get the signal, as with Ctrl-C in a terminal, or only the first one."""


CASES = (
    Case("held-out", held_out=True, flags=()),
    Case("cross-validation"),
    Case("cross-validation in processes", flags=("--folds", "3", "--workers", "2")),
    Case("cross-validation in processes, from a terminal", flags=("--folds", "3", "--workers", "2"), whole_group=True),
)


@dataclass(frozen=True, slots=True)
class Kill:
    """The outcome of one interrupt; ``fault`` is empty if the end was orderly."""

    code: int
    seconds: float
    fault: str


def project_of(case: Case, folder: Path) -> Path:
    """Copy the example to ``folder``, with two CRFs to train, without its test sentences if folds are needed."""
    shutil.copytree(EXAMPLE, folder)
    config = (folder / "config.yml").read_text(encoding="utf-8")
    more = "  - name: WhitespaceTokenizer\n"
    (folder / "config.yml").write_text(config.replace(more, f"{more}  - name: CRFEntityExtractor\n"), encoding="utf-8")
    if not case.held_out:
        (folder / "tests" / "test_nlu.yml").unlink()
    return folder


def kill(project: Path, case: Case, number: signal.Signals, delay: float) -> Kill:
    """Start a run and interrupt it ``delay`` seconds after it has begun to listen to signals."""
    heed_interrupts()
    with tempfile.TemporaryDirectory(prefix="interrupts-") as scratch:
        out, temporary, log = Path(scratch, "out"), Path(scratch, "tmp"), Path(scratch, "log")
        temporary.mkdir()
        with log.open("wb") as screen:
            process = subprocess.Popen(
                [sys.executable, "-m", "turncheck", "run", "--project", str(project), "--out", str(out), *case.flags],
                stdout=screen,
                stderr=screen,
                env={**os.environ, "TMPDIR": str(temporary), "JOBLIB_TEMP_FOLDER": str(temporary)},
                start_new_session=True,
            )
        try:
            _wait_until_it_listens(process)
            time.sleep(delay)
            begin = time.monotonic()
            if case.whole_group and process.poll() is None:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
            code = process.wait(PATIENCE)
            seconds = time.monotonic() - begin
            return Kill(code, seconds, _fault(code, log.read_text(errors="replace"), out, temporary, process.pid))
        except subprocess.TimeoutExpired:
            return Kill(0, PATIENCE, f"still running after {PATIENCE:.0f} s\n{log.read_text(errors='replace')}")
        finally:
            _end_session(process)


def heed_interrupts() -> None:
    """Processes that a shell starts in the background ignore SIGINT, and so do their children."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _wait_until_it_listens(process: subprocess.Popen[bytes]) -> None:
    """Until our handler is installed, SIGTERM just ends Python: wait for it."""
    caught = 0
    while process.poll() is None and not caught & (1 << signal.SIGTERM - 1):
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                caught = int(line.split()[1], 16)
        time.sleep(0.001)


def _fault(code: int, log: str, out: Path, temporary: Path, session: int) -> str:
    faults = []
    if code not in {EXIT_INTERRUPTED, EXIT_OK, EXIT_FAILED}:
        faults.append(f"exit code {code}")
    if code != EXIT_INTERRUPTED and "Written to" not in log:
        faults.append("ended without 130, and wrote nothing")
    if _OF_PYTHON.search(log):
        faults.append("a traceback")
    faults += _broken_files(out)
    faults += [f"left behind: {path.name}" for path in temporary.iterdir()]
    faults += (
        [f"left behind: {path.name}" for path in out.rglob(".*") if path.name != ".gitignore"] if out.exists() else []
    )
    faults += [f"still running: {command}" for command in _left_running(session)]
    return "; ".join(faults) + (f"\n{log}" if faults else "")


def _broken_files(out: Path) -> list[str]:
    broken = []
    for path in sorted(out.rglob("*")) if out.exists() else ():
        content = path.read_bytes() if path.is_file() else b"."
        try:
            if path.name == "report.json":
                decode(content)
            elif path.suffix == ".xml":
                ET.fromstring(content)  # noqa: S314 - ours
            elif path.suffix == ".json":
                json.loads(content)
        except Exception as error:  # noqa: BLE001 - whatever it is, the file is incomplete
            broken.append(f"{path.name}: {error}")
        if not content:
            broken.append(f"{path.name} is empty")
    return broken


def _left_running(session: int) -> list[str]:
    """Processes that do not end by themselves within two seconds after the run."""
    end = time.monotonic() + 2
    while (left := _processes_of(session)) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def _processes_of(session: int) -> list[str]:
    """The commands that are still running in the session of a run that has ended."""
    left = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and int(status.parent.name) != session:
                left.append((status.parent / "cmdline").read_text().replace("\0", " ").strip() or f"zombie {fields[0]}")
        except (OSError, ValueError):  # it has ended meanwhile
            continue
    return left


def _end_session(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def seconds_of(project: Path, flags: Sequence[str]) -> float:
    """Return how long a whole run takes here and now."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="interrupts-") as out:
        command = [sys.executable, "-m", "turncheck", "run", "--project", str(project), "--out", out, *flags]
        subprocess.run(command, check=False, capture_output=True)
    return time.monotonic() - begin


def interrupt(case: Case, count: int, seed: int, only: int | None = None) -> list[str]:
    """Interrupt ``count`` runs with each signal, print a line for each fault, and return the faults."""
    faults: list[str] = []
    with tempfile.TemporaryDirectory(prefix="interrupts-") as folder:
        project = project_of(case, Path(folder, "project"))
        whole = seconds_of(project, case.flags)
        for number in (signal.SIGINT, signal.SIGTERM):
            codes: Counter[int] = Counter()
            slowest = 0.0
            for index in range(count) if only is None else (only,):
                delay = random.Random(f"{seed} {case.name} {number.name} {index}").uniform(0, whole)
                done = kill(project, case, number, delay)
                codes[done.code] += 1
                slowest = max(slowest, done.seconds)
                if done.fault:
                    faults.append(f"{case.name}, {number.name} {index} after {delay:.2f} s: {done.fault}")
                    print(faults[-1], flush=True)
            told = ", ".join(f"{times} × {code}" for code, times in sorted(codes.items()))
            print(f"{case.name}, {number.name}: {told}; at most {slowest:.1f} s to end", flush=True)
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description="Interrupts runs at random moments.")
    parser.add_argument("--count", type=int, default=100, help="runs for each case and signal")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", choices=[case.name for case in CASES], help="this case alone")
    parser.add_argument("--replay", type=int, metavar="NUMBER", help="this kill alone")
    given = parser.parse_args()
    cases = [case for case in CASES if given.case in {None, case.name}]
    faults = [fault for case in cases for fault in interrupt(case, given.count, given.seed, given.replay)]
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
