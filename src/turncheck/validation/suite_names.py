"""Names in batch suites that the project does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.messages.finding import Finding
from turncheck.messages.suggestions import nearest
from turncheck.project.batch.model import comparable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from turncheck.messages.location import Location
    from turncheck.project.batch.known import KnownNames
    from turncheck.project.batch.model import SuiteCase, Suites


def unknown_names(suites: Suites, known: KnownNames) -> list[Finding]:
    """Return a finding for each intent, parent, trait and entity that the project lacks or has disabled.

    It is at the first place of the name.

    A project's intent `None` is reported too: in a suite that means no intent.

    In a project without intents, or without entities, these are not checked.
    """
    found: dict[tuple[str, str], Finding] = {}
    if none := known.intents.get("none"):
        place = next((case.intent_location for one in suites.suites for case in one.cases if not case.intents), None)
        if place is not None:
            message = f"The project has an intent '{none.name}'; in a suite that word expects no intent."
            hint = "Rename the intent: no suite can expect it."
            found["none", "none"] = Finding("suite-none-is-an-intent", "warning", message, place, hint)
    for suite in suites.suites:
        for case in suite.cases:
            for what, name, place, there in _named(case, known):
                if what == "intent" and comparable(name) in known.disabled.keys() - known.intents.keys():
                    found.setdefault((what, comparable(name)), _disabled(name, place))
                elif there and comparable(name) not in there:
                    is_trait = what == "intent" and comparable(name) in known.traits
                    finding = _unknown(what, name, place, there.values(), is_trait=is_trait)
                    found.setdefault((what, comparable(name)), finding)
    return list(found.values())


def _named(case: SuiteCase, known: KnownNames) -> Iterator[tuple[str, str, Location, Mapping[str, str]]]:
    intents = {key: one.name for key, one in known.intents.items()}
    traits = {key: one.name for key, one in known.traits.items()}
    for name in case.intents:
        if case.is_trait:
            yield "trait", name, case.intent_location, traits
        else:
            yield "intent", name, case.intent_location, intents
    for name in case.parent:
        yield "intent", name, case.intent_location, intents
    for entity in case.entities:
        yield "entity", entity.name, entity.location, known.entities


def _disabled(name: str, place: Location) -> Finding:
    message = f"The FAQ '{name[:80]}' is disabled: no utterance can match it."
    hint = "Enable it on the platform, or remove the case."
    return Finding("suite-disabled-name", "warning", message, place, hint)


def _unknown(what: str, name: str, place: Location, there: Iterable[str], *, is_trait: bool) -> Finding:
    if is_trait:
        message = f"The project has no intent '{name[:80]}', but a trait of this name."
        return Finding("suite-unknown-name", "warning", message, place, f"Write `trait: {name[:80]}`.")
    near = nearest(name, there)
    message = f"The project has no {what} '{name[:80]}'."
    words = f"{message} Did you mean '{near[0]}'?" if near else message
    hint = "Correct the name; otherwise the case can never pass."
    return Finding("suite-unknown-name", "warning", words, place, hint)
