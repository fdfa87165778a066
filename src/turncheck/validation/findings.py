"""Making a finding of a registered check."""

from turncheck.finding import Finding
from turncheck.location import Location
from turncheck.validation.registry import CHECKS


def found(code: str, message: str, location: Location, hint: str = "") -> Finding:
    """Return a finding at the true severity of its check. ``hint`` defaults to the advice of the manual."""
    check = CHECKS[code]
    return Finding(code, check.severity, message, location, hint or check.text)
