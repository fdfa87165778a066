"""Fuzzing: spoil what comes from outside, and look for anything but words: a traceback, a secret, a long wait.

    make fuzz                                                  a million inputs, one worker per processor
    .venv/bin/python -m tools.fuzz --count 1000                fewer
    .venv/bin/python -m tools.fuzz --what settings github      some kinds of inputs alone
    .venv/bin/python -m tools.fuzz --what files --seed 7 …     the same again: an input depends on kind and seed alone

Kinds: ``files`` (a project with one file mutated), ``older`` (training data in Markdown and JSON), ``settings``
(turncheck.yml, inputs, flags), ``environment`` (the variables and the event of a workflow run), ``github`` (what its
API and services answer), ``actions`` (what an action server answers), ``exports`` (the export of a Kore.ai assistant),
``platform`` (what Kore.ai's platform answers), ``reports`` (forged reports, read, compared and rendered in every way),
``suites`` (batch suites, results of them, logs), ``cases`` (end-to-end cases and Botium's, read and held), ``flows``
(flows, their domain and tests, results of dialogue understanding tests). Some inputs are grown to 100 KB (``--grown
1``: all of them). An input that ends in a traceback, shows a secret, takes ten seconds
of the processor or half a gigabyte of memory is a failure, kept below ``.fuzz/``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.fuzzing.mutations import GROWN
from tools.fuzzing.trial import PLANTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.fuzzing.trial import Trial

FAILURES = Path(__file__).parents[1] / ".fuzz"
SLOW = 10.0
MUCH = 500
"""Megabytes that an input may take, above what the process has already."""
_MOST = 4 * MUCH
"""Megabytes that it gets: without a limit one input could take those of the machine."""
_OWN = Path("/proc/self")
KINDS = {
    "files": "project_files",
    "older": "older_formats",
    "settings": "settings",
    "suites": "suites",
    "cases": "cases",
    "flows": "flows",
    "environment": "environment",
    "github": "github",
    "actions": "action_server",
    "exports": "kore_exports",
    "platform": "kore_platform",
    "reports": "reports",
}
CHUNK = 1000


def fuzz(kind: str, seed: int, count: int, seconds: float) -> dict[str, Any]:
    """Try ``count`` inputs, or as many as ``seconds`` allow; return how many there were, and the failures."""
    trials = import_module(f"tools.fuzzing.{KINDS[kind]}").trials
    failures: list[str] = []
    end = time.monotonic() + seconds
    done = 0
    memory = Path("/dev/shm")  # noqa: S108 - a folder with a random name of our own is made in it
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        for trial in trials(random.Random(seed), Path(name)):
            if done >= count or time.monotonic() > end:
                break
            failures += _try(trial, f"{kind}-{seed}-{done}")
            done += 1
    return {"kind": kind, "done": done, "failures": failures}


class EndlessTrialError(BaseException):
    """A trial takes far too long; nothing of turncheck's catches it."""


def _endless(*_: object) -> None:
    raise EndlessTrialError


@contextmanager
def _limited() -> Iterator[None]:
    """Allow the block little memory and little of the processor's time."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_megabytes("VmData") * 2**20 + _MOST * 2**20, hard))
    before = signal.signal(signal.SIGPROF, _endless)
    signal.setitimer(signal.ITIMER_PROF, 2 * SLOW, SLOW)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _megabytes(name: str) -> int:
    """Return a figure of this process's memory; 0 where the system has none."""
    with suppress(OSError):
        for line in (_OWN / "status").read_text("ascii", "replace").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) // 1024
    return 0


def _forget_peak() -> None:
    with suppress(OSError):
        (_OWN / "clear_refs").write_text("5", "ascii")


def _try(trial: Trial, name: str) -> list[str]:
    _forget_peak()
    had, begin = _megabytes("VmRSS"), time.process_time()
    try:
        with _limited():
            shown = trial.run()
    except EndlessTrialError:
        trouble = f"took more than {2 * SLOW:g} s: {traceback.format_exc()}"
    except Exception:  # noqa: BLE001 - whatever it is, it is what fuzzing looks for
        trouble = traceback.format_exc()
    else:
        taken = time.process_time() - begin
        at = shown.find(PLANTED)
        trouble = f"took {taken:.1f} s" if taken > SLOW else ""
        grew = _megabytes("VmHWM") - had
        trouble = f"took {grew} MB of memory" if grew > MUCH else trouble
        trouble = f"a secret is shown: {shown[max(0, at - 200) : at + 100]}" if at >= 0 else trouble
    if not trouble:
        return []
    kept = FAILURES / name
    trial.keep(kept)
    (kept / "trouble.txt").write_text(trouble, encoding="utf-8", errors="backslashreplace")
    return [f"{kept}: {trouble.strip().splitlines()[-1][:300]!a}"]


def _work(task: tuple[str, int, int, float]) -> dict[str, Any]:
    return fuzz(*task)


def tasks(kinds: list[str], count: int, seed: int, seconds: float) -> list[tuple[str, int, int, float]]:
    """Share out ``count`` inputs among the kinds, in pieces that each have a seed of their own."""
    pieces = []
    for number in range(-(-count // CHUNK)):
        kind = kinds[number % len(kinds)]
        pieces.append((kind, seed + number, min(CHUNK, count - number * CHUNK), seconds))
    return pieces


def main(arguments: list[str]) -> int:
    """Fuzz with all processors and print what came of it as JSON; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", nargs="+", choices=sorted(KINDS), default=list(KINDS))
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--grown", type=float, default=GROWN["share"])
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    GROWN["share"] = options.grown
    begin = time.monotonic()
    done = dict.fromkeys(options.what, 0)
    failures: list[str] = []
    for kind in options.what:
        import_module(f"tools.fuzzing.{KINDS[kind]}")  # once, for all workers
    # A worker remembers every secret that it has read, to hide it: the more, the slower.
    with multiprocessing.Pool(options.workers, maxtasksperchild=1) as workers:
        for result in workers.imap_unordered(_work, tasks(options.what, options.count, options.seed, options.seconds)):
            done[result["kind"]] += result["done"]
            failures += result["failures"]
            for line in result["failures"]:
                print(line, file=sys.stderr)
            print(f"\r{sum(done.values()):,} inputs, {len(failures)} failures", end="", file=sys.stderr, flush=True)
            if time.monotonic() - begin > options.seconds:
                break
    seconds = round(time.monotonic() - begin)
    told = {"inputs": sum(done.values()), "of each kind": done, "failures": len(failures)}
    print(json.dumps({**told, "seconds": seconds, "first seed": options.seed}))
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
