"""Conditions of flows: parsed as pypred reads them, which Rasa's documentation names, and what can make them true.

The grammar of pypred 0.4: ``and`` and ``or`` bind equally and are grouped from the right, ``not`` binds tighter than
both; a word is anything of letters, digits and ``_-.:;``; a word without quotes stands for a value of the dialogue.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice, pairwise, product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from msgspec import Struct

from turncheck.yaml_tree.shapes import EndlessSearchError, is_matched, pattern_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

Operator = Literal["=", "!=", "<", "<=", ">", ">=", "contains", "matches"]
_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\n]+|\#[^\n]*)
    |(?P<number>-?\d+(?:\.\d+)?)
    |(?P<word>[\w\-.:;]+|"[^"]*"|'[^']*')
    |(?P<sign>>=|<=|!=|==|>|<|=|\(|\)|{|})
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_RESERVED: Final = frozenset(
    {"is", "and", "or", "not", "contains", "matches", "true", "false", "undefined", "null", "empty"}
)
_CONSTANTS: Final[Mapping[str, Any]] = {"true": True, "false": False, "null": None}
_COMPARING: Final[Mapping[str, Operator]] = {
    ">": ">",
    ">=": ">=",
    "<": "<",
    "<=": "<=",
    "=": "=",
    "==": "=",
    "is": "=",
    "!=": "!=",
    "contains": "contains",
    "matches": "matches",
}
_TEMPLATE: Final = re.compile(r"{{.*?}}|{%.*?%}", re.DOTALL)
"""What Rasa fills in before it evaluates a condition."""
_FILLED: Final = "filled_in"
_MOST_TOKENS: Final = 2000
_DEEPEST: Final = 100
_MOST_CASES: Final = 4000
"""Combinations of values that are tried, at most: beyond that nothing is said about a condition."""


class ConditionError(Exception):
    """A condition cannot be parsed; the message says why."""


class Word(Struct, frozen=True):
    """A word without quotes: ``slots.amount``."""

    text: str


class Value(Struct, frozen=True):
    """A constant: a text in quotes, a number, ``true``, ``null`` …; ``special`` is ``undefined`` or ``empty``."""

    value: Any = None
    special: str = ""


class Values(Struct, frozen=True):
    """A set in braces."""

    values: tuple[Factor, ...]


class Compared(Struct, frozen=True):
    """Two factors and the operator between them."""

    operator: Operator
    left: Factor
    right: Factor


class Not(Struct, frozen=True):
    """A negation."""

    of: Expression


class Joined(Struct, frozen=True):
    """``and`` or ``or``."""

    operator: Literal["and", "or"]
    left: Expression
    right: Expression


Factor = Word | Value | Values | Compared | Not | Joined
Expression = Factor


class Parsed(Struct, frozen=True):
    """A condition. ``mixes``: it has ``and`` before ``or`` in one group, which Rasa groups unlike most languages."""

    root: Expression
    mixes: bool = False

    @property
    def words(self) -> Iterator[str]:
        """The words without quotes, in their order."""
        yield from (part.text for part in parts_of(self.root) if isinstance(part, Word))


def parse_condition(text: str) -> Parsed:
    """Parse a condition.

    Raises:
        ConditionError: Rasa could not evaluate it.
    """
    parser = _Parser(_tokens(_TEMPLATE.sub(_FILLED, text)))
    root = parser.expression(0)
    if parser.at is not None:
        raise ConditionError(f"'{parser.at[1]}' is not expected there")
    if isinstance(root, Value) and root.special:
        raise ConditionError(f"'{root.special}' alone is not a condition")
    if root == Values(()):
        raise ConditionError("'{}' alone is not a condition")
    return Parsed(root, parser.mixes)


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup or "", match[0]
        if kind == "other":
            raise ConditionError(f"'{token}' is not part of any operator or name")
        if kind == "word" and token.lower() in _RESERVED:
            kind, token = "reserved", token.lower()
        if kind != "space":
            found.append((kind, token))
    if len(found) > _MOST_TOKENS:
        raise ConditionError("it is longer than any condition that can be read")
    return found


class _Parser:
    """Reads tokens by recursive descent."""

    def __init__(self, tokens: Sequence[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._place = 0
        self.mixes = False

    @property
    def at(self) -> tuple[str, str] | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _is(self, token: str) -> bool:
        return self.at is not None and self.at[0] in {"sign", "reserved"} and self.at[1] == token

    def _take(self) -> tuple[str, str]:
        if self.at is None:
            raise ConditionError("it ends where a value is expected")
        self._place += 1
        return self._tokens[self._place - 1]

    def expression(self, depth: int) -> Expression:
        """``not``… term, joined by ``and`` and ``or`` from the right."""
        operands = [self._operand(depth)]
        operators: list[Literal["and", "or"]] = []
        while self._is("and") or self._is("or"):
            operators.append("and" if self._take()[1] == "and" else "or")
            operands.append(self._operand(depth))
        self.mixes = self.mixes or any(pair == ("and", "or") for pair in pairwise(operators))
        joined = operands.pop()
        while operators:
            joined = Joined(operators.pop(), operands.pop(), joined)
        return joined

    def _operand(self, depth: int) -> Expression:
        if depth > _DEEPEST:
            raise ConditionError("it is nested deeper than any condition that can be read")
        if self._is("not"):
            self._take()
            return Not(self._operand(depth + 1))
        return self._term(depth)

    def _term(self, depth: int) -> Expression:
        left = self._factor(depth)
        if self.at is None or self.at[0] not in {"sign", "reserved"} or self.at[1] not in _COMPARING:
            return left
        sign = self._take()[1]
        operator = _COMPARING[sign]
        if sign == "is" and self._is("not"):
            self._take()
            operator = "!="
        right = self._factor(depth)
        if operator == "matches":
            _check_pattern(right)
        elif operator == "contains" and not _is_constant(right):
            raise ConditionError("'contains' takes one value on its right: the set stands on its left")
        return Compared(operator, left, right)

    def _factor(self, depth: int) -> Factor:
        if depth > _DEEPEST:
            raise ConditionError("it is nested deeper than any condition that can be read")
        kind, word = self._take()
        if kind == "number":
            return Value(float(word))
        if kind == "word":
            return Value(word[1:-1]) if word[0] in "\"'" else Word(word)
        if kind == "reserved" and word in _CONSTANTS:
            return Value(_CONSTANTS[word])
        if kind == "reserved" and word in {"undefined", "empty"}:
            return Value(special=word)
        if word == "(":
            inner = self.expression(depth + 1)
            if not self._is(")"):
                raise ConditionError("a parenthesis is not closed")
            self._take()
            return inner
        if word == "{":
            values = []
            while not self._is("}"):
                values.append(self._factor(depth + 1))
                if not _is_constant(values[-1]):
                    raise ConditionError("a set has texts and numbers only")
            self._take()
            return Values(tuple(values))
        raise ConditionError(f"a value is expected in place of '{word}'")


def _is_constant(factor: Factor) -> bool:
    return isinstance(factor, Word) or (isinstance(factor, Value) and not factor.special)


def _check_pattern(factor: Factor) -> None:
    if not isinstance(factor, Value) or not isinstance(factor.value, str):
        if isinstance(factor, Word):
            return  # pypred takes the word itself
        raise ConditionError("'matches' needs a regular expression in quotes")
    try:
        re.compile(factor.value)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConditionError(f"its regular expression is not valid: {error}") from None


def parts_of(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all that it is made of, in the order of the text."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        match part:
            case Not(of=inner):
                waiting.append(inner)
            case Joined(left=left, right=right) | Compared(left=left, right=right):
                waiting += (right, left)
            case Values(values=values):
                waiting += reversed(values)
            case _:
                pass


# Conditions in a form that only depends on what they mean.

_OPPOSITE: Final[Mapping[Operator, Operator]] = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def written(expression: Expression, *, negated: bool = False) -> str:
    """Write a condition, or its opposite, with negations at comparisons and words only.

    >>> written(parse_condition("not (slots.a and slots.b = 1)").root)
    '(not slots.a or slots.b != 1)'
    """
    match expression:
        case Not(of=inner):
            return written(inner, negated=not negated)
        case Joined(operator=operator, left=left, right=right):
            joined = ("or" if operator == "and" else "and") if negated else operator
            return f"({written(left, negated=negated)} {joined} {written(right, negated=negated)})"
        case Compared(operator=operator, left=left, right=right):
            if negated and operator not in _OPPOSITE:
                return f"not {_factor(left)} {operator} {_factor(right)}"
            return f"{_factor(left)} {_OPPOSITE[operator] if negated else operator} {_factor(right)}"
        case _:
            return f"{'not ' if negated else ''}{_factor(expression)}"


_TURNED_AROUND: Final[Mapping[Operator, tuple[Operator, ...]]] = {
    "=": ("!=",),
    "!=": ("=",),
    "<": (">", ">="),
    "<=": (">", ">="),
    ">": ("<", "<="),
    ">=": ("<", "<="),
}
_MOST_TURNED: Final = 40


def turned(expression: Expression) -> tuple[str, ...]:
    """Return what a condition is with one of its parts turned around, each in the form of :func:`written`.

    >>> turned(parse_condition("slots.a and slots.b > 1").root)[-1]
    '(slots.a and slots.b <= 1)'
    """
    found = dict.fromkeys(written(one) for one in islice(_turned(expression), _MOST_TURNED))
    return tuple(text for text in found if text != written(expression))


def _turned(expression: Expression) -> Iterator[Expression]:
    match expression:
        case Not(of=inner):
            yield inner
            yield from (Not(one) for one in _turned(inner))
        case Joined(operator=operator, left=left, right=right):
            yield from (Joined(operator, one, right) for one in _turned(left))
            yield from (Joined(operator, left, one) for one in _turned(right))
        case Word():
            yield from (Not(expression), Compared("=", expression, Value(value=False)))
        case Compared(operator="=", left=left, right=Value(value=bool(value))):
            yield from (Compared("=", left, Value(not value)), Not(left) if value else left)
            yield Compared("!=", left, Value(value))
        case Compared(operator=operator, left=left, right=right) if operator in _TURNED_AROUND:
            yield from (Compared(other, left, right) for other in _TURNED_AROUND[operator])
        case _:
            yield Not(expression)


def _factor(factor: Factor) -> str:
    match factor:
        case Word(text=text):
            return text
        case Value(value=value, special=special):
            return special or (f"{value:g}" if isinstance(value, float) else repr(value))
        case Values(values=values):
            return "{" + " ".join(sorted(map(_factor, values))) + "}"
        case _:
            return written(factor)


# What can make conditions true: values are tried.


class Trial(Struct, frozen=True):
    """Conditions under all combinations of values that tell them apart; see :func:`tried`."""

    outcomes: tuple[tuple[bool, ...], ...]

    def ever(self, number: int) -> bool:
        """Whether a condition can be true."""
        return any(outcome[number] for outcome in self.outcomes)

    def always(self, number: int) -> bool:
        """Whether a condition is always true."""
        return all(outcome[number] for outcome in self.outcomes)

    def reached(self, number: int) -> bool:
        """Whether a condition can be true while all before it are false."""
        return any(outcome[number] and not any(outcome[:number]) for outcome in self.outcomes)

    @property
    def leaves_rest(self) -> bool:
        """Whether all can be false at once."""
        return any(not any(outcome) for outcome in self.outcomes)


def tried(
    conditions: Sequence[Expression],
    closed: Mapping[str, tuple[Any, ...]],
    types: Mapping[str, type] = MappingProxyType({}),
) -> Trial | None:
    """Evaluate conditions with all values that matter; ``None`` if these are too many.

    ``closed``: the words that can only have one of the listed values, or none; ``types``: those that only have values
    of a type, or none. Other words have, besides the constants that they are compared with, values that equal none of
    these. What else is compared (two words, patterns with words that are not closed) is true or false, each
    independently of all others.
    """
    trier = _Trier(closed)
    for condition in conditions:
        trier.collect(condition)
    for word, listed in trier.values.items():
        if word in closed:
            trier.values[word] = {repr(value): value for value in (*closed[word], None)}
            continue
        listed.update({repr(value): value for value in _others(listed.values(), types.get(word))})
        if word in types:
            trier.values[word] = {
                key: value for key, value in listed.items() if value is None or type(value) is types[word]
            }
    choices: list[tuple[tuple[str, Any], ...]] = [
        *(tuple((word, value) for value in listed.values()) for word, listed in trier.values.items()),
        *(((f"?{atom}", True), (f"?{atom}", False)) for atom in trier.atoms),
    ]
    number = 1
    for choice in choices:
        number *= len(choice)
        if number > _MOST_CASES:
            return None
    outcomes = {
        tuple(trier.holds(condition, situation) for condition in conditions)
        for combination in product(*choices)
        for situation in [dict(combination)]
    }
    return Trial(tuple(sorted(outcomes)))


def _others(constants: Iterable[Any], kind: type | None) -> list[Any]:
    """Values between, below and above the numbers and texts, other than them, and nothing."""
    constants = list(constants)
    numbers = sorted({value for value in constants if isinstance(value, float)} or ({0.0} if kind is float else set()))
    between = [(one + other) / 2 for one, other in pairwise(numbers)]
    around = [numbers[0] - 1, numbers[-1] + 1] if numbers else []
    texts = sorted({value for value in constants if isinstance(value, str)})
    after = [f"{text}\0" for text in texts]
    return [None, True, False, "some other text", *([""] if texts else []), *after, *numbers, *between, *around]


class _Test(NamedTuple):
    """A comparison that depends on one word: with which constants, and which values of the word meet it."""

    word: str
    constants: tuple[Any, ...]
    holds: Callable[[Any], bool]


class _Trier:
    """Collects what conditions depend on, and evaluates them: ``values`` by word, ``atoms`` that are true or false."""

    def __init__(self, closed: Mapping[str, tuple[Any, ...]]) -> None:
        self.values: dict[str, dict[str, Any]] = {}
        self.atoms: dict[str, None] = {}
        self._closed = closed

    def collect(self, expression: Expression) -> None:
        """Note the words and atoms of an expression."""
        match expression:
            case Not(of=inner):
                self.collect(inner)
            case Joined(left=left, right=right):
                self.collect(left)
                self.collect(right)
            case Word(text=word):
                self.values.setdefault(word, {})
            case Compared():
                test = self._test(expression)
                if test is None:
                    self.atoms[repr(expression)] = None
                else:
                    self.values.setdefault(test.word, {}).update({repr(value): value for value in test.constants})
            case _:
                pass

    def holds(self, expression: Expression, situation: Mapping[str, Any]) -> bool:
        """Whether an expression is true in a situation."""
        match expression:
            case Not(of=inner):
                return not self.holds(inner, situation)
            case Joined(operator="and", left=left, right=right):
                return self.holds(left, situation) and self.holds(right, situation)
            case Joined(left=left, right=right):
                return self.holds(left, situation) or self.holds(right, situation)
            case Word(text=word):
                return bool(situation[word])
            case Compared():
                test = self._test(expression)
                return bool(situation[f"?{expression!r}"]) if test is None else test.holds(situation[test.word])
            case Value(value=value):
                return bool(value)
            case _:
                return True

    def _test(self, compared: Compared) -> _Test | None:
        left, right, operator = compared.left, compared.right, compared.operator
        if isinstance(right, Word) and isinstance(left, Value):
            left, right, operator = right, left, _TURNED.get(operator, operator)
            if operator == "contains":
                return None
        if operator == "contains" and isinstance(left, Values) and isinstance(right, Word):
            listed = tuple(one.value for one in left.values if isinstance(one, Value))
            is_known = len(listed) == len(left.values)
            return _Test(right.text, listed, lambda value: _is_among(value, listed)) if is_known else None
        if not isinstance(left, Word) or not isinstance(right, Value) or right.special:
            return None
        if operator in {"contains", "matches"}:
            return self._of_closed(left.text, operator, right.value)
        return _Test(left.text, (right.value,), lambda value: _compare(value, operator, right.value))

    def _of_closed(self, word: str, operator: Operator, constant: Any) -> _Test | None:
        """A part or a pattern of a word of which all values are known."""
        if word not in self._closed or not isinstance(constant, str):
            return None
        texts = [value for value in self._closed[word] if isinstance(value, str)]
        found = [constant in text if operator == "contains" else _matched(constant, text) for text in texts]
        if None in found:
            return None
        hits = tuple(text for text, hit in zip(texts, found, strict=True) if hit)
        return _Test(word, (), lambda value: _is_among(value, hits))


def _is_among(value: Any, listed: tuple[Any, ...]) -> bool:
    return any(_compare(value, "=", one) for one in listed)


@lru_cache(maxsize=4096)
def _matched(pattern: str, text: str) -> bool | None:
    """Whether a text holds a pattern; ``None`` if that cannot be found out in time."""
    if pattern_problem(pattern) is not None:
        return None
    try:
        return is_matched(pattern, text)
    except EndlessSearchError:
        return None


_TURNED: Final[Mapping[Operator, Operator]] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


_ORDERED: Final[Mapping[Operator, Callable[[Any, Any], bool]]] = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
}


def _compare(one: Any, operator: Operator, other: Any) -> bool:
    numeric = isinstance(one, (bool, float)) and isinstance(other, (bool, float))
    is_same = (numeric or type(one) is type(other)) and one == other
    if operator == "=":
        return is_same
    if operator == "!=":
        return not is_same
    if numeric or (isinstance(one, str) and isinstance(other, str)):
        return _ORDERED[operator](one, other)
    return False
