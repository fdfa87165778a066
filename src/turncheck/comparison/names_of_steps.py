"""The names of the project that a step of a test rests on: if one is renamed or removed, the step cannot be met."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from turncheck.report.model import StoryResult

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from turncheck.report.model import CaseMessage, CaseResult, CaseStep

_IN_QUOTES: Final = re.compile(r'"([^"]+)"')
_ANNOTATED: Final = re.compile(r'(?<=\]\()[^)\s]+(?=\))|(?<="entity": ")[^"]+(?=")')
"""The type of an entity that is annotated in a sentence, in either notation."""
_BY_NAME: Final = ("utter", "bot")
_SLOTS: Final = ("slot_was_set", "slot_was_not_set")


def step_key(kind: str, expected: str) -> Hashable:
    """The key that identifies a step on both sides."""
    return kind, expected


def names_by_step(test: StoryResult | CaseResult) -> Mapping[Hashable, tuple[str, ...]]:
    """Return the names of the project that each step of a story or an end-to-end case rests on."""
    return names_by_story_step(test) if isinstance(test, StoryResult) else names_by_case_step(test)


def names_by_story_step(story: StoryResult) -> Mapping[Hashable, tuple[str, ...]]:
    """Return the action, intent or entities of each step; for an action, also the intent that is written before it."""
    found: dict[Hashable, list[str]] = defaultdict(list)
    intent: tuple[str, ...] = ()
    for step in story.steps:
        key = step_key(step.kind, step.expected)
        if step.kind == "entities":
            found[key] += _ANNOTATED.findall(step.expected)
        elif step.kind == "intent":
            intent = (step.expected,)
            found[key] += intent
        else:
            found[key] += (step.expected, *intent)
    return _distinct(found)


def names_by_case_step(case: CaseResult) -> Mapping[Hashable, tuple[str, ...]]:
    """Return what each step names; for one that was met, also the response and what the message was understood as."""
    found: dict[Hashable, list[str]] = defaultdict(list)
    for step in case.steps:
        key = step_key(step.kind, step.expected)
        found[key] += _named(step)
        if step.outcome == "passed" and step.message is not None and 0 <= step.message < len(case.messages):
            found[key] += _understood(case.messages[step.message])
    return _distinct(found)


def _named(step: CaseStep) -> Iterable[str]:
    if step.response is not None:
        yield step.response
    if step.kind in _BY_NAME:
        yield step.expected
    elif step.kind in _SLOTS:
        yield step.expected.partition(":")[0]
    else:  # an assertion, as JSON
        yield from _IN_QUOTES.findall(step.expected)


def _understood(message: CaseMessage) -> tuple[str, ...]:
    parse = message.understood
    if parse is None:
        return ()
    intents = (parse.intent,) if parse.intent and not parse.fallback else ()
    return (*intents, *(entity.entity for entity in parse.entities))


def _distinct(found: Mapping[Hashable, list[str]]) -> dict[Hashable, tuple[str, ...]]:
    return {step: tuple(dict.fromkeys(name for name in names if name)) for step, names in found.items()}
