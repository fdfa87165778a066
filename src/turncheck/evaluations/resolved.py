"""What a test resolves to: all that says what it says, sets and expects, and how that is read, in whatever file.

Two tests are the same one only if this is the same: a value that is switched on in another file edits a test as much as
a line of its own does. Every kind of test has its function here; what is left out says nothing about the test, such as
its name, its place and the state of the assistant.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from turncheck.dialogue.events import ActionExecuted, ActiveLoop, SlotSet, UserUttered
from turncheck.dialogue.situation import influences
from turncheck.evaluations.coverage import digest_of, text_of_content
from turncheck.project.batch.model import comparable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.events import Event
    from turncheck.dialogue.training import StoryTracker
    from turncheck.evaluations.e2e.steps import SlotOrder
    from turncheck.project.batch.model import KnownNames, SuiteCase
    from turncheck.project.botium.model import Script
    from turncheck.project.e2e.model import CaseTurn, E2ECase


class Resolved(NamedTuple):
    """A digest of what a test resolves to, of what its ``own`` file adds to that, and of what others add."""

    digest: str
    own: str
    shared: dict[str, str] | UnsetType = UNSET


_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
Parts = defaultdict[str, list[Any]]
"""What each file adds to a test, by their paths."""


def _resolved(content: Any, parts: Mapping[str, Any], own: str, digest: Callable[[Any], str] = digest_of) -> Resolved:
    shared = {path: digest(added) for path, added in sorted(parts.items()) if path not in {"", own}}
    return Resolved(digest(content), digest(parts.get(own)), shared or UNSET)


def _digest_of_plain(content: Any) -> str:
    """As :func:`digest_of`, of data without places, in a tenth of the time: stories may be many."""
    try:
        written = _ENCODER.encode(content)
    except (TypeError, ValueError):  # a value of another type, or a string that cannot be encoded
        return digest_of(content)
    return hashlib.sha256(written).hexdigest()[:16]


# End-to-end cases.

_OF_SETTINGS: Final = ("$cap", "$projectname", "$testsessionname", "CAPABILITY_VALUE_BASED")
"""What stands for a setting of ``botium.json`` by its name, in what is said or in the name of a condition."""


def resolved_case(case: E2ECase, slot_order: SlotOrder) -> Resolved:
    """Return what an end-to-end case resolves to; ``slot_order``: whether its slots may be set in any order."""
    turns = text_of_content([_turn(turn) for turn in case.turns])
    any_order = slot_order != "strict" and any("slot_" in one.kind for turn in case.turns for one in turn.expectations)
    content: list[Any] = [turns, case.slots, case.stubs, any_order]
    own, parts = case.location.path, Parts(list, {path: list(added) for path, added in case.parts.items()})
    if case.script is None:
        parts[own] += [turns, case.stubs]
    else:
        hooks = text_of_content(case.script.hooks)
        content.append(hooks)
        read_by = _read_by(case, case.script, turns + hooks)
        content.append([how for _, how in read_by])
        for path, how in read_by:
            parts[path].append(how)
    for slot in {one.slot: one for one in case.filled}.values():  # of several fixtures the last one counts
        parts[slot.location.path].append([slot.slot, case.slots.get(slot.slot)])
    return _resolved(content, parts, own)


def _turn(turn: CaseTurn) -> list[Any]:
    steps = [
        [[step.kind, step.name, step.value, step.has_value] for step in together]
        for _, together in groupby(turn.expectations, key=lambda step: step.step or step.location)
    ]
    asserted = [[one.kind, one.value] for one in turn.assertions]
    return [turn.user, turn.metadata, steps, asserted, turn.ordered and bool(asserted), turn.part]


def _read_by(case: E2ECase, script: Script, text: str) -> list[tuple[str, Any]]:
    """Return how the texts of a conversation of Botium's are read, each with the file that says so."""
    settings = script.settings
    texts = [
        text for turn in case.turns if turn.part is not None for reply in turn.part.replies for text in reply.texts
    ]
    named = any(name in text for name in _OF_SETTINGS)
    place = settings.location.path if settings.location is not None else ""
    removed = (settings.removed_characters, settings.removed_pattern)
    how = [(place, [settings.normalised, removed, settings.goes_on, settings.given if named else None])]
    said = [turn.user or "" for turn in case.turns]
    if script.memory_from is not None and any("$" in text for text in (*texts, *said)):
        how.append((script.memory_from.path, ["memory", settings.memory_words, settings.matching]))
    return how


# Test stories.


def resolved_story(tracker: StoryTracker) -> Resolved:
    """Return what the dialogue of a test story resolves to: what it says, sets and expects, whatever was predicted.

    The slots of the domain say what setting one means: its value, if only its name is written, and whether the policies
    see it.
    """
    content: list[Any] = []
    parts = Parts(list)
    for part in tracker.parts:
        content += [start.conditions for start in part.start if start.conditions]
        for event in part.events:
            written = _event(event, tracker.domain)
            content.append(written)
            parts[event.location.path if event.location is not None else ""].append(written[:3])
            slot = tracker.domain.slots.get(event.name) if isinstance(event, SlotSet) else None
            if slot is not None:
                parts[slot.location.path].append([slot.name, slot.type, influences(slot)])
    own = tracker.location.path if tracker.location is not None else ""
    return _resolved(content, parts, own, _digest_of_plain)


def _event(event: Event, domain: DialogueDomain) -> Sequence[Any]:
    match event:
        case UserUttered():
            return [
                "user",
                event.text,
                event.intent.get("full_retrieval_intent_name") or event.intent_name,
                event.entities,
            ]
        case ActionExecuted():
            return ["action", event.name, event.text]
        case SlotSet():
            slot = domain.slots.get(event.name)
            return ["slot", event.name, event.value, slot is not None and influences(slot)]
        case ActiveLoop():
            return ["loop", event.name]
        case _:
            return [event.kind]


# Utterances of batch suites.


def resolved_utterance(case: SuiteCase, names: KnownNames) -> Resolved:
    """Return what an utterance resolves to: what is expected, with all other names that the assistant has for it."""
    accepted = [_names_of(name, names) for name in case.intents]
    entities = [[entity.name, entity.values] for entity in case.entities]
    content = [case.text, case.parent, case.is_trait, case.intents, case.bots, entities, accepted]
    own = case.location.path
    return _resolved(content, {own: content[:-1], **({names.path: accepted} if any(accepted) else {})}, own)


def _names_of(intent: str, names: KnownNames) -> Sequence[Any]:
    """Return what else means an intent or trait, and of which kinds these are; a name that is its own says nothing."""
    found = []
    for known, is_trait in ((names.intents, False), (names.traits, True)):
        canonical = names.canonical(intent, is_trait=is_trait)
        same = sorted((name, one.kind) for name, one in known.items() if comparable(one.name) == canonical)
        found += same if same not in ([], [(canonical, "dialog")]) else []
    return found
