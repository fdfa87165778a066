"""What ``rasa test du`` left → the report's own types: cases, and how often each kind of command was right.

Rasa's documentation ("Dialogue Understanding Test Output") shows what is printed, and says that the same is saved "in a
structured format", whose keys it does not name. So printed output is read as it is shown there, and a structured file
by what it holds, under whatever keys: lists of names of passed and failed cases, counts (``tp``, ``fp``, ``fn``) of
kinds of commands, and failed messages with the commands that were expected and predicted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.report.commands import CommandCounts
from turncheck.report.model import CaseMessage, CaseResult, CaseStep, EndToEnd
from turncheck.report.part import LARGEST
from turncheck.yaml_tree.source import EscapeError, YamlSource
from turncheck.yaml_tree.tree import parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.project.e2e.model import E2ECase

STEP: Final = "commands"
"""The kind of a step: what a message should be understood as."""
_STRUCTURED: Final = (".yml", ".yaml", ".json")
_SUFFIXES: Final = (*_STRUCTURED, ".txt", ".log", ".out")
_HOLDS_COUNTS: Final = re.compile(r"\btp\b[\"']?\s*:.*?\bfn\b[\"']?\s*:", re.DOTALL)
_REMARK: Final = (
    "Read from the results of `rasa test du`, which name the messages that were not understood as expected."
)
_WHAT: Final = "Name what `rasa test du` wrote: its report file, or what it printed."


class FailedMessage(Struct, frozen=True):
    """A message whose commands were not the expected ones."""

    text: str
    expected: tuple[str, ...] = ()
    predicted: tuple[str, ...] = ()


class DuResults(Struct, frozen=True):
    """What a file says. Cases have the names that Rasa gives them: ``file::name``."""

    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    messages: Mapping[str, tuple[FailedMessage, ...]] = {}
    counts: tuple[CommandCounts, ...] = ()


def may_be_results(name: str, text: str) -> bool:
    """Whether a file of this name and text may be what ``rasa test du`` wrote or printed."""
    return name.lower().endswith(_SUFFIXES) and (_HOLDS_COUNTS.search(text) is not None or "-- PREDICTED --" in text)


def is_structured(name: str) -> bool:
    """Whether a file is YAML or JSON, not printed output."""
    return name.lower().endswith(_STRUCTURED)


def names_cases(name: str, text: str) -> bool:
    """Whether a YAML or JSON file says which test cases passed or failed: else it counts something else.

    Raises:
        UserError: it is not YAML.
    """
    read = _structured(name, text)
    return bool(read.passed or read.failed or read.messages)


def import_commands(files: Iterable[tuple[str, str]], cases: Sequence[E2ECase]) -> EndToEnd:
    """Make the report's section from files, each by name and text; the project's cases say where each is.

    Raises:
        UserError: a file has no results, or two of them disagree.
    """
    known = _Known(cases)
    results: dict[str, CaseResult] = {}
    counts: dict[str, CommandCounts] = {}
    for name, text in files:
        read = _structured(name, text) if is_structured(name) else _printed(text, known)
        if not (read.passed or read.failed or read.messages):
            raise UserError(f"{name} names no test cases", hint=_WHAT)
        for key, result in _results(name, read, known):
            if results.setdefault(key, result).passed != result.passed:
                raise UserError(
                    f"{name}: '{result.name}' passed and failed", hint="Import the results of a single run."
                )
        for one in read.counts:
            if counts.setdefault(one.command, one) != one:
                raise UserError(f"{name}: '{one.command}' is counted twice", hint="Import the results of a single run.")
    passed = sum(result.passed for result in results.values())
    return EndToEnd(
        cases=tuple(results.values()),
        passed=passed,
        failed=len(results) - passed,
        remarks=(_REMARK,),
        commands=tuple(counts.values()),
    )


def _results(name: str, read: DuResults, known: _Known) -> Iterator[tuple[str, CaseResult]]:
    failed = dict.fromkeys((*read.failed, *read.messages))
    for case in dict.fromkeys((*read.passed, *failed)):
        if case in read.passed and case in failed:
            raise UserError(f"{name}: '{case}' passed and failed", hint="Import the results of a single run.")
        yield case, _result(case, name, read.messages.get(case, ()), known, passed=case not in failed)


def _result(name: str, file: str, failed: Sequence[FailedMessage], known: _Known, *, passed: bool) -> CaseResult:
    """Return the result of a case; its messages and steps are those of the project, if it has the case."""
    case = known.find(name)
    messages, steps = _held(case, failed) if case is not None else ((), ())
    first = next(iter(failed), None)
    reason = f"'{first.text}': expected {_listed(first.expected)}, got {_listed(first.predicted)}" if first else None
    return CaseResult(
        name=case.name if case is not None else name.rpartition("::")[2],
        location=case.location if case is not None else Location(file),
        passed=passed,
        outcome="passed" if passed else "failed",
        steps=steps,
        messages=messages,
        difference=tuple(line for message in failed for line in _difference(message)),
        reason=None if passed or any(step.outcome == "failed" for step in steps) else reason or "it failed",
    )


def _held(case: E2ECase, failed: Sequence[FailedMessage]) -> tuple[tuple[CaseMessage, ...], tuple[CaseStep, ...]]:
    """Return the messages of a case, and what each should be understood as: it was, unless it is among the failed."""
    left = list(failed)
    messages: list[CaseMessage] = []
    steps: list[CaseStep] = []
    for turn in case.turns:
        if turn.user is None:
            continue
        wrong = next((one for one in left if one.text.strip() == turn.user.strip()), None)
        if wrong is not None:
            left.remove(wrong)
        steps.append(
            CaseStep(
                kind=STEP,
                expected=_listed([command.text for command in turn.commands]),
                outcome="passed" if wrong is None else "failed",
                actual=None if wrong is None else _listed(wrong.predicted),
                location=next((command.location for command in turn.commands), turn.location),
                message=len(messages),
            )
        )
        messages.append(CaseMessage(text=turn.user, location=turn.location))
    return tuple(messages), tuple(steps)


def _listed(commands: Sequence[str]) -> str:
    return ", ".join(commands) or "no command"


def _difference(message: FailedMessage) -> Iterator[str]:
    yield f"  user: {message.text}"
    left = list(message.predicted)
    missing = []
    for command in message.expected:
        if command in left:
            left.remove(command)
            yield f"  {command}"
        else:
            missing.append(command)
    yield from (f"- {command}" for command in left)
    yield from (f"+ {command}" for command in missing)


class _Known:
    """The project's dialogue understanding tests, by what Rasa calls them: ``file::name``, with any folders before."""

    def __init__(self, cases: Sequence[E2ECase]) -> None:
        self._by_name: dict[str, list[E2ECase]] = {}
        for case in cases:
            self._by_name.setdefault(case.name, []).append(case)

    def find(self, name: str) -> E2ECase | None:
        """Return the case of this name; of several in the file that is named, else the first."""
        file, _, short = name.rpartition("::")
        found = self._by_name.get(short, [])
        return next((case for case in found if file.endswith(case.location.path)), found[0] if found else None)

    def begin(self, text: str) -> str:
        """Return the longest known name that the string starts with, else the whole string."""
        return max((name for name in self._by_name if text.startswith(name)), key=len, default=text)


