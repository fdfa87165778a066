"""A Dask scheduler and its workers, as processes of their own that a test can kill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random

import dask
import distributed
import distributed.cli.dask_scheduler
import distributed.cli.dask_worker
import distributed.comm.core
import distributed.utils_comm

from turncheck.engines.conversation import NluEngine
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.project.model import Project

for _module in (distributed.comm.core, distributed.utils_comm):
    # Their thread draws at any time, which Hypothesis takes for a draw of the strategy that it runs just then.
    _module.random = Random()  # type: ignore[attr-defined]  # it has no types

_COMMANDS = {"scheduler": distributed.cli.dask_scheduler.main, "worker": distributed.cli.dask_worker.main}
_WORKER = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
_SECONDS = 240.0
"""A busy machine takes its time to start a process."""
_TRAINING_SECONDS = 0.3
_FORKED = {"distributed.worker.multiprocessing-method": "forkserver"}
"""Workers begin with what they need as imported already: it takes seconds of each."""
with dask.config.set(_FORKED):
    _FORKING = distributed.utils.get_mp_context()  # type: ignore[no-untyped-call]  # it has no types
_FORKING.set_forkserver_preload(["distributed.cli.dask_worker", "turncheck.run.run"])

_Process = BaseProcess | subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class SlowTrainer:
    """Trains as slowly as a large assistant is, so that a worker is lost in the middle of it."""

    seed: int

    def fit(self, project: Project) -> NluEngine:
        """Train, after a while."""
        time.sleep(_TRAINING_SECONDS)
        return EmbeddedNluTrainer(self.seed).fit(project)


class DaskCluster:
    """``address`` is the scheduler's; ``workers`` run as long as nobody kills them."""

    def __init__(self, folder: Path) -> None:
        file = folder / "scheduler.json"
        self.scheduler = _started(
            "scheduler", ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        )
        end = time.monotonic() + _SECONDS
        while not (file.exists() and file.read_text()):
            assert time.monotonic() < end
            time.sleep(0.05)
        self.address: str = json.loads(file.read_text())["address"]
        self.workers: list[_Process] = []

    def add_worker(self, environment: Mapping[str, str] | None = None) -> None:
        """Start one more worker; with an environment of its own it imports everything itself."""
        words = (*_WORKER, self.address)
        self.workers.append(_executed("worker", words, environment) if environment else _started("worker", words))

    def await_workers(self, number: int) -> None:
        """Wait until so many are there."""
        with distributed.Client(self.address, timeout=_SECONDS, set_as_default=False) as client:  # type: ignore[no-untyped-call]  # it has no types
            client.wait_for_workers(number, timeout=_SECONDS)

    def kill_worker(self) -> None:
        """End one as a machine does that is switched off."""
        if self.workers:
            _end(self.workers.pop())

    def stop(self) -> None:
        """End what still runs."""
        for process in (*self.workers, self.scheduler):
            _end(process)


@contextmanager
def local_cluster() -> Iterator[str]:
    """Yield the address of a scheduler in this process, with two workers of one thread."""
    with (
        dask.config.set(_FORKED),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,  # type: ignore[no-untyped-call]  # it has no types
    ):
        yield cluster.scheduler_address


@contextmanager
def dask_cluster(folder: Path, workers: int) -> Iterator[DaskCluster]:
    """Yield a cluster with so many workers; all of it is killed at the end."""
    cluster = DaskCluster(folder)
    try:
        for _ in range(workers):
            cluster.add_worker()
        if workers:
            cluster.await_workers(workers)
        yield cluster
    finally:
        cluster.stop()


def _started(kind: str, words: Sequence[str]) -> BaseProcess:
    process: BaseProcess = _FORKING.Process(target=_run, args=(kind, words), daemon=True)
    process.start()
    return process


def _run(kind: str, words: Sequence[str]) -> None:
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    _COMMANDS[kind](words)


def _executed(kind: str, words: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{kind}", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )


def _end(process: _Process) -> None:
    process.kill()
    if isinstance(process, subprocess.Popen):
        process.wait(timeout=20)
    else:
        process.join(timeout=20)
