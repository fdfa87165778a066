"""Where tasks run, behind one interface. The results do not depend on it.

A task is a function of a module; it is given what all tasks of a call share, and an item of its own. All three are sent
to other processes, and the result is sent back.
"""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from msgspec import Struct

from turncheck.process.output_files import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from turncheck.process.screen import Console
    from turncheck.settings.options import Settings


Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")

_BATCHES_PER_WORKER: Final = 4
"""Small, so that a slow or lost batch delays little."""
_MOST_IN_A_BATCH: Final = 500


class Executor(Protocol):
    """Where tasks are done."""

    @property
    def size(self) -> int:
        """How many workers of other machines run tasks at the same time; 0 if only this machine does."""

    def each(
        self,
        task: Callable[[Shared, Item], Result],
        shared: Shared,
        items: Iterable[Item],
        *,
        total: int,
        kind: str = "task",
        worth_processes: bool = True,
    ) -> Iterator[tuple[int, Result]]:
        """Yield the result of each item, with its index, as results arrive: not in order.

        Args:
            task: what is run.
            shared: given to all tasks; sent once to each process.
            items: consumed one by one, shortly before a task begins.
            total: how many there are at most.
            kind: what one is called in the progress display.
            worth_processes: whether the tasks take longer than starting a process.

        Raises:
            EngineError: the cluster is gone.
        """


class Local(Struct, frozen=True):
    """This machine: one task after the other, or in several processes. ``workers``: 0 for one per processor."""

    workers: int = 1

    @property
    def size(self) -> int:
        """No other machines."""
        return 0

    def each(
        self,
        task: Callable[[Shared, Item], Result],
        shared: Shared,
        items: Iterable[Item],
        *,
        total: int,
        kind: str = "task",  # noqa: ARG002 - whoever asks counts
        worth_processes: bool = True,
    ) -> Iterator[tuple[int, Result]]:
        """Run the tasks; see :meth:`Executor.each`."""
        workers = min(self.workers or (processors() if worth_processes else 1), total)
        if workers <= 1:
            for number, item in enumerate(items):
                yield number, task(shared, item)
            return
        from joblib import Parallel, delayed  # only where processes are started

        with temporary_folder("work") as folder:
            path = Path(folder, "shared.pickle")
            path.write_bytes(pickle.dumps(shared))
            pool = Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch=workers, batch_size=1)
            tasks = enumerate(items)
            yield from pool(delayed(_in_process)(task, str(path), number, item) for number, item in tasks)


INLINE: Final = Local()


def batches(items: Sequence[Item], work: Executor) -> list[Sequence[Item]]:
    """Group items that take little time each into batches that are worth sending."""
    size = min(_MOST_IN_A_BATCH, ceil(len(items) / (_BATCHES_PER_WORKER * max(1, work.size)))) or 1
    return [items[start : start + size] for start in range(0, len(items), size)]


def _in_process(task: Callable[[Any, Item], Result], path: str, number: int, item: Item) -> tuple[int, Result]:
    return number, task(_read(path), item)


@lru_cache(maxsize=1)
def _read(path: str) -> Any:
    return pickle.loads(Path(path).read_bytes())


def processors() -> int:
    """Return how many processors this process may use."""
    import joblib  # knows about containers and affinity

    return int(joblib.cpu_count())


# The workplace that the settings name.


@contextmanager
def workplace_of(settings: Settings, screen: Console) -> Iterator[Executor]:
    """Yield where this run's work is done: the cluster that is named, else this machine.

    Raises:
        UserError: the cluster cannot be used.
    """
    if settings.cluster is None:
        yield Local(settings.workers)
        return
    from turncheck.work.cluster import connected  # most runs have none

    with connected(settings.cluster, screen) as cluster:
        yield cluster
