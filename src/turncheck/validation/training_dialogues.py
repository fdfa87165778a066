"""The dialogues that a project's stories and rules make, as training sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from turncheck.dialogue.domain import DialogueDomain
from turncheck.dialogue.training import TooManyDialoguesError, Trackers, training_trackers

if TYPE_CHECKING:
    from turncheck.project.model import Project


class Dialogues(NamedTuple):
    """The training dialogues of a project, without augmentation, and the domain that they were read with.

    ``refused``: why there are none, if there are too many to list.
    """

    domain: DialogueDomain
    trackers: Trackers
    refused: TooManyDialoguesError | None = None

    @classmethod
    def of(cls, project: Project) -> Dialogues:
        """Return the dialogues of all stories and rules."""
        domain = DialogueDomain.of(project)
        try:
            return cls(domain, training_trackers(project, domain, augmentation=0))
        except TooManyDialoguesError as error:
            return cls(domain, Trackers((), (), joined=error.joined), error)
