"""What a gate is: a row of :mod:`turncheck.gates.table`, which every command may import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Subject = Literal[
    "the run", "faults", "errors", "warnings", "tests", "gone tests", "suppressions", "consistency", "anything tested",
    "an evaluation", "a figure",
]  # fmt: skip
"""What a gate can be about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A rule that can fail a run."""

    name: str
    """How its results are called; if it has rules, what comes before each: ``threshold: nlu.intents.f1 >= 0.85``."""
    about: tuple[Subject, ...]
    """What it judges; the most important first, which says how its failure is worded in the title."""
    rank: int
    """Its place in the title if several fail: causes before symptoms, gates about figures last."""
    judged_by: str
    """The function that judges it, ``module.function`` in this package: imported for it, since few commands judge."""
    manual: str
    """What fails the run, as the table of docs/gates.md has it."""
    setting: str = "fail-on"
    """The setting that switches it on: `fail-on` by its name, others by their value; "": nobody can switch it off."""
    written: str = ""
    """How docs/gates.md names it, if not by setting and name."""
    by_default: bool = False
    """Whether `fail-on: auto` stands for it: on a change if it is about what is new, else elsewhere."""
    new: bool = False
    """Whether it judges only what the base does not have."""
    needs_base: bool = False
    """Whether it cannot be judged without a base: an outage must not waive it."""

    @property
    def family(self) -> str:
        """The module that judges it; the module of the same name in `render/wording/reasons/` has its words."""
        return self.judged_by.partition(".")[0]

    @property
    def subject(self) -> Subject:
        """What it is mainly about."""
        return self.about[0]
