"""Tasks on the workers of a Dask cluster. If a worker is lost, nothing is: the scheduler gives its tasks, and what they
share, to the others. Each task does the same wherever it runs, so that the results are the same. A cluster that is
named is trusted: it runs what it is sent, and its results are unpickled.
"""

from __future__ import annotations

import io
import logging
import pickle
import time
import warnings
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

from turncheck import __version__
from turncheck.messages.errors import EngineError, UserError
from turncheck.messages.phrasing import count
from turncheck.process.cache import Cache, difference_of_software, software

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from turncheck.process.screen import Console

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")

CONNECT_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 30.0
"""For connecting as a whole, with the scheduler's first answer."""
_TRIES: Final = 3
WORKERS_SECONDS: Final = 60.0
"""How long to wait for the first worker."""
NO_WORKERS_SECONDS: Final = 60.0
"""How long a cluster may have no worker: one that restarts is back by then."""
_LOOK_SECONDS: Final = 1.0
_TELL_SECONDS: Final = 5.0
_UNDER_WAY: Final = 2
"""Tasks queued per worker, so that the next one is ready when one is done."""
_ONE_AT_A_TIME: Final = Lock()
"""A task limits the threads of libraries, for its whole process: two at once would undo each other's limits."""
_SAME_VERSION: Final = "Install the same version of turncheck, of Python and of the libraries everywhere."


class Cluster:
    """The workers of one scheduler that are connected."""

    def __init__(self, client: Any, address: str, screen: Console) -> None:
        self._client = client
        self._address = address
        self._screen = screen
        self._workers: dict[str, int] = {}
        self._seen = self._looked = time.monotonic()

    @property
    def size(self) -> int:
        """How many workers there are."""
        return max(1, len(self._workers))

    def each(
        self,
        task: Callable[[Shared, Item], Result],
        shared: Shared,
        items: Iterable[Item],
        *,
        total: int,
        kind: str = "task",
        worth_processes: bool = True,  # noqa: ARG002 - they are there
    ) -> Iterator[tuple[int, Result]]:
        """Have the workers run the tasks; see :meth:`turncheck.work.workplace.Executor.each`.

        Raises:
            EngineError: the scheduler or all workers are gone, a task ends each worker that it is given to, or a worker
                has another turncheck.
        """
        content = _sent((task, shared))
        waiting = enumerate(items)
        under_way: dict[Any, int] = {}
        done, told = 0, time.monotonic()
        try:
            with _in_words(self._address):
                # A task of its own, not data: where its worker is lost, the scheduler has it done again.
                common = self._submit(_unpacked, content)
            while True:
                for number, item in waiting:
                    with _in_words(self._address):
                        under_way[self._submit(_done, common, dict(_here()), item)] = number
                    if len(under_way) >= _UNDER_WAY * self.size:
                        break
                if not under_way:
                    return
                for future in self._finished(list(under_way)):
                    number = under_way.pop(future)
                    result = self._result(future)
                    done += 1
                    if time.monotonic() - told > _TELL_SECONDS and done < total:
                        told = time.monotonic()
                        of = f"{done} of {count(total, kind)}" if total > 1 else count(total, kind)
                        self._screen.progress(f"{of} done by {count(len(self._workers), 'worker')}")
                    yield number, result
        finally:
            if under_way:
                with suppress(Exception):  # a scheduler that is gone has nothing to cancel
                    self._client.cancel(list(under_way), force=True)

    def look(self) -> None:
        """Refresh the list of workers, and report those that have gone.

        Raises:
            EngineError: the scheduler is gone, or for some time there has been no worker.
        """
        with _in_words(self._address):
            if self._client.status != "running":
                raise _gone(self._address)
            found = self._client.nthreads()
        for lost in sorted(self._workers.keys() - found.keys()):
            left = count(len(found), "worker")
            self._screen.alarm(f"The cluster's worker {lost} is gone ({left} left): its tasks are repeated.")
        self._workers = found
        self._looked = now = time.monotonic()
        if found:
            self._seen = now
        elif now - self._seen > NO_WORKERS_SECONDS:
            raise EngineError(
                f"the cluster at {self._address} has had no workers for {NO_WORKERS_SECONDS:g} seconds",
                hint="Start some: dask worker --nthreads 1 ADDRESS",
            )

    def _finished(self, futures: list[Any]) -> Iterable[Any]:
        """Wait until some of them are done."""
        from distributed import wait  # the optional extra

        wait_for: Any = wait  # it has no types
        while True:
            if time.monotonic() - self._looked > _LOOK_SECONDS:
                self.look()
            with _in_words(self._address), suppress(TimeoutError), self._client.as_current():
                return list(wait_for(futures, timeout=_LOOK_SECONDS, return_when="FIRST_COMPLETED").done)

    def _result(self, future: Any) -> Any:
        """Return what a task returned, or raise what it raised."""
        if future.status == "error":
            error = future.exception()
            with _in_words(self._address):
                if type(error).__module__.partition(".")[0] == "distributed":
                    raise error
            raise error
        with _in_words(self._address):
            return future.result()

    def _submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that what is sent is large
            return self._client.submit(task, *arguments, pure=False)


