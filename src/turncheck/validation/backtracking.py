"""Regular expressions that can take practically forever: they are tried on texts made for it, and steps are counted.

Only what repeats a repetition or alternatives, or repeats four times in a row, can be slow. Each repetition of such a
pattern is given a text that it can read in as many ways as possible and that then fails. A matcher that tries one way
after the other, as Python's does, counts how often it goes on by a character: the same on every machine.
"""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from re import _constants as opcodes  # type: ignore[attr-defined] # CPython's own parser of patterns: no other knows its syntax
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Continue = Callable[[int], bool]
    Matcher = Callable[[int, Continue], bool]
    Node = tuple[Any, Any]

MOST_STEPS: Final = 500_000
"""Matching that takes more steps than this for a hundred characters takes minutes for a long message."""
OF_A_PROJECT: Final = 4_000_000
"""The most steps for all patterns of a project together: about three seconds."""
_LENGTHS: Final = (100, 29)
"""How long the texts are: what a long sentence has, and a little less than thirty required rounds need."""
_OF_A_PATTERN: Final = 1_200_000
_OF_A_TEXT: Final = 200
"""A text takes about as long as so many steps before it is matched."""
_TAILS: Final = ("!", "_", " ", "")
"""What a text may end with so that the pattern fails."""
_MOST_IN_A_ROW: Final = 3
"""So many repetitions one after the other take the third power of a length, which is not too much."""
_MOST_TEXTS: Final = 60
_MOST_SAMPLES: Final = 4
_DEEPEST: Final = 6_000
_USUAL: Final = "aZ5_ -.@/:,é"
_REPEATS: Final = frozenset({opcodes.MAX_REPEAT, opcodes.MIN_REPEAT})
_ASSERTIONS: Final = frozenset({opcodes.ASSERT, opcodes.ASSERT_NOT})


class TooManyStepsError(Exception):
    """Matching took more steps than it may."""


class Steps:
    """Counts down the steps that may be taken."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, number: int = 1) -> None:
        """Take some.

        Raises:
            TooManyStepsError: none are left.
        """
        self.left -= number
        if self.left < 0:
            raise TooManyStepsError


def takes_forever(tree: Any, steps: Steps) -> bool:
    """Whether a parsed pattern takes more than :data:`MOST_STEPS` for one of the texts that are tried.

    Raises:
        TooManyStepsError: ``steps``, which are those for all patterns together, do not suffice to say so.
    """
    if not _may_be_slow(tree):
        return False
    steps.take(_OF_A_TEXT)  # before texts are made, which costs as much for thousands of patterns
    pattern = _Pattern(tree)
    begin = steps.left
    for text in dict.fromkeys(_texts(tree)):
        if begin - steps.left > _OF_A_PATTERN:
            return False  # nothing took too many
        steps.take(_OF_A_TEXT)
        most = min(MOST_STEPS, steps.left)
        own = Steps(most)
        try:
            with _deep_calls():
                pattern.matches(text, own)
        except TooManyStepsError:
            steps.take(most)
            if most < MOST_STEPS:
                raise
            return True
        except RecursionError:  # too deep to be tried
            return False
        steps.take(most - own.left)
    return False


@contextmanager
def _deep_calls() -> Iterator[None]:
    """Allow for a few calls in one another for each of a hundred characters."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


# --- which can be slow at all ----------------------------------------------------------------------------------------


def _may_be_slow(tree: Any) -> bool:
    """Whether the pattern repeats what can be read in several ways, or repeats often in a row."""
    repeats = 0
    waiting = [(tree, False)]
    while waiting:
        body, is_repeated = waiting.pop()
        for operator, argument in body:
            is_choice = operator == opcodes.BRANCH or (operator in _REPEATS and argument[0] != argument[1])
            if is_choice and is_repeated:
                return True
            repeats += operator in _REPEATS and argument[0] != argument[1]
            if repeats > _MOST_IN_A_ROW:
                return True
            inside = is_repeated or (operator in _REPEATS and argument[1] > 1)
            waiting += [(part, inside) for part in _parts(operator, argument)]
    return False


def _parts(operator: Any, argument: Any) -> list[Any]:
    """The sequences below an operator."""
    if operator in _REPEATS or operator == opcodes.SUBPATTERN:
        return [argument[-1]]
    if operator in _ASSERTIONS:
        return [argument[1]]
    if operator == opcodes.BRANCH:
        return list(argument[1])
    if operator == opcodes.GROUPREF_EXISTS:
        return [branch for branch in argument[1:] if branch is not None]
    return []


# --- texts that are hard to read -------------------------------------------------------------------------------------


