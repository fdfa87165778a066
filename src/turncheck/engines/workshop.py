"""Training a project and variants of it, for engines that can: to run tests on mutants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from turncheck.dialogue.events import Event
    from turncheck.engines.conversation import ActionServer, Conversation, ConversationEngine
    from turncheck.engines.decision import Policies
    from turncheck.engines.parse import NluEngine
    from turncheck.project.model import Project

Trains = Literal["nlu", "policies", "nothing"]
"""The parts of an assistant that must be trained again for a variant."""


class Trained(Protocol):
    """A project with what was trained on it."""

    @property
    def project(self) -> Project:
        """What it was trained on."""

    @property
    def nlu(self) -> NluEngine | None:
        """Language understanding; ``None`` if the project has no sentences."""

    @property
    def ensemble(self) -> Policies | None:
        """What decides; ``None`` if the project has neither stories nor rules."""

    def engine(self, server: ActionServer) -> ConversationEngine | None:
        """Return the assistant to talk to, if there are policies."""

    def variant(self, project: Project, trains: Trains, steps: Collection[str] | None = None) -> Trained:
        """Train a variant of the project; everything else is the original's.

        Args:
            project: the variant.
            trains: the parts to train again.
            steps: the kinds of pipeline steps that learn from what differs; ``None``: all of them.

        Raises:
            UserError: it cannot be trained.
        """

    def conversation(self, understood: NluEngine, history: Sequence[Event]) -> Conversation | None:
        """Return a conversation that continues after ``history``, with messages understood by ``understood``.

        Custom actions are not run; ``None`` if there are no policies.
        """


class Workshop(Protocol):
    """Trains projects and variants of them."""

    def trained(self, project: Project) -> Trained:
        """Train a whole project.

        Raises:
            UserError: it cannot be trained.
        """
