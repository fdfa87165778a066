"""How a real Rasa 3.6.21 is called and served, and how its files of results are held against ours."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests
from action_servers import free_port

from turncheck.report.codec import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import Report

ROOT = Path(__file__).parents[2]
START_SECONDS = 180


@dataclass(frozen=True)
class Trained:
    """A project with its model and what ``rasa test`` wrote about it."""

    folder: Path
    model: Path
    results: Path


def environment() -> dict[str, str]:
    return {**os.environ, "RASA_TELEMETRY_ENABLED": "false", "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"}


def call(rasa: str, folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        [*rasa.split(), *arguments], cwd=folder, capture_output=True, text=True, check=False, env=environment()
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@contextmanager
def server(rasa: str, folder: Path, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Serve; ready as soon as ``/version`` answers, which comes after the model is loaded."""
    port = free_port()
    log = folder.parent / f"server-{port}.log"
    credentials = folder.parent / "credentials.yml"
    credentials.write_text("rest:\n")
    words = [*rasa.split(), "run", "--enable-api", "-i", "127.0.0.1", "-p", str(port), "--credentials"]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*words, str(credentials), *arguments], cwd=folder, stdout=output, stderr=output, env=environment()
        ) as process,
    ):
        try:
            end = time.monotonic() + START_SECONDS
            while process.poll() is None and time.monotonic() < end:
                try:
                    if requests.get(f"http://127.0.0.1:{port}/version", timeout=2).ok:
                        yield f"http://127.0.0.1:{port}", process
                        return
                except requests.RequestException:
                    time.sleep(0.3)
            raise RuntimeError(f"Rasa did not start:\n{log.read_text()[-3000:]}")
        finally:
            process.kill()


def turncheck(folder: Path, out: Path, *flags: str) -> tuple[subprocess.CompletedProcess[str], Report]:
    done = subprocess.run(
        [sys.executable, "-m", "turncheck", "run", str(folder), "--engine", "rasa", "--out", str(out), *flags],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (out / "report.json").exists(), done.stderr
    return done, decode((out / "report.json").read_bytes())


def assert_like_rasa(ours: Path, theirs: Path, folder: Path) -> set[str]:
    """Every file that Rasa wrote is the one that we wrote: texts to the letter, figures but for the last digit."""
    # No policy here extracts entities: Rasa lists them all as missed by TEDPolicy, which is not configured.
    names = {path.name for path in theirs.iterdir()} - {"TEDPolicy_report.json", "TEDPolicy_errors.json"}
    for name in sorted(names):
        mine, real = (ours / name).read_text("utf-8"), (theirs / name).read_text("utf-8")
        if name.endswith("_report.json"):
            assert without_confusions(json.loads(mine)) == approximately(json.loads(real)), name
        else:
            assert mine == re.sub(rf"\((/private)?{re.escape(str(folder))}/", "(", real), name
    return names


def without_confusions(report: Any) -> Any:
    """Which of equally frequent confusions Rasa names an unstable sort decides; the files of errors hold them all."""
    if isinstance(report, dict):
        return {key: without_confusions(one) for key, one in report.items() if key != "confused_with"}
    return report


def approximately(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: approximately(one) for key, one in value.items() if key != "confused_with"}
    return pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
