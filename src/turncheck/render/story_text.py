"""A core evaluation in plain lines, for the terminal and for logs: figures, then each failed story with both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.render.phrases import circumstances, not_reached, substitution_lines
from turncheck.render.sinks.terminal import place, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.report.model import Core, EngineInfo, KindCoverage, StoryResult, StoryStep

_WIDTH = 44
_STORIES_AT_MOST = 50


def story_text(
    core: Core,
    engine: EngineInfo | None = None,
    coverage: Mapping[str, KindCoverage] | None = None,
    folder: str = "",
) -> str:
    """Describe the results, where stories failed, and what no test reaches.

    ``folder``: the project's path from the current folder, for the places named.
    """
    return "\n".join([*_figures(core, engine), *_failed(core, folder), *not_reached(coverage or {}, "test story"), ""])


def _figures(core: Core, engine: EngineInfo | None) -> Iterator[str]:
    judged = [story for story in core.stories if not story.duplicate]
    right = sum(story.passed for story in judged)
    warned = sum(story.warned for story in judged)
    yield f"Stories: {right} of {len(judged)} right{f', {warned} of them with a warning' if warned else ''}"
    misunderstood = sum(story.outcome == "misunderstood" for story in judged)
    if misunderstood:
        yield f"  {right + misunderstood} with the intents and entities as written: {misunderstood} misunderstood only"
    duplicates = len(core.stories) - len(judged)
    if duplicates:
        yield f"  {duplicates} more are identical to others for every policy and count once, as in Rasa."
    steps = [step for story in judged for step in story.steps]
    actions = [step.passed for step in steps if step.kind == "action"]
    yield f"Actions: {sum(actions)} of {len(actions)} right"
    intents = [step.passed for step in steps if step.kind == "intent"]
    if intents:
        yield f"Intents: {sum(intents)} of {len(intents)} right"
        yield "Actions, intents and entities together:"
    yield f"  accuracy  {core.accuracy:.3f}"
    yield f"  precision {core.precision:.3f}"
    yield f"  f1        {core.f1:.3f}"
    yield from (f"  {line}" for line in substitution_lines(engine.substitutions if engine else ()))
    for remark in core.remarks:
        yield f"  {text(remark, 400)}"


def _failed(core: Core, folder: str) -> Iterator[str]:
    failed = [story for story in core.stories if not story.passed and not story.duplicate]
    for story in failed[:_STORIES_AT_MOST]:
        yield ""
        yield f"Failed: {text(story.name)} ({place(story.location, folder)})"
        yield from _side_by_side(story)
    if len(failed) > _STORIES_AT_MOST:
        yield ""
        yield f"{len(failed) - _STORIES_AT_MOST} more stories failed: all of them are in failed_test_stories.yml"


def _side_by_side(story: StoryResult) -> Iterator[str]:
    yield f"    {'expected':<{_WIDTH}}  predicted"
    for step in story.steps:
        mark = " " if step.passed else "✗"
        expected = text(step.wanted, _WIDTH)
        if step.passed:
            yield f"  {mark} {expected:<{_WIDTH}}  {expected}"
            continue
        yield f"  {mark} {expected:<{_WIDTH}}  {text(step.got, _WIDTH)}{_who(step)}"
        yield from (f"      {line}" for line in circumstances(step, text))


def _who(step: StoryStep) -> str:
    if step.policy is None or step.confidence is None:
        return ""
    return f"  [{text(step.policy)} {step.confidence:.2f}]"
