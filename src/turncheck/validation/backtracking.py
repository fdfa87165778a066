"""Regular expressions that can take exponential time: those with a loop that can match one string in several ways.

Python's ``re`` tries one way after the other. If the pattern can fail after such a loop, it tries them all, and their
number doubles with every round. In terms of automata: a state from which two different paths lead back to it over the
same text (Weideman and others, "Analyzing Matching Time Behavior of Backtracking Regular Expression Matchers by Using
Ambiguity of NFA", 2016). States in which the pattern may end successfully take no part, since the search ends there.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from re import _constants as opcodes  # type: ignore[attr-defined] # CPython's own parser of patterns: no other knows its syntax
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


# The characters that a regular expression distinguishes, one of each kind representing the others.

Character = int
"""A code point."""

_SAMPLE: Final = tuple(map(ord, "aZ_5 -.@/:,é\n"))
_NEWLINE: Final = ord("\n")


class Alphabet(Struct, frozen=True):
    """One character of each kind that a pattern distinguishes, and the pattern's flags."""

    letters: tuple[Character, ...]
    flags: int

    @classmethod
    def of(cls, characters: Sequence[Any], flags: int) -> Alphabet:
        """Take the characters that the pattern names, and some of each usual kind; keep one of each kind."""
        everything = cls(tuple(dict.fromkeys((*_SAMPLE, *_named(characters)))), flags)
        different = list({repr(character): character for character in characters}.values())
        kinds = [set(everything.matching(character)) for character in different]
        one_of_a_kind: dict[tuple[bool, ...], Character] = {}
        for letter in everything.letters:
            signature = (_is_word(letter), letter == _NEWLINE, *(letter in kind for kind in kinds))
            one_of_a_kind.setdefault(signature, letter)
        return cls(tuple(one_of_a_kind.values()), flags)

    def matching(self, character: Any) -> tuple[Character, ...]:
        """The characters that a parsed character or class matches."""
        return tuple(letter for letter in self.letters if self._matches(letter, *character))

    def _matches(self, letter: Character, operator: Any, argument: Any) -> bool:
        if operator == opcodes.ANY:
            return bool(letter != _NEWLINE or self.flags & re.DOTALL)
        if operator == opcodes.LITERAL:
            return bool(argument in self._cases(letter))
        if operator == opcodes.NOT_LITERAL:
            return bool(argument not in self._cases(letter))
        if operator != opcodes.IN:
            return True  # what a group has matched may be anything
        negated = bool(argument) and argument[0][0] == opcodes.NEGATE
        members = argument[1:] if negated else argument
        cases = self._cases(letter)
        is_member = any(_is_member(case, kind, value) for case in cases for kind, value in members)
        return is_member != negated

    def _cases(self, letter: Character) -> tuple[Character, ...]:
        other = chr(letter).swapcase()
        return (letter, ord(other)) if self.flags & re.IGNORECASE and len(other) == 1 else (letter,)

    def allows(self, before: Character, after: Character, conditions: frozenset[Any]) -> bool:
        """Whether conditions such as a word boundary can hold between two characters. A lookaround always can."""
        return all(self._allows(before, after, condition) for condition in conditions)

    def _allows(self, before: Character, after: Character, condition: Any) -> bool:
        is_many_lines = bool(self.flags & re.MULTILINE)
        if condition in {opcodes.AT_BOUNDARY, opcodes.AT_NON_BOUNDARY}:
            return bool((_is_word(before) != _is_word(after)) == (condition == opcodes.AT_BOUNDARY))
        if condition == opcodes.AT_BEGINNING:
            return is_many_lines and before == _NEWLINE
        if condition == opcodes.AT_END:
            return is_many_lines and after == _NEWLINE
        return condition not in {opcodes.AT_BEGINNING_STRING, opcodes.AT_END_STRING}


def _named(characters: Sequence[Any]) -> Iterator[Character]:
    for operator, argument in characters:
        if operator in {opcodes.LITERAL, opcodes.NOT_LITERAL}:
            yield argument
        elif operator == opcodes.IN:
            for kind, value in argument:
                if kind == opcodes.LITERAL:
                    yield value
                elif kind == opcodes.RANGE:
                    yield from value


