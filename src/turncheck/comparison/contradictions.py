"""Contradictions that a change brings: its own fault, not that of the rules and stories that nobody touched.

One finding stands for all that a changed rule or story contradicts, or that a changed slot or setting lets contradict
each other, at its changed line, with advice about the change.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UnsetType

from turncheck.comparison.changes import SINGULAR
from turncheck.messages.finding import Name
from turncheck.messages.phrasing import BY_ITSELF, count
from turncheck.report.model import FindingCounts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from turncheck.messages.finding import Finding, Location
    from turncheck.report.causes import Cause, Causes, CausesOfFinding
    from turncheck.report.model import CoverageItem, Report, Skipped, Validation

_OF_RULES: Final = "rule-contradiction"
CONTRADICTIONS: Final = frozenset({_OF_RULES, "story-conflict"})
"""The findings that are gathered at their causes."""
_ADVICE: Final = "Undo it, or change with it what it contradicts."
_ADVICE_ALONE: Final = "Undo it: nothing else may follow there."
_ADVICE_FOR_OTHERS: Final = "Undo it, or change with it what contradicts each other."
_ADVICE_FOR_SEVERAL: Final = "Let the same action follow in all of them, or undo what does not belong."
_MOST_NAMED: Final = 3
_BLOCKS: Final = frozenset({"rules", "stories"})

_Key = tuple[str, tuple["Cause", ...]]
"""A code, and the part that brings such findings, or the parts of which none alone does."""
_Caused = dict[_Key, list["Finding"]]


def at_their_causes(validation: Validation | None, report: Report, base: Report) -> Validation | None:
    """Return the findings with one contradiction for each changed rule or story that brings some, at its changed line.

    ``None`` if there is none.
    """
    found = report.causes
    if validation is None or isinstance(found, UnsetType) or found.base != base.source.commit:
        return None
    caused, others = _by_cause(validation.findings, found)
    if not caused:
        return None
    blocks = _Blocks(report)
    merged = [_of_causes(causes, findings, blocks) for (_, causes), findings in _keys_as_one(caused).items()]
    findings = tuple(sorted((*others, *merged), key=lambda finding: finding.order))
    severities = [finding.severity for finding in findings]
    counts = FindingCounts(**{name: severities.count(name) for name in ("error", "warning", "info")})
    return msgspec.structs.replace(validation, findings=findings, counts=counts)


def _by_cause(findings: Sequence[Finding], found: Causes) -> tuple[_Caused, list[Finding]]:
    """The findings by their causes, and those that are not gathered."""
    places = {(one.code, one.location): one for one in found.findings if stands_at_its_causes(one)}
    gathered = [one for one in found.mutual if one.causes and one.code in CONTRADICTIONS]
    mutual = {(one.code, location): one.causes for one in gathered for location in one.locations}
    caused: _Caused = {}
    others: list[Finding] = []
    for finding in findings:
        place = finding.code, finding.location
        if place in mutual:
            caused.setdefault((finding.code, mutual[place]), []).append(finding)
        one = None if _is_about_one(finding) else places.get(place)
        if one is not None:
            contradicted = dict(zip(one.causes, one.contradicted, strict=False))
            for cause in one.causes:
                own = _with_names(finding, cause, contradicted.get(cause, ()))
                caused.setdefault((finding.code, (cause,)), []).append(own)
        if place not in mutual and one is None:
            others.append(finding)
    return caused, others


def _is_about_one(finding: Finding) -> bool:
    """Whether a rule is wrong by itself: it has several messages, say, and contradicts nothing."""
    return len(finding.about) == 1 and not finding.others


def stands_at_its_causes(found: CausesOfFinding) -> bool:
    """Whether changed rules and stories, or one other changed part, bring a contradiction, and are still there."""
    causes = found.causes
    are_blocks = all(one.kind in _BLOCKS for one in causes)
    are_there = all(one.location is not None for one in causes)
    return bool(causes) and found.code in CONTRADICTIONS and are_there and (are_blocks or len(causes) == 1)


def _with_names(finding: Finding, cause: Cause, contradicted: Sequence[str]) -> Finding:
    """A finding that names only what a changed rule or story contradicts, as far as that is known."""
    if not contradicted:
        return finding
    about = tuple(Name("story", name) for name in (cause.name, *contradicted))
    return msgspec.structs.replace(finding, about=about)


def _keys_as_one(caused: _Caused) -> _Caused:
    """Put together what is about keys of retrieval intents: one mistake, however many intents it is made for."""
    of_keys = [key for key, findings in caused.items() if _keys_of(findings)]
    causes = {cause for _, causes in of_keys for cause in causes}
    ordered = tuple(sorted(causes, key=lambda cause: (_place(cause), cause.name)))
    findings = [finding for key in of_keys for finding in caused[key]]
    others = {key: found for key, found in caused.items() if key not in of_keys}
    return {**others, (_OF_RULES, ordered): findings} if of_keys else others


def _place(cause: Cause) -> tuple[str, int, int]:
    return cause.location.sort_key if cause.location is not None else ("", 0, 0)


def _of_causes(causes: tuple[Cause, ...], findings: Sequence[Finding], blocks: _Blocks) -> Finding:
    """All contradictions that a changed rule or story brings, or several of which none alone does, as one finding."""
    named = _stories_of(findings)
    first, is_single, keys = causes[0], len(causes) == 1, _keys_of(findings)
    is_block = first.kind in _BLOCKS
    others = [name for name in named if name != first.name or not is_block] or list(
        dict.fromkeys(str(one.location) for one in findings)
    )
    with_others = is_single and first.kind != "rules"
    places = {place for one in findings for place in ((one.location, *one.others) if with_others else (one.location,))}
    fault = _fault(causes, blocks.numbers(others, places), blocks.rules, keys)
    written = [name for name in others if not name.startswith(BY_ITSELF)]
    if keys:
        message = f"{fault}: {count(len(named), 'rule')} contradict each other."
        each = f"the intent '{keys[0].name}'" if len(keys) == 1 else f"each of these intents, for '{keys[0].name}'"
        hint = f"Write one rule for {each}, with the action 'utter_{keys[0].name}'."
    elif is_single:
        message = f"The {fault}: {some_of(written)}." if written else f"The {fault}."
        hint = (_ADVICE if written else _ADVICE_ALONE) if is_block else _ADVICE_FOR_OTHERS
    else:
        message, hint = f"{fault}: {some_of([cause.name for cause in causes])}.", _ADVICE_FOR_SEVERAL
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


def _stories_of(findings: Sequence[Finding]) -> list[str]:
    """The rules and stories that contradict each other there."""
    return list(dict.fromkeys(name.name for finding in findings for name in finding.about if name.kind == "story"))


def _keys_of(findings: Sequence[Finding]) -> tuple[Name, ...]:
    """The retrieval intents, if all contradictions are between rules for their keys."""
    if not all(finding.names for finding in findings):
        return ()
    return tuple(Name("intent", intent) for intent in sorted({finding.names[0].name for finding in findings}))


def _fault(
    causes: Sequence[Cause], contradicted: Mapping[str, int], rules: Collection[str], keys: Sequence[Name]
) -> str:
    """What is wrong: ``rule 'greet' was changed and now contradicts 2 stories``, or what rules see of an intent's keys.

    Args:
        causes: the changed parts.
        contradicted: the names of rules and stories that contradict these or each other, and how many have each.
        rules: the names of rules.
        keys: the retrieval intents, if all contradictions are between rules for their keys.
    """
    if keys:
        only, hidden = (some_of([f"{key.name}{end}" for key in keys]) for end in ("", "/…"))
        return f"Rules see only {only}, not {hidden}"
    if len(causes) > 1:
        of_rules = sum(cause.kind == "rules" for cause in causes)
        parts = [count(of_rules, "rule")] if of_rules else []
        parts += [count(len(causes) - of_rules, "story", "stories")] if len(causes) > of_rules else []
        return f"{' and '.join(parts)} of this change contradict each other"
    by_itself = [name for name in contradicted if name.startswith(BY_ITSELF)]
    number = sum(times for name, times in contradicted.items() if name not in by_itself)
    of_rules = sum(times for name, times in contradicted.items() if name in rules)
    counted = [
        *([count(number - of_rules, "story", "stories")] if number > of_rules else []),
        *([count(of_rules, "rule")] if of_rules else []),
        *by_itself,
    ]
    if causes[0].kind not in _BLOCKS:
        return f"{_in_short(causes[0])}, and now {' and '.join(counted)} contradict each other"
    return f"{_in_short(causes[0])} and now contradicts {' and '.join(counted)}"


def some_of(names: Sequence[str]) -> str:
    """``'a', 'b', 'c' and 4 more``."""
    named = ", ".join(f"'{name}'" for name in names[:_MOST_NAMED])
    return f"{named} and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else named


class _Blocks:
    """The rules and stories of a report: several may have one name."""

    def __init__(self, report: Report) -> None:
        of_kinds = {kind: report.coverage[kind].items for kind in _BLOCKS if kind in report.coverage}
        self.rules = frozenset(item.name for item in of_kinds.get("rules", ()))
        items = (item for of_kind in of_kinds.values() for item in of_kind)
        self._items = sorted(items, key=lambda item: item.location.sort_key)

    def numbers(self, names: Sequence[str], places: Collection[Location]) -> dict[str, int]:
        """Count the rules and stories of each name in which any of the places is."""
        holding = {item.location: item.name for place in places if (item := self._at(place)) is not None}
        times = Counter(holding.values())
        return {name: max(1, times[name]) for name in names}

    def _at(self, place: Location) -> CoverageItem | None:
        before = bisect_right(self._items, place.sort_key, key=lambda item: item.location.sort_key)
        found = self._items[before - 1] if before else None
        return found if found is not None and found.location.path == place.path else None


def _in_short(cause: Cause) -> str:
    """``rule 'greet' was changed``."""
    kind = SINGULAR.get(cause.kind, "part")
    what = f"{kind} '{cause.name}'" if cause.name else kind
    if cause.change == "renamed":
        return f"{kind} '{cause.old_name}' was renamed to '{cause.name}'"
    return f"{what} replaced '{cause.old_name}'" if cause.change == "replaced" else f"{what} was {cause.change}"


# Evaluations that contradictions keep from running: because of the change, too.


def with_faults_by_cause(report: Report) -> Report:
    """Return the report whose evaluations could not be run because of what was changed, not of what it contradicts."""
    findings = report.validation.findings if report.validation else ()
    if isinstance(report.causes, UnsetType):
        return report
    causes = {(cause.location, cause.name): (cause,) for cause in _causes_of(report.causes)}
    mutual = [cause for one in report.causes.mutual for cause in one.causes]
    blocks = _Blocks(report)
    caused: dict[Location, tuple[str, Location]] = {}
    for finding in findings:
        named = next((name.name for name in finding.about if name.kind == "cause"), None)
        if named is None or finding.code != _OF_RULES:
            continue
        about = {name.name for name in finding.about}
        of_finding = causes.get((finding.location, named)) or [one for one in mutual if one.name in about]
        if of_finding:
            contradicted = [name.name for name in finding.about if name.kind == "story"]
            places = (finding.location, *finding.others)
            fault = _fault(of_finding, blocks.numbers(contradicted, places), blocks.rules, finding.names)
            caused |= dict.fromkeys(places, (fault, finding.location))
    if not caused:
        return report
    skipped = tuple(
        _with_cause(one, *caused[one.location]) if one.fault and one.location in caused else one
        for one in report.skipped
    )
    return msgspec.structs.replace(report, skipped=skipped)


def _causes_of(found: Causes) -> Iterator[Cause]:
    for one in found.findings:
        if one.code == _OF_RULES and stands_at_its_causes(one):
            yield from one.causes


def _with_cause(skipped: Skipped, fault: str, place: Location) -> Skipped:
    """An evaluation that could not be run, with the changed part that must be seen to."""
    return msgspec.structs.replace(
        skipped, reason=f"{fault} ({place})", without_place=fault, cause=fault, location=place
    )
