"""Tests compared with the domain: names that only a test uses, so that it cannot pass, or only for a wrong reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.dialogue.domain import SLOT_REQUESTED
from turncheck.messages.finding import Finding, Location, Name
from turncheck.messages.phrasing import suggestion
from turncheck.project import model
from turncheck.validation.findings import found
from turncheck.validation.names import check_slot_values
from turncheck.validation.payloads import payload_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from turncheck.project.e2e.model import E2ECase
    from turncheck.project.nlu_data import Example
    from turncheck.validation.facts import Facts, ProjectTests


_Named = tuple[str, str, str, "Location"]
"""The code of the finding, what is named, the name, and its place."""


def check_test_names(facts: Facts) -> Iterator[Finding]:
    """Names of test stories, test sentences and end-to-end cases that nothing defines, once for each name and file."""
    tests = facts.tests
    intents = facts.intents | facts.nlu_intents.keys()
    known: dict[str, Collection[str]] = {
        "action": facts.actions | facts.responses,
        "bot message": facts.actions,
        "response": facts.responses,
        "intent": intents,
        "form": facts.forms,
        "slot": facts.slots | facts.default_slots | {SLOT_REQUESTED},
    }
    known["label"] = {*facts.retrieval_labels, *intents}
    named = [*_of_stories(tests.stories, intents), *_of_cases(tests.cases)]
    if facts.project.nlu.examples:
        named += _keys_of_tests(tests, intents)
    named += [
        ("test-intent-undefined", "intent", example.base_intent, example.location)
        for example in _first_below_each_name(tests.examples)
        if example.base_intent
    ]
    places: dict[tuple[str, str, str, str], list[Location]] = {}
    for code, kind, name, location in named:
        if name not in known[kind]:
            places.setdefault((code, kind, name, location.path), []).append(location)
    for (code, kind, name, _), (first, *others) in places.items():
        is_response = kind == "action" and name.startswith("utter_")
        called = "response" if is_response else "intent" if kind == "label" else kind
        why = "which no story or rule says" if kind == "bot message" else "which is not defined"
        message = f"A test names the {called} '{name}', {why}."
        near = suggestion(name, facts.retrieval_labels if kind == "label" else known[kind])
        yield found(code, message, first, near, others, names=(Name(called, name),))
    yield from _keys_as_actions(facts)
    slots = [(story, one) for story in tests.stories for one in story.steps if isinstance(one, model.SlotWasSetStep)]
    yield from check_slot_values(facts, slots)


def _keys_as_actions(facts: Facts) -> Iterator[Finding]:
    """Responses of retrieval intents that test stories name as actions: what runs is the action without the key."""
    learnt = {step.action for _, step in facts.action_steps()}
    places: dict[tuple[str, str], list[Location]] = {}
    for step in (step for story in facts.tests.stories for step in story.steps if isinstance(step, model.ActionStep)):
        name = step.action or ""
        action, _, key = name.partition("/")
        if key and name in facts.responses and name not in learnt and action in learnt:
            places.setdefault((name, step.location.path), []).append(step.location)
    for (name, _), (first, *others) in places.items():
        action = name.partition("/")[0]
        message = f"A test names the response '{name}' as an action; stories and rules have '{action}'."
        hint = f"Write '{action}', which chooses the response when it runs."
        yield found("test-action-undefined", message, first, hint, others, names=(Name("response", name),))


def _first_below_each_name(examples: Iterable[Example]) -> Iterable[Example]:
    """By all sentences below it, the name of an intent is used once."""
    first: dict[tuple[str | None, int], Example] = {}
    for example in examples:
        first.setdefault((example.intent, id(example.origin)), example)
    return first.values()


def _keys_of_tests(tests: ProjectTests, intents: Collection[str]) -> Iterator[_Named]:
    """Keys of retrieval intents that are known themselves."""
    for example in _first_below_each_name(tests.examples):
        if example.intent and "/" in example.intent and example.base_intent in intents:
            yield "test-intent-undefined", "label", example.intent, example.location
    for step in tests.user_steps():
        label = _named_by(step)
        base, slash, _ = label.partition("/")
        if slash and base in intents:
            yield _code_of_intent(step), "label", label, step.location


def _named_by(step: model.UserStep) -> str:
    """The intent with its key that a user step names, in a payload as its text, too; "" if it names none."""
    payload = payload_of(step.text or "") if step.intent is None else None
    return (payload.intent if payload else step.intent) or ""


def _code_of_intent(step: model.UserStep) -> str:
    """Without a sentence nothing has to be understood: the dialogue may still go on as in the story."""
    return "test-intent-undefined" if step.text and step.intent else "test-name-undefined"


def _of_stories(stories: Iterable[model.Story], intents: Collection[str]) -> Iterator[_Named]:
    for story in stories:
        for step in story.steps:
            yield from _of_step(step, intents)


def _of_step(step: model.Step, intents: Collection[str]) -> Iterator[_Named]:
    match step:
        case model.ActionStep(action=name) if name:
            yield "test-action-undefined", "action", name, step.location
        case model.BotStep(text=str() as text) if text:  # an action of its own, known from end-to-end stories only
            yield "test-action-undefined", "bot message", text, step.location
        case model.UserStep() if (base := _named_by(step).partition("/")[0]) and base not in intents:
            yield _code_of_intent(step), "intent", base, step.location
        case model.ActiveLoopStep(name=str() as name):
            yield "test-name-undefined", "form", name, step.location
        case model.SlotWasSetStep():
            yield "test-name-undefined", "slot", step.slot, step.location
        case model.OrStep():
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