def _is_word(letter: Character) -> bool:
    return chr(letter).isalnum() or chr(letter) == "_"


def _is_member(code: Character, kind: Any, value: Any) -> bool:
    if kind == opcodes.LITERAL:
        return bool(code == value)
    if kind == opcodes.RANGE:
        return bool(value[0] <= code <= value[1])
    categories = {
        opcodes.CATEGORY_DIGIT: r"\d",
        opcodes.CATEGORY_NOT_DIGIT: r"\D",
        opcodes.CATEGORY_SPACE: r"\s",
        opcodes.CATEGORY_NOT_SPACE: r"\S",
        opcodes.CATEGORY_WORD: r"\w",
        opcodes.CATEGORY_NOT_WORD: r"\W",
    }
    return re.match(categories[value], chr(code)) is not None


MANY_ROUNDS: Final = 20
"""A bounded repetition with at least this many rounds counts as endless: two ways per round are a million in all."""
_LENGTH: Final = 60
"""The number of characters of a message for which ways are counted."""
_WRITTEN_OUT: Final = ((MANY_ROUNDS, _LENGTH), (MANY_ROUNDS, MANY_ROUNDS + 1), (12, 13))
"""How a pattern is written out: the number of rounds from which a repetition is a loop, and how many rounds represent
a fixed number of them. The first that is not too large counts."""
_MOST_POSITIONS: Final = 400
_MOST_WAYS: Final = 2000
_MOST_STEPS: Final = 1_000_000
_REPEATS: Final = frozenset({opcodes.MAX_REPEAT, opcodes.MIN_REPEAT})
_ASSERTIONS: Final = frozenset({opcodes.ASSERT, opcodes.ASSERT_NOT})

Conditions = frozenset[Any]
"""A condition between two characters: word boundary, begin, end … (the opcodes of ``re``), or a lookaround."""
_NOTHING: Final[Conditions] = frozenset()


class Place(NamedTuple):
    """A character of the pattern, by its index, and the conditions on the way to or from it."""

    position: int
    conditions: Conditions = _NOTHING


class _Fragment(Struct, frozen=True):
    """A part of the pattern: where it can begin and end, and the ways to match nothing with it."""

    firsts: Sequence[Place] = ()
    lasts: Sequence[Place] = ()
    empty: Sequence[Conditions] = ()


