"""What a run says of a CALM project without a model: how much was checked, which tests cannot pass, what tests name."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec import UNSET

from turncheck.evaluations.resolved import resolved_case
from turncheck.platforms.rasa.flows.asked import asked_with
from turncheck.platforms.rasa.flows.conditions import Parsed, turned, written
from turncheck.platforms.rasa.flows.du_commands import read_command
from turncheck.platforms.rasa.flows.expectations import expectations
from turncheck.platforms.rasa.flows.facts import FlowFacts
from turncheck.platforms.rasa.flows.payloads import read_payload
from turncheck.platforms.rasa.flows.reached import ReachedStep, keys_of, named_steps, walked_steps
from turncheck.platforms.rasa.flows.tests import lacking
from turncheck.project.e2e.model import FlowsAsserted, MessageAsserted
from turncheck.report.consistency import CheckedTest, Consistency, FlowCondition, FlowSteps, InconsistentTest
from turncheck.validation.facts import ProjectTests, gather

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.platforms.rasa.flows.model import Condition, Flow
    from turncheck.project.e2e.model import Assertion, E2ECase
    from turncheck.project.model import Project


class Checked:
    """A CALM project and its tests: ``consistency``, and what the tests name by kind (``exercised``)."""

    def __init__(self, facts: FlowFacts) -> None:
        self._facts = facts
        self._cases = self._facts.cases
        self._named = _named_by(self._cases)

    @property
    def exercised(self) -> dict[str, list[str]]:
        """What the tests name, by kind; a flow also by what only this flow says, asks or runs."""
        flows = {name for kind, name in self._named if kind == "flow"}
        owners: dict[tuple[str, str], set[str]] = {}
        for flow, step in self._facts.steps():
            for key in keys_of(step):
                owners.setdefault(key, set()).add(flow.name)
        for key in self._named:
            if len(owner := owners.get(key, set())) == 1:
                flows |= owner
        kinds = {"responses": "response", "actions": "action", "slots": "slot"}
        found = {kind: sorted(name for of, name in self._named if of == one) for kind, one in kinds.items()}
        return {**found, "flows": sorted(flows)}

    def steps(self, walked: Mapping[str, Sequence[str]] | None) -> Iterator[ReachedStep]:
        """Yield the steps of all flows: whether conversations walked them, or, if none ran, the tests name them."""
        flows = self._facts.flows.values()
        return named_steps(flows, self._named) if walked is None else walked_steps(flows, walked)

    @property
    def consistency(self) -> Consistency:
        """How much was checked against each other, and the tests that cannot pass."""
        first: dict[str, InconsistentTest] = {}
        is_complete = self._facts.is_whole and not {"domain", "stories"} & self._facts.facts.missing
        for one in lacking(self._facts, self._cases) if is_complete else ():
            test = InconsistentTest(
                name=one.case.name, location=one.case.location, lacks=f"{one.kind} '{one.name}'", at=one.location
            )
            first.setdefault(one.case.key, test)
        domain = self._facts.project.domain
        return Consistency(
            flows=tuple(self._of_flows()),
            slots=len(domain.slots),
            responses=len(domain.responses),
            tests=tuple(map(_checked_test, self._cases)),
            conditions=tuple(self._conditions()),
            inconsistent=tuple(first.values()),
            asked=asked_with(self._facts.project),
        )

    def _conditions(self) -> Iterator[FlowCondition]:
        for flow in self._facts.all_flows:
            for condition, leads_to, rejects in _leading(flow):
                parsed = self._facts.parsed(condition)
                if isinstance(parsed, Parsed):
                    yield FlowCondition(
                        flow=flow.slot or flow.name,
                        leads_to=leads_to,
                        meaning=written(parsed.root),
                        opposite=written(parsed.root, negated=True),
                        turned=turned(parsed.root),
                        rejects=rejects,
                        text=condition.text,
                        location=condition.location,
                    )

    def _of_flows(self) -> Iterator[FlowSteps]:
        for flow in self._facts.flows.values():
            reached = [step.covered for step in named_steps([flow], self._named)]
            collected = (one.name.name for one in flow.all_steps if one.kind == "collect" and one.name is not None)
            yield FlowSteps(
                flow=flow.name,
                location=flow.location,
                steps=len(reached),
                named=sum(reached),
                collects=tuple(dict.fromkeys(collected)),
            )


def checked(project: Project, cases: Sequence[E2ECase]) -> Checked | None:
    """Return what was checked; ``None`` if the project has no flows."""
    return Checked(FlowFacts(gather(project, tests=ProjectTests(cases=cases)))) if project.flows else None


def _checked_test(case: E2ECase) -> CheckedTest:
    resolved = resolved_case(case, "strict")
    return CheckedTest(
        name=case.name,
        location=case.location,
        content=_digest(case),
        expects=tuple(expectations(case)),
        resolved=resolved.digest,
        own=resolved.own,
        shared=resolved.shared,
        commands=True if any(turn.commands for turn in case.turns) else UNSET,
    )


def _digest(case: E2ECase) -> str:
    written = repr((case.fixtures, case.source)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(written).hexdigest()[:16]


def _leading(flow: Flow) -> Iterator[tuple[Condition, str, str]]:
    """Yield the conditions of a flow, what each leads to, and the slot whose values it rejects, if it does."""
    if flow.guard is not None:
        yield flow.guard, "the flow", ""
    for step in flow.all_steps:
        for branch in step.branches:
            if branch.condition is not None:
                first = branch.steps[0] if branch.steps else None
                inner = "" if first is None else f"{first.kind} {first.name.name if first.name is not None else ''}"
                yield branch.condition, inner if branch.step is None else f"step {branch.step.name}", ""
        for rejection in step.rejections:
            if rejection.condition is not None:
                said = rejection.utter.name if rejection.utter is not None else ""
                slot = flow.slot if step.name is None else step.name.name
                yield rejection.condition, f"rejection {said}", slot


def _named_by(cases: Iterable[E2ECase]) -> frozenset[tuple[str, str]]:
    return frozenset(name for case in cases for name in _named_in(case))


def _named_in(case: E2ECase) -> Iterator[tuple[str, str]]:
    for turn in case.turns:
        payload = read_payload(turn.user) if turn.user is not None else None
        if payload is not None:
            yield from (("slot", slot) for slot, _ in payload.slots)
            yield from (("flow", flow) for flow in payload.flows)
        for step in turn.expectations:
            if step.kind == "utter":
                yield "response", step.name
            elif step.kind == "slot_was_set":
                yield "slot", step.name
        for assertion in turn.assertions:
            yield from _asserted(assertion)
        for command in turn.commands:
            if (read := read_command(command.text)) is not None:
                yield from (("flow", flow) for flow in read.flows)
                if read.slot:
                    yield "slot", read.slot


def _asserted(assertion: Assertion) -> Iterator[tuple[str, str]]:
    wanted = assertion.wanted
    if isinstance(wanted, MessageAsserted):
        if wanted.utter_name is not None and assertion.kind == "bot_uttered":
            yield "response", wanted.utter_name
    elif isinstance(wanted, FlowsAsserted):
        yield from (("flow", flow) for flow in wanted.flows)
    elif isinstance(wanted, str):
        yield "action", wanted
    elif wanted is not None and assertion.kind == "slot_was_set":
        yield from (("slot", slot.name) for slot in wanted)
