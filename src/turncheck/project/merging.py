"""Merges the contents of a project's files in the order of the files."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from turncheck.project.model import Domain, Flow, SessionConfig
from turncheck.project.nlu_data import Example, NluData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.project.formats.format import Parts


def merged_nlu(parts: Sequence[Parts]) -> NluData:
    """Merge the NLU data; of equal examples the first one counts."""
    data = [one.nlu for one in parts]
    examples, duplicates = _without_duplicates(tuple(chain.from_iterable(one.examples for one in data)))
    return NluData(
        examples,
        tuple(chain.from_iterable(one.synonyms for one in data)),
        tuple(chain.from_iterable(one.regexes for one in data)),
        tuple(chain.from_iterable(one.lookups for one in data)),
        duplicates,
    )


def merged_domain(domain: Domain, parts: Sequence[Parts]) -> Domain:
    """Add to the project's domain what its data define, such as responses in NLU files; the last definition wins."""
    for one in parts:
        if one.domain is not None:
            domain = _with(domain, one.domain)
    return domain


def merged_flows(parts: Sequence[Parts]) -> dict[str, Flow]:
    """Return the flows by name; of two with the same name the first."""
    flows: dict[str, Flow] = {}
    for flow in chain.from_iterable(one.flows for one in parts):
        flows.setdefault(flow.name, flow)
    return flows


def _with(domain: Domain, other: Domain) -> Domain:
    return Domain(
        intents={**domain.intents, **other.intents},
        entities={**domain.entities, **other.entities},
        slots={**domain.slots, **other.slots},
        forms={**domain.forms, **other.forms},
        responses={**domain.responses, **other.responses},
        actions={**domain.actions, **other.actions},
        end_to_end_actions=(*domain.end_to_end_actions, *other.end_to_end_actions),
        session=domain.session if other.session == SessionConfig() else other.session,
        location=domain.location,
        rasa=domain.rasa,
    )


def _without_duplicates(examples: tuple[Example, ...]) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Return the examples that Rasa keeps, and those it drops because an equal one came before."""
    first: dict[tuple[str, str | None], Example] = {}
    repeated = [
        example for example in examples if first.setdefault((example.text, example.intent), example) is not example
    ]
    if not repeated:
        return examples, ()
    seen = {key: [example] for key, example in first.items()}
    dropped = set()
    for example in repeated:
        others = seen[example.text, example.intent]
        if example in others:
            dropped.add(id(example))
        else:
            others.append(example)
    return (
        tuple(example for example in examples if id(example) not in dropped),
        tuple(example for example in repeated if id(example) in dropped),
    )