class _Automaton(Struct, frozen=True):
    """Glushkov's automaton: a state for each character; ``follow`` counts the ways from one to the others.

    ``inner``: the patterns that are looked around with; ``rounds``: the states of each repetition with many rounds that
    must be gone through, of which each may match nothing. ``many``: from this many rounds on a repetition is a
    loop; ``most_copies``: this many rounds represent more of them.
    """

    characters: list[Any] = field(default_factory=list)
    follow: dict[int, Counter[Place]] = field(default_factory=dict)
    many: int = MANY_ROUNDS
    most_copies: int = MANY_ROUNDS + 1
    inner: list[Any] = field(default_factory=list)
    rounds: list[range] = field(default_factory=list)
    number_of_ways: list[int] = field(default_factory=lambda: [0])

    def of(self, body: Iterable[tuple[Any, Any]]) -> _Fragment:
        """Add a sequence of parsed items."""
        whole = _Fragment(empty=(_NOTHING,))
        for operator, argument in body:
            whole = self._joined(whole, self._of_item(operator, argument))
        return whole

    def _of_item(self, operator: Any, argument: Any) -> _Fragment:
        if operator in _REPEATS:
            return self._of_repeat(*argument)
        if operator == opcodes.SUBPATTERN:
            return self.of(argument[-1])
        if operator == opcodes.BRANCH:
            return _either([self.of(branch) for branch in argument[1]])
        if operator == opcodes.GROUPREF_EXISTS:
            return _either([self.of(branch) for branch in argument[1:] if branch is not None])
        if operator in _ASSERTIONS:
            self.inner.append(argument[1])
            return _Fragment(empty=(frozenset({operator}),))
        if operator == opcodes.AT:
            return _Fragment(empty=(frozenset({argument}),))
        place = Place(len(self.characters))
        self.characters.append((operator, argument))
        if place.position >= _MOST_POSITIONS:
            raise _TooLargeError
        return _Fragment((place,), (place,))

    def _of_repeat(self, least: int, most: int, body: Any) -> _Fragment:
        if most == 0:
            return _Fragment(empty=(_NOTHING,))
        begin = len(self.characters)
        fragment = self._of_rounds(least, most, body)
        shortest, longest = body.getwidth()
        if least >= self.many and shortest == 0 < longest:
            self.rounds.append(range(begin, len(self.characters)))
        return fragment

    def _of_rounds(self, least: int, most: int, body: Any) -> _Fragment:
        if least == most:
            # A fixed number of rounds stays fixed, although it can be smaller.
            return self._copies(body, min(least, self.most_copies))
        if most != opcodes.MAXREPEAT and most < self.many:
            tail = _Fragment(empty=(_NOTHING,))
            for _ in range(most - least):
                tail = _optional(self._joined(self.of(body), tail))
            return self._joined(self._copies(body, least), tail)
        looped = self._looped(self.of(body))
        return looped if least else _optional(looped)

    def _copies(self, body: Any, number: int) -> _Fragment:
        whole = _Fragment(empty=(_NOTHING,))
        for _ in range(number):
            whole = self._joined(whole, self.of(body))
        return whole

    def _looped(self, part: _Fragment) -> _Fragment:
        self._connect(part.lasts, part.firsts)
        return part

    def _joined(self, _fragment: _Fragment, other: _Fragment) -> _Fragment:
        self._connect(_fragment.lasts, other.firsts)
        return _Fragment(
            (*_fragment.firsts, *_across(_fragment.empty, other.firsts)),
            (*other.lasts, *_across(other.empty, _fragment.lasts)),
            _at_most_twice(a | b for a in _fragment.empty for b in other.empty),
        )

    def _connect(self, lasts: Sequence[Place], firsts: Sequence[Place]) -> None:
        for last in lasts:
            ways = self.follow.setdefault(last.position, Counter())
            self.number_of_ways[0] += len(firsts)
            if self.number_of_ways[0] > _MOST_WAYS:
                raise _TooLargeError
            for first in firsts:
                ways[Place(first.position, last.conditions | first.conditions)] += 1


class _TooLargeError(Exception):
    """The pattern has too many characters, or ways from one to another, to be judged."""


def _either(parts: Sequence[_Fragment]) -> _Fragment:
    return _Fragment(
        [place for part in parts for place in part.firsts],
        [place for part in parts for place in part.lasts],
        _at_most_twice(conditions for part in parts for conditions in part.empty),
    )


def _optional(part: _Fragment) -> _Fragment:
    return _Fragment(part.firsts, part.lasts, _at_most_twice((*part.empty, _NOTHING)))


def _across(empty: Sequence[Conditions], places: Sequence[Place]) -> Iterator[Place]:
    return (Place(place.position, place.conditions | conditions) for conditions in empty for place in places)


def _at_most_twice(ways: Iterable[Conditions]) -> tuple[Conditions, ...]:
    """Two ways to match nothing are as bad as any larger number."""
    return tuple(way for way, count in Counter(ways).items() for _ in range(min(count, 2)))


def is_exponential(tree: Any) -> bool:
    """Whether a parsed pattern (or a lookaround in it) has a loop that matches a string in several ways, and can fail.

    In a pattern of more than 400 characters (a bounded repetition is several) or 2000 ways between them, only loops of
    nothing but a loop are judged; one that takes a million steps to judge is accepted.
    """
    judged = _judged(tree)
    if judged is None:
        return _has_loop_of_loop(tree)
    automaton, paths = judged
    if any(paths.ends.isdisjoint(states) for states in automaton.rounds):
        return True
    try:
        if paths.is_ambiguous():
            return True
    except _TooLargeError:
        return False
    return any(map(is_exponential, automaton.inner))


