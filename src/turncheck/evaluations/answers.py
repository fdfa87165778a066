"""Which answers of an evaluation are already known, and who gives the others: another shard, or the engine here.

An evaluation asks its engine in independent units: a fold, a sentence, a story, a case, a suite. Everything derived
from the answers (scores, confusions, neighbours) is always computed from all of them, in one place; so a run whose
answers come from elsewhere has the same report.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from msgspec import Struct

from turncheck.messages.errors import IncompleteError
from turncheck.messages.phrasing import first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.base import Engine
    from turncheck.engines.conversation import Decision, NluEngine, Parse, Policies
    from turncheck.report.model import EngineInfo

_MOST_IN_A_ROW: Final = 10
"""An engine that gives so many answers in a row not at all is gone."""
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


COMPUTE_LOCALLY = LocalAnswers()


class EngineFacts(Struct, frozen=True):
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


def known_as(answers: Answers, unit: str, kind: type[Answer]) -> Answer | None:
    """Return what is known of a unit.

    Raises:
        UnfitAnswerError: it is no answer of this kind.
    """
    known = answers.known(unit)
    if known is not None and not isinstance(known, kind):
        raise UnfitAnswerError(unit)
    return known


def answers_here(answers: Answers, units: Sequence[str], kind: type[Answer]) -> dict[int, Answer | None]:
    """Return what is known of the units that are not answered elsewhere, by their indexes; ``None``: ask them.

    Raises:
        UnfitAnswerError: what is known of one is no answer of this kind.
    """
    found = ((index, unit, known_as(answers, unit, kind)) for index, unit in enumerate(units))
    return {index: known for index, unit, known in found if known is not None or answers.is_asked(unit)}


def answered(
    answers: Answers,
    units: Sequence[str],
    ask: Callable[[Sequence[int]], Sequence[Answer]],
    kind: type[Answer] | None = None,
) -> Sequence[Answer]:
    """Return the answers to all units in their order; ``ask`` returns those for the units with the passed indexes.

    Raises:
        UnfitAnswerError: what is known of a unit is no answer of this ``kind``.
        IncompleteError: raised by ``ask``; ``finished`` holds one entry per unit, ``None`` for those without an answer.
        DelegatedError: some answers come from elsewhere.
    """
    if isinstance(answers, LocalAnswers):
        return ask(range(len(units)))
    found = [answers.known(unit) if kind is None else known_as(answers, unit, kind) for unit in units]
    missing = [index for index, unit in enumerate(units) if found[index] is None and answers.is_asked(unit)]
    stopped: IncompleteError | None = None
    given: Sequence[Answer | None] = ()
    if missing:
        try:
            given = ask(missing)
        except IncompleteError as error:
            stopped, given = error, error.finished or [None] * len(missing)
    for index, answer in zip(missing, given, strict=True):
        if answer is not None:
            answers.keep(units[index], answer)
            found[index] = answer
    if stopped is not None:
        cause = KeyboardInterrupt() if stopped.interrupted else stopped
        raise IncompleteError(cause, found if any(one is not None for one in found) else None)
    kept = [answer for answer in found if answer is not None]
    if len(kept) < len(units):
        raise DelegatedError
    return kept


def asked_twice(ask: Callable[[], Answer]) -> tuple[Answer | None, str]:
    """Ask an engine that several things can be asked at once for one of them; ``None``: it went wrong, twice, and why.

    An engine that asks again itself is not asked again: many questions in a row without an answer end a run.

    Raises:
        IncompleteError: the engine is gone.
    """
    why = ""
    for _ in range(2):
        try:
            return ask(), ""
        except IncompleteError as error:
            if not error.passing:
                raise
            why = first_line(error.message)
            if error.unanswered:
                break
    return None, why


def first_answers(
    ask: Callable[[Sequence[int]], Sequence[Answer]], wanted: Sequence[int]
) -> tuple[dict[int, Answer], IncompleteError | None]:
    """Ask for each once, as many at a time as the engine can take: what goes wrong with one costs only that one.

    Returns:
        The answers, by what was wanted, and what ended it: an engine that is gone.
    """
    found: dict[int, Answer] = {}
    left, in_a_row = list(wanted), 0
    while left:
        given: Sequence[Answer | None]
        try:
            given, error = ask(left), None
        except IncompleteError as cut:
            given, error = cut.finished or [None] * len(left), cut
        found.update((one, answer) for one, answer in zip(left, given, strict=True) if answer is not None)
        if error is None:
            break
        without = [one for one, answer in zip(left, given, strict=True) if answer is None]
        in_a_row = 1 if len(without) < len(left) else in_a_row + 1
        left = without[1:]
        if not error.passing or in_a_row >= _MOST_IN_A_ROW:
            return found, error
    return found, None


def finished_part(evaluate: Callable[[], Finished]) -> tuple[Finished, IncompleteError | None]:
    """Return the result of an evaluation, and the error that cut it short, if something was finished before.

    Raises:
        IncompleteError: nothing was finished.
    """
    try:
        return evaluate(), None
    except IncompleteError as error:
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
