"""How dialogues are measured: the test stories, step by step."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from turncheck.evaluations.answers import LazyPolicies, lazy_nlu
from turncheck.evaluations.core.judging import evaluate_stories, has_annotated_texts
from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import at_paths, count
from turncheck.project.model import Story, UserStep
from turncheck.project.story_sentences import with_story_sentences
from turncheck.report.model import Core, Skipped
from turncheck.run.assistant import note_without_nlu
from turncheck.run.reading import ensure_policies_accepted, ensure_trainable
from turncheck.run.skipping import has_text, skipped_elsewhere, skipped_without_nlu, unreadable, with_tests
from turncheck.run.under_way import KindOptions
from turncheck.validation.learnable import learnable

if TYPE_CHECKING:
    from turncheck.engines.base import Part
    from turncheck.run.under_way import RunInProgress


class StoryOptions(KindOptions, frozen=True):
    """What ``test core`` asks for besides the settings. Only predictions are judged, as by ``rasa test core``."""

    end_to_end: bool = False
    """Whether intents and entities are judged, too; otherwise the messages are understood as they are annotated."""
    most: int | None = None
    """Only so many stories are judged, the first ones; ``None``: all."""

    def make_ready(self, run: RunInProgress) -> None:
        """Load or train the policies, and what understands messages if they are judged.

        Raises:
            UserError: there is nothing to train on, or a model cannot be read.
            TrainingRefusedError: Rasa would train nothing.
        """
        parts: tuple[Part, ...] = ("core", "nlu") if self.end_to_end else ("core",)
        if not run.engines.use_model(parts, run.screen):
            ensure_trainable(run.project, beside_flows=True)
            ensure_policies_accepted(run.project, run.screen)
            run.engines.train_parts(parts, run.screen)
        if self.end_to_end:
            note_without_nlu(run.engines, run.screen)


def measure(run: RunInProgress) -> Core | None:
    """Judge the stories as users experience them: with their sentences as the engine understands them."""
    stories = run.tests.stories
    listed = [story for story in stories if story.kind == "story"]
    why_not = run.not_requested("core") or skipped_elsewhere("core", run.project, run.engines)
    if why_not is None and not listed:
        nothing = (
            "the test files hold rules alone, no stories"
            if stories
            else f"the project has no test stories{at_paths(run.settings.stories)}"
        )
        none = Skipped(evaluation="core", reason=nothing, no_tests=True)
        why_not = unreadable("core", run.tests.story_findings) or none
    asked = run.options(StoryOptions)
    has_sentences = asked is None and any(map(_has_text, listed))
    why_not = why_not or run.why_not("core")
    why_not = why_not or skipped_without_nlu("core", run.project, run.engines, has_sentences=has_sentences)
    if why_not is not None:
        whole = not any(finding.severity == "error" for finding in run.tests.story_findings)
        run.skip(with_tests(why_not, [story.name for story in listed] if whole else None))
        return None
    run.record_partial("core", run.tests.story_findings)

    number = len(listed) if asked is None or asked.most is None else min(len(listed), asked.most)
    with run.screen.step("core", f"Testing {count(number, 'story', 'stories')}"):
        if asked is not None:
            return run.run_or_skip("core", lambda: _judged_as_asked(run, asked))
        return run.run_or_skip("core", lambda: _judged(run, has_sentences=any(map(_has_text, stories))))


def _judged(run: RunInProgress, *, has_sentences: bool) -> Core:
    project, engines = run.project, run.engines
    understands = engines.capabilities.no_nlu is None  # else the stories are judged as written
    domain, generated = engines.domain, "nlg" in project.endpoints
    return evaluate_stories(
        LazyPolicies(domain, lambda: engines.ensemble),
        run.tests.stories,
        nlu=lazy_nlu(engines) if has_sentences and understands else None,
        end_to_end=understands,
        training=with_story_sentences(project).nlu.examples,
        at_once=engines.at_once,
        shows=partial(domain.shows_something, generated=generated),
        known=learnable(project),
        timed=run.screen.timer("core"),
        work=run.work,
        answers=run.precomputed.answers,
    )


def _judged_as_asked(run: RunInProgress, asked: StoryOptions) -> Core:
    """Judge the predictions; a model that only has policies understands only ``/intent``, as in Rasa."""
    engines, stories = run.engines, run.tests.stories
    nlu = engines.nlu if asked.end_to_end else None
    tokenize = None
    if nlu is None and has_annotated_texts(stories):
        try:
            tokenize = engines.tokenizer()
        except UserError as error:
            run.screen.note(f"The entities that the stories annotate are not judged: {error.message}.")
    return evaluate_stories(
        engines.ensemble,
        stories,
        nlu=nlu,
        tokenize=tokenize,
        end_to_end=asked.end_to_end,
        training=with_story_sentences(run.project).nlu.examples if asked.end_to_end else (),
        max_stories=asked.most,
        at_once=engines.at_once,
        timed=run.screen.timer("core"),
    )


def _has_text(story: Story) -> bool:
    """Whether any message of a story has to be understood."""
    return any(isinstance(step, UserStep) and has_text(step.text) for step in story.steps)
