"""What an engine can do with a project, and which parts of one it is trained on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.report.model import Evaluation

Part = Literal["nlu", "core"]
"""The two parts of an assistant: language understanding, and policies."""

NLU_PARTS: Final = frozenset({"nlu", "config", "pipeline"})
"""What language understanding is trained on; if stories are trained, too, their sentences are added."""
DIALOGUE_PARTS: Final = frozenset({"domain", "nlu", "responses", "stories", "config"})
"""What policies are trained on: NLU data and responses name intents and actions that stories use."""

NOTHING_TO_LEARN: Final = "the project has neither stories nor rules to learn from"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine can do with a project: reasons are those why it cannot (``None``: it can).

    ``no_nlu``, ``no_dialogue`` and ``no_conversation`` are about sentences, test stories and end-to-end cases;
    ``no_training`` about training the engines of folds. ``slow_training``: training takes minutes, with one at a time.
    ``trained_by_config``: what it refuses to train without naming a place is a fault of ``config.yml``.
    ``no_channel``: why conversations only use the engine's own channel. ``accepts_parses``: it holds conversations
    whose messages are understood as specified. ``stands_in``: it is not the assistant's own, and does not reproduce
    how a platform ranks. ``answers_suites``: it answers :meth:`Engines.answer_suite`, with ``no_batch`` as the reason
    if it cannot; others are asked sentence by sentence. ``unknown_intents``, ``unknown_entities``: why these cannot be
    recognised here, by their names (intents folded for comparison): they are not evaluated, and never wrong.
    ``knows_traits``: it recognises the traits of a sentence. ``uploads_suites``: the platform's limits on suites apply.
    """

    no_nlu: str | None = None
    no_dialogue: str | None = None
    no_conversation: str | None = None
    no_training: str | None = None
    no_channel: str | None = None
    slow_training: bool = False
    trained_by_config: bool = False
    accepts_parses: bool = False
    stands_in: bool = False
    answers_suites: bool = False
    no_batch: str | None = None
    unknown_intents: Mapping[str, str] = field(default_factory=dict)
    unknown_entities: Mapping[str, str] = field(default_factory=dict)
    knows_traits: bool = False
    uploads_suites: bool = False
    no_mutants: str | None = "mutants need an engine that trains the project here"
    """Why it cannot try the tests on mutants of the project."""

    def why_not(self, evaluation: Evaluation) -> str | None:
        """Return why it does not support an evaluation at all."""
        reasons: dict[Evaluation, str | None] = {
            "nlu": self.no_nlu,
            "core": self.no_dialogue,
            "e2e": self.no_conversation,
            "batch": self.no_batch if self.answers_suites else self.no_nlu,
            "strength": self.no_mutants,
            "robustness": self.no_nlu,
        }
        return reasons.get(evaluation)
