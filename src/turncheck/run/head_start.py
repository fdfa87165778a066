"""What is known before a run begins: answers from elsewhere, and descriptions of the engines that gave them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from turncheck.evaluation.answers import ASKED_HERE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turncheck.engines.base import Engines
    from turncheck.engines.capabilities import Part
    from turncheck.evaluation.answers import Answers
    from turncheck.messages.errors import UserError
    from turncheck.project.model import Project
    from turncheck.report.model import EngineInfo, Evaluation
    from turncheck.run.inputs import Inputs
    from turncheck.run.reading import Tests


@dataclass(frozen=True, slots=True)
class HeadStart:
    """The head start of a run; an ordinary one has none.

    ``parts``: the substitutions in the parts of the engine that were trained elsewhere. ``refused``: why an
    evaluation could not be trained there. ``engines``: creates those of a project if what the settings name is not
    available here. ``ensure``: called with what was read, raises a ``UserError`` if the answers are about other data.
    """

    answers: Answers = ASKED_HERE
    parts: Mapping[Part, EngineInfo] = field(default_factory=dict)
    refused: Mapping[Evaluation, UserError] = field(default_factory=dict)
    engines: Callable[[Project], Engines] | None = None
    ensure: Callable[[Inputs, Project, Tests], None] | None = None


NO_HEAD_START = HeadStart()
