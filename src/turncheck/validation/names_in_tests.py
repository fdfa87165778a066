"""Tests compared with the domain: names that only a test uses, so that it cannot pass, or only for a wrong reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.dialogue.domain import SLOT_REQUESTED
from turncheck.messages.finding import Finding, Name
from turncheck.messages.phrasing import suggestion
from turncheck.project.model import ActionStep, ActiveLoopStep, OrStep, SlotWasSetStep, UserStep
from turncheck.validation.findings import found

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from turncheck.messages.location import Location
    from turncheck.project.e2e.model import E2ECase
    from turncheck.project.model import Step, Story
    from turncheck.validation.facts import Facts


_Named = tuple[str, str, str, "Location"]
"""The code of the finding, what is named, the name, and its place."""


def check_test_names(facts: Facts) -> Iterator[Finding]:
    """Names of test stories, test sentences and end-to-end cases that nothing defines, once for each name and file."""
    tests = facts.tests
    intents = facts.intents | facts.nlu_intents.keys()
    known: dict[str, Collection[str]] = {
        "action": facts.actions | facts.responses,
        "response": facts.responses,
        "intent": intents,
        "form": facts.forms,
        "slot": facts.slots | facts.default_slots | {SLOT_REQUESTED},
    }
    named = [*_of_stories(tests.stories, intents), *_of_cases(tests.cases)]
    named += [
        ("test-intent-undefined", "intent", example.base_intent, example.location)
        for example in tests.examples
        if example.base_intent
    ]
    places: dict[tuple[str, str, str, str], list[Location]] = {}
    for code, kind, name, place in named:
        if name not in known[kind]:
            places.setdefault((code, kind, name, place.path), []).append(place)
    for (code, kind, name, _), (first, *others) in places.items():
        called = "response" if kind == "action" and name.startswith("utter_") else kind
        message = f"A test names the {called} '{name}', which is not defined."
        near = suggestion(name, known[kind])
        yield found(code, message, first, near, others, names=(Name(called, name),))


def _of_stories(stories: Iterable[Story], intents: Collection[str]) -> Iterator[_Named]:
    for story in stories:
        for step in story.steps:
            yield from _of_step(step, intents)


def _of_step(step: Step, intents: Collection[str]) -> Iterator[_Named]:
    match step:
        case ActionStep(action=name) if name:
            yield "test-action-undefined", "action", name, step.location
        case UserStep() if step.base_intent and step.base_intent not in intents:
            # Without text nothing has to be understood: the dialogue may still go on as in the story.
            code = "test-intent-undefined" if step.text else "test-name-undefined"
            yield code, "intent", step.base_intent, step.location
        case ActiveLoopStep(name=str() as name):
            yield "test-name-undefined", "form", name, step.location
        case SlotWasSetStep():
            yield "test-name-undefined", "slot", step.slot, step.location
        case OrStep():
            for alternative in step.alternatives:
                for part in alternative:
                    yield from _of_step(part, intents)
        case _:
            pass


def _of_cases(cases: Sequence[E2ECase]) -> Iterator[_Named]:
    """Responses that a case waits for; other names in cases are checked when the cases are read to be run."""
    if not cases:
        return
    from turncheck.project.e2e.model import MessageAsserted  # most projects have no such cases

    for case in cases:
        for turn in case.turns:
            for step in turn.expectations:
                if step.kind == "utter":
                    yield "test-action-undefined", "response", step.name, step.location
            for assertion in turn.assertions:
                wanted = assertion.wanted
                awaited = assertion.kind != "bot_did_not_utter"
                if awaited and isinstance(wanted, MessageAsserted) and wanted.utter_name is not None:
                    yield "test-action-undefined", "response", wanted.utter_name, assertion.location
