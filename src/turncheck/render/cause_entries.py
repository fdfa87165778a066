"""What makes a test, a finding or a figure end as it does, as entries below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from turncheck.comparison.changes import SINGULAR
from turncheck.comparison.training_changes import intent_of
from turncheck.render.spans import Code, Entry, at, line
from turncheck.render.wording.causes import beside, is_proved, without_causes, without_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.changes import CaseChange, FindingChange, MisunderstoodSentence
    from turncheck.comparison.metrics import MetricDelta
    from turncheck.messages.finding import Finding
    from turncheck.report.causes import Cause

_MOST_RULES: Final = 3
"""Lines for the rules and stories behind a failure; all that the change removed or edited are listed elsewhere."""


def causes_of(case: CaseChange, right: str = "passes", wrong: str = "fails") -> list[Entry]:
    """What makes a test end as it does, right or wrong; of many parts that only may have to do with it some.

    They would hide the tests that fail because of them, and all that changed are listed below.
    """
    parts = case.causes
    if not is_proved(case):
        shown = parts if len(parts) <= _MOST_RULES else parts[: _MOST_RULES - 1]
        more = len(parts) - len(shown)
        entries = [_cause(part, "possibly because ") for part in shown]
        return [*entries, *([Entry(line(f"… and {more:,} more rules or stories"))] if more else [])]
    *others, last = parts
    return [*(_cause(part) for part in others), _cause(last, after=f"; {without_in_words(case, right, wrong)}")]


def explained_by(finding: Finding | FindingChange, tests: Sequence[tuple[CaseChange, Entry]]) -> list[Entry]:
    """The tests that fail because of an error, and below each what is proved, unless the error itself says that."""
    return [
        replace(
            entry,
            line=line("fails because of it: ", *entry.line),
            below=tuple(causes_of(case) if is_proved(case) and beside(finding, case.causes) else ()),
        )
        for case, entry in tests
    ]


def causes_of_sentence(sentence: MisunderstoodSentence) -> list[Entry]:
    """The changed parts without which the tests pass that a misunderstood sentence keeps from passing."""
    if not sentence.causes:
        return []
    *others, last = sentence.causes
    after = f"; {without_causes(sentence.causes)}, {'it passes' if sentence.number == 1 else 'they pass'}"
    return [*(_cause(part) for part in others), _cause(last, after=after)]


def causes_of_finding(finding: FindingChange) -> list[Entry]:
    """The changed parts without which a finding is gone, unless it is at its cause."""
    if not finding.causes or finding.causes[0].location == finding.location:
        return []
    *others, last = finding.causes
    after = f"; {without_causes(finding.causes)}, it is gone"
    return [*(_cause(part) for part in others), _cause(last, after=after)]


def dropped_intent(metric: MetricDelta) -> Entry:
    """An intent whose F1 really dropped, and the changed parts without which it did not."""
    *others, last = metric.known_causes
    after = f"; {without_causes(metric.known_causes)}, its sentences are understood as on the base"
    below = (*(_cause(part) for part in others), _cause(last, after=after))
    return Entry(line(Code(intent_of(metric.name)), " is understood less often"), below=below)


def _cause(cause: Cause, before: str = "", after: str = "") -> Entry:
    """A changed part of the project that has to do with a test."""
    kind = SINGULAR.get(cause.kind, "part")
    if cause.change == "renamed":
        what = line(f"{before}{kind} ", Code(cause.old_name), " was renamed to ", Code(cause.name))
    elif cause.change == "replaced":
        what = line(f"{before}{kind} ", Code(cause.name), " replaced ", Code(cause.old_name))
    else:
        name = line(" ", Code(cause.name)) if cause.name else ()
        what = line(f"{before}{kind}", name, f" was {cause.change}")
    return Entry(line(what, " in this change", after), at(cause.place, on_base=cause.location is None))