@contextmanager
def connected(address: str, screen: Console) -> Iterator[Cluster]:
    """Yield the cluster of the scheduler at an address, all its workers with this version of turncheck.

    Raises:
        UserError: it cannot be reached, has no workers, or some with another version; or Dask is not installed.
    """
    try:
        import distributed  # noqa: F401 - the optional extra
    except ImportError:
        raise UserError("--cluster needs the extra 'dask'", hint="pip install 'turncheck[dask]'") from None
    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL + 1)  # what went wrong is said in our words
    try:
        client = _client(address)
    except (OSError, ValueError, TypeError) as error:
        raise UserError(
            f"the Dask scheduler at '{address}' cannot be reached: {error}",
            hint="Give its address as --cluster tcp://host:port.",
        ) from None
    try:
        cluster = Cluster(client, address, screen)
        _ensure_workers(client, address, screen)
        cluster.look()
        _ensure_versions(client, address)
        screen.note(f"The cluster at {address} has {count(len(client.nthreads()), 'worker')}.")
        if max(client.nthreads().values(), default=1) > 1:
            screen.note("Each of them does one task at a time, whatever its threads: start them with --nthreads 1.")
        yield cluster
    finally:
        with suppress(Exception):  # a scheduler that is gone says no goodbye
            client.close(timeout=CONNECT_SECONDS)


def _client(address: str) -> Any:
    """Connect, in a thread of its own: Dask's own limit does not include the answer of what accepts the connection.

    Raises:
        OSError, ValueError, TypeError: it is not an address, or no scheduler answers there in time.
    """
    from distributed import Client

    class QuietClient(Client):
        def __del__(self) -> None:
            with suppress(Exception):  # one that is not connected has nothing to say goodbye to
                super().__del__()  # type: ignore[no-untyped-call]

    made: list[Any] = []

    def connect(tries: int = _TRIES) -> None:
        try:
            made.append(QuietClient(address, timeout=CONNECT_SECONDS, set_as_default=False))  # type: ignore[no-untyped-call]
        except (OSError, ValueError, TypeError) as error:
            made.append(error)
        except Exception as error:  # noqa: BLE001 - whatever Dask makes of an answer that is not a scheduler's
            if isinstance(error, AssertionError) and tries > 1:
                return connect(tries - 1)  # Dask expects the greeting alone, and a busy scheduler may send more with it
            made.append(ConnectionError(f"what answers there is not a scheduler ({type(error).__name__})"))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that versions differ, of which we say more
        thread = Thread(target=connect, daemon=True)
        thread.start()
        thread.join(ANSWER_SECONDS)
    if not made:
        raise TimeoutError(f"it accepts connections, but has not answered within {ANSWER_SECONDS:g} seconds")
    if isinstance(made[0], Exception):
        raise made[0]
    return made[0]


def _ensure_workers(client: Any, address: str, screen: Console) -> None:
    """Wait for a first worker: one that was started with the scheduler needs time to connect."""
    if not client.nthreads():
        screen.note(f"The cluster at {address} has no workers yet: waiting {WORKERS_SECONDS:g} seconds for one.")
    try:
        client.wait_for_workers(1, timeout=WORKERS_SECONDS)
    except TimeoutError:
        raise UserError(
            f"the cluster at {address} has no workers", hint=f"Start some: dask worker --nthreads 1 {address}"
        ) from None


def _ensure_versions(client: Any, address: str) -> None:
    faults = []
    for worker, found in sorted(client.run(software, on_error="return").items()):
        if isinstance(found, BaseException):
            faults.append(f"{worker} has no turncheck {__version__} ({found})")
        elif difference := difference_of_software(found, _here()):
            faults.append(f"{worker} has {difference}")
    if faults:
        more = "".join(f"\n- {fault}" for fault in faults)
        raise UserError(
            f"the workers of the cluster at {address} differ from what runs here:{more}", hint=_SAME_VERSION
        )


_here = software
"""The software that runs here, to be compared with that of the workers."""


class _ForElsewhere(pickle.Pickler):
    """Packs what other machines get: a cache is a folder of this one, there is none."""

    def reducer_override(self, value: Any) -> Any:
        return (type(None), ()) if isinstance(value, Cache) else NotImplemented


def _sent(value: Any) -> bytes:
    packed = io.BytesIO()
    _ForElsewhere(packed).dump(value)
    return packed.getvalue()


def _unpacked(content: bytes) -> Any:
    return pickle.loads(content)


def _done(common: tuple[Callable[[Any, Any], Any], Any], versions: Mapping[str, str], item: Any) -> Any:
    """Run a task, in the worker. A worker that joined the cluster later has not been checked yet."""
    if versions != software():
        raise EngineError(
            "a worker that came to the cluster later has another version than what runs here", hint=_SAME_VERSION
        )
    task, shared = common
    with _ONE_AT_A_TIME:
        return task(shared, item)


def _gone(address: str) -> EngineError:
    return EngineError(
        f"the Dask scheduler at {address} is gone", hint="Start it and its workers again, and then this run."
    )


@contextmanager
def _in_words(address: str) -> Iterator[None]:
    """Translate what Dask raises.

    Raises:
        EngineError: the cluster can do no more.
    """
    from asyncio import CancelledError
    from concurrent.futures import CancelledError as FutureCancelledError

    from distributed import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise EngineError(
            f"a task ended every worker of the cluster at {address} that it was given to: {error}",
            hint="Is their memory large enough? Their logs say more.",
        ) from None
    except (CancelledError, FutureCancelledError, OSError) as error:
        if isinstance(error, TimeoutError):  # of a wait, which goes on
            raise
        raise _gone(address) from error
