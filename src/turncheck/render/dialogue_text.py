"""Test stories and end-to-end cases in plain lines, for the terminal and for logs.

Stories: figures, then each failed one with both sides. Cases in pytest's manner: progress, failures with their
differences, summary, counts.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from turncheck.comparison.misunderstood import understanding_in_words
from turncheck.messages.finding import Location
from turncheck.render.phrases import circumstances, not_reached, substitution_lines
from turncheck.render.sinks.terminal import aligned, place, text
from turncheck.render.wording.repeats import few_attempts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.report.model import CaseResult, Core, EndToEnd, EngineInfo, KindCoverage, StoryResult, StoryStep
    from turncheck.report.quarantine import Quarantine

_WIDTH = 44
_STORIES_AT_MOST = 50


def story_text(
    core: Core,
    engine: EngineInfo | None = None,
    coverage: Mapping[str, KindCoverage] | None = None,
    folder: str = "",
) -> str:
    """Describe the results, where stories failed, and what no test reaches.

    ``folder``: the project's path from the current folder, for the places named.
    """
    return "\n".join([*_figures(core, engine), *_failed(core, folder), *not_reached(coverage or {}, "test story"), ""])


def _figures(core: Core, engine: EngineInfo | None) -> Iterator[str]:
    judged = [story for story in core.stories if not story.duplicate]
    right = sum(story.passed for story in judged)
    warned = sum(story.warned for story in judged)
    yield f"Stories: {right} of {len(judged)} right{f', {warned} of them with a warning' if warned else ''}"
    misunderstood = sum(story.outcome == "misunderstood" for story in judged)
    if misunderstood:
        yield f"  {right + misunderstood} with the intents and entities as written: {misunderstood} misunderstood only"
    duplicates = len(core.stories) - len(judged)
    if duplicates:
        yield f"  {duplicates} more are identical to others for every policy and count once, as in Rasa."
    steps = [step for story in judged for step in story.steps]
    actions = [step.passed for step in steps if step.kind == "action"]
    yield f"Actions: {sum(actions)} of {len(actions)} right"
    intents = [step.passed for step in steps if step.kind == "intent"]
    if intents:
        yield f"Intents: {sum(intents)} of {len(intents)} right"
        yield "Actions, intents and entities together:"
    yield f"  accuracy  {core.accuracy:.3f}"
    yield f"  precision {core.precision:.3f}"
    yield f"  f1        {core.f1:.3f}"
    yield from (f"  {line}" for line in substitution_lines(engine.substitutions if engine else ()))
    for remark in core.remarks:
        yield f"  {text(remark, 400)}"


def _failed(core: Core, folder: str) -> Iterator[str]:
    failed = [story for story in core.stories if not story.passed and not story.duplicate]
    for story in failed[:_STORIES_AT_MOST]:
        yield ""
        yield f"Failed: {text(story.name)} ({place(story.location, folder)})"
        yield from _side_by_side(story)
    if len(failed) > _STORIES_AT_MOST:
        yield ""
        yield f"{len(failed) - _STORIES_AT_MOST} more stories failed: all of them are in failed_test_stories.yml"


def _side_by_side(story: StoryResult) -> Iterator[str]:
    yield f"    {'expected':<{_WIDTH}}  predicted"
    for step in story.steps:
        mark = " " if step.passed else "✗"
        expected = text(step.wanted, _WIDTH)
        if step.passed:
            yield f"  {mark} {expected:<{_WIDTH}}  {expected}"
            continue
        yield f"  {mark} {expected:<{_WIDTH}}  {text(step.got, _WIDTH)}{_who(step)}"
        yield from (f"      {line}" for line in circumstances(step, text))


def _who(step: StoryStep) -> str:
    if step.policy is None or step.confidence is None:
        return ""
    return f"  [{text(step.policy)} {step.confidence:.2f}]"


WIDTH: Final = 80
MARKS: Final = {"passed": ".", "failed": "F", "misunderstood": "m", "error": "E", "skipped": "s", "unclear": "?"}
_COLOURS: Final = {"- ": "\x1b[31m", "+ ": "\x1b[32m", "? ": "\x1b[2m"}
_RESET: Final = "\x1b[0m"
_GUIDE: Final = re.compile(r"[ ^+~-]*")
_COVERED_KINDS: Final = ("intents", "actions", "responses", "slots", "forms", "flows")
_STEP_KINDS: Final = {"bot", "utter", "slot_was_set", "slot_was_not_set"}


def mark(case: CaseResult) -> str:
    """Return the sign of a case in the progress line."""
    return MARKS[case.outcome]


def e2e_text(
    result: EndToEnd,
    seconds: float,
    *,
    colour: bool = False,
    coverage: Mapping[str, KindCoverage] | None = None,
    folder: str = "",
    quarantine: Quarantine | None = None,
) -> str:
    """Return everything below the progress line.

    ``colour`` is for a terminal; ``folder`` is the project's path from the current folder. Cases that fail in
    ``quarantine`` are not among the failures.
    """
    failed = [case for case in result.cases if case.outcome in {"failed", "error"}]
    held = [case for case in failed if quarantine is not None and quarantine.entry_of(case.name, case.location)]
    counting = [case for case in failed if case not in held]
    lines = [*_failures(counting, colour, folder), *_accuracy(result.cases)]
    unreached = list(not_reached(coverage or {}, "case", _COVERED_KINDS))[1:]
    if unreached:
        lines += [_rule("coverage", "="), *unreached]
    lines += [*_warnings(result, folder), *_summary([case for case in result.cases if case not in held], folder)]
    lines += few_attempts(result.cases)
    lines += [*(text(remark, 400) for remark in result.remarks), _counts(result, counting, len(held), seconds)]
    return "\n".join(lines) + "\n"


def _failures(failed: Sequence[CaseResult], colour: bool, folder: str) -> Iterator[str]:
    if failed:
        yield _rule("FAILURES", "=")
    for case in failed:
        yield _rule(text(case.name), "_")
        yield _place(case, folder)
        if case.fixtures:
            yield f"fixtures: {text(', '.join(case.fixtures), 400)}"
        yield ""
        yield from (_difference_line(line, colour) for line in case.difference)
        yield from _notes(case, folder)
        yield ""


def _difference_line(line: str, colour: bool) -> str:
    prefix, content = line[:2], line[2:]
    is_guide = prefix == "? " and _GUIDE.fullmatch(content)
    shown = line if is_guide else f"{prefix}{aligned(content, 2000)}"
    if colour and prefix in _COLOURS:
        return f"{_COLOURS[prefix]}{shown}{_RESET}"
    return shown


def _notes(case: CaseResult, folder: str) -> Iterator[str]:
    for step in case.steps:
        if step.outcome == "failed" and step.reason:
            line = None if step.location is None else step.location.line
            yield f"{_step_place(case, line, folder)}: {aligned(step.reason, 1000)}"
    message = case.failing_message
    if message is not None and message.understood is not None:
        understood = understanding_in_words(message.text, message.understood)
        yield f"'{aligned(message.text, 400)}' is understood as {aligned(understood, 400)}"
    if case.reason:
        yield f"note: {text(case.reason, 1000)}"
    if case.attempts is not None:
        yield f"passed {case.attempts.passed} of {case.attempts.of} times"


def _accuracy(cases: Sequence[CaseResult]) -> Iterator[str]:
    """Yield the share of each type of assertion that was met, excluding those that were not run."""
    counts: dict[str, Counter[str]] = {}
    for case in cases:
        for step in case.steps:
            if step.kind not in _STEP_KINDS or step.location is None:
                counts.setdefault(step.kind, Counter())[step.outcome] += 1
    if counts:
        yield _rule("assertions", "=")
    for kind, count in sorted(counts.items()):
        judged = count["passed"] + count["failed"]
        share = f"{count['passed'] / judged:.0%} ({count['passed']} of {judged})" if judged else "not judged"
        left_out = f", {count['skipped']} not run" if count["skipped"] else ""
        yield f"{kind:32} {share}{left_out}"


def _warnings(result: EndToEnd, folder: str) -> Iterator[str]:
    if result.warned:
        yield _rule("warnings summary", "=")
    for case in result.warned:
        yield f"{_place(case, folder)}::{text(case.name)} - passed, although: {text(case.warning or '', 600)}"


def _summary(cases: Sequence[CaseResult], folder: str) -> Iterator[str]:
    shown = [case for case in cases if case.outcome != "passed"]
    if shown:
        yield _rule("short test summary info", "=")
    for case in sorted(shown, key=lambda case: case.outcome != "skipped"):
        yield f"{case.outcome.upper()} {_place(case, folder)}::{text(case.name)} - {_headline(case)}"


def _headline(case: CaseResult) -> str:
    """Return briefly why the case did not pass: the first unmet expectation, or the reason."""
    step = next((step for step in case.steps if step.outcome == "failed"), None)
    if step is None or case.outcome != "failed":
        return text(case.reason or "", 200)
    return text(f"{step.kind}: {step.expected}", 120)


def _counts(result: EndToEnd, failed: Sequence[CaseResult], held: int, seconds: float) -> str:
    errors = sum(case.outcome == "error" for case in failed)
    named = {
        "failed": len(failed) - errors,
        "passed": result.passed,
        "failed in quarantine": held,
        "skipped": result.skipped,
        "error" if errors == 1 else "errors": errors,
        "warning" if len(result.warned) == 1 else "warnings": len(result.warned),
    }
    counts = ", ".join(f"{count} {name}" for name, count in named.items() if count) or "no test cases"
    return _rule(f"{counts} in {seconds:.2f}s", "=")


def _place(case: CaseResult, folder: str) -> str:
    step = next((s for s in case.steps if s.outcome == "failed" and s.location is not None), None)
    line = step.location.line if step is not None and step.location is not None else case.location.line
    return _step_place(case, line, folder)


def _step_place(case: CaseResult, line: int | None, folder: str) -> str:
    return place(Location(case.location.path, line), folder)


def _rule(title: str, character: str) -> str:
    return f" {title} ".center(WIDTH, character)
