"""Puts the causes that a report has into its comparison, if it is compared with the base that they are about."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UnsetType

from turncheck.comparison.changes import SINGULAR
from turncheck.comparison.training_changes import f1_of_intent
from turncheck.messages.finding import Name
from turncheck.messages.phrasing import count

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from turncheck.comparison.changes import CaseChange, ChangedCases, FindingChange
    from turncheck.comparison.model import Comparison
    from turncheck.messages.finding import Finding, Location
    from turncheck.report.causes import Asked, Cause, Causes, CausesOfFinding
    from turncheck.report.model import Report, Skipped, Validation

_CASES: Final[Mapping[Asked, str]] = {
    "core": "stories",
    "e2e": "e2e",
    "batch": "batch",
    "intents": "examples",
    "entities": "entities",
    "responses": "responses",
}
"""What has the cases of each kind in a comparison."""
_MOST_NAMED: Final = 3
_Caused = dict[tuple["Cause", ...], list["Finding"]]
"""Findings by the part that brings them, or by the parts of which none alone does."""


def with_causes(comparison: Comparison, head: Report, base: Report) -> Comparison:
    """Return the comparison in which tests have what was found to be their cause, instead of what is only near it."""
    found = head.causes
    if isinstance(found, UnsetType) or found.base != base.source.commit:
        return comparison
    by_kind: dict[str, dict[tuple[str, str], tuple[Cause, ...]]] = defaultdict(dict)
    for test in found.tests:
        by_kind[_CASES[test.evaluation]][test.name, test.path] = test.causes
    cases = {name: _explained(getattr(comparison, name), causes) for name, causes in by_kind.items()}
    of_figures = {f1_of_intent(one.intent): one.causes for one in found.intents if one.causes}
    metrics = tuple(
        msgspec.structs.replace(metric, causes=of_figures[metric.name]) if metric.name in of_figures else metric
        for metric in comparison.metrics
    )
    return msgspec.structs.replace(
        comparison,
        **cases,
        metrics=metrics,
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
_ADVICE_FOR_SEVERAL: Final = "Let the same action follow in all of them, or undo what does not belong."


def by_cause(validation: Validation | None, report: Report, base: Report) -> Validation | None:
    """Return the findings with one contradiction for each changed rule or story that brings some, at its changed line.

    ``None`` if there is none.
    """
    found = report.causes
    if validation is None or isinstance(found, UnsetType) or found.base != base.source.commit:
        return None
    places = {(one.code, one.location): one.causes for one in found.findings if _place_of_single(one)}
    places |= {(CONTRADICTION, location): one.causes for one in found.mutual for location in one.locations}
    caused: _Caused = {}
    others: list[Finding] = []
    for finding in validation.findings:
        causes = places.get((finding.code, finding.location))
        if causes is None:
            others.append(finding)
        else:
            caused.setdefault(causes, []).append(finding)
    if not caused:
        return None
    rules = _rules_of(report)
    merged = [_of_causes(causes, findings, rules) for causes, findings in _keys_as_one(caused).items()]
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


def _keys_as_one(caused: _Caused) -> _Caused:
    """Put together what is about keys of retrieval intents: one mistake, however many intents it is made for."""
    of_keys = [causes for causes, findings in caused.items() if len(causes) > 1 and _keys_of(findings)]
    causes = tuple(dict.fromkeys(itertools.chain.from_iterable(of_keys)))
    findings = [finding for one in of_keys for finding in caused[one]]
    others = {one: found for one, found in caused.items() if one not in of_keys}
    return {**others, causes: findings} if of_keys else others


def _of_causes(causes: tuple[Cause, ...], findings: Sequence[Finding], rules: Collection[str]) -> Finding:
    """All contradictions that a changed rule or story brings, or several of which none alone does, as one finding."""
    named = dict.fromkeys(name.name for finding in findings for name in finding.about)
    first, is_single, keys = causes[0], len(causes) == 1, _keys_of(findings)
    others = [name for name in named if name != first.name] or list(
        dict.fromkeys(str(one.location) for one in findings)
    )
    fault = _fault(causes, others, rules, keys)
    if keys:
        message = f"{fault}: {count(len(named), 'rule')} contradict each other."
        each = f"the intent '{keys[0].name}'" if len(keys) == 1 else f"each of these intents, for '{keys[0].name}'"
        hint = f"Write one rule for {each}, with the action 'utter_{keys[0].name}'."
    elif is_single:
        message, hint = f"The {fault}: {_some(others)}.", _ADVICE
    else:
        message, hint = f"{fault}: {_some([cause.name for cause in causes])}.", _ADVICE_FOR_SEVERAL
    of_story = is_single and first.kind == "stories"
    places = {place for one in findings for place in (one.others if of_story else (one.location,))}
    at = [place for cause in causes if (place := cause.location)] or [finding.location for finding in findings]
    location = min(at, key=lambda place: place.sort_key)
    return msgspec.structs.replace(
        findings[0],
        message=message,
        location=location,
        hint=hint,
        others=tuple(sorted(places - {location}, key=lambda place: place.sort_key)),
        names=keys,
        about=(Name("cause", first.name), *(Name("story", name) for name in sorted(others))),
    )


def _keys_of(findings: Sequence[Finding]) -> tuple[Name, ...]:
    """The retrieval intents, if all contradictions are between rules for their keys."""
    if not all(finding.names for finding in findings):
        return ()
    return tuple(Name("intent", intent) for intent in sorted({finding.names[0].name for finding in findings}))


def _fault(causes: Sequence[Cause], contradicted: Collection[str], rules: Collection[str], keys: Sequence[Name]) -> str:
    """What is wrong: ``rule 'greet' was changed and now contradicts 2 stories``, or what rules see of an intent's keys.

    ``keys`` names the intents, if all contradictions are between rules for their keys.
    """
    if keys:
        only, hidden = (_some([f"{key.name}{end}" for key in keys]) for end in ("", "/…"))
        return f"Rules see only {only}, not {hidden}"
    if len(causes) > 1:
        of_rules = sum(cause.kind == "rules" for cause in causes)
        parts = [count(of_rules, "rule")] if of_rules else []
        parts += [count(len(causes) - of_rules, "story", "stories")] if len(causes) > of_rules else []
        return f"{' and '.join(parts)} of this change contradict each other"
    of_rules = sum(name in rules for name in contradicted)
    counted = [
        *([count(len(contradicted) - of_rules, "story", "stories")] if len(contradicted) > of_rules else []),
        *([count(of_rules, "rule")] if of_rules else []),
    ]
    return f"{_in_short(causes[0])} and now contradicts {' and '.join(counted)}"


def _some(names: Sequence[str]) -> str:
    """``'a', 'b', 'c' and 4 more``."""
    named = ", ".join(f"'{name}'" for name in names[:_MOST_NAMED])
    return f"{named} and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else named


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
    causes = {
        (place, one.causes[0].name): one.causes for one in report.causes.findings if (place := _place_of_single(one))
    }
    stood: dict[tuple[Cause, ...], list[Location]] = {}
    for one in report.causes.findings:
        stood.setdefault(one.causes, []).append(one.location)
    mutual = [cause for one in report.causes.mutual for cause in one.causes]
    rules = _rules_of(report)
    caused: dict[Location, tuple[str, Location]] = {}
    for finding in findings:
        named = next((name.name for name in finding.about if name.kind == "cause"), None)
        if named is None or finding.code != CONTRADICTION:
            continue
        about = {name.name for name in finding.about}
        of_finding = causes.get((finding.location, named)) or [one for one in mutual if one.name in about]
        if of_finding:
            contradicted = [name.name for name in finding.about if name.kind == "story"]
            fault = _fault(of_finding, contradicted, rules, finding.names)
            places = (*finding.others, *stood.get(tuple(of_finding), ()))
            caused |= dict.fromkeys(places, (fault, finding.location))
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
