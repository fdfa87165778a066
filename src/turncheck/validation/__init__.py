"""Project → findings. One module per family of checks; :mod:`.registry` knows every code."""

from turncheck.validation.validate import Validated, validate

__all__ = ["Validated", "validate"]
