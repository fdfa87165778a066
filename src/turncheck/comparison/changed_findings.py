"""Which findings, intents and entities are new, and which are gone."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turncheck.comparison.cases import findings_worst_first, is_read_in_part
from turncheck.comparison.changes import ChangedNames, FindingChange, Named
from turncheck.comparison.renames import message_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turncheck.comparison.model import Renamed
    from turncheck.messages.finding import Finding
    from turncheck.messages.location import Location
    from turncheck.report.model import Report

_NAME: Final = re.compile(r"((?<!\w)'[^']*(?:(?<=\w)'(?=\w)[^']*)*'(?!\w))")
"""A name in quotes, in which nothing is a place or a count; an apostrophe within a word does not end it."""
_PLACE: Final = re.compile(r":\d+(?::\d+)?")
"""A message may name another place; a line added above that place does not make it a different finding."""
_COUNT: Final = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)")
_KEYS: Final = (
    ("code", "severity", "message", "path"),
    ("code", "severity", "message"),
    ("code", "severity", "subject", "path"),
    ("code", "severity", "subject"),
)
"""What identifies a finding, the strictest first."""


def changed_findings(
    base: Report, head: Report, renamed: Sequence[Renamed] = ()
) -> tuple[tuple[FindingChange, ...], tuple[FindingChange, ...]]:
    """Return the findings that are new, with the names that are ``renamed``, and those that are gone, worst first.

    A finding is identified by its code, message and file; one that moved to another file is neither new nor gone, and
    neither is one whose message only has other counts now.
    If a file cannot be read, no finding is known to be gone.
    """
    of_base = before = findings_worst_first(base)
    after = findings_worst_first(head)
    for parts in _KEYS:
        before, after = _without_partners(before, after, parts)
    after = _not_of_parts(after, of_base)
    gone = () if is_read_in_part(head) else before
    return tuple(_finding_change(finding, renamed) for finding in after), tuple(map(_finding_change, gone))


@dataclass(frozen=True, slots=True)
class NewSuppressions:
    """What a change newly suppresses; ``known``: whether the base's report says what it suppresses."""

    found: tuple[FindingChange, ...] = ()
    known: bool = True


def new_suppressions(base: Report, head: Report) -> NewSuppressions:
    """Return the errors that are suppressed here and not on the base, identified as :func:`changed_findings` does.

    Where warnings fail the run, on either side, suppressed warnings count as well. Of an older base, which does not say
    what it suppresses, only what it showed is known to be newly suppressed.
    """
    severities = {"error", *(["warning"] if base.settings.fail_on_warnings or head.settings.fail_on_warnings else [])}
    after = [finding for finding in _suppressed(head) or () if finding.severity in severities]
    before = _suppressed(base)
    if before is None:
        shown = base.validation.findings if base.validation else ()
        others = _unmatched(after, list(shown))
        return NewSuppressions(
            tuple(_finding_change(finding) for finding in after if finding not in others), known=not others
        )
    return NewSuppressions(tuple(map(_finding_change, _unmatched(after, list(before)))))


def _suppressed(report: Report) -> tuple[Finding, ...] | None:
    """What a report suppresses; ``None`` if it does not say so."""
    return report.validation.suppressed if report.validation else ()


def _unmatched(findings: list[Finding], others: list[Finding]) -> list[Finding]:
    """The findings without a counterpart in their file, nor, if it moved, in another one."""
    for parts in _KEYS:
        findings, others = _without_partners(findings, others, parts)
    return findings


def _without_partners(
    before: list[Finding], after: list[Finding], parts: tuple[str, ...]
) -> tuple[list[Finding], list[Finding]]:
    """The findings of each side that have no counterpart on the other; equal ones are counted."""

    def key(finding: Finding) -> tuple[str, ...]:
        in_file = "path" in parts
        message = _without_places(finding.message if in_file else _unnamed(finding), files=in_file)
        written = {
            "path": finding.location.path,
            "message": message,
            "subject": finding.subject or _outside_names(message, lambda words: _COUNT.sub("#", words)),
        }
        return tuple(written[part] if part in written else getattr(finding, part) for part in parts)

    old, new = list(map(key, before)), list(map(key, after))
    return _left_over(before, old, new), _left_over(after, new, old)


def _left_over(findings: list[Finding], keys: list[tuple[str, ...]], others: list[tuple[str, ...]]) -> list[Finding]:
    partners = Counter(others)
    left = []
    for finding, key in zip(findings, keys, strict=True):
        if partners[key] > 0:
            partners[key] -= 1
        else:
            left.append(finding)
    return left


def _not_of_parts(findings: list[Finding], of_base: list[Finding]) -> list[Finding]:
    """The findings without warnings about a whole file that the base has about another one: a file that is split into
    many has what was wrong with it in each part."""
    known = {(finding.code, _unnamed(finding)) for finding in of_base if _unnamed(finding) != finding.message}
    return [
        finding for finding in findings if finding.severity == "error" or (finding.code, _unnamed(finding)) not in known
    ]


def _unnamed(finding: Finding) -> str:
    """The message without the name of the file that the finding is in."""
    return finding.message.replace(f"'{finding.location.path}'", "'@'")


def _without_places(message: str, *, files: bool) -> str:
    """The message without the line numbers that it names, and without ``files`` unless these say which one is meant."""

    def without(words: str) -> str:
        if files:
            return _PLACE.sub("@", words)
        return " ".join("@" if _PLACE.search(word) else word for word in words.split(" "))

    return _outside_names(message, without)


def _outside_names(message: str, change: Callable[[str], str]) -> str:
    """The message with its words changed, but not the names in it."""
    parts = _NAME.split(message)
    return "".join(part if place % 2 else change(part) for place, part in enumerate(parts))


def _finding_change(finding: Finding, renamed: Sequence[Renamed] = ()) -> FindingChange:
    return FindingChange(
        code=finding.code,
        severity=finding.severity,
        message=finding.message,
        location=finding.location,
        hint=finding.hint,
        others=finding.others,
        message_now=now if (now := message_of(finding, renamed)) != finding.message else "",
        names=finding.names,
    )


def changed_names(base: Report, head: Report, kind: str) -> ChangedNames:
    """Return the intents or entities (``kind``) that are new and those that are removed."""
    before, after = _names(base, kind), _names(head, kind)
    if not before or not after:
        return ChangedNames()
    return ChangedNames(
        added=tuple(Named(name=name, location=location) for name, location in after.items() if name not in before),
        removed=tuple(Named(name=name, location=place) for name, place in before.items() if name not in after),
    )


def _names(report: Report, kind: str) -> dict[str, Location]:
    """Names with their first place, sorted: from the report's list of project items, else from the training data."""
    names: dict[str, Location] = {}
    if kind in report.coverage:
        for item in report.coverage[kind].items:
            names.setdefault(item.name, item.location)
    elif kind == "intents" and report.nlu:
        for sentence in report.nlu.training:
            names.setdefault(sentence.intent, sentence.location)
    return dict(sorted(names.items()))