def _has_loop_of_loop(tree: Any) -> bool:
    """Whether a repetition without end repeats nothing but another one, which is never useful."""
    waiting = [tree]
    while waiting:
        for operator, argument in waiting.pop():
            if _is_endless(operator, argument) and _is_endless(*_only(argument[2])):
                return True
            waiting += _children(operator, argument)
    return False


def _is_endless(operator: Any, argument: Any) -> bool:
    return operator in _REPEATS and argument[1] == opcodes.MAXREPEAT


def _only(body: Any) -> tuple[Any, Any]:
    """The single item of a sequence, with groups unwrapped."""
    while len(body) == 1 and body[0][0] == opcodes.SUBPATTERN:
        body = body[0][1][-1]
    return body[0] if len(body) == 1 else (None, None)


def _children(operator: Any, argument: Any) -> list[Any]:
    if operator in _REPEATS or operator == opcodes.SUBPATTERN:
        return [argument[-1]]
    return list(argument[1]) if operator == opcodes.BRANCH else []


def loops_in_a_row(tree: Any) -> int:
    """How many loops in a row can match the same character before the pattern fails.

    A sentence is divided among them in all ways: the time grows with that power of its length.
    """
    judged = _judged(tree)
    return 0 if judged is None else judged[1].most_loops()


def ways_to_read(tree: Any) -> int:
    """In how many ways a parsed pattern (or a lookaround in it) can begin to match sixty characters, and fail.

    That is how many steps a search takes from one place of the text. The text is built character by character, always
    with the one by which most ways go on; it ends where the pattern could match.
    """
    judged = _judged(tree)
    if judged is None:
        return 0
    automaton, paths = judged
    return max((paths.number_of_ways(_LENGTH), *map(ways_to_read, automaton.inner)))


def _judged(tree: Any) -> tuple[_Automaton, _Paths] | None:
    """The automaton of a pattern, written out as far as it can be, or ``None`` if it is too large."""
    for many, most_copies in _WRITTEN_OUT:
        automaton = _Automaton(many=many, most_copies=most_copies)
        try:
            whole = automaton.of(tree)
        except (_TooLargeError, RecursionError):
            continue
        ends = frozenset(place.position for place in whole.lasts if not place.conditions)
        firsts = {place.position: 1 for place in whole.firsts}
        alphabet = Alphabet.of(automaton.characters, tree.state.flags)
        return automaton, _Paths(automaton, firsts, ends, alphabet)
    return None


Pair = tuple[int, int, Character]
"""Two states of the automaton that the same text reaches, and its last character."""


