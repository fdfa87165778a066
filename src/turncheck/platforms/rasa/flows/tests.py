"""Tests against the project, without a model: what they expect and nothing in the project can give.

Such a test can never pass, whatever is understood.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from turncheck.messages.finding import Location, Name
from turncheck.messages.phrasing import count, misspelt, shortened
from turncheck.platforms.rasa.flows import vocabulary
from turncheck.platforms.rasa.flows.du_commands import read_command
from turncheck.platforms.rasa.flows.model import PATTERN
from turncheck.platforms.rasa.flows.names import says_nothing
from turncheck.platforms.rasa.flows.payloads import read_payload
from turncheck.platforms.rasa.flows.said import Sayings
from turncheck.project.e2e.model import FlowsAsserted, MessageAsserted, SlotAsserted
from turncheck.project.testfiles import misspelt_cases
from turncheck.validation.case_names import as_not_run
from turncheck.validation.findings import found
from turncheck.validation.slot_values import refused_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from turncheck.messages.finding import Finding
    from turncheck.platforms.rasa.flows.facts import FlowFacts
    from turncheck.project.e2e.model import Assertion, CaseTurn, E2ECase
    from turncheck.project.model import Slot

GENERATED: Final = "placeholder_generated_answer"
"""In place of a response that a model writes."""
_BOTH: Final = 2
_UNQUOTED: Final = frozenset({"bool", "float"})
_LONGEST: Final = 80
_AUTOMATIC: Final = re.compile(r"\d+_\w.*")
"""The id that Rasa gives to a step without one: its number in the flow, and what it is."""


class Lacking(NamedTuple):
    """Something that a test names and the project lacks: ``what`` completes "The test case '…' ".

    ``is_expected``: the test can never pass; else it only begins otherwise than written.
    """

    case: E2ECase
    kind: str
    name: str
    what: str
    location: Location
    known: tuple[str, ...] = ()
    is_expected: bool = True


def lacking(facts: FlowFacts, cases: Iterable[E2ECase]) -> Iterator[Lacking]:
    """Yield what the cases name and the project lacks, in their order."""
    reader = _Cases(facts)
    for case in cases:
        yield from reader.of_case(case)


def findings_of_tests(facts: FlowFacts, cases: Iterable[E2ECase]) -> Iterator[Finding]:
    """Return a finding for each name that tests expect and the project lacks, once for each file."""
    groups: dict[tuple[str, str, str, bool], list[Lacking]] = defaultdict(list)
    for one in lacking(facts, cases):
        groups[one.kind, one.name, one.location.path, one.is_expected].append(one)
    for (kind, name, _, is_expected), (first, *others) in groups.items():
        near = facts.meant(kind, name, first.known) if first.known else ""
        more = tuple(dict.fromkeys(one.location for one in others))
        several = len({one.case.name for one in (first, *others)})
        do = "does" if several == _BOTH else "do"
        also = f" So {do} {count(several - 1, 'other case')}." if several > 1 else ""
        message = f"The test case '{first.case.name}' {first.what}.{also}"
        yield found(
            "flow-test-cannot-pass" if is_expected else "flow-test-names-nothing",
            message,
            first.location,
            near,
            more,
            names=(Name(kind, name),),
        )
    yield from _unknown_commands(cases)
    yield from _never_set(facts, cases)
    yield from _unheard_texts(facts, cases)


def faults_of_understanding(facts: FlowFacts) -> Iterator[Finding]:
    """Faults of dialogue understanding tests, which nothing here runs."""
    yield from (as_not_run(finding) for finding in facts.understanding.findings if finding.severity == "error")
    for path, line, key in misspelt_cases(facts.project.root):
        message = f"Nothing reads the key '{key}' of '{path}'."
        yield found("key-unknown", message, Location(path, line, 1), "Did you mean 'test_cases'?")


def _unknown_commands(cases: Iterable[E2ECase]) -> Iterator[Finding]:
    for case in cases:
        for turn in case.turns:
            for command in turn.commands:
                if read_command(command.text) is None:
                    message = f"'{command.text[:80]}' is not a command that is known here; nothing checks it."
                    names = (Name("command", command.text[:80]),)
                    yield found("flow-test-command-unknown", message, command.location, names=names)


def _never_set(facts: FlowFacts, cases: Iterable[E2ECase]) -> Iterator[Finding]:
    """Slots that tests want not to be set, and that do not exist: once for each file."""
    places: dict[tuple[str, str], list[tuple[E2ECase, Location]]] = defaultdict(list)
    for case in cases:
        for name, location in _not_to_be_set(case):
            if name not in facts.slots:
                places[name, location.path].append((case, location))
    for (name, _), ((case, location), *others) in places.items():
        message = f"The test case '{case.name}' wants '{name}' not to be set, a slot that the domain does not define."
        near, more = facts.meant("slot", name, facts.facts.slots), tuple(place for _, place in others)
        yield found("flow-test-slot-unknown", message, location, near, more, names=(Name("slot", name),))


def _not_to_be_set(case: E2ECase) -> Iterator[tuple[str, Location]]:
    for turn in case.turns:
        yield from ((step.name, step.location) for step in turn.expectations if step.kind == "slot_was_not_set")
        for assertion in turn.assertions:
            slots = assertion.wanted if assertion.kind == "slot_was_not_set" else ()
            for slot in slots if isinstance(slots, tuple) else ():
                yield slot.name, assertion.at(slot.name)


def _unheard_texts(facts: FlowFacts, cases: Iterable[E2ECase]) -> Iterator[Finding]:
    """Texts that no response of the project says; one of Rasa's own may still say them."""
    sayings = Sayings(facts)
    for case in cases:
        for text, location, whole in _expected_texts(case):
            if sayings.is_unheard(case, text, whole=whole):
                message = (
                    f"The test case '{case.name}' expects the text '{shortened(text, _LONGEST)}'; no response says it."
                )
                yield found("flow-test-text-unknown", message, location, names=(Name("text", text[:_LONGEST]),))


