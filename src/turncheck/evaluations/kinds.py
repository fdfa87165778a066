"""The kinds of evaluations there are, in their running order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.evaluations.batch import BATCH
from turncheck.evaluations.core import CORE
from turncheck.evaluations.e2e import E2E
from turncheck.evaluations.nlu import NLU
from turncheck.evaluations.robustness import ROBUSTNESS
from turncheck.evaluations.strength import STRENGTH
from turncheck.evaluations.validate import VALIDATE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.evaluations.kind import EvaluationKind
    from turncheck.report.evaluations import Evaluation

KINDS: Final[Mapping[str, EvaluationKind]] = {
    kind.name: kind
    for kind in (
        VALIDATE,
        NLU,
        CORE,
        E2E,
        BATCH,
        ROBUSTNESS,
        STRENGTH,
    )
}
BY_DEFAULT: Final[tuple[Evaluation, ...]] = tuple(kind.name for kind in KINDS.values() if not kind.on_request)
"""Those that run unless others are asked for."""
TESTS: Final[Mapping[str, tuple[str, str]]] = {name: kind.tests for name, kind in KINDS.items() if kind.tests}
"""What the tests of an evaluation are called, one and many, for those that have tests."""
CASES: Final[Mapping[str, tuple[str, str]]] = {"nlu": ("sentence", "sentences"), **TESTS}
"""The same, and what is judged one by one without being a test."""
WITHOUT_TESTS: Final[Mapping[Evaluation, str]] = {kind.name: kind.judges for kind in KINDS.values() if kind.judges}
"""What is judged by those that need no tests."""
