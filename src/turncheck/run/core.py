"""The test stories of a run, and whether any of them is to be understood."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from turncheck.evaluation.answers import LazyNlu, LazyPolicies
from turncheck.evaluation.stories import evaluate_stories
from turncheck.project.model import UserStep
from turncheck.project.story_sentences import with_story_sentences
from turncheck.validation.unused import learnable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turncheck.engines.base import Engine
    from turncheck.engines.parse import NluEngine
    from turncheck.evaluation.answers import Answers
    from turncheck.project.model import Project, Story
    from turncheck.report.model import Core
    from turncheck.work.workplace import Executor


# Whether test sentences have to be understood, and what understands them.


def lazy_nlu(engines: Engine) -> NluEngine | None:
    """Return language understanding that is trained on first use, ``None`` if there is none."""
    if not engines.understands:
        return None

    def train() -> NluEngine:
        if (nlu := engines.nlu) is None:
            raise ValueError("the engine understands, and has nothing to understand with")
        return nlu

    return LazyNlu(train)


def has_text(story: Story) -> bool:
    """Whether any message of a story has to be understood."""
    return any(isinstance(step, UserStep) and is_said(step.text) for step in story.steps)


def is_said(text: str | None) -> bool:
    """Whether a message has to be understood; one that begins with a slash names its intent."""
    return text is not None and not text.startswith("/")


def measure_stories(
    engines: Engine,
    project: Project,
    stories: Sequence[Story],
    *,
    timed: Callable[[int, float], None],
    answers: Answers,
    work: Executor,
) -> Core:
    """Judge the stories as users experience them: with their sentences as the engine understands them."""
    domain, generated = engines.domain, "nlg" in project.endpoints
    return evaluate_stories(
        LazyPolicies(domain, lambda: engines.ensemble),
        stories,
        nlu=lazy_nlu(engines) if any(map(has_text, stories)) else None,
        end_to_end=True,
        training=with_story_sentences(project).nlu.examples,
        at_once=engines.at_once,
        shows=partial(domain.shows_something, generated=generated),
        known=learnable(project),
        timed=timed,
        work=work,
        answers=answers,
    )
