"""Making a finding of a registered check."""

from collections.abc import Hashable, Iterable
from typing import Protocol, TypeVar

from turncheck.messages.finding import Finding
from turncheck.messages.location import Location
from turncheck.validation.registry import CHECKS


class Placed(Protocol):
    """What has a place."""

    @property
    def location(self) -> Location:
        """Where."""


Key = TypeVar("Key", bound=Hashable)
Use = TypeVar("Use")


def gathered(uses: Iterable[tuple[Key, Use]]) -> dict[Key, list[Use]]:
    """Gather what is used by what it is a use of, in the order of the first uses: each makes one finding."""
    by_key: dict[Key, list[Use]] = {}
    for key, use in uses:
        by_key.setdefault(key, []).append(use)
    return by_key


def places_of(steps: Iterable[Placed]) -> tuple[Location, ...]:
    """Return the places of steps, each once."""
    return tuple(dict.fromkeys(step.location for step in steps))


def found(
    code: str, message: str, location: Location, suggestion: str = "", others: Iterable[Location] = ()
) -> Finding:
    """Return a finding at the true severity of its check, with the manual's advice as hint.

    ``suggestion`` ("Did you mean 'utter_greet'?") is put behind the message, where every output shows it.

    A comment at one of ``others`` suppresses it just as one at ``location``.
    """
    check = CHECKS[code]
    return Finding(
        code, check.severity, f"{message} {suggestion}" if suggestion else message, location, check.text, tuple(others)
    )
