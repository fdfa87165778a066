"""How the tests of a section are repeated: by which rules, on which engines, and at what cost."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

from turncheck.evaluations.varying.rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turncheck.engines.base import Engine
    from turncheck.evaluations.varying.attempts import Answer, AskFunction, BudgetShare, RepeatedTest, Run
    from turncheck.evaluations.varying.base_runner import BaseRunner
    from turncheck.messages.errors import EngineError
    from turncheck.settings.repeats import RepeatRules, Worth

Section = TypeVar("Section")


class Repeating(Struct, Generic[Section], frozen=True):
    """How the tests of a section are repeated, each of which was asked once.

    ``base``: returns the base's section; ``on_base``: the base itself, if it can be asked. ``workers``: how many are
    asked at once. ``every``: see :class:`Rounds`.
    ``share``: what they may cost. ``spent`` is told how many turns and seconds they took.
    """

    rules: RepeatRules
    base: Callable[[], Section | None]
    on_base: BaseRunner[Engine] | None = None
    workers: int = 1
    share: BudgetShare | None = None
    worth: Callable[[], Worth] | None = None
    say: Callable[[str], None] = lambda _: None
    every: float = 0.0
    spent: Callable[[int, float], None] = lambda _, __: None

    def rounds(
        self,
        tests: Sequence[RepeatedTest[Answer]],
        ask: Callable[[Engine, int], Run[Answer]],
        here: Engine,
        find_base: Callable[[Sequence[RepeatedTest[Answer]]], float],
        *,
        number: int,
        what: str,
        must_pass: bool = True,
        stopped: EngineError | KeyboardInterrupt | None = None,
    ) -> Rounds[Answer]:
        """Run the tests in rounds; ``ask`` asks an engine for one of all tests by its number, below ``number``.

        Each is a ``what``; ``must_pass``: see :class:`Rounds`. ``stopped``: what ended it when each was asked once: no
        test is asked again.
        """

        def on(engine: Engine, number: int, _: int) -> Run[Answer]:
            return ask(engine, number)

        def by(engine: Engine) -> AskFunction[Answer]:
            return partial(on, engine)

        there = None if self.on_base is None else self.on_base.then(by)
        rounds = Rounds(
            tests,
            self.rules,
            by(here),
            find_base,
            self.workers,
            there,
            self.share,
            self.say,
            what=what,
            must_pass=must_pass,
            worth=self.worth,
            every=self.every,
        )
        if stopped is not None:
            rounds.stop(stopped)
        else:
            rounds.run()
            rounds.ensure_still_there(number)
        self.spent(rounds.turns, rounds.seconds)
        return rounds
