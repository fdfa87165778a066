"""End-to-end cases and batch suites against the project: names that it does not have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from turncheck.dialogue.event_reading import ShapeError, from_json
from turncheck.dialogue.events import ActiveLoop, FollowupAction, SlotSet
from turncheck.messages.finding import Finding, Location, Name, Severity
from turncheck.messages.phrasing import nearest, suggestion
from turncheck.project.batch.model import KnownNames, SuiteCase, Suites, comparable
from turncheck.project.e2e.model import FlowsAsserted, MessageAsserted
from turncheck.project.e2e.reader import REPEATED, UNKNOWN
from turncheck.project.e2e.shapes import MESSAGE_KEYS
from turncheck.validation.payloads import payload_of
from turncheck.validation.slot_values import refused_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.project.e2e.model import Assertion, CaseTurn, E2ECase, E2ECases, Returned, Stub


_PLACEHOLDER: Final = re.compile(r"{([^\n{}\[.!:]+)")
MOCKED_TIME: Final = "mocked_datetime"
"""The slot with which newer versions of Rasa Pro set the time."""


def check_cases(read: E2ECases, domain: DialogueDomain, flows: Collection[str] = ()) -> list[Finding]:
    """Check the cases and stubs against the domain.

    A name that makes a case pass whatever happens, or that can neither be filled nor set, is an error; one that makes
    it fail is a warning, since that may be what the test is for. An assistant with ``flows`` has slots, actions and
    responses from Rasa Pro besides those of its domain: there everything is a warning.
    """
    findings = _all(read, domain, flows)
    if not flows:
        return findings
    return [replace(f, severity="warning") if f.code == "e2e-unknown-name" else f for f in findings]


def check_beside_flows(read: E2ECases, domain: DialogueDomain) -> list[Finding]:
    """Return what is wrong with cases that are held against flows and not run: with their files, and with stubs."""
    of_stubs = dict.fromkeys(finding for stub in read.stubs for finding in _of_stub(stub, domain))
    of_values = (finding for stub in read.stubs for event in stub.events for finding in _of_value(stub, event, domain))
    return [*map(as_not_run, read.findings), *of_stubs, *of_values]


def as_not_run(finding: Finding) -> Finding:
    """What is no error where nothing is run: two cases of one name, since Rasa runs both; keys of a later version."""
    is_eased = any(name.kind in {REPEATED, UNKNOWN} for name in finding.names)
    return replace(finding, code="e2e-doubtful", severity="warning") if is_eased else finding


def _all(read: E2ECases, domain: DialogueDomain, flows: Collection[str]) -> list[Finding]:
    findings: list[Finding] = []
    for stub in read.stubs:
        findings += _of_stub(stub, domain)
    for case in read.cases:
        findings += _of_fixtures(case, domain)
        for turn in case.turns:
            if not flows:
                findings += _of_message(turn, domain)
            findings += _of_steps(turn, domain)
            for assertion in turn.assertions:
                findings += _of_assertion(assertion, domain, flows)
    return list(dict.fromkeys(findings))  # a fixture of several cases is reported once


def _unknown(
    named: tuple[str, str], where: str, location: Location, known: Collection[str], severity: Severity = "error"
) -> Iterator[Finding]:
    """Yield a finding if the domain does not know what is ``named`` (its kind and name)."""
    kind, name = named
    if name not in known:
        message = f"The domain has no {kind} '{name}', which {where} names."
        names = (Name(kind, name),)
        yield Finding("e2e-unknown-name", severity, message, location, suggestion(name, known), names=names)


def _of_fixtures(case: E2ECase, domain: DialogueDomain) -> Iterator[Finding]:
    for filled in case.filled:
        if filled.slot != MOCKED_TIME:
            where = f"the fixture '{filled.fixture}'"
            yield from _unknown(("slot", filled.slot), where, filled.location, domain.slots)
        elif filled.slot not in domain.slots:
            message = f"'{MOCKED_TIME}' has no effect: custom actions have the clock of their server."
            yield Finding("e2e-doubtful", "warning", message, filled.location)


def _of_message(turn: CaseTurn, domain: DialogueDomain) -> Iterator[Finding]:
    """Yield what a message such as ``/order{"size": "large"}`` names: with an unknown intent it is read as text."""
    payload = payload_of(turn.user or "")
    if payload is not None:
        intent = payload.intent.partition("/")[0]
        yield from _unknown(("intent", intent), "a payload", turn.location, domain.used_entities, "warning")
        for name in payload.entities:
            yield from _unknown(("entity", name), "a payload", turn.location, domain.domain.entities, "warning")


def _of_steps(turn: CaseTurn, domain: DialogueDomain) -> Iterator[Finding]:
    for step in turn.expectations:
        if step.kind in {"slot_was_set", "slot_was_not_set"}:
            yield from _unknown(("slot", step.name), "a step", step.location, domain.slots)
        elif step.kind == "utter":
            yield from _unknown(("response", step.name), "a step", step.location, domain.domain.responses, "warning")


def _of_assertion(assertion: Assertion, domain: DialogueDomain, flows: Collection[str]) -> Iterator[Finding]:
    wanted, location, what = assertion.wanted, assertion.location, "an assertion"
    if isinstance(wanted, MessageAsserted):
        if wanted.utter_name is not None:
            severity: Severity = "error" if assertion.kind == "bot_did_not_utter" else "warning"
            yield from _unknown(("response", wanted.utter_name), what, location, domain.domain.responses, severity)
    elif isinstance(wanted, FlowsAsserted):
        for flow in wanted.flows:
            # Patterns are Rasa Pro's own flows, and without any flows the assertion is not judged.
            if flows and not flow.startswith("pattern_"):
                yield from _unknown(("flow", flow), what, location, flows, "warning")
    elif isinstance(wanted, str):
        yield from _unknown(("action", wanted), what, location, domain.actions, "warning")
    else:
        for slot in wanted or ():
            yield from _unknown(("slot", slot.name), what, location, domain.slots)


def _of_stub(stub: Stub, domain: DialogueDomain) -> Iterator[Finding]:
    """A stub's events must be ones that a server could send; its responses must be able to show its values."""
    yield from _unknown(("action", stub.action), "a stub", stub.location, domain.actions, "warning")
    for event in stub.events:
        try:
            read = from_json(event.content)
        except ShapeError as error:
            message = f"The stub of '{stub.action}' has an event that cannot be read: {error}."
            yield Finding("e2e-syntax", "error", message, event.location)
            continue
        if isinstance(read, SlotSet):
            yield from _unknown(("slot", read.name), "a stub", event.at("name"), domain.slots, "warning")
        elif isinstance(read, FollowupAction) and read.name is not None:
            yield from _unknown(("action", read.name), "a stub", event.at("name"), domain.actions, "warning")
        elif isinstance(read, ActiveLoop) and read.name is not None:
            yield from _unknown(("loop", read.name), "a stub", event.at("name"), domain.actions, "warning")
    for message_of in stub.responses:
        name = message_of.content.get("response")
        if name:
            location = message_of.at("response")
            yield from _unknown(("response", name), "a stub", location, domain.domain.responses, "warning")
        yield from _idle_values(message_of, domain)


