"""The part of the report about files that were checked against each other, where no conversation needs to be run."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from turncheck.messages.finding import Location
from turncheck.report.part import Count, Part


class InconsistentTest(Part, frozen=True, kw_only=True):
    """A test that expects what nothing in the project can give: it can never pass."""

    name: str
    """Its name."""
    location: Location
    """Where it begins."""
    lacks: str
    """The first thing that it expects and that is not there."""
    at: Location
    """Where it expects that."""


class CheckedTest(Part, frozen=True, kw_only=True):
    """A test that was compared with the project."""

    name: str
    """Its name."""
    location: Location
    """Where it begins."""
    content: str
    """A digest of its steps, by which it is known under another name."""
    expects: tuple[str, ...] = ()
    """What it expects, by which it is known under another name, with other sentences."""
    resolved: str | UnsetType = UNSET
    """A digest of all that it says, sets and expects, in whatever file; reports of earlier versions lack it."""
    own: str | UnsetType = UNSET
    """A digest of what its own file adds to that."""
    shared: dict[str, str] | UnsetType = UNSET
    """What other files add to that, a digest each, by their paths."""
    commands: bool | UnsetType = UNSET
    """Whether it expects commands, which only `rasa test du` judges; left out of other tests."""


class FlowCondition(Part, frozen=True, kw_only=True):
    """A condition of a flow, in a form that only depends on what it means: negations stand at comparisons."""

    flow: str
    """The flow, or the slot that the condition validates."""
    leads_to: str
    """What follows if it is true."""
    meaning: str
    """The condition."""
    opposite: str
    """What is true whenever it is not, in the same form."""
    turned: tuple[str, ...] = ()
    """What it may have been before one of its comparisons was turned around, in the same form."""
    rejects: str = ""
    """The slot whose values it rejects, if it does."""
    text: str
    """The condition as written."""
    location: Location
    """Where it is."""


class FlowSteps(Part, frozen=True, kw_only=True):
    """How many steps of a flow the tests name: by the response, question, action, slot or flow of the step.

    A step that nobody sees is named with one that follows. One by one they are in `coverage`, as `flow_steps`.
    """

    flow: str
    """The flow."""
    location: Location
    """Where it is."""
    steps: Count
    """Its steps."""
    named: Count
    """Those that some test names."""
    collects: tuple[str, ...] = ()
    """The slots that it collects."""


class Consistency(Part, frozen=True, kw_only=True):
    """What was checked against each other, and the tests that cannot pass."""

    flows: tuple[FlowSteps, ...] = ()
    """The flows, in the order of the files."""
    slots: Count
    """The slots of the domain."""
    responses: Count
    """The responses of the domain."""
    tests: tuple[CheckedTest, ...] = ()
    """The test cases that were compared with the project."""
    conditions: tuple[FlowCondition, ...] = ()
    """The conditions of the flows that could be read."""
    inconsistent: tuple[InconsistentTest, ...] = ()
    """Those that can never pass."""
    asked: dict[str, str] | UnsetType = UNSET
    """What its language models are asked with, by place: models, parameters, prompts; earlier reports lack it."""

    @property
    def steps(self) -> int:
        """The steps of all flows."""
        return sum(flow.steps for flow in self.flows)

    @property
    def named(self) -> int:
        """The steps that some test names."""
        return sum(flow.named for flow in self.flows)
