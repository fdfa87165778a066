"""Making a finding of a registered check."""

from collections.abc import Iterable

from turncheck.finding import Finding
from turncheck.location import Location
from turncheck.validation.registry import CHECKS


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
