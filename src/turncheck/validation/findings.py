"""Making a finding of a registered check."""

from turncheck.finding import Finding
from turncheck.location import Location
from turncheck.validation.registry import CHECKS


def found(code: str, message: str, location: Location, suggestion: str = "") -> Finding:
    """Return a finding at the true severity of its check, with the manual's advice as hint.

    ``suggestion`` ("Did you mean 'utter_greet'?") is put behind the message, where every output shows it.
    """
    check = CHECKS[code]
    return Finding(code, check.severity, f"{message} {suggestion}" if suggestion else message, location, check.text)
