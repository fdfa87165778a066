"""Which answers of an evaluation are already known, and who gives the others: another shard, or the engine here.

An evaluation asks its engine in independent units: a fold, a sentence, a story, a case, a suite. Everything derived
from the answers (scores, confusions, neighbours) is always computed from all of them, in one place; so a run whose
answers come from elsewhere has the same report.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from turncheck.messages.errors import CutShortError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.base import Engine
    from turncheck.engines.conversation import Decision, NluEngine, Parse, Policies
    from turncheck.report.model import EngineInfo

Answer = TypeVar("Answer")
Finished = TypeVar("Finished")


class DelegatedError(Exception):
    """Some answers come from elsewhere, so nothing can be judged here. The answers that were asked here are kept."""


class UnfitAnswerError(Exception):
    """What somebody else gave as the answer to a unit cannot be one: it is about more or fewer than were asked."""


class Answers(Protocol):
    """Where the answers to units come from, and where they go."""

    def known(self, unit: str) -> Any | None:
        """Return the answer to a unit; ``None`` if the engine has to be asked, here or elsewhere."""

    def is_asked(self, unit: str) -> bool:
        """Whether a unit whose answer is not known is asked here."""

    def keep(self, unit: str, answer: Any) -> None:
        """Keep an answer of the engine."""


class LocalAnswers:
    """The answers of an ordinary run: nothing is known in advance, and everything is asked here."""

    def known(self, unit: str) -> None:
        """Return ``None``: no answer is known."""

    def is_asked(self, unit: str) -> bool:  # noqa: ARG002
        """Return ``True``: every unit is asked here."""
        return True

    def keep(self, unit: str, answer: Any) -> None:
        """Do nothing: the answer is not needed any more."""


ASKED_HERE = LocalAnswers()


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What a report says about the NLU engine: its name and version, and its entity extractors."""

    info: EngineInfo
    extractors: tuple[str, ...]


def units_of(kind: str, names: Iterable[str]) -> list[str]:
    """Name the units of one kind; repeated names are distinguished by a number."""
    seen: Counter[str] = Counter()
    units = []
    for name in names:
        seen[name] += 1
        units.append(f"{kind}:{name}" if seen[name] == 1 else f"{kind}:{name}#{seen[name]}")
    return units


def unanswered(answers: Answers, units: Iterable[str]) -> list[str]:
    """Return the units that have to be asked here."""
    return [unit for unit in units if answers.is_asked(unit) and answers.known(unit) is None]


def answered(
    answers: Answers, units: Sequence[str], ask: Callable[[Sequence[int]], Sequence[Answer]]
) -> Sequence[Answer]:
    """Return the answers to all units in their order; ``ask`` returns those for the units with the passed indexes.

    Raises:
        CutShortError: raised by ``ask``; ``finished`` holds one entry per unit, ``None`` for those without an answer.
        DelegatedError: some answers come from elsewhere.
    """
    if isinstance(answers, LocalAnswers):
        return ask(range(len(units)))
    found: list[Answer | None] = [answers.known(unit) for unit in units]
    missing = [index for index, unit in enumerate(units) if found[index] is None and answers.is_asked(unit)]
    stopped: CutShortError | None = None
    given: Sequence[Answer | None] = ()
    if missing:
        try:
            given = ask(missing)
        except CutShortError as error:
            stopped, given = error, error.finished or [None] * len(missing)
    for index, answer in zip(missing, given, strict=True):
        if answer is not None:
            answers.keep(units[index], answer)
            found[index] = answer
    if stopped is not None:
        cause = KeyboardInterrupt() if stopped.interrupted else stopped
        raise CutShortError(cause, found if any(one is not None for one in found) else None)
    kept = [answer for answer in found if answer is not None]
    if len(kept) < len(units):
        raise DelegatedError
    return kept


def finished_part(evaluate: Callable[[], Finished]) -> tuple[Finished, CutShortError | None]:
    """Return the result of an evaluation, and the error that cut it short, if something was finished before.

    Raises:
        CutShortError: nothing was finished.
    """
    try:
        return evaluate(), None
    except CutShortError as error:
        if error.finished is None:
            raise
        return error.finished, error


class LazyPolicies:
    """Policies that are trained when they are first asked; their domain is known in advance."""

    def __init__(self, domain: DialogueDomain, train: Callable[[], Policies]) -> None:
        self.domain = domain
        self._train = train

    @cached_property
    def trained(self) -> Policies:
        """The policies themselves."""
        return self._train()

    def next(self, tracker: Tracker) -> Decision:
        """Decide on the next action."""
        return self.trained.next(tracker)


class LazyNlu:
    """An NLU engine that is trained when it is first asked."""

    def __init__(self, train: Callable[[], NluEngine]) -> None:
        self._train = train

    @cached_property
    def trained(self) -> NluEngine:
        """The engine itself."""
        return self._train()

    @property
    def info(self) -> EngineInfo:
        """Name, version, substitutions."""
        return self.trained.info

    @property
    def extractors(self) -> tuple[str, ...]:
        """The entity extractors."""
        return self.trained.extractors

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Parse each text."""
        return self.trained.parse(texts)


def lazy_nlu(engines: Engine) -> NluEngine | None:
    """Return language understanding that is trained on first use, ``None`` if there is none."""
    if not engines.understands:
        return None

    def train() -> NluEngine:
        if (nlu := engines.nlu) is None:
            raise ValueError("the engine understands, and has nothing to understand with")
        return nlu

    return LazyNlu(train)
