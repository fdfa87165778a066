"""What an assistant can say: texts and buttons of its responses, where nothing else speaks.

The rephraser, agents, policies that write or search for answers, and code that says texts of its own can say anything.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from turncheck.platforms.rasa.flows import vocabulary
from turncheck.platforms.rasa.flows.facts import texts_in
from turncheck.project.testfiles import texts_of_code
from turncheck.yaml_tree.shapes import EndlessSearchError, is_found

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.platforms.rasa.flows.facts import FlowFacts
    from turncheck.project.e2e.model import E2ECase

_FILLED_IN: Final = re.compile(r"{{[^{}]*}}|{%[^%]*%}|{[^{}\n]*}")
_BUILT_IN: Final = ("FlowPolicy", "RulePolicy", "MemoizationPolicy", "AugmentedMemoizationPolicy", "TEDPolicy")
"""Policies that say nothing of their own."""
_SAYING: Final = re.compile(r"\b(?:utter_message|utter_template)\s*\(")
_BY_NAME: Final = re.compile(r"\s*(?:response|template)\s*=[^,()]*(?:\)|,\s*\)|,\s*\w+\s*=)")
_OTHER_TEXT: Final = re.compile(r"\b(?:text|buttons|json_message|custom)\s*=|BotUttered")
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_SPECIAL: Final = re.compile(r"[\\^$*+?{}\[\]|()]|\.[*+]")
_FEWEST: Final = 3
"""The fewest words of a text that is taken for one of Rasa's own messages, which all have at least as many."""
_MOST: Final = 500
"""Longer texts of tests are not compared: comparing takes as long as both texts together."""


class Sayings:
    """What the responses of a project say; nothing is known of it where something else can say anything."""

    def __init__(self, facts: FlowFacts) -> None:
        self._facts = facts

    @cached_property
    def _by_others(self) -> bool:
        return _speaks_by_others(self._facts)

    def never_has(self, response: str, pattern: str) -> bool:
        """Whether no variation of a response holds a pattern, for certain: nothing is filled in anywhere in it."""
        texts = self._texts.get(response, ())
        if self._by_others or not texts or any(_FILLED_IN.search(text) for text in texts):
            return False
        return not any(_holds(pattern, text) for text in texts)

    def never_shows(self, response: str, buttons: Sequence[Mapping[str, str]]) -> bool:
        """Whether no variation of a response has these buttons, of which only some keys are given."""
        shown = self._buttons.get(response, ())
        if self._by_others or not shown or any(_FILLED_IN.search(text) for text in texts_in(list(shown))):
            return False
        return not any(_are(one, buttons) for one in shown)

    def is_unheard(self, case: E2ECase, text: str, *, whole: bool) -> bool:
        """Whether a text is in no response, and does not look like what is filled in: a word of it occurs nowhere.

        Nor does it look like one of Rasa's own messages, which name flows and slots.

        ``whole``: it is all of a message; else a part of one.
        """
        if self._by_others or len(text) > _MOST or (not whole and _SPECIAL.search(text)):
            return False
        stubbed = [*texts_in(dict(case.stubs))] if case.stubs is not None else []
        if any(_may_be(text, pieces, whole=whole) for pieces in (*self._pieces, *map(_pieces_of, stubbed))):
            return False
        words, told = _words([text]), _words((*_told(case), *stubbed)) | self._words
        may_be_own = len(words) >= _FEWEST and words <= told | vocabulary.WORDS | self._names
        return not may_be_own and (whole or not words <= told)

    @cached_property
    def _pieces(self) -> tuple[tuple[str, ...], ...]:
        """What is written in the responses around what is filled in, each once."""
        return tuple(dict.fromkeys(_pieces_of(text) for texts in self._texts.values() for text in texts))

    @cached_property
    def _words(self) -> frozenset[str]:
        """The words of all that slots may hold by the files, and of the code."""
        return _words(self._values)

    @cached_property
    def _names(self) -> frozenset[str]:
        """The words in the names of flows and slots."""
        flows = self._facts.flows.values()
        names = (*self._facts.flow_names, *(flow.title for flow in flows), *self._facts.slots)
        return _words(name.replace("_", " ") for name in names)

    @cached_property
    def _texts(self) -> Mapping[str, tuple[str, ...]]:
        return {
            name: tuple(text for one in response.variations for text in texts_in(dict(one.content)))
            for name, response in self._facts.project.domain.responses.items()
        }

    @cached_property
    def _buttons(self) -> Mapping[str, tuple[tuple[Any, ...], ...]]:
        return {
            name: tuple(tuple(one.content.get("buttons") or ()) for one in response.variations)
            for name, response in self._facts.project.domain.responses.items()
        }

    @cached_property
    def _values(self) -> tuple[str, ...]:
        """What slots may hold by the files: their values, those of buttons and steps, and all that code writes."""
        slots = self._facts.project.domain.slots.values()
        given = [one.value for _, step in self._facts.steps() for one in step.assignments]
        listed = [str(value) for slot in slots for value in (*(slot.values or ()), slot.initial_value)]
        sent = [value for button in self._facts.buttons for _, value in button.payload.slots]
        code = [text for _, text in texts_of_code(self._facts.project.root)]
        return (*listed, *map(str, given), *sent, *code)


