"""The test stories of a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from turncheck.evaluation.answers import PoliciesToCome
from turncheck.evaluation.stories import evaluate_stories
from turncheck.project.story_sentences import with_story_sentences
from turncheck.run.understood import has_text, nlu_to_come
from turncheck.validation.learnable import learnable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turncheck.engines.base import Engines
    from turncheck.evaluation.answers import Answers
    from turncheck.project.model import Project, Story
    from turncheck.report.model import Core
    from turncheck.work.workplace import Workplace


def measure_stories(
    engines: Engines,
    project: Project,
    stories: Sequence[Story],
    *,
    timed: Callable[[int, float], None],
    answers: Answers,
    work: Workplace,
) -> Core:
    """Judge the stories as users experience them: with their sentences as the engine understands them."""
    domain, generated = engines.domain, "nlg" in project.endpoints
    return evaluate_stories(
        PoliciesToCome(domain, lambda: engines.ensemble),
        stories,
        nlu=nlu_to_come(engines) if any(map(has_text, stories)) else None,
        end_to_end=True,
        training=with_story_sentences(project).nlu.examples,
        at_once=engines.at_once,
        shows=partial(domain.shows_something, generated=generated),
        known=learnable(project),
        timed=timed,
        work=work,
        answers=answers,
    )