def _of_value(stub: Stub, event: Returned, domain: DialogueDomain) -> Iterator[Finding]:
    """A value that a stub gives to a slot which cannot have it."""
    content = event.content
    slot = domain.slots.get(str(content.get("name"))) if content.get("event") == SlotSet.kind else None
    value = content.get("value")
    if slot is not None and value is not None and (listed := refused_value(slot, str(value))):
        shown = str(value)[:80]
        where = f"The stub of '{stub.action}' sets the {slot.type} slot '{slot.name}'"
        message = f"{where} to '{shown}', which it cannot have."
        yield Finding("e2e-doubtful", "warning", message, event.at("value"), suggestion(shown, listed))


def _idle_values(message: Returned, domain: DialogueDomain) -> Iterator[Finding]:
    """Yield a finding for each value without a placeholder in the named response: it would not be used."""
    name = message.content.get("response")
    response = domain.domain.responses.get(name or "")
    if name and response is None:
        return
    variations = response.variations if response is not None else ()
    shown = {name for variation in variations for name in _placeholders(dict(variation.content))}
    for key in message.content:
        if key not in MESSAGE_KEYS and key not in shown:
            hint = suggestion(key, (*MESSAGE_KEYS, *shown))
            if response is None:
                yield Finding("e2e-syntax", "error", f"'{key}' is not a key of a message.", message.at(key), hint)
            else:
                words = f"'{key}' is neither a key of messages nor a placeholder of '{response.name}'."
                yield Finding("e2e-doubtful", "warning", words, message.at(key), hint)


