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
from turncheck.validation.backtracking import MOST_STEPS, OF_A_PROJECT, Steps, TooManyStepsError, takes_forever
from turncheck.validation.checks import own_check
from turncheck.validation.findings import found
from turncheck.validation.similarity import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.messages.finding import Finding, Location
    from turncheck.project.model import Config
    from turncheck.validation.facts import Facts


CHECKS: Final = (
    own_check(
        "regex-invalid",
        "error",
        "A regular expression does not compile",
        "Training ends with an error. Correct the pattern; Python's `re` syntax counts.",
        "- regex: order_id\n  examples: |\n    - [0-9{5}",
        "- regex: order_id\n  examples: |\n    - [0-9]{5}",
        matters_always=True,
        about=("place",),
    ),
    own_check(
        "pattern-unread",
        "warning",
        "A regex or lookup table is faulty, and no component reads it",
        "Rasa trains all the same: only `RegexFeaturizer` reads them all, and `RegexEntityExtractor` those named like"
        " an annotated entity. Correct it, or remove it.",
        "- regex: order_id\n  examples: |\n    - [0-9{5}",
        "- regex: order_id\n  examples: |\n    - [0-9]{5}",
        matters_always=True,
        about=("place",),
    ),
    own_check(
        "keyword-not-regex",
        "error",
        "A sentence is not a keyword, since it is not a regular expression",
        "`KeywordIntentClassifier` uses each training sentence as the body of a regular expression, and training ends"
        " with an error at this one. Write the sentence without the character, or a backslash before it, or use another"
        " classifier.",
        "- intent: handoff\n  examples: |\n    - i want human :(",
        "- intent: handoff\n  examples: |\n    - i want human",
        matters_always=True,
        about=("place",),
    ),
    own_check(
        "regex-backtracks",
        "warning",
        "A regular expression can take practically forever",
        "One long message can stop the assistant: there are too many ways in which the pattern can read it. Write it so"
        " that each text can be read in one way.",
        "- regex: number\n  examples: |\n    - ([0-9]+)*x",
        "- regex: number\n  examples: |\n    - [0-9]+x",
        details="A repetition within a repetition (`(a+)+x`) or of alternatives that overlap (`(a|aa)+$`), with"
        " something"
        " after it that can fail, tries every way to split a sentence; so do four or more repetitions in"
        " a row that read"
        " the same (`(\\w+){1,5}x`) and bounded ones (`(\\w{1,10}){1,10}x`). Such patterns are tried on texts made for"
        " it, and steps are counted: up to 4,000,000 for a project. Whether case matters is taken from the pipeline:"
        " `RegexEntityExtractor` ignores it unless it has `case_sensitive: true`.",
        about=("place",),
    ),
    own_check(
        "regex-not-checked",
        "info",
        "A regular expression is too large to be checked",
        "Compiling one of more than 200,000 characters, or with a hundred of the widest ranges, can take minutes, so"
        " it is not checked; nor is how it backtracks, if the patterns before it took all steps that there are. Use a"
        " lookup table, which takes a list of any length.",
        "- regex: product\n  examples: |\n    - (lamp|desk|… thousands more)",
        "- lookup: product\n  examples: |\n    - lamp\n    - desk",
        about=("place",),
    ),
)


UNREAD: Final = "pattern-unread"
_LONGEST: Final = 200_000
"""Longer patterns are not compiled: for alternatives with equal beginnings, Python takes the square of their length."""
_WIDEST: Final = 5_000_000
"""Nor are those with this many characters in ranges: if case is ignored, Python tries them one by one."""


class PatternTooLargeError(Exception):
    """Compiling the pattern might take too long."""


def check_regexes(facts: Facts) -> Iterator[Finding]:
    """Compile each pattern as Rasa would, and look for repetitions that can match in many ways."""
    project = facts.project
    flags = _flags_of_matching(project.config)
    read = patterns_read(project.config, project.nlu, "use_regexes")
    steps = Steps(OF_A_PROJECT)
    for regex in project.nlu.regexes:
        for finding in check_pattern(regex.pattern, f"the regex '{regex.name}'", regex.location, flags, steps):
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


def check_pattern(
    pattern: str, owner: str, location: Location, flags: Sequence[int] = (0,), steps: Steps | None = None
) -> Iterator[Finding]:
    """Compile one pattern as Rasa would, and try whether matching takes practically forever.

    ``steps``: how many may be taken; by default those of a project.
    """
    named = f"The pattern '{shown(pattern)}' of {owner}"
    try:
        problem = compile_problem(pattern)
    except PatternTooLargeError as error:
        yield found("regex-not-checked", f"{named} is not checked: {error}.", location)
        return
    if problem is not None:
        yield found("regex-invalid", f"{named} does not compile: {problem}.", location)
        return
    steps = steps or Steps(OF_A_PROJECT)
    for flag in flags:
        try:
            is_slow = takes_forever(_parsed(pattern, flag), steps)
        except TooManyStepsError:
            why = f"this one and those before it would take more than {OF_A_PROJECT:,} steps"
            yield found("regex-not-checked", f"{named} is not tried on long texts: {why}.", location)
            return
        if is_slow:
            ignoring = ", since case is ignored" if flag & re.IGNORECASE and 0 not in flags else ""
            what = f"can take more than {MOST_STEPS:,} steps for a hundred characters{ignoring}"
            yield found("regex-backtracks", f"{named} {what}.", location)
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
    """Whether matching can take practically forever."""
    return takes_forever(_parsed(pattern, flags), Steps(OF_A_PROJECT))


def _parsed(pattern: str, flags: int = 0) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parser.parse(_flags_first(pattern), flags)
