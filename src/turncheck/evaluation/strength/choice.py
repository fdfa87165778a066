"""Which of many possible tests to write first: those that notice the most unnoticed faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from turncheck.report.strength import Fault, SuggestedTest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from turncheck.evaluation.strength.trial import Trial
    from turncheck.messages.location import Location
    from turncheck.report.strength import MutantResult


def chosen_tests(trials: Sequence[Trial], unwalked: Collection[Location]) -> tuple[SuggestedTest, ...]:
    """Return tests that together notice every survivor that any of them notices, the most effective first.

    One by one, the test is chosen that notices the most remaining survivors. Then come tests along rules and stories
    that no test walks (``unwalked``, by place), if they notice what only validation does.
    """
    tests: dict[str, SuggestedTest] = {}
    names: dict[str, str] = {}
    survivors: dict[str, dict[int, MutantResult]] = {}
    warned: dict[str, dict[int, MutantResult]] = {}
    for number, trial in enumerate(trials):
        kind = survivors if trial.result.outcome == "survived" else warned
        for test in trial.noticed_by:
            name = names.setdefault(_what_is_done(test), test.name)  # two tests that do the same count as one
            tests.setdefault(name, test)
            kind.setdefault(name, {})[number] = trial.result

    def is_unwalked(name: str) -> bool:
        return tests[name].location in unwalked

    chosen: list[str] = []
    left = {number for noticed in survivors.values() for number in noticed}
    while left:
        best = min(survivors, key=lambda name: (-len(left & survivors[name].keys()), not is_unwalked(name), name))
        chosen.append(best)
        left -= survivors[best].keys()
    places = {tests[name].location for name in chosen}
    for name in sorted(warned, key=lambda name: (-len(warned[name]), name)):
        if is_unwalked(name) and tests[name].location not in places:
            chosen.append(name)
            places.add(tests[name].location)
    order = sorted(chosen, key=lambda name: (-len(survivors.get(name, ())), -len(warned.get(name, ())), name))
    return tuple(
        msgspec.structs.replace(
            tests[name],
            walked=not is_unwalked(name),
            notices=tuple(map(_fault, (*survivors.get(name, {}).values(), *warned.get(name, {}).values()))),
        )
        for name in order
    )


def _what_is_done(test: SuggestedTest) -> str:
    return repr((test.kind, test.steps, test.fixture))


def _fault(result: MutantResult) -> Fault:
    return Fault(operator=result.operator, what=result.what, location=result.location)
