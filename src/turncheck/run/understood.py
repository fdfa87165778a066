"""Whether test sentences have to be understood, and what understands them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.evaluation.answers import NluToCome
from turncheck.project.model import UserStep

if TYPE_CHECKING:
    from turncheck.engines.base import Engines
    from turncheck.engines.parse import NluEngine
    from turncheck.project.model import Story


def nlu_to_come(engines: Engines) -> NluEngine | None:
    """Return language understanding that is trained on first use, ``None`` if there is none."""
    if not engines.understands:
        return None

    def train() -> NluEngine:
        if (nlu := engines.nlu) is None:
            raise ValueError("the engine understands, and has nothing to understand with")
        return nlu

    return NluToCome(train)


def has_text(story: Story) -> bool:
    """Whether any message of a story has to be understood."""
    return any(isinstance(step, UserStep) and is_said(step.text) for step in story.steps)


def is_said(text: str | None) -> bool:
    """Whether a message has to be understood; one that begins with a slash names its intent."""
    return text is not None and not text.startswith("/")
