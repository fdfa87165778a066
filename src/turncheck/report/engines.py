"""One set of tests, asked of several engines: ``engines.json``."""

from __future__ import annotations

from typing import Final, Literal

from turncheck.messages.finding import Location
from turncheck.report.model import ProjectInfo, Source, Tool
from turncheck.report.part import Count, Figure, Part, Whole

ENGINES_SCHEMA: Final = "turncheck/engines/v1"

TestKind = Literal["sentence", "story", "end-to-end case", "batch case"]
Side = Literal["better", "worse", ""]


class EngineAnswer(Part, frozen=True, kw_only=True):
    """What one engine made of a test."""

    got: str
    """What it understood or did."""
    passed: bool
    """Whether that is what the test expects."""


class ComparedTest(Part, frozen=True, kw_only=True):
    """One test, and what each engine made of it."""

    kind: TestKind
    """What it is."""
    name: str
    """Its words, or its name."""
    suite: str = ""
    """The batch suite that it is in."""
    location: Location
    """Where it is."""
    expected: str
    """What it expects."""
    answers: tuple[EngineAnswer | None, ...]
    """The engines' answers, in their order; ``None`` where an engine has none."""
    sides: tuple[Side, ...]
    """Which engines changed sides against the reference, in their order."""
    agree: bool | None
    """Whether all engines that answered say the same; ``None`` with fewer than two answers."""


class ComparedEngine(Part, frozen=True, kw_only=True):
    """One engine, a column."""

    name: str
    """As it was named: ``kore:published``."""
    engine: str = ""
    """What answered, with its version; empty where nothing did."""
    model: str = ""
    """Its model, or the name of the assistant."""
    problem: str = ""
    """Why it did not answer, or not everything; empty if it did."""
    left_out: dict[str, str] = {}
    """Why it was not asked for tests of a kind, by the name of the evaluation."""
    seconds: Figure = 0.0
    """How long it took, training included."""
    answered: Count = 0
    """The tests that it answered."""
    right: Count = 0
    """Those that passed."""
    compared: Count = 0
    """The tests that both it and the reference answered."""
    agreeing: Count = 0
    """Those of them in which both say the same."""
    better: Count = 0
    """Those that pass with it and not with the reference."""
    worse: Count = 0
    """Those that pass with the reference and not with it."""

    @property
    def agreement(self) -> float | None:
        """The share of the tests in which it says the same as the reference."""
        return self.agreeing / self.compared if self.compared else None

    @property
    def share_right(self) -> float | None:
        """The share of its answers that pass."""
        return self.right / self.answered if self.answered else None


class EngineGate(Part, frozen=True, kw_only=True):
    """A rule for the comparison, and its outcome."""

    rule: str
    """As it was given: ``agreement >= 0.9``."""
    outcome: Literal["passed", "failed", "not judged"]
    """Whether it holds; it is not judged if an engine that it is about did not answer."""
    metric: str
    """The figure that it is about."""
    value: Figure | None = None
    """What it is; ``None`` if nothing was compared."""
    operator: Literal[">=", "<=", "==", ">", "<"]
    """How it has to be to the limit."""
    limit: Figure
    """The limit."""
    silent: tuple[str, ...] = ()
    """The engines that it is about and that did not answer everything."""


class EnginesCompared(Part, frozen=True, kw_only=True):
    """All of it."""

    schema: Literal["turncheck/engines/v1"] = ENGINES_SCHEMA
    """Which document this is, and in which version."""
    tool: Tool
    """What wrote it."""
    project: ProjectInfo
    """The assistant."""
    source: Source = Source()
    """Which state of it was asked, and when."""
    engines: tuple[ComparedEngine, ...]
    """The engines, in the order in which they were named."""
    reference: Whole = -1
    """The engine that the others are compared with: the first that answered; -1 if none did."""
    compared: Count = 0
    """The tests that at least two engines answered."""
    agreeing: Count = 0
    """Those in which all that answered say the same."""
    on_training: Count = 0
    """The tests that are training sentences of the project: what was trained on them is shown too well."""
    tests: tuple[ComparedTest, ...] = ()
    """The tests, by kind, in the order of their files."""
    gates: tuple[EngineGate, ...] = ()
    """The rules, judged."""

    @property
    def agreement(self) -> float | None:
        """The share of the compared tests in which all engines that answered say the same."""
        return self.agreeing / self.compared if self.compared else None
