"""The evaluations there are, by their names."""

from typing import Final, Literal, get_args

Evaluation = Literal[
    "validate",
    "nlu",
    "core",
    "e2e",
    "batch",
    "strength",
    "robustness",
]
EVALUATIONS: Final[tuple[Evaluation, ...]] = get_args(Evaluation)
""":mod:`turncheck.evaluations.kinds` says what each is, and in which order they run."""
