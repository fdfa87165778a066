"""End-to-end cases that passed on the base and fail here: is it because their messages are understood differently?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from turncheck.comparison.understood_differently import understood_differently, with_messages
from turncheck.evaluation.misunderstood import as_parse, lacks, with_neighbours
from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import count
from turncheck.project.story_sentences import with_story_sentences
from turncheck.validation.unused import learnable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.comparison.understood_differently import Suspects
    from turncheck.engines.base import Engine
    from turncheck.evaluation.e2e_steps import SlotOrder
    from turncheck.process.screen import Console
    from turncheck.project.e2e.model import E2ECase
    from turncheck.project.model import Project
    from turncheck.report.model import CaseMessage, CaseResult, Report
    from turncheck.run.inputs import Inputs
    from turncheck.settings.options import Settings


def slot_order_of(settings: Settings) -> SlotOrder:
    """Return how consecutive ``slot_was_set`` steps are judged."""
    return "any" if settings.slot_order == "any" else "strict"


class Rejudge(Protocol):
    """Runs cases again, with their messages understood as specified."""

    def passing(self, cases: Mapping[int, Sequence[CaseMessage]]) -> dict[int, bool]:
        """Judge the cases with these indices, each message understood as ``before`` says.

        Returns:
            Whether each passes; those that cannot be judged this way are omitted.
        """


@dataclass(frozen=True)
class EngineRejudge:
    """The cases of a finished measurement, run again by the same engine."""

    cases: Sequence[E2ECase]
    engines: Engine
    project: Project
    inputs: Inputs
    screen: Console

    def passing(self, cases: Mapping[int, Sequence[CaseMessage]]) -> dict[int, bool]:
        """See :class:`Rejudge`. Nothing is judged if the action server does not start a second time."""
        words = f"Judging {count(len(cases), 'end-to-end case')} again, understood as on the base"
        try:
            with self.screen.step("e2e-again", words):
                return self._passing(cases)
        except UserError as error:
            self.screen.note(f"Not judged again: {error.message}")
            return {}

    def _passing(self, cases: Mapping[int, Sequence[CaseMessage]]) -> dict[int, bool]:
        from turncheck.evaluation.e2e_case import CaseRun, run_case
        from turncheck.run.assistant import action_server  # the engine's imports are slow

        found = {}
        run = CaseRun(slot_order=slot_order_of(self.inputs.settings))
        with action_server(self.inputs, self.project, self.screen) as server:
            engine = self.engines.with_preset_parses(server)
            domain, known = engine.domain, learnable(self.project)
            for number, messages in cases.items():
                intents, entities = _needed(messages)
                in_domain = intents <= domain.used_entities.keys() and entities <= domain.domain.entities.keys()
                if in_domain and (known is None or all(known.holds(intent, entities) for intent in intents or {None})):
                    as_before = {
                        text: as_parse(text, message.before)
                        for message in messages
                        if message.before is not None and (text := message.text.strip())
                    }
                    outcome = run_case(engine.hearing(as_before), self.cases[number], run).result.outcome
                    if outcome != "error":
                        found[number] = outcome == "passed"
        return found


def rejudged_against_base(report: Report, base: Report, project: Project, judge: Rejudge | None) -> Report:
    """Mark the end-to-end cases whose messages are understood differently than on the base, if they passed there.

    A case that passes with its messages understood as they were there is ``misunderstood``: nothing else is wrong with
    it. An edited case does not count as one, nor does a case with an intent or entity that the domain no longer has.

    Args:
        report: the report of this run.
        base: the report that it is compared with.
        project: has the training sentences that drew messages away.
        judge: runs cases again; ``None`` if the engine cannot: then the cases stay failures.
    """
    suspects = understood_differently(report, base)
    if report.e2e is None or not suspects:
        return report
    passing = judge.passing(suspects) if judge is not None else {}
    explained = with_messages(report, _with_neighbours(suspects, project)).e2e or report.e2e
    cases = tuple(_held(case, passing.get(number)) for number, case in enumerate(explained.cases))
    outcomes = [case.outcome for case in cases]
    failed = outcomes.count("failed") + outcomes.count("error")
    section = replace(explained, cases=cases, failed=failed, misunderstood=outcomes.count("misunderstood"))
    return replace(report, e2e=section)


def _held(case: CaseResult, passes: bool | None) -> CaseResult:
    return case if passes is None else replace(case, as_before=passes, outcome="misunderstood" if passes else "failed")


def _needed(messages: Sequence[CaseMessage]) -> tuple[frozenset[str], frozenset[str]]:
    """The intents and entities that were understood before and are not now."""
    parts = [lacks(message.before, message.understood) for message in messages if message.before and message.understood]
    return frozenset().union(*(intents for intents, _ in parts)), frozenset().union(*(names for _, names in parts))


def _with_neighbours(suspects: Suspects, project: Project) -> Suspects:
    """The messages; those understood differently come with the training sentences that drew them away."""
    examples = with_story_sentences(project).nlu.examples
    sentences = [[one for m in case if (one := m.misunderstanding) is not None] for case in suspects.values()]
    judged = (misunderstanding for case in with_neighbours(sentences, examples) for misunderstanding in case)
    near = {
        (misunderstanding.text, misunderstanding.location): misunderstanding.neighbours for misunderstanding in judged
    }
    return {
        number: tuple(
            replace(message, neighbours=near[message.text, message.location]) if message.misunderstanding else message
            for message in case
        )
        for number, case in suspects.items()
    }