def _expected_texts(case: E2ECase) -> Iterator[tuple[str, Location, bool]]:
    """Yield the texts that a case expects, and whether each is all of a message."""
    for turn in case.turns:
        yield from ((step.name, step.location, True) for step in turn.expectations if step.kind == "bot")
        for assertion in turn.assertions:
            match assertion.wanted:
                case MessageAsserted(utter_name=None, text_matches=str(text)) if assertion.kind == "bot_uttered":
                    yield text, assertion.at(text), False
                case _:
                    pass


class _Cases:
    """Compares cases with a project."""

    def __init__(self, facts: FlowFacts) -> None:
        self._facts = facts
        self._sayings = Sayings(facts)
        self._silent = frozenset(says_nothing(facts))
        self._titles = {
            *facts.flow_names,
            *(flow.title for flow in facts.flows.values() if flow.title),
            *(re.sub("[_-]", " ", name) for name in facts.flow_names),
        }

    def of_case(self, case: E2ECase) -> Iterator[Lacking]:
        """Yield what one case names and the project lacks."""
        for filled in case.filled:
            value = case.slots.get(filled.slot)
            verb = f"fills the slot '{filled.slot}' by the fixture '{filled.fixture}'"
            yield from self._slot(case, filled.slot, value, verb, filled.location, is_expected=False)
        for turn in case.turns:
            yield from self._sent(case, turn)
            for step in turn.expectations:
                if step.kind == "utter":
                    yield from self._response(case, step.name, step.location)
                elif step.kind == "slot_was_set":  # what does not exist is not set
                    value = step.value if step.has_value else None
                    verb = f"expects the slot '{step.name}'"
                    yield from self._slot(case, step.name, value, verb, step.location)
            for assertion in turn.assertions:
                yield from self._assertion(case, assertion)
            for command in turn.commands:
                read = read_command(command.text)
                for flow in read.flows if read is not None else ():
                    yield from self._flow(case, flow, "expects a command for the flow", command.location)
                if read is not None and read.slot:
                    verb = f"expects a command for the slot '{read.slot}'"
                    slot = self._facts.slot(read.slot)
                    is_number = slot is not None and slot.type == "float"  # a model may take any text for one
                    value = None if is_number else read.value
                    yield from self._slot(case, read.slot, value, verb, command.location)

    def _sent(self, case: E2ECase, turn: CaseTurn) -> Iterator[Lacking]:
        payload = read_payload(turn.user) if turn.user is not None else None
        if payload is None:
            return
        if payload.fault:
            what = f"sends '{(turn.user or '')[:80]}', which cannot be read: {payload.fault}"
            yield Lacking(case, "payload", turn.user or "", what, turn.location, is_expected=False)
        for slot, value in payload.slots:
            yield from self._slot(case, slot, value, f"sets the slot '{slot}'", turn.location, is_expected=False)
        for flow in payload.flows:
            yield from self._flow(case, flow, "starts the flow", turn.location)

    def _assertion(self, case: E2ECase, assertion: Assertion) -> Iterator[Lacking]:
        wanted, at = assertion.wanted, assertion.at
        if isinstance(wanted, MessageAsserted):
            if wanted.utter_name is not None and assertion.kind == "bot_uttered":
                yield from self._response(case, wanted.utter_name, at(wanted.utter_name))
                yield from self._said(case, wanted.utter_name, wanted, at)
        elif isinstance(wanted, FlowsAsserted):
            missing = [flow for flow in wanted.flows if not self._has_flow(flow)]
            if not wanted.any or len(missing) == len(wanted.flows):
                for flow in missing:
                    yield from self._flow(case, flow, "expects the flow", at(flow))
            if wanted.step is not None and not missing:
                yield from self._step(case, wanted.flows[0], wanted.step, at(wanted.step))
        elif isinstance(wanted, str):
            known = self._facts.actions | self._facts.responses
            if wanted not in known and not vocabulary.may_be_built_in(wanted):
                what = f"expects the action '{wanted}', which the domain does not list"
                yield Lacking(case, "action", wanted, what, at(wanted), tuple(self._facts.facts.actions))
        elif isinstance(wanted, tuple):
            for slot in wanted if assertion.kind == "slot_was_set" else ():
                value = slot.value if slot.has_value else None
                is_known = slot.name in self._facts.slots
                place = at(str(value)) if is_known and value is not None else at(slot.name)
                yield from self._slot(case, slot.name, value, f"expects the slot '{slot.name}'", place)
                yield from self._quoted(case, slot, place)
        elif assertion.kind == "pattern_clarification_contains":
            yield from self._offered(case, assertion)
        elif isinstance(assertion.value, dict) and isinstance(name := assertion.value.get("utter_name"), str):
            yield from self._response(case, name, at(name))  # of an assertion that a model judges

    def _offered(self, case: E2ECase, assertion: Assertion) -> Iterator[Lacking]:
        """Flows that the user should be asked to choose between, by name or id; with ``any`` one is enough."""
        value = assertion.value
        flows = value.get("flow_ids", ()) if isinstance(value, dict) else value
        missing = [flow for flow in flows if flow not in self._titles]
        is_enough = isinstance(value, dict) and value.get("operator") == "any" and len(missing) < len(flows)
        for flow in () if is_enough else missing:
            what = f"expects to be asked about the flow '{flow}', which does not exist"
            yield Lacking(case, "flow", str(flow), what, assertion.at(str(flow)), tuple(self._titles))

    # --- what there is ------------------------------------------------------------------------------------------------

    def _has_flow(self, name: str) -> bool:
        is_pattern = name.startswith(PATTERN) and misspelt(name, vocabulary.PATTERNS) is None  # of a later version
        return name in self._facts.flow_names or is_pattern

    def _flow(self, case: E2ECase, name: str, verb: str, location: Location) -> Iterator[Lacking]:
        if not self._has_flow(name):
            what = f"{verb} '{name}', which does not exist"
            yield Lacking(case, "flow", name, what, location, tuple(self._facts.flow_names))

    def _step(self, case: E2ECase, flow_name: str, step: str, location: Location) -> Iterator[Lacking]:
        flow = self._facts.flows.get(flow_name)
        if flow is None:
            return  # a pattern that the project does not override
        ids = {one.id.name for one in flow.all_steps if one.id is not None}
        named = {one.name.name for one in flow.all_steps if one.name is not None}
        ends = tuple(named | {"noop", "set_slots"})
        automatic = _AUTOMATIC.fullmatch(step) is not None and step.endswith(ends)
        if step not in ids | named | {"START", "END"} and not automatic:
            what = f"expects the step '{step}' of the flow '{flow_name}', which does not exist"
            yield Lacking(case, "step", step, what, location, tuple(ids | named))

    def _response(self, case: E2ECase, name: str, location: Location) -> Iterator[Lacking]:
        facts = self._facts
        if name == GENERATED or vocabulary.may_be_built_in(name):
            return
        if name not in facts.responses:
            what = f"expects the response '{name}', which does not exist"
            yield Lacking(case, "response", name, what, location, tuple(facts.facts.responses))
        elif name in self._silent:
            what = f"expects the response '{name}', which no flow, story or action says"
            yield Lacking(case, "response", name, what, location)

    def _said(
        self, case: E2ECase, response: str, wanted: MessageAsserted, at: Callable[[str], Location]
    ) -> Iterator[Lacking]:
        pattern, buttons = wanted.text_matches, wanted.buttons
        if pattern is not None and self._sayings.never_has(response, pattern):
            what = f"expects '{shortened(pattern, _LONGEST)}' of the response '{response}', which does not say that"
            yield Lacking(case, "text", pattern, what, at(pattern))
        if buttons is not None and self._sayings.never_shows(response, buttons):
            shown = ", ".join(text for button in buttons for text in [*button.values()][:1])
            what = f"expects the buttons '{shortened(shown, _LONGEST)}' of the response '{response}', which has others"
            first = next((text for button in buttons for text in button.values()), response)
            yield Lacking(case, "buttons", shown, what, at(first))

    def _slot(
        self, case: E2ECase, name: str, value: Any, verb: str, location: Location, *, is_expected: bool = True
    ) -> Iterator[Lacking]:
        slot = self._facts.slot(name)
        if slot is None and name not in self._facts.slots:
            what = f"{verb}, which the domain does not define"
            known: Collection[str] = self._facts.facts.slots
            yield Lacking(case, "slot", name, what, location, tuple(known), is_expected)
        elif slot is not None and value is not None and (listed := self._refused(slot, value)):
            what = f"{verb} with the value '{str(value)[:80]}', which is none of its values"
            yield Lacking(case, "value", str(value)[:80], what, location, listed, is_expected)

    def _quoted(self, case: E2ECase, asserted: SlotAsserted, location: Location) -> Iterator[Lacking]:
        """A boolean or number that an assertion gives as text: it compares types as well."""
        slot, value = self._facts.slot(asserted.name), asserted.value
        if slot is None or not isinstance(value, str) or slot.type not in _UNQUOTED or self._refused(slot, value):
            return
        if self._facts.is_filled_by_users(slot):
            what = f"expects the text '{value[:80]}' in the {slot.type} slot '{slot.name}', which never holds text"
            yield Lacking(case, "value", value[:80], f"{what}: omit the quotes", location)

    def _refused(self, slot: Slot, value: Any) -> tuple[str, ...]:
        is_open = slot.type == "float" and (isinstance(value, bool) or not self._facts.is_filled_by_users(slot))
        return () if is_open else refused_value(slot, str(value))