def _speaks_by_others(facts: FlowFacts) -> bool:
    """Whether something may say what no response says: the rephraser, policies, agents, or code."""
    policies = facts.project.config.policies
    return (
        "nlg" in facts.project.endpoints
        or policies is None
        or any(one.name.rpartition(".")[2] not in _BUILT_IN for one in policies)
        or any(step.kind == "call" and step.name and step.name.name not in facts.flows for _, step in facts.steps())
        or not facts.has_code
        or any(_says_texts(text) for _, text in texts_of_code(facts.project.root))
    )


def _says_texts(code: str) -> bool:
    """Whether code says more than responses by their names."""
    calls = _SAYING.split(code)[1:]
    return bool(_OTHER_TEXT.search(code)) or not all(_BY_NAME.match(call) for call in calls)


def _holds(pattern: str, text: str) -> bool:
    try:
        return is_found(pattern, text)
    except EndlessSearchError:
        return True  # nobody knows


def _are(shown: Sequence[Any], wanted: Sequence[Mapping[str, str]]) -> bool:
    return len(shown) == len(wanted) and all(
        isinstance(button, dict) and all(str(button.get(key)) == text for key, text in asked.items())
        for button, asked in zip(shown, wanted, strict=True)
    )


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(word.lower() for text in texts for word in _WORD.findall(text))


def _pieces_of(response: str) -> tuple[str, ...]:
    return tuple(" ".join(piece.split()) for piece in _FILLED_IN.split(response))


def _may_be(text: str, pieces: Sequence[str], *, whole: bool) -> bool:
    """Whether a response says a text once it is filled in; as a part, the text has some of what is written there."""
    text = " ".join(text.split())
    if whole:
        return _in_order(text, pieces)
    words = text.split()
    pairs = pairwise(piece.split() for piece in pieces)
    return any(text in piece for piece in pieces) or any(_overlap(words, *pair) for pair in pairs)


def _in_order(text: str, pieces: Sequence[str]) -> bool:
    """Whether a text begins and ends like the pieces, with all of them in between."""
    first, *others = pieces
    if not others:
        return text == first
    if not (text.startswith(first) and text.endswith(others[-1])):
        return False
    place = len(first)
    for piece in others:
        place = text.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return True


def _overlap(words: Sequence[str], before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether words begin with those that stand before something filled in, or end with those after it."""
    starts = any(words[:number] == before[-number:] for number in range(1, min(len(words), len(before)) + 1))
    return starts or any(words[-number:] == after[:number] for number in range(1, min(len(words), len(after)) + 1))


def _told(case: E2ECase) -> Iterable[str]:
    """What the user of a case says, and what its fixtures and stubs fill in."""
    yield from (turn.user for turn in case.turns if turn.user is not None)
    yield from map(str, case.slots.values())
