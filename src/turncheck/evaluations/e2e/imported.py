"""Files that ``rasa test e2e --e2e-results`` wrote → the report's own types.

Each is a mapping with the list ``test_results``: ``name``, ``pass_status``, ``expected_steps`` and ``difference``. The
lines of that begin with ``+`` for what was expected and ``-`` for what came, as those of a report do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.report.model import CaseResult, EndToEnd
from turncheck.yaml_tree.source import EscapeError, YamlSource
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

RESULTS: Final = "e2e_results*.yml"
"""How the files are called: ``e2e_results_passed.yml``, ``e2e_results_failed.yml``."""
_HALVES: Final = {"e2e_results_passed.yml": True, "e2e_results_failed.yml": False}
"""The files of one run, each with the only status that it holds."""
_REMARK: Final = "Read from the files of `rasa test e2e`: what was said at each step is only in the differences."


def import_cases(files: Iterable[tuple[str, str]], places: Mapping[str, Location]) -> EndToEnd:
    """Make the report's section from files, each by name and text.

    Args:
        files: what ``rasa test e2e`` wrote.
        places: where the project's test cases begin, by their names.

    Raises:
        UserError: a file has another shape or is missing, or what is written of a case disagrees.
    """
    files = tuple(files)
    _ensure_whole([name for name, _ in files])
    results: dict[str, CaseResult] = {}
    for name, text in files:
        for result in _results(name, text, places):
            if results.setdefault(result.name, result).passed != result.passed:
                raise UserError(
                    f"{name}: '{result.name}' passed and failed", hint="Import the results of a single run."
                )
    cases = tuple(results.values())
    passed = sum(case.passed for case in cases)
    return EndToEnd(cases=cases, passed=passed, failed=len(cases) - passed, remarks=(_REMARK,))


def _ensure_whole(names: Iterable[str]) -> None:
    """Refuse one half of a run's results: nobody could say how many cases the other one had."""
    there = {*names} & {*_HALVES}
    for missing in sorted({*_HALVES} - there if there else ()):
        raise UserError(
            f"{missing} is missing: {' and '.join(there)} is only a part of a run's results",
            hint=f"Copy it to the same folder; if there were no such cases, write `test_results: []` into {missing}.",
        )


def _results(name: str, text: str, places: Mapping[str, Location]) -> Iterator[CaseResult]:
    try:
        document = parse_yaml(YamlSource(name, text))
    except EscapeError as error:
        raise UserError(f"{name} is not YAML", hint=str(error)) from None
    if document.root is None:
        why = next(iter(document.findings), None)
        location, hint = (None, None) if why is None else (why.location, why.message)
        raise UserError(f"{name} is not YAML", location=location, hint=hint)
    for finding in document.findings:  # a key that is written twice, say: one of its values would be lost
        raise UserError(f"{name}: {finding.message}", location=finding.location)
    listed = document.root.at("test_results")
    if not isinstance(listed, YamlSequence):
        if isinstance(listed, YamlScalar) and listed.value is None:
            return
        raise UserError(f"{name} has no list 'test_results'", hint="Name what `rasa test e2e --e2e-results` wrote.")
    for node in listed.items:
        case, status = _text(node, "name"), node.at("pass_status")
        if not isinstance(node, YamlMapping) or not case or not isinstance(status, YamlScalar):
            raise UserError(f"{name}: a result has no 'name' or no 'pass_status'", location=node.location)
        if not isinstance(status.value, bool):
            raise UserError(f"{name}: 'pass_status' is not true or false", location=status.location)
        _ensure_consistent(name, node, passed=status.value)
        lines = node.at("difference")
        yield CaseResult(
            name=case,
            location=places.get(case, Location(name, node.location.line, node.location.column)),
            passed=status.value,
            outcome="passed" if status.value else "failed",
            difference=tuple(str(line.data) for line in lines.items) if isinstance(lines, YamlSequence) else (),
            reason=None if status.value else _reason(node),
        )


def _ensure_consistent(name: str, node: YamlNode, *, passed: bool) -> None:
    """Refuse a result whose status contradicts the file that it is in, or what it says went wrong."""
    lines, failure = node.at("difference"), node.at("assertion_failure")
    differs = isinstance(lines, YamlSequence) and any(str(line.data).startswith(("+", "-")) for line in lines.items)
    has_failed = differs or (failure is not None and bool(failure.data))
    if _HALVES.get(name, passed) != passed or (passed and has_failed):
        raise UserError(
            f"{name}: 'pass_status: {str(passed).lower()}' contradicts "
            + ("the rest of the result" if passed and has_failed else "the name of the file"),
            location=node.location,
            hint="Import the files as `rasa test e2e` wrote them.",
        )


def _reason(node: YamlNode) -> str:
    """What went wrong: an assertion's message, else the first line that differs."""
    said = node.at("assertion_failure", "error_message")
    if isinstance(said, YamlScalar) and said.value:
        return str(said.value)
    lines = node.at("difference")
    wrong = (str(line.data) for line in lines.items) if isinstance(lines, YamlSequence) else iter(())
    first = next((line for line in wrong if line.startswith(("+", "-"))), "")
    return f"expected{first[1:]}" if first.startswith("+") else f"got{first[1:]}" if first else "it failed"


def _text(node: YamlNode, key: str) -> str:
    found = node.at(key)
    return str(found.value) if isinstance(found, YamlScalar) and found.value is not None else ""