def _placeholders(content: Any) -> Iterator[str]:
    """Yield the names of all placeholders in a response's texts: ``city`` of ``{city}`` and of ``{city[name]}``."""
    if isinstance(content, str):
        yield from _PLACEHOLDER.findall(content)
    elif isinstance(content, dict):
        for below in content.values():
            yield from _placeholders(below)
    elif isinstance(content, (list, tuple)):
        for below in content:
            yield from _placeholders(below)


# Names in batch suites that the project does not have.


def unknown_names(suites: Suites, known: KnownNames) -> list[Finding]:
    """Return a finding for each intent, parent, trait and entity that the project lacks or has disabled.

    It is at the first place of the name.

    A project's intent `None` is reported too: in a suite that means no intent.

    In a project without intents, or without entities, these are not checked.
    """
    found: dict[tuple[str, str], Finding] = {}
    if none := known.intents.get("none"):
        location = next((case.intent_location for one in suites.suites for case in one.cases if not case.intents), None)
        if location is not None:
            message = f"The project has an intent '{none.name}'; in a suite that word expects no intent."
            hint = "Rename the intent: no suite can expect it."
            found["none", "none"] = Finding("suite-none-is-an-intent", "warning", message, location, hint)
    for suite in suites.suites:
        for case in suite.cases:
            for what, name, location, there in _named(case, known):
                if what == "intent" and comparable(name) in known.disabled.keys() - known.intents.keys():
                    found.setdefault((what, comparable(name)), _disabled(name, location))
                elif there and comparable(name) not in there:
                    is_trait = what == "intent" and comparable(name) in known.traits
                    finding = _unknown_in_suite(what, name, location, there.values(), is_trait=is_trait)
                    found.setdefault((what, comparable(name)), finding)
    return list(found.values())


def _named(case: SuiteCase, known: KnownNames) -> Iterator[tuple[str, str, Location, Mapping[str, str]]]:
    intents = {key: intent.name for key, intent in known.intents.items()}
    traits = {key: intent.name for key, intent in known.traits.items()}
    for name in case.intents:
        if case.is_trait:
            yield "trait", name, case.intent_location, traits
        else:
            yield "intent", name, case.intent_location, intents
    for name in case.parent:
        yield "intent", name, case.intent_location, intents
    for entity in case.entities:
        yield "entity", entity.name, entity.location, known.entities


def _disabled(name: str, location: Location) -> Finding:
    message = f"The FAQ '{name[:80]}' is disabled: no utterance can match it."
    hint = "Enable it on the platform, or remove the case."
    return Finding("suite-disabled-name", "warning", message, location, hint, about=(Name("intent", name),))


def _unknown_in_suite(what: str, name: str, location: Location, there: Iterable[str], *, is_trait: bool) -> Finding:
    if is_trait:
        message = f"The project has no intent '{name[:80]}', but a trait of this name."
        hint = f"Write `trait: {name[:80]}`."
        return Finding("suite-unknown-name", "warning", message, location, hint, about=(Name(what, name),))
    near = nearest(name, there)
    message = f"The project has no {what} '{name[:80]}'."
    words = f"{message} Did you mean '{near[0]}'?" if near else message
    hint = "Correct the name; otherwise the case can never pass."
    return Finding("suite-unknown-name", "warning", words, location, hint, about=(Name(what, name),))
