"""Asks a remote engine several things at once: as many as it bears, the answers in the order of the questions."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, TypeVar

from turncheck.engines.base import CutShortError, EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Question = TypeVar("Question")
Answer = TypeVar("Answer")


def ask_all(ask: Callable[[Question], Answer], questions: Sequence[Question], at_once: int) -> list[Answer]:
    """Ask every question, ``at_once`` of them at a time; with 1 no thread is started.

    Raises:
        CutShortError: the engine can answer no more; ``finished`` holds the answers so far, ``None`` for the others.
    """
    lost = Event()
    errors: list[EngineError] = []

    def one(question: Question) -> Answer | None:
        if lost.is_set():
            return None
        try:
            return ask(question)
        except EngineError as error:
            errors.append(error)
            lost.set()
            return None

    if at_once <= 1:
        answers = [one(question) for question in questions]
    else:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - the embedded engine is asked one by one

        with ThreadPoolExecutor(at_once) as pool:
            try:
                answers = list(pool.map(one, questions))
            except BaseException:
                lost.set()  # interrupted: what waits is not asked any more
                raise
    if errors:
        raise CutShortError(errors[0], answers if any(answer is not None for answer in answers) else None)
    return [answer for answer in answers if answer is not None]
