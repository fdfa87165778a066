"""Asks a remote engine several things at once: as many as it can take, with the answers in the order of the
questions."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

from turncheck.messages.errors import CutShortError, EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Question = TypeVar("Question")
Answer = TypeVar("Answer")


_SIGNAL_SECONDS: Final = 0.2


class Workers:
    """Threads that run tasks in their order. After an interrupt, running tasks are not waited for."""

    def __init__(self, number: int) -> None:
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads: list[Thread] = []
        for _ in range(max(1, number)):
            thread = Thread(target=self._work, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system allows no more; the existing ones do the work
                if not self._threads:
                    raise
                break
            self._threads.append(thread)

    def submit(self, task: Callable[[], Answer]) -> Future[Answer]:
        """Run the task when a thread is free."""
        future: Future[Answer] = Future()
        self._tasks.put((future, task))
        return future

    @staticmethod
    def result(future: Future[Answer]) -> Answer:
        """Wait for a task's result. An endless wait would not notice a signal that another thread received."""
        while True:
            with suppress(TimeoutError):
                return future.result(_SIGNAL_SECONDS)
            if future.done():  # the time-out was the task's own
                return future.result()

    def close(self) -> None:
        """Accept no more tasks; the threads end when the existing ones are done."""
        for _ in self._threads:
            self._tasks.put(None)

    def _work(self) -> None:
        while (taken := self._tasks.get()) is not None:
            future, task = taken
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(task())
            except BaseException as error:  # noqa: BLE001 - raised where the result is requested
                future.set_exception(error)


def ask_all(ask: Callable[[Question], Answer], questions: Sequence[Question], at_once: int) -> list[Answer]:
    """Ask every question, ``at_once`` of them at a time; without a thread if that is one.

    Raises:
        CutShortError: the engine can no longer answer: the first question without an answer says why. Or it was
            interrupted. ``finished`` holds the answers so far, ``None`` for the others.
    """
    stopped = Event()
    errors: dict[int, EngineError] = {}
    answers: list[Answer | None] = [None] * len(questions)
    interrupt: KeyboardInterrupt | None = None

    def one(number: int, question: Question) -> None:
        # Earlier questions are finished first, so that the reported error does not depend on timing.
        if stopped.is_set() or any(earlier < number for earlier in list(errors)):
            return
        try:
            answers[number] = ask(question)
        except EngineError as error:
            errors[number] = error

    tasks = [partial(one, number, question) for number, question in enumerate(questions)]
    try:
        _do_all(tasks, at_once)
    except KeyboardInterrupt as error:
        interrupt = error
    finally:
        stopped.set()  # waiting questions are not asked any more
    kept = list(answers)  # calls in progress are not waited for, and their answers are ignored
    if interrupt is not None or errors:
        cause = interrupt or errors[min(errors)]
        raise CutShortError(cause, kept if any(answer is not None for answer in kept) else None)
    return [answer for answer in kept if answer is not None]


def _do_all(tasks: Sequence[Callable[[], None]], at_once: int) -> None:
    if at_once <= 1 or len(tasks) == 1:
        for task in tasks:
            task()
        return
    workers = Workers(at_once)
    try:
        for future in [workers.submit(task) for task in tasks]:
            workers.result(future)
    finally:
        workers.close()
