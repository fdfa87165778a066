"""Regular expressions of the NLU data: those that do not compile, and those that can take exponential time."""

from __future__ import annotations

import re
import warnings
from functools import cache
from re import _constants as opcodes  # type: ignore[attr-defined] # CPython's own parser of patterns: no other knows its syntax
from re import _parser as parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, Final

from turncheck.project.config import short_name
from turncheck.project.rasa_components import patterns_read
from turncheck.validation.backtracking import is_exponential, loops_in_a_row, ways_to_read
from turncheck.validation.findings import found
from turncheck.validation.similarity import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.messages.finding import Finding, Location
    from turncheck.project.model import Config
    from turncheck.validation.facts import Facts

UNREAD: Final = "pattern-unread"
_LONGEST: Final = 200_000
"""Longer patterns are not compiled: for alternatives with equal beginnings, Python takes the square of their length."""
_WIDEST: Final = 5_000_000
"""Nor are those with this many characters in ranges: if case is ignored, Python tries them one by one."""
_MOST_LOOPS: Final = 4
"""With this many loops in a row, a long message takes minutes: a thousand characters in four loops are 10^12 steps."""
_MOST_WAYS: Final = 1_000_000
"""This many ways to read sixty characters take about a second, and a long message takes minutes."""


class PatternTooLargeError(Exception):
    """Compiling the pattern might take too long."""


def check_regexes(facts: Facts) -> Iterator[Finding]:
    """Compile each pattern as Rasa would, and look for repetitions that can match in many ways."""
    project = facts.project
    flags = _flags_of_matching(project.config)
    read = patterns_read(project.config, project.nlu, "use_regexes")
    for regex in project.nlu.regexes:
        for finding in check_pattern(regex.pattern, f"the regex '{regex.name}'", regex.location, flags):
            is_error = finding.code == "regex-invalid"
            yield finding if regex.name in read or not is_error else found(UNREAD, finding.message, finding.location)


def check_keywords(facts: Facts) -> Iterator[Finding]:
    """Training sentences that are not regular expressions, for a pipeline that uses them in regular expressions."""
    for example in facts.project.nlu.examples:
        if not example.base_intent or example.text.isalnum():
            continue
        problem = keyword_problem(example.text)
        if problem is not None:
            message = f"'{shown(example.text)}' is a keyword, and not a regular expression: {problem}."
            yield found("keyword-not-regex", message, example.location)


def keyword_problem(text: str) -> str | None:
    """Return why a sentence is not valid in a regular expression, or ``None``, also if it is too large to check."""
    try:
        return compile_problem(rf"\b{text}\b")
    except PatternTooLargeError:
        return None


def _flags_of_matching(config: Config) -> Sequence[int]:
    """The flags with which the components of the pipeline match the regexes of the NLU data."""
    ignores_case = {
        not component.parameters.get("case_sensitive", _CASE_SENSITIVE[short_name(component.name)])
        for component in config.pipeline or ()
        if short_name(component.name) in _CASE_SENSITIVE
    }
    return [re.IGNORECASE if ignored else 0 for ignored in sorted(ignores_case)] or [0]


_CASE_SENSITIVE: Final = {"RegexFeaturizer": True, "RegexEntityExtractor": False}
"""The default of ``case_sensitive`` in the components that match regexes."""


def check_pattern(pattern: str, owner: str, location: Location, flags: Sequence[int] = (0,)) -> Iterator[Finding]:
    """Compile one pattern as Rasa would, and look for loops that can match a string in several ways."""
    try:
        problem = compile_problem(pattern)
    except PatternTooLargeError as error:
        yield found(
            "regex-not-checked", f"The pattern '{shown(pattern)}' of {owner} is not checked: {error}.", location
        )
        return
    if problem is not None:
        yield found(
            "regex-invalid", f"The pattern '{shown(pattern)}' of {owner} does not compile: {problem}.", location
        )
        return
    for flag in flags:
        cost = _cost(pattern, flag)
        if cost is not None:
            ignoring = ", since case is ignored" if flag & re.IGNORECASE and 0 not in flags else ""
            yield found(
                "regex-backtracks", f"The pattern '{shown(pattern)}' of {owner} can {cost}{ignoring}.", location
            )
            return


@cache
def compile_problem(pattern: str) -> str | None:
    """Return why a pattern does not compile, or ``None``.

    Raises:
        PatternTooLargeError: compiling it might take too long.
    """
    if len(pattern) > _LONGEST:
        message = f"it has {len(pattern):,} characters, and up to {_LONGEST:,} are looked at"
        raise PatternTooLargeError(message)
    try:
        tree = _parsed(pattern)
        parts = list(_parts(tree))
        if sum(argument[1] - argument[0] for operator, argument in parts if operator is opcodes.RANGE) > _WIDEST:
            message = f"its classes hold more than {_WIDEST:,} characters"
            raise PatternTooLargeError(message)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's own notes on style, such as "possible nested set"
            re.compile(_flags_first(pattern))
    except (re.error, OverflowError, RecursionError) as error:
        return str(error) or type(error).__name__
    if any(operator in _NEWER for operator, _ in parts):
        return "possessive quantifiers and atomic groups are not known to Python 3.10"
    return None


_GLOBAL_FLAGS: Final = r"(?<!\\)\(\?([aimsux]+)\)"
_NEWER: Final = frozenset({opcodes.POSSESSIVE_REPEAT, opcodes.ATOMIC_GROUP})


def _flags_first(pattern: str) -> str:
    """Return the pattern with its global flags in front: Rasa 3.6 runs on Python 3.10, which accepts them anywhere."""
    try:
        parser.parse(pattern)
    except re.error as error:
        if not error.msg.startswith("global flags not at the start"):
            return pattern
        flags = "".join(dict.fromkeys("".join(re.findall(_GLOBAL_FLAGS, pattern))))
        return f"(?{flags}){re.sub(_GLOBAL_FLAGS, '', pattern)}" if flags else pattern
    return pattern


def _parts(tree: Any) -> Iterator[tuple[Any, Any]]:
    """All operators of a parsed pattern, each with its argument."""
    stack = [tree]
    while stack:
        inner = stack.pop()
        if isinstance(inner, tuple) and len(inner) == 2 and isinstance(inner[0], _OPERATOR):
            yield inner
        if isinstance(inner, parser.SubPattern | list | tuple):
            stack.extend(inner)


_OPERATOR: Final = type(opcodes.LITERAL)


def backtracks(pattern: str, flags: int = 0) -> bool:
    """Whether matching can take exponential time, or practically as long."""
    return _cost(pattern, flags) is not None


def _cost(pattern: str, flags: int) -> str | None:
    """How long matching can take, in words, or ``None`` if it does not matter."""
    tree = _parsed(pattern, flags)
    if is_exponential(tree):
        return "take exponential time"
    if (power := loops_in_a_row(tree)) >= _MOST_LOOPS:
        return f"take time that grows with the {power}th power of a length"
    if ways_to_read(tree) >= _MOST_WAYS:
        return f"read one text of sixty characters in more than {_MOST_WAYS:,} ways"
    return None


def _parsed(pattern: str, flags: int = 0) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parser.parse(_flags_first(pattern), flags)
