"""Causes in words: which changed part makes a test end as it does, and whether that is proved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UnsetType
from msgspec.structs import replace

from turncheck.comparison.changes import SINGULAR, number_of
from turncheck.comparison.training_changes import sentences_of
from turncheck.messages.phrasing import count

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from turncheck.comparison.changes import CaseChange, FindingChange, MisunderstoodSentence
    from turncheck.comparison.metrics import MetricDelta
    from turncheck.comparison.model import Comparison
    from turncheck.messages.finding import Finding
    from turncheck.report.causes import Cause
    from turncheck.report.model import Report

_MOST_NAMED: Final = 3
"""Causes that the title names."""


def part_in_words(cause: Cause) -> str:
    """``rule 'greet'``; a part without a name is the only one of its kind."""
    kind = SINGULAR.get(cause.kind, "part")
    return f"{kind} '{cause.name}'" if cause.name else kind


def cause_in_words(cause: Cause) -> str:
    """``rule 'greet' was changed (data/rules.yml:12)``; of what is gone, where it was."""
    where = f" ({'was at ' if cause.location is None else ''}{cause.place})" if cause.place is not None else ""
    if cause.change == "renamed":
        return f"{SINGULAR.get(cause.kind, 'part')} '{cause.old_name}' was renamed to '{cause.name}'{where}"
    if cause.change == "replaced":
        return f"{part_in_words(cause)} replaced '{cause.old_name}'{where}"
    return f"{part_in_words(cause)} was {cause.change}{where}"


def causes_in_words(causes: Sequence[Cause]) -> str:
    """``rule 'a' was changed (data/rules.yml:12) and slot 'b' was removed (was at domain.yml:3)``."""
    *others, last = map(cause_in_words, causes)
    return f"{', '.join(others)} and {last}" if others else last


def is_proved(case: CaseChange) -> bool:
    """Whether the causes of a test are proved, not just near it."""
    return bool(case.causes) and all(cause.proved for cause in case.causes)


def only_proved(case: CaseChange) -> CaseChange:
    """The test without causes that are not proved."""
    return case if is_proved(case) else replace(case, causes=())


def without_in_words(case: CaseChange, right: str = "passes", wrong: str = "fails") -> str:
    """``without that, it passes``: what proves the causes of a test; ``right`` and ``wrong`` say how one ends."""
    return f"{without_causes(case.causes)}, it {wrong if case.passed else right}"


def without_causes(causes: Sequence[Cause]) -> str:
    """``without both changes``."""
    number = len(causes)
    return f"without {'that' if number == 1 else 'both changes' if number == 2 else f'these {number} changes'}"


def why_in_words(case: CaseChange) -> str:
    """``because rule 'greet' was changed (data/rules.yml:12); without that, it passes``; "" if nothing is known."""
    if not case.causes:
        return ""
    if is_proved(case):
        return f"because {causes_in_words(case.causes)}; {without_in_words(case)}"
    first, *others = case.causes
    more = f" and {len(others):,} more" if others else ""
    return f"possibly because {cause_in_words(first)}{more}"


def why_misunderstood_in_words(*sentences: MisunderstoodSentence) -> str:
    """The same of sentences with the same causes, as far as they are proved, that keep tests from passing."""
    causes, number = sentences[0].causes, sum(sentence.number for sentence in sentences)
    tests = "it passes" if number == 1 else "they pass"
    return f"because {causes_in_words(causes)}; {without_causes(causes)}, {tests}" if causes else ""


def why_dropped_in_words(metric: MetricDelta) -> str:
    """The same of an intent whose F1 dropped."""
    causes = metric.known_causes
    if not causes:
        return ""
    undone = f"{without_causes(causes)}, its sentences are understood as on the base"
    return f"because {causes_in_words(causes)}; {undone}"


def why_found_in_words(finding: FindingChange) -> str:
    """The same of a finding, unless it is at its cause."""
    causes = finding.causes
    if not causes or causes[0].location == finding.location:
        return ""
    return f"because {causes_in_words(causes)}; {without_causes(causes)}, it is gone"


def beside(finding: Finding | FindingChange, causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """The causes that a finding is not about: ``'a' was renamed to 'b' in this change`` says what was done to both."""
    about = {name.name for name in finding.names}
    return tuple(cause for cause in causes if not {cause.name, cause.old_name or cause.name} <= about)


def how_proved(report: Report, compared: Comparison | None) -> list[str]:
    """Say how causes were found, what stood in while they were tried, and whether some had to be left open."""
    found = report.causes
    if compared is None or isinstance(found, UnsetType):
        return []
    kinds = (compared.stories, compared.e2e, compared.batch, *(cases for _, cases in sentences_of(compared)))
    cases = (case for of_kind in kinds for case in (*of_kind.newly_failing, *of_kind.better))
    sentences = (*compared.misunderstood, *compared.misunderstood_in_cases)
    others = any(one.causes for one in sentences) or any(metric.known_causes for metric in compared.metrics)
    if not any(map(is_proved, cases)) and not others:
        return []
    replaced = [one.component for one in report.engine.substitutions if one.used] if report.engine else []
    stood_in = f", with what stands in for {_in_series(replaced)}" if replaced else ""
    words = f"Causes are proved: the change was taken back, and the tests were run again{stood_in}."
    return [words] if found.all_tried else [words, "Some were not looked for: that would take longer than the run."]


def _in_series(words: Sequence[str]) -> str:
    """Return names as a series.

    >>> _in_series(["a", "b", "c"]), _in_series(["a", "b"]), _in_series(["a"])
    ('a, b and c', 'a and b', 'a')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def because_in_words(tests: Sequence[CaseChange], explained: Collection[int] = ()) -> str:
    """Say, as the end of a clause about tests that changed sides, why most of them did; "" if nothing is known.

    What is not proved is only named if nothing else is, and not for the tests, by place, that are ``explained``
    elsewhere.
    """
    proved: dict[tuple[Cause, ...], int] = {}
    possible: dict[Cause, int] = {}
    for place, test in enumerate(tests):
        if is_proved(test):
            proved[test.causes] = proved.get(test.causes, 0) + test.number
        elif place in explained:
            continue
        for cause in test.causes:
            possible[cause] = possible.get(cause, 0) + test.number
    if not possible:
        return ""
    total = number_of(tests)
    if proved:
        return f": {_ranked_in_words(proved, total)}"
    first = max(possible, key=lambda cause: possible[cause])
    some = _for_some(possible[first], total)
    alike = sum(number == possible[first] for number in possible.values()) - 1
    more = f" and {alike:,} more" if alike and not some else ""
    return f": possibly because {cause_in_words(first)}{more}{some}"


def _ranked_in_words(numbers: dict[tuple[Cause, ...], int], total: int) -> str:
    """The causes by how many tests they explain, the first three: ``rule 'a' was changed; and 2 more changes``."""
    ranked = sorted(numbers, key=lambda causes: -numbers[causes])
    shown: list[str] = []
    named: set[Cause] = set()
    for causes in ranked:
        some = causes[:_MOST_NAMED]
        if len(named.union(some)) > _MOST_NAMED:
            break
        named.update(some)
        shown.append(f"{causes_in_words(some)}{_for_some(numbers[causes], total)}")
    left = len({cause for causes in ranked for cause in causes} - named)
    more = [f"and {count(left, 'more change')}"] if left else []
    return "; ".join([*shown, *more])


def _for_some(number: int, total: int) -> str:
    return f", for {number:,} of them" if number < total else ""
