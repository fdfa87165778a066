"""Runs of tests, in words: how an assistant whose answers vary fared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.evaluations.kind import REPEATED, repeats_of
from turncheck.evaluations.kinds import CASES
from turncheck.messages.phrasing import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.model import ManyLosses
    from turncheck.report.model import Repeats, Report


def runs_in_words(repeats: Repeats) -> str:
    """``0 of 6 runs pass; base 19 of 20``; of one that has no answer also how many runs ended in an error."""
    base = f"; base {repeats.base_passed:,} of {len(repeats.base):,}" if repeats.base else ""
    number = len(repeats.runs)
    errors = ""
    if repeats.is_unanswered:
        errors = f"{count(repeats.errors, 'run')} ended in an error"
        if not number:
            return f"{errors}{base}"
        errors = f"{errors}, of the others "
    return f"{errors}{repeats.passed:,} of {count(number, 'run')} {'passes' if number == 1 else 'pass'}{base}"


def repeats_in_words(report: Report) -> str:
    """``2 regressed (0 of 6 runs pass; base 19 of 20), 3 flaky as before, 1 unclear``; the worst of each is shown.

    If sentences or utterances were repeated, each kind is named: ``sentences: 1 flaky``.
    """
    found = {name: words for name in REPEATED if (words := _of_one_kind(repeats_of(report, name)))}
    named = (f"{CASES[name][1]}: {words}" for name, words in found.items())
    return found["e2e"] if list(found) == ["e2e"] else "; ".join(named)


def _of_one_kind(repeat: Sequence[Repeats]) -> str:
    parts = [
        _some([repeats for repeats in repeat if repeats.outcome == "regressed"], "regressed"),
        _some([one for one in repeat if one.outcome == "failed" and not _fails_as_before(one)], "failing"),
        _number([one for one in repeat if one.outcome == "failed" and _fails_as_before(one)], "failing as before"),
        _number([one for one in repeat if one.outcome == "flaky" and one.was_flaky], "flaky as before"),
        _number([one for one in repeat if one.outcome == "flaky" and not one.was_flaky], "flaky"),
        _some([one for one in repeat if one.is_unanswered], "not answered"),
        _number([one for one in repeat if one.outcome == "unclear" and not one.is_unanswered], "unclear"),
    ]
    return ", ".join(part for part in parts if part)


def _fails_as_before(repeats: Repeats) -> bool:
    """Whether there are runs of the base, and not all fail here while some passed there."""
    return bool(repeats.base) and bool(repeats.passed or not repeats.base_passed)


def _number(repeated: Sequence[Repeats], what: str) -> str:
    return f"{len(repeated):,} {what}" if repeated else ""


def _some(repeated: Sequence[Repeats], what: str) -> str:
    if not repeated:
        return ""
    worst = min(repeated, key=lambda repeats: repeats.passed / max(1, len(repeats.runs)))
    return f"{len(repeated):,} {what} ({runs_in_words(worst)})"


def losses_in_words(losses: ManyLosses) -> str:
    """``31 of 200 runs fail over all cases, on the base 12 of 400 (p = 0.0004)``."""
    p_value = "< 0.0001" if losses.p_value < 0.0001 else f"= {losses.p_value:.2g}"
    return (
        f"{losses.failed:,} of {count(losses.runs, 'run')} fail over all cases,"
        f" on the base {losses.base_failed:,} of {losses.base_runs:,} (p {p_value})"
    )
