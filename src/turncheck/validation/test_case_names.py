"""End-to-end cases against the domain: what they name and the domain does not have."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from turncheck.dialogue.event_reading import from_json
from turncheck.finding import Finding
from turncheck.project.e2e_model import FlowsAsserted, MessageAsserted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.finding import Severity
    from turncheck.location import Location
    from turncheck.project.e2e_model import Assertion, CaseTurn, E2ECase, E2ECases, Stub

MOCKED_TIME: Final = "mocked_datetime"
"""The slot by which newer Rasa Pro versions fix the time."""


def check_cases(read: E2ECases, domain: DialogueDomain, flows: Collection[str] = ()) -> list[Finding]:
    """Hold the cases and stubs against the domain.

    A name that makes a case pass whatever happens, or that can neither be filled nor set, is an error; one that makes
    it fail is a warning, since that may be what the test is for. An assistant with ``flows`` has slots, actions and
    responses of Rasa Pro's own beside those of its domain: there all of it is a warning.
    """
    found = _all(read, domain, flows)
    if not flows:
        return found
    return [replace(f, severity="warning") if f.code == "e2e-unknown-name" else f for f in found]


def _all(read: E2ECases, domain: DialogueDomain, flows: Collection[str]) -> list[Finding]:
    findings: list[Finding] = []
    for stub in read.stubs:
        findings += _of_stub(stub, domain)
    for case in read.cases:
        findings += _of_fixtures(case, domain)
        for turn in case.turns:
            findings += _of_steps(turn, domain)
            for assertion in turn.assertions:
                findings += _of_assertion(assertion, domain, flows)
    return findings


def _unknown(
    named: tuple[str, str], where: str, location: Location, known: Collection[str], severity: Severity = "error"
) -> Iterator[Finding]:
    """Yield a finding where the domain does not know what is ``named`` (its kind and name)."""
    kind, name = named
    if name not in known:
        close = get_close_matches(name, known, 1)
        hint = f"Did you mean '{close[0]}'?" if close else ""
        message = f"The domain has no {kind} '{name}', which {where} names."
        yield Finding("e2e-unknown-name", severity, message, location, hint)


def _of_fixtures(case: E2ECase, domain: DialogueDomain) -> Iterator[Finding]:
    for slot in case.slots:
        if slot != MOCKED_TIME:
            yield from _unknown(("slot", slot), f"a fixture of '{case.name}'", case.location, domain.slots)
        elif slot not in domain.slots:
            message = f"'{MOCKED_TIME}' has no effect: custom actions have the clock of their server."
            yield Finding("e2e-doubtful", "warning", message, case.location)


def _of_steps(turn: CaseTurn, domain: DialogueDomain) -> Iterator[Finding]:
    for step in turn.expectations:
        if step.kind in {"slot_was_set", "slot_was_not_set"}:
            yield from _unknown(("slot", step.name), "a step", step.location, domain.slots)
        elif step.kind == "utter":
            yield from _unknown(("response", step.name), "a step", step.location, domain.domain.responses, "warning")


def _of_assertion(assertion: Assertion, domain: DialogueDomain, flows: Collection[str]) -> Iterator[Finding]:
    wanted, place, what = assertion.wanted, assertion.location, "an assertion"
    if isinstance(wanted, MessageAsserted):
        if wanted.utter_name is not None:
            severity: Severity = "error" if assertion.kind == "bot_did_not_utter" else "warning"
            yield from _unknown(("response", wanted.utter_name), what, place, domain.domain.responses, severity)
    elif isinstance(wanted, FlowsAsserted):
        for flow in wanted.flows:
            # Patterns are flows of Rasa Pro's own, and without any flows the assertion is not judged.
            if flows and not flow.startswith("pattern_"):
                yield from _unknown(("flow", flow), what, place, flows, "warning")
    elif isinstance(wanted, str):
        yield from _unknown(("action", wanted), what, place, domain.actions, "warning")
    else:
        for slot in wanted or ():
            yield from _unknown(("slot", slot.name), what, place, domain.slots)


def _of_stub(stub: Stub, domain: DialogueDomain) -> Iterator[Finding]:
    """A stub's events must be ones that an action server could send."""
    yield from _unknown(("action", stub.action), "a stub", stub.location, domain.actions, "warning")
    for shape in stub.events:
        problem = _problem(shape)
        if problem is not None:
            message = f"The stub of '{stub.action}' has an event that cannot be read: {problem}."
            yield Finding("e2e-syntax", "error", message, stub.location)
            continue
        if shape["event"] == "slot":
            yield from _unknown(("slot", shape["name"]), "a stub", stub.location, domain.slots, "warning")
    for message_of in stub.responses:
        name = message_of.get("response")
        if isinstance(name, str):
            yield from _unknown(("response", name), "a stub", stub.location, domain.domain.responses, "warning")


def _problem(shape: Mapping[str, Any]) -> str | None:
    """Return why an event is none that an action server could send."""
    if shape["event"] == "slot" and "value" not in shape:
        return "a slot event without a value"
    try:
        from_json(shape)
    except (ValueError, TypeError, AttributeError) as error:
        return str(error)
    return None