# --- what is printed --------------------------------------------------------------------------------------------------

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_HEAD: Final = re.compile(r"-{3,}\s*test_case:\s*(?P<name>\S.*?)\s*-{3,}\s*")
_MESSAGE: Final = re.compile(r"== failure starting at user message '(?P<text>.*)'\.?\s*")
_TABLE: Final = re.compile(r"\s*-- EXPECTED --\s*\|\s*-- PREDICTED --\s*")
_KIND: Final = re.compile(r"\s*(?P<kind>\S.*?)\s*\(total count:\s*\d+\):?\s*")
_COUNTS: Final = re.compile(r"\s*tp:\s*(\d{1,15})\s+fp:\s*(\d{1,15})\s+fn:\s*(\d{1,15})\s*")
_CASE: Final = re.compile(r"(?<![^\s:])(?P<file>[^\s:]+\.ya?ml)::(?P<name>\S.*)")
_AROUND: Final = " \t'\","


def _printed(text: str, known: _Known) -> DuResults:
    """Read what was printed: a case that is named and has no failed message passed."""
    named: dict[str, None] = {}
    failed: dict[str, list[FailedMessage]] = {}
    counts: list[CommandCounts] = []
    case, kind = "", ""
    lines = iter(_COLOUR.sub("", text).splitlines())
    for line in lines:
        if (head := _HEAD.fullmatch(line)) is not None:
            case = head["name"]
            failed.setdefault(case, [])
        elif case and (message := _MESSAGE.fullmatch(line)) is not None:
            failed[case].append(FailedMessage(message["text"]))
        elif case and failed[case] and _TABLE.fullmatch(line) is not None:
            failed[case][-1] = FailedMessage(failed[case][-1].text, *_columns(line.index("|"), lines))
        elif (match := _KIND.fullmatch(line)) is not None:
            kind = match["kind"]
        elif kind and (match := _COUNTS.fullmatch(line)) is not None:
            tp, fp, fn = map(int, match.groups())
            counts.append(CommandCounts(command=kind, tp=tp, fp=fp, fn=fn))
            kind = ""
        elif (match := _CASE.search(line)) is not None:
            named[f"{match['file']}::{known.begin(match['name'].strip(_AROUND))}"] = None
    return DuResults(
        passed=tuple(name for name in named if name not in failed),
        messages={name: tuple(messages) for name, messages in failed.items()},
        counts=tuple(counts),
    )


