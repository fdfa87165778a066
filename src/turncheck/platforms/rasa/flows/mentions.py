"""Names that the domain itself mentions: in its responses, in conditions of variations, and in slot mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.platforms.rasa.flows import vocabulary
from turncheck.validation.mappings import check_mappings
from turncheck.validation.response_variables import check_conditions, undefined_variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Finding
    from turncheck.platforms.rasa.flows.facts import FlowFacts

_OF_MAPPINGS: Final = frozenset({"mapping-entity-undefined", "mapping-intent-undefined", "mapping-role-undefined"})


def mentions(facts: FlowFacts) -> Iterator[Finding]:
    """Entities and intents of mappings, slots of conditions, and variables of responses that nothing defines."""
    for finding in check_mappings(facts.facts):
        if finding.code in _OF_MAPPINGS and not any(name.name in vocabulary.INTENTS for name in finding.names):
            yield finding
    for finding in check_conditions(facts.facts):
        if not any(name.name in vocabulary.SLOTS for name in finding.names):
            yield finding
    own = [one for one in facts.project.domain.responses.values() if not vocabulary.may_be_built_in(one.name)]
    yield from undefined_variables(facts.facts, own, facts.slots, facts.said_by_flows)
