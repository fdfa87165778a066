"""A mutant: the project with one small fault, and the operators that make such faults."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from turncheck.engines.base import Trained, Trains
    from turncheck.messages.finding import Location
    from turncheck.project.model import Project

Lines = Mapping[str, Collection[int]]
"""Line numbers by file, as locations name it."""


@dataclass(frozen=True, slots=True)
class Operator:
    """A kind of fault. ``kind``: the part of a project in which it is made; ``reason``: why people make it."""

    name: str
    kind: str
    trains: Trains
    what: str
    reason: str
    steps: frozenset[str] | None = None
    """The kinds of pipeline steps that are trained on what was changed; ``None``: all of them."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """The project with one fault.

    ``what`` describes the fault; ``location`` is the line that is removed or altered, ``places`` are all such lines.
    ``touched`` names the intents, entities, actions, slots and forms that it concerns.
    """

    operator: Operator
    what: str
    location: Location
    project: Project
    touched: frozenset[str] = frozenset()
    places: tuple[Location, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies it, whatever else is in the project."""
        return self.operator.name, str(self.location), self.what

    def trained(self, original: Trained) -> Trained:
        """Train the parts that the operator names; everything else is the original's.

        Raises:
            UserError: the mutant cannot be trained.
        """
        return original.variant(self.project, self.operator.trains, self.operator.steps)


def is_changed(location: Location, changed: Lines) -> bool:
    """Whether a place is on one of these lines."""
    return location.line in changed.get(location.path, ())


OPERATORS: Final[tuple[Operator, ...]] = (
    Operator(
        "drop-intent", "sentences", "nlu", "all training sentences of an intent are removed",
        "a block is lost in a merge, or its heading is misspelt",
    ),
    Operator(
        "cut-intent", "sentences", "nlu", "an intent keeps only two of its training sentences",
        "an intent is added in a hurry, or sentences are moved away from it",
    ),
    Operator(
        "drop-annotation", "sentences", "nlu", "the annotation of one entity in one sentence is removed",
        "sentences are pasted from logs without their annotations",
    ),
    Operator(
        "drop-entity", "sentences", "nlu", "all annotations of an entity are removed",
        "an export or a conversion loses the annotations of one entity",
    ),
    Operator(
        "rename-role", "sentences", "nlu", "a role of an entity is renamed in the training sentences",
        "a role is renamed in the domain, and not in the sentences",
    ),
    Operator(
        "drop-synonym", "sentences", "nlu", "a synonym is removed",
        "a value is renamed, and its synonyms are forgotten", frozenset({"EntitySynonymMapper"}),
    ),
    Operator(
        "drop-lookup", "sentences", "nlu", "a lookup table is removed",
        "a table is moved to a file that is not read",
    ),
    Operator("drop-regex", "sentences", "nlu", "a regular expression is removed", "its name no longer fits its entity"),
    Operator(
        "replace-response", "responses", "nothing", "the text of a response is replaced",
        "the wrong text is pasted, or a placeholder text is left in",
    ),
    Operator(
        "swap-responses", "responses", "nothing", "two responses swap their texts",
        "texts are sorted or translated, and two get mixed up",
    ),
    Operator(
        "drop-step", "stories", "policies", "an action, a message, a slot or a loop of a rule or story is removed",
        "a line is lost while a story is edited",
    ),
    Operator(
        "swap-steps", "stories", "policies", "two consecutive actions are swapped",
        "steps are written down in the wrong order",
    ),
    Operator(
        "drop-rule-condition", "stories", "policies", "the condition of a rule is removed",
        "a rule is copied, and its condition is not",
    ),
    Operator(
        "rename-slot-value", "stories", "policies", "the value of a slot in a story or rule is changed",
        "a value is renamed in the domain, and not in the stories",
    ),
    Operator(
        "drop-mapping", "slots", "nothing", "a mapping of a slot is removed",
        "a slot is given a second mapping, and the first is replaced by it",
    ),
    Operator(
        "drop-mapping-condition", "slots", "nothing", "the conditions of a slot mapping are removed",
        "a mapping is copied to another form, and its conditions are not",
    ),
    Operator(
        "rename-category", "slots", "policies", "a value of a categorical slot is renamed",
        "a value is renamed in only one of several places",
    ),
    Operator(
        "drop-response-condition", "responses", "nothing", "the condition of a response variation is removed",
        "a variation is copied, and its condition is not",
    ),
    Operator(
        "drop-required-slot", "forms", "nothing", "a form no longer asks for a slot",
        "a question is dropped although its answer is still needed",
    ),
    Operator(
        "move-nlu-threshold", "config", "nlu", "a threshold of the pipeline is moved halfway to 1, or halved",
        "thresholds are tuned by trial and error", frozenset({"FallbackClassifier"}),
    ),
    Operator(
        "move-policy-threshold", "config", "policies", "a threshold of a policy is moved halfway to 1, or halved",
        "thresholds are tuned by trial and error",
    ),
    Operator(
        "drop-component", "config", "nlu", "a component of the pipeline is removed",
        "a pipeline is replaced by one that somebody recommends",
    ),
    Operator("drop-policy", "config", "policies", "a policy is removed", "policies are tidied up"),
)  # fmt: skip
"""All operators, in the order in which the manual lists them."""

BY_NAME: Final = {operator.name: operator for operator in OPERATORS}
