"""Our own processes in parallel: each works as if it were alone, and returns its result."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from msgspec import Struct

from turncheck.process import interrupts
from turncheck.process.environment import known_secrets, remember_forms
from turncheck.process.little_memory import watch_libraries
from turncheck.process.system import own_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from multiprocessing.context import SpawnProcess

Item = TypeVar("Item")
Result = TypeVar("Result")

_END_SECONDS: Final = 5.0
"""Seconds for a process to end after it has returned its result, or was interrupted."""


class Ended(Struct, frozen=True):
    """A process that ended without a result; ``why``: how, ``None`` if it was interrupted."""

    why: str | None


def side_by_side(
    task: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    at_once: int,
    done: Callable[[Item, Result | Ended], object],
) -> bool:
    """Run a task for each item, each in its own process, and return whether it was interrupted.

    An interrupt is passed to the running ones, whose results are awaited, and no more are started; a second one ends
    all.

    Args:
        task: a function of a module; its result is sent back. An exception ends its process.
        items: passed to the processes.
        at_once: how many run at the same time.
        done: called here with each item and its result, as results arrive.

    Raises:
        KeyboardInterrupt: it was interrupted twice.
    """
    waiting: Iterator[Item] = iter(items)
    running: dict[Connection, _Running[Item]] = {}
    interrupted = False
    try:
        while True:
            try:
                while not interrupted and len(running) < at_once:
                    try:
                        item = next(waiting)
                    except StopIteration:
                        break
                    one = _started(task, item)
                    running[one.results] = one
                if not running:
                    return interrupted
                for pipe in wait(list(running)):
                    one = running.pop(pipe)  # type: ignore[call-overload]  # only such are waited for
                    done(one.item, one.result())
            except KeyboardInterrupt:
                if interrupted:
                    raise
                interrupted = True
                for one in running.values():
                    one.interrupt()
    finally:
        for one in running.values():
            one.process.kill()


class _Running(Struct, Generic[Item], frozen=True):
    item: Item
    process: SpawnProcess
    results: Connection
    lifeline: Connection
    """Ends with this process, however that ends, and takes its child with it."""

    def result(self) -> Any:
        try:
            return self.results.recv()
        except (EOFError, OSError):
            self.process.join(_END_SECONDS)
            code = self.process.exitcode
            if code is not None and code < 0 and -code != signal.SIGTERM:
                return Ended(f"its process was ended by signal {-code} ({signal.Signals(-code).name})")
            return Ended(None if code in {None, 0, -signal.SIGTERM} else f"its process ended with exit code {code}")
        finally:
            self.lifeline.close()
            self.process.join(_END_SECONDS)
            if self.process.is_alive():
                self.process.kill()

    def interrupt(self) -> None:
        self.process.terminate()  # SIGINT is ignored by what was started in the background


def _started(task: Callable[[Item], object], item: Item) -> _Running[Item]:
    context = get_context("spawn")  # threads of libraries are not copied
    results, ours = context.Pipe(duplex=False)
    theirs, lifeline = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(task, item, known_secrets(), ours, theirs))
    process.start()
    ours.close()
    theirs.close()
    return _Running(item, process, results, lifeline)  # type: ignore[arg-type,unused-ignore] # Windows has a class of its own


def _work(
    task: Callable[[Item], object], item: Item, secrets: frozenset[str], results: Connection, lifeline: Connection
) -> None:
    """The main function of such a process: an interrupt reaches it once, from its parent, and not from the terminal as
    well."""
    own_group()
    interrupts.listen()
    watch_libraries()
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    remember_forms(secrets)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        result = task(item)
    except KeyboardInterrupt:
        return
    interrupts.ignore()
    with suppress(OSError):  # nobody waits for it any more
        results.send(result)


def _end_with(lifeline: Connection) -> None:
    """Stop as soon as nobody waits for the result any more."""
    with suppress(EOFError, OSError):
        lifeline.recv()
    os.kill(os.getpid(), signal.SIGTERM)
