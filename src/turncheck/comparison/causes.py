"""Puts the causes that a report has into its comparison, if it is compared with the base that they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UnsetType

from turncheck.comparison.changes import SINGULAR
from turncheck.messages.finding import Name
from turncheck.messages.phrasing import count

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from turncheck.comparison.changes import CaseChange, ChangedCases, FindingChange
    from turncheck.comparison.model import Comparison
    from turncheck.messages.finding import Finding, Location
    from turncheck.report.causes import Cause, Causes, CausesOfFinding
    from turncheck.report.model import Report, Skipped, Validation

_MOST_NAMED: Final = 3


def with_causes(comparison: Comparison, head: Report, base: Report) -> Comparison:
    """Return the comparison in which tests have what was found to be their cause, instead of what is only near it."""
    found = head.causes
    if isinstance(found, UnsetType) or found.base != base.source.commit:
        return comparison
    by_kind: dict[str, dict[tuple[str, str], tuple[Cause, ...]]] = {"core": {}, "e2e": {}}
    for test in found.tests:
        by_kind[test.evaluation][test.name, test.path] = test.causes
    return msgspec.structs.replace(
        comparison,
        stories=_explained(comparison.stories, by_kind["core"]),
        e2e=_explained(comparison.e2e, by_kind["e2e"]),
        new_findings=_with_causes_of_findings(comparison.new_findings, found),
    )


def _with_causes_of_findings(findings: tuple[FindingChange, ...], found: Causes) -> tuple[FindingChange, ...]:
    """Return the findings with their causes; one that is at its cause already stands for all that it causes."""
    known = {(one.code, one.location): one.causes for one in found.findings}
    known |= {(CONTRADICTION, place): one.causes for one in found.findings if (place := _place_of_single(one))}
    return tuple(
        msgspec.structs.replace(finding, causes=known.get((finding.code, finding.location), ())) for finding in findings
    )


# Contradictions that a changed rule or story brings are its own fault, not that of the stories that nobody touched.

CONTRADICTION: Final = "rule-contradiction"
_ADVICE: Final = "Undo it, or change with it what it contradicts."


def by_cause(validation: Validation | None, report: Report, base: Report) -> Validation | None:
    """Return the findings with one contradiction for each changed rule or story that brings some, at its changed line.

    ``None`` if there is none.
    """
    found = report.causes
    if validation is None or isinstance(found, UnsetType) or found.base != base.source.commit:
        return None
    places = {(one.code, one.location): one.causes[0] for one in found.findings if _place_of_single(one)}
    caused: dict[Cause, list[Finding]] = {}
    others: list[Finding] = []
    for finding in validation.findings:
        cause = places.get((finding.code, finding.location))
        if cause is None:
            others.append(finding)
        else:
            caused.setdefault(cause, []).append(finding)
    if not caused:
        return None
    rules = _rules_of(report)
    merged = [_of_cause(cause, findings, rules) for cause, findings in caused.items()]
    findings = tuple(sorted((*others, *merged), key=lambda finding: finding.order))
    error = sum(finding.severity == "error" for finding in findings)
    return msgspec.structs.replace(
        validation, findings=findings, counts=msgspec.structs.replace(validation.counts, error=error)
    )


def _place_of_single(found: CausesOfFinding) -> Location | None:
    """Where the one rule or story is that brings a contradiction, if it is only one and still there."""
    if found.code != CONTRADICTION or len(found.causes) != 1 or found.causes[0].kind not in {"rules", "stories"}:
        return None
    return found.causes[0].location


def _of_cause(cause: Cause, findings: Sequence[Finding], rules: Collection[str]) -> Finding:
    """All contradictions that a changed rule or story brings, as one finding."""
    contradicted = dict.fromkeys(
        name.name for finding in findings for name in finding.about if name.name != cause.name
    ) or dict.fromkeys(str(finding.location) for finding in findings)
    intents = {finding.names for finding in findings}
    keys = intents.pop() if len(intents) == 1 else ()  # whichever of the rules is the cause: there is one for all
    named = ", ".join(f"'{name}'" for name in list(contradicted)[:_MOST_NAMED])
    more = f" and {len(contradicted) - _MOST_NAMED:,} more" if len(contradicted) > _MOST_NAMED else ""
    of_rule = cause.kind == "rules"
    places = dict.fromkeys(
        place for finding in findings for place in ((finding.location,) if of_rule else finding.others)
    )
    location = cause.location or findings[0].location
    fault = _fault(cause, contradicted, rules, keys)
    message, hint = f"The {fault}: {named}{more}.", _ADVICE
    if keys:
        message = f"{fault}: {count(len(contradicted) + 1, 'rule')} contradict each other."
        hint = f"Write one rule for the intent '{keys[0].name}', with the action 'utter_{keys[0].name}'."
    return msgspec.structs.replace(
        findings[0],
        message=message,
        location=location,
        hint=hint,
        others=tuple(sorted((place for place in places if place != location), key=lambda place: place.sort_key)),
        names=keys,
        about=(Name("cause", cause.name), *(Name("story", name) for name in sorted(contradicted))),
    )


def _fault(cause: Cause, contradicted: Collection[str], rules: Collection[str], keys: Sequence[Name]) -> str:
    """What is wrong: ``rule 'greet' was changed and now contradicts 2 stories``, or what rules see of an intent's keys.

    ``keys`` names the intent, if all contradictions are between rules for its keys.
    """
    if keys:
        return f"Rules see only '{keys[0].name}', not '{keys[0].name}/…'"
    of_rules = sum(name in rules for name in contradicted)
    counted = [
        *([count(len(contradicted) - of_rules, "story", "stories")] if len(contradicted) > of_rules else []),
        *([count(of_rules, "rule")] if of_rules else []),
    ]
    return f"{_in_short(cause)} and now contradicts {' and '.join(counted)}"


def _rules_of(report: Report) -> frozenset[str]:
    rules = report.coverage.get("rules")
    return frozenset(item.name for item in rules.items) if rules is not None else frozenset()


def _in_short(cause: Cause) -> str:
    """``rule 'greet' was changed``."""
    what = f"{SINGULAR[cause.kind]} '{cause.name}'"
    return f"{what} replaced '{cause.old_name}'" if cause.change == "replaced" else f"{what} was {cause.change}"


def with_faults_by_cause(report: Report) -> Report:
    """Return the report whose evaluations could not be run because of what was changed, not of what it contradicts."""
    findings = report.validation.findings if report.validation else ()
    if isinstance(report.causes, UnsetType):
        return report
    singles = {_place_of_single(one): one.causes[0] for one in report.causes.findings if one.causes}
    causes = {(place, cause.name): cause for place, cause in singles.items() if place is not None}
    rules = _rules_of(report)
    caused: dict[Location, tuple[str, Location]] = {}
    for finding in findings:
        named = next((name.name for name in finding.about if name.kind == "cause"), None)
        cause = causes.get((finding.location, named)) if named is not None and finding.code == CONTRADICTION else None
        if cause is not None:
            contradicted = [name.name for name in finding.about if name.kind == "story"]
            fault = _fault(cause, contradicted, rules, finding.names)
            caused |= dict.fromkeys(finding.others, (fault, finding.location))
    if not caused:
        return report
    skipped = tuple(
        _with_cause(one, *caused[one.location]) if one.fault and one.location in caused else one
        for one in report.skipped
    )
    return msgspec.structs.replace(report, skipped=skipped)


def _with_cause(skipped: Skipped, fault: str, place: Location) -> Skipped:
    """An evaluation that could not be run, with the changed part that must be seen to."""
    return msgspec.structs.replace(
        skipped, reason=f"{fault} ({place})", without_place=fault, cause=fault, location=place
    )


def _explained(cases: ChangedCases, causes: Mapping[tuple[str, str], tuple[Cause, ...]]) -> ChangedCases:
    if not causes:
        return cases

    def each(changes: tuple[CaseChange, ...]) -> tuple[CaseChange, ...]:
        return tuple(
            msgspec.structs.replace(case, causes=causes[key]) if (key := key_of(case)) in causes else case
            for case in changes
        )

    return msgspec.structs.replace(
        cases,
        worse=each(cases.worse),
        better=each(cases.better),
        edited=each(cases.edited),
        added_failing=each(cases.added_failing),
        misunderstood=each(cases.misunderstood),
    )


def key_of(case: CaseChange) -> tuple[str, str]:
    """Return what a test is recognised by here: its name and its file."""
    return case.name, "" if case.location is None else case.location.path
