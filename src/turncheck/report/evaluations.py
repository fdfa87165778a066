"""The evaluations there are, by their names."""

from typing import Final, Literal

Evaluation = Literal["validate", "nlu", "core", "e2e", "batch", "strength", "robustness"]
EVALUATIONS: Final[tuple[Evaluation, ...]] = ("validate", "nlu", "core", "e2e", "batch", "strength", "robustness")
"""Those that run, in their order."""
ON_REQUEST: Final[tuple[Evaluation, ...]] = ("strength", "robustness")
"""Those that only run on request."""
DEFAULT_EVALUATIONS: Final = tuple(name for name in EVALUATIONS if name not in ON_REQUEST)
