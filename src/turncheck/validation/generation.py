"""The generation of Rasa that a project is for: an older one explains most of the other findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.validation.findings import found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Finding
    from turncheck.validation.facts import Facts


def check_generation(facts: Facts) -> Iterator[Finding]:
    """What shows that a project is for Rasa 0.x, 1.x or 2.x, and which parts are for another version."""
    rasa = facts.project.rasa
    if rasa is None:
        return
    if rasa.others:
        places = [sign.location for sign in (*rasa.others, *rasa.signs[:1])]
        yield found("rasa-versions-mixed", rasa.mixture, places[0], others=places[1:], subject=rasa.name)