class _Paths:
    """Pairs of paths through the automaton for one text."""

    def __init__(
        self, automaton: _Automaton, firsts: Mapping[int, int], ends: frozenset[int], alphabet: Alphabet
    ) -> None:
        self.ends = ends
        self._firsts = firsts
        self._ending = {state: ends & {place.position for place in ways} for state, ways in automaton.follow.items()}
        self._follow = {
            state: {place: count for place, count in ways.items() if place.position not in ends}
            for state, ways in automaton.follow.items()
            if state not in ends
        }
        self._read = [alphabet.matching(character) for character in automaton.characters]
        self._alphabet = alphabet
        self._steps_left = _MOST_STEPS

    def is_ambiguous(self) -> bool:
        """Whether two different paths lead from some state back to it.

        Each pair of one state with itself is followed until all pairs are known that it leads to; if pairs that lead
        on to one another include both such a pair and two different states, the paths have parted and met again.
        """
        begins = [(state, state, letter) for state in self._follow for letter in self._read[state]]
        for component in _components(begins, self._next):
            members = set(component)
            if any(one == other for one, other, _ in members) and (
                any(one != other for one, other, _ in members) or self._has_double_step(members)
            ):
                return True
        return False

    def most_loops(self) -> int:
        """The longest sequence of loops over the same character."""
        letters = {letter for state in self._follow for letter in self._read[state]}
        return max(map(self._loops_over, letters), default=0)

    def _loops_over(self, letter: Character) -> int:
        def following(pair: Pair) -> list[Pair]:
            return [(state, state, letter) for state, read in self._steps(pair[0], letter) if read == letter]

        begins = [(state, state, letter) for state in self._follow if letter in self._read[state]]
        before: dict[Pair, int] = {}
        longest = 0
        for component in _components(begins, following):  # each comes before those that it leads to
            onward = {after for pair in component for after in following(pair)}
            is_loop = not onward.isdisjoint(component)
            number = max(before.get(pair, 0) for pair in component) + is_loop
            longest = max(longest, number)
            for after in onward:
                before[after] = max(before.get(after, 0), number)
        return longest

    def number_of_ways(self, length: int) -> int:
        """The ways through the automaton for a text that does not match, including those for its beginnings."""
        steps = cache(self._steps)
        onward: dict[Character, dict[int, int]] = {}
        ending: set[Character] = set()
        for state, count in self._firsts.items():
            for letter in self._read[state]:
                onward.setdefault(letter, {})[state] = count
                if state in self.ends:
                    ending.add(letter)
        total = 0
        for _ in range(length):
            candidates = [letter for letter in onward if letter not in ending]
            if not candidates:
                break
            letter = max(candidates, key=lambda candidate: sum(onward[candidate].values()))
            reached = onward[letter]
            total += sum(reached.values())
            onward = {}
            for state, ways in reached.items():
                for (after, following), count in steps(state, letter).items():
                    counted = onward.setdefault(following, {})
                    counted[after] = counted.get(after, 0) + ways * count
            ending = {
                following for state in reached for end in self._ending.get(state, ()) for following in self._read[end]
            }
        return total

    def _steps(self, state: int, letter: Character) -> dict[tuple[int, Character], int]:
        """The states after this one, by the character that they match, and the number of ways to each."""
        found: dict[tuple[int, Character], int] = {}
        for place, count in self._follow.get(state, {}).items():
            for following in self._read[place.position]:
                if self._alphabet.allows(letter, following, place.conditions):
                    found[place.position, following] = found.get((place.position, following), 0) + count
        return found

    def _next(self, pair: Pair) -> list[Pair]:
        one, other, letter = pair
        lefts = self._steps(one, letter)
        rights = lefts if one == other else self._steps(other, letter)
        self._steps_left -= len(lefts) + len(rights)
        by_letter: dict[Character, list[int]] = {}
        for state, following in rights:
            by_letter.setdefault(following, []).append(state)
        found = [(left, right, following) for left, following in lefts for right in by_letter.get(following, ())]
        self._steps_left -= len(found)
        if self._steps_left < 0:
            raise _TooLargeError
        return found

    def _has_double_step(self, members: set[Pair]) -> bool:
        return any(
            count > 1 and (following, following, read) in members
            for one, other, letter in members
            if one == other
            for (following, read), count in self._steps(one, letter).items()
        )


def _components(begins: Sequence[Pair], following: Callable[[Pair], list[Pair]]) -> Iterator[list[Pair]]:
    """The strongly connected components of what can be reached, after Kosaraju (two searches, the second backwards)."""
    leading: dict[Pair, list[Pair]] = {begin: [] for begin in begins}
    finished: list[Pair] = []
    seen: set[Pair] = set()
    for begin in begins:
        if begin in seen:
            continue
        seen.add(begin)
        stack = [(begin, iter(following(begin)))]
        while stack:
            pair, onward = stack[-1]
            for after in onward:
                leading.setdefault(after, []).append(pair)
                if after not in seen:
                    seen.add(after)
                    stack.append((after, iter(following(after))))
                    break
            else:
                finished.append(pair)
                stack.pop()
    for begin in reversed(finished):
        component, waiting = [], [begin]
        while waiting:
            pair = waiting.pop()
            if pair in seen:
                seen.discard(pair)
                component.append(pair)
                waiting += leading[pair]
        if component:
            yield component
