"""All checks of flows, in order; the rows are in :mod:`.catalogue`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.platforms.rasa.flows import (
    commands,
    configuration,
    mentions,
    names,
    refused,
    steps,
    tests,
    truths,
    values,
)
from turncheck.platforms.rasa.flows.facts import FlowFacts
from turncheck.validation.findings import found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Finding
    from turncheck.validation.facts import Facts


def findings(facts: Facts) -> Iterator[Finding]:
    """Return all that is wrong with the flows of a project; nothing if it has none."""
    if facts.project.calm is not None:
        yield from findings_of(FlowFacts(facts))


def findings_of(known: FlowFacts) -> Iterator[Finding]:
    """Return all that is wrong with the flows of a project of which the names are collected."""
    for file in known.files:
        for fault in file.faults:
            yield found(fault.code, fault.message, fault.location, fault.hint)
    yield from steps.structure(known)
    yield from names.questions(known)
    yield from names.unfillable(known)
    yield from names.names_by_case(known)
    yield from names.repeated_flows(known)
    yield from refused.refused(known)
    yield from truths.truths(known)
    yield from configuration.configuration(known)
    yield from tests.faults_of_understanding(known)
    yield from values.assigned(known)
    if known.is_whole:
        yield from names.undefined_names(known)
        yield from names.undefined_in_stories(known)
        yield from names.unused(known)
        yield from commands.buttons(known)
        yield from mentions.mentions(known)
        yield from tests.findings_of_tests(known, known.cases)
