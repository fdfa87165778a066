"""The evaluations there are, by their names."""

from typing import Final, Literal

Evaluation = Literal["validate", "nlu", "core", "e2e", "batch"]
EVALUATIONS: Final[tuple[Evaluation, ...]] = ("validate", "nlu", "core", "e2e", "batch")
"""Those that run, in their order."""