def _columns(column: int, lines: Iterator[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read the rows below the head of a table up to one that is none: what was expected, and what came."""
    expected: list[str] = []
    predicted: list[str] = []
    for row in lines:
        if "|" not in row:
            break
        at = column if row[column : column + 1] == "|" else row.index("|")
        expected.append(row[:at].strip())
        predicted.append(row[at + 1 :].strip())
    return tuple(filter(None, expected)), tuple(filter(None, predicted))


# --- a structured file ------------------------------------------------------------------------------------------------

_COUNTED: Final = ("tp", "fp", "fn")
_OF_MESSAGES: Final = ("user", "utterance", "message", "step")
"""In a key: what it lists are no cases."""
_DEEPEST: Final = 40


def _structured(name: str, text: str) -> DuResults:
    try:
        document = parse_yaml(YamlSource(name, text))
    except EscapeError as error:
        raise UserError(f"{name} is not YAML", hint=str(error)) from None
    if document.root is None:
        why = next(iter(document.findings), None)
        raise UserError(f"{name} is not YAML", hint=None if why is None else why.message)
    names: dict[str, dict[str, None]] = {"passed": {}, "failed": {}}
    messages: dict[str, list[FailedMessage]] = {}
    counts: dict[str, CommandCounts] = {}
    for key, value in _entries(document.root.data):
        word = next((word for word in names if word in key), None)
        if word is not None and _is_list_of_texts(value) and not any(part in key for part in _OF_MESSAGES):
            names[word].update(dict.fromkeys(value))
        elif isinstance(value, Mapping) and all(one in value for one in _COUNTED):
            counts[key] = _counted(name, key, value)
        elif isinstance(value, Mapping) and (found := _message(value)) is not None:
            case, message = found
            messages.setdefault(case, []).append(message)
    return DuResults(
        passed=tuple(names["passed"]),
        failed=tuple(names["failed"]),
        messages={case: tuple(found) for case, found in messages.items()},
        counts=tuple(counts.values()),
    )


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield each value with its key, those of a list with the key of the list; in the order of the file."""
    waiting: list[tuple[str, Any, int]] = [("", value, 0)]
    while waiting:
        key, one, depth = waiting.pop()
        yield key, one
        if depth == _DEEPEST:
            continue
        if isinstance(one, Mapping):
            below = [(str(name), inner) for name, inner in one.items()]
        else:
            below = [(key, inner) for inner in one] if isinstance(one, (list, tuple)) else []
        waiting.extend((name, inner, depth + 1) for name, inner in reversed(below))


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(one, str) for one in value)


def _counted(file: str, command: str, value: Mapping[str, Any]) -> CommandCounts:
    numbers = [value[one] for one in _COUNTED]
    if not all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= LARGEST for one in numbers):
        raise UserError(f"{file}: the counts of '{command[:80]}' are not whole numbers", hint=_WHAT)
    tp, fp, fn = numbers
    return CommandCounts(command=command, tp=tp, fp=fp, fn=fn)


def _message(value: Mapping[str, Any]) -> tuple[str, FailedMessage] | None:
    """Return the case and the failed message that an entry is about, if it has all of them."""

    def under(*words: str) -> Any:
        return next((one for key, one in value.items() if any(word in str(key).lower() for word in words)), None)

    case, said, expected, predicted = under("case", "name"), under("user", "message"), under("expected"), under("pred")
    if not isinstance(case, str) or not isinstance(said, str) or expected is None or predicted is None:
        return None
    return case, FailedMessage(said, tuple(_commands(expected)), tuple(_commands(predicted)))


def _commands(value: Any) -> Iterator[str]:
    """The commands of a list, or of several, by what generated them."""
    yield from (one.strip() for _, text in _entries(value) if isinstance(text, str) for one in text.splitlines())