def _texts(tree: Any) -> Iterator[str]:
    """Yield texts for each repetition: what comes before it, and then what it repeats, again and again."""
    number = 0
    for sampler in _samplers(tree):
        for before, body in _loops(tree, "", sampler):
            for sample in dict.fromkeys(filter(None, sampler.samples(body))):
                for length in _LENGTHS:
                    pumped = before + sample * max(1, length // len(sample))
                    for tail in _TAILS:
                        number += 1
                        if number > _MOST_TEXTS:
                            return
                        yield pumped + tail


def _samplers(tree: Any) -> Iterator[_Sampler]:
    """Yield one that avoids the letters that the pattern names, with which it would not fail, and one that does not."""
    flags = tree.state.flags
    characters = list(_characters(tree))
    named = {code for node in characters for code in _named(*node)}
    letters = dict.fromkeys((*map(ord, _USUAL), *sorted(named)))
    by_use = sorted(letters, key=lambda letter: -sum(_reads(letter, node, flags) for node in characters))
    yield _Sampler(sorted(by_use, key=named.__contains__), flags)
    yield _Sampler(by_use, flags)


def _characters(tree: Any) -> Iterator[Node]:
    waiting = [tree]
    while waiting:
        for operator, argument in waiting.pop():
            parts = _parts(operator, argument)
            waiting += parts
            if not parts and operator != opcodes.AT:
                yield operator, argument


def _named(operator: Any, argument: Any) -> Iterator[int]:
    if operator in {opcodes.LITERAL, opcodes.NOT_LITERAL}:
        yield argument
    elif operator == opcodes.IN:
        for kind, value in argument:
            if kind == opcodes.LITERAL:
                yield value
            elif kind == opcodes.RANGE:
                yield from {value[0], value[1]}


def _loops(body: Any, before: str, sampler: _Sampler) -> Iterator[tuple[str, Any]]:
    """Yield what is repeated, or stands in a row, with a text that comes before it."""
    if sum(operator in _REPEATS for operator, _ in body) > _MOST_IN_A_ROW:
        yield before, [(operator, argument) for operator, argument in body if operator in _REPEATS][:1]
    for operator, argument in body:
        if operator in _REPEATS and argument[1] > 1:
            yield before, argument[-1]
        for part in _parts(operator, argument):
            yield from _loops(part, before, sampler)
        before += next(iter(sampler.of(operator, argument)), "")


class _Sampler:
    """Writes texts that a part of a pattern matches, with the letters that most of it can read."""

    def __init__(self, letters: Sequence[int], flags: int) -> None:
        self._letters = letters
        self._flags = flags

    def samples(self, body: Any) -> list[str]:
        """A few texts that a sequence matches."""
        texts = [""]
        for operator, argument in body:
            own = self.of(operator, argument)
            texts = [text + more for text in texts for more in own][:_MOST_SAMPLES]
        return texts

    def of(self, operator: Any, argument: Any) -> list[str]:
        """A few texts that an item matches."""
        if operator in _REPEATS:
            least, most, inner = argument
            rounds = dict.fromkeys((min(max(least, 3), most, 30), min(least, 30)))
            return [text * number for text in self.samples(inner)[:2] for number in rounds][:_MOST_SAMPLES]
        if operator == opcodes.AT or operator in _ASSERTIONS:
            return [""]
        if parts := _parts(operator, argument):
            return [text for part in parts for text in self.samples(part)[: 1 if len(parts) > 1 else None]]
        letter = next((one for one in self._letters if _reads(one, (operator, argument), self._flags)), None)
        return [chr(letter)] if letter is not None else []


# --- a matcher that counts -------------------------------------------------------------------------------------------


class _Pattern:
    """Matches texts from their beginning, as Python does: greedily, going back whenever it fails."""

    def __init__(self, tree: Any) -> None:
        self._flags = tree.state.flags
        self._text = ""
        self._codes: list[int] = []
        self._steps = Steps(0)
        self._whole = self._sequence(tree)

    def matches(self, text: str, steps: Steps) -> bool:
        """Whether the text begins with what the pattern matches.

        Raises:
            TooManyStepsError: it takes more steps.
            RecursionError: the pattern is nested too deeply.
        """
        self._text, self._codes, self._steps = text, list(map(ord, text)), steps
        return self._whole(0, lambda _: True)

    def _sequence(self, body: Any) -> Matcher:
        matchers = [self._item(operator, argument) for operator, argument in body]

        def from_item(number: int, place: int, then: Continue) -> bool:
            if number == len(matchers):
                return then(place)
            return matchers[number](place, lambda after: from_item(number + 1, after, then))

        return lambda place, then: from_item(0, place, then)

    def _item(self, operator: Any, argument: Any) -> Matcher:
        if operator in _REPEATS:
            return self._repeat(*argument, is_greedy=operator == opcodes.MAX_REPEAT)
        if operator == opcodes.AT:
            return lambda place, then: then(place) if self._is_at(argument, place) else False
        if operator in _ASSERTIONS:
            return self._lookaround(*argument, is_wanted=operator == opcodes.ASSERT)
        if parts := _parts(operator, argument):
            return _either([self._sequence(part) for part in parts])
        reads = self._reader(operator, argument)

        def one(place: int, then: Continue) -> bool:
            self._steps.take()
            return place < len(self._codes) and reads(self._codes[place]) and then(place + 1)

        return one

    def _reader(self, operator: Any, argument: Any) -> Callable[[int], bool]:
        known: dict[int, bool] = {}

        def reads(letter: int) -> bool:
            if letter not in known:
                known[letter] = _reads(letter, (operator, argument), self._flags)
            return known[letter]

        return reads

    def _repeat(self, least: int, most: int, body: Any, *, is_greedy: bool) -> Matcher:
        inner = self._sequence(body)
        if len(body) == 1 and not _parts(*body[0]) and body[0][0] != opcodes.AT:
            return self._repeat_of_one(least, most, self._reader(*body[0]), is_greedy=is_greedy)

        def from_round(number: int, place: int, last: int, then: Continue) -> bool:
            self._steps.take()

            def again() -> bool:
                # After a round that read nothing, none is tried, unless one is required.
                may = number < least or (number < most and place != last)
                return may and inner(place, lambda after: from_round(number + 1, after, place, then))

            if number < least:
                return again()
            return (again() or then(place)) if is_greedy else (then(place) or again())

        return lambda place, then: from_round(0, place, -1, then)

    def _repeat_of_one(self, least: int, most: int, reads: Callable[[int], bool], *, is_greedy: bool) -> Matcher:
        def one_by_one(place: int, then: Continue) -> bool:
            codes, end = self._codes, place
            while end < len(codes) and end - place < most and reads(codes[end]):
                end += 1
            self._steps.take(1 + end - place)
            places = range(place + least, end + 1)
            for after in reversed(places) if is_greedy else places:  # noqa: SIM110 - `any` would deepen C's own stack
                if then(after):
                    return True
            return False

        return one_by_one

    def _lookaround(self, direction: int, body: Any, *, is_wanted: bool) -> Matcher:
        if direction < 0:
            return lambda place, then: then(place)  # what comes before may be anything
        inner = self._sequence(body)
        return lambda place, then: then(place) if inner(place, lambda _: True) == is_wanted else False

    def _is_at(self, condition: Any, place: int) -> bool:
        text, is_many_lines = self._text, bool(self._flags & re.MULTILINE)
        before, after = text[place - 1 : place] if place else "", text[place : place + 1]
        if condition in {opcodes.AT_BOUNDARY, opcodes.AT_NON_BOUNDARY}:
            return (_is_word(before) != _is_word(after)) == bool(condition == opcodes.AT_BOUNDARY)
        if condition == opcodes.AT_BEGINNING:
            return not place or (is_many_lines and before == "\n")
        if condition == opcodes.AT_BEGINNING_STRING:
            return not place
        if condition == opcodes.AT_END:
            return place == len(text) or text[place:] == "\n" or (is_many_lines and after == "\n")
        return place == len(text)


def _either(branches: Sequence[Matcher]) -> Matcher:
    def first(place: int, then: Continue) -> bool:
        for branch in branches:  # noqa: SIM110 - as above
            if branch(place, then):
                return True
        return False

    return first


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _reads(letter: int, node: Node, flags: int) -> bool:
    """Whether a parsed character or class matches a letter."""
    operator, argument = node
    if operator == opcodes.ANY:
        return letter != ord("\n") or bool(flags & re.DOTALL)
    cases = {letter}
    if flags & re.IGNORECASE and len(other := chr(letter).swapcase()) == 1:
        cases.add(ord(other))
    if operator == opcodes.LITERAL:
        return bool(argument in cases)
    if operator == opcodes.NOT_LITERAL:
        return bool(argument not in cases)
    if operator != opcodes.IN:
        return True  # what a group has matched may be anything
    is_negated = bool(argument) and argument[0][0] == opcodes.NEGATE
    members = argument[1:] if is_negated else argument
    return any(_is_member(case, kind, value) for case in cases for kind, value in members) != is_negated


_CATEGORIES: Final = {
    opcodes.CATEGORY_DIGIT: r"\d",
    opcodes.CATEGORY_NOT_DIGIT: r"\D",
    opcodes.CATEGORY_SPACE: r"\s",
    opcodes.CATEGORY_NOT_SPACE: r"\S",
    opcodes.CATEGORY_WORD: r"\w",
    opcodes.CATEGORY_NOT_WORD: r"\W",
}


def _is_member(code: int, kind: Any, value: Any) -> bool:
    if kind == opcodes.LITERAL:
        return bool(code == value)
    if kind == opcodes.RANGE:
        return bool(value[0] <= code <= value[1])
    return re.match(_CATEGORIES[value], chr(code)) is not None
