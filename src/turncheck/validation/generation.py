"""Which generation of Rasa a project is of: an older one explains most of what else is found in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.validation.findings import found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Finding
    from turncheck.validation.facts import Facts


def check_generation(facts: Facts) -> Iterator[Finding]:
    """What shows that a project is of Rasa 0.x, 1.x or 2.x."""
    legacy = facts.project.legacy
    if legacy is not None:
        places = [sign.location for sign in legacy.signs]
        yield found("legacy-project", f"{legacy.message}.", places[0], others=places[1:])
