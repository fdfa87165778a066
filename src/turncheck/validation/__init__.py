"""Project → findings. One module per family of checks; :mod:`.registry` knows every code."""

from turncheck.validation.pipeline import Validated, validate

__all__ = ["Validated", "validate"]
