"""What a change added, removed or edited: findings, parts of the project and its configuration, rules of tests.

Of the configuration also what the engine cannot judge, since it ignores what has changed.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from msgspec import Struct

from turncheck.comparison.cases import findings_worst_first, is_read_in_part
from turncheck.comparison.changes import (
    CaseChange,
    ChangedCases,
    ChangedNames,
    ChangedPart,
    FindingChange,
    Named,
    PartChange,
    UnseenChange,
)
from turncheck.comparison.explanations import LEADING, changed_steps, paired
from turncheck.comparison.recognised import without_partners
from turncheck.comparison.recognised_by_words import unnamed
from turncheck.comparison.renames import message_of, renamed_on_both
from turncheck.messages.finding import Name
from turncheck.report.causes import Cause
from turncheck.report.component_names import NAMES
from turncheck.report.model import COVERAGE_KINDS, ConfiguredComponent, CoverageItem, IgnoredParameter, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence

    from turncheck.comparison.model import Renamed
    from turncheck.messages.finding import Finding, Location
    from turncheck.report.model import Unread

_Components = tuple["ConfiguredComponent", ...]
_MOST: Final = 200
"""No pipeline has more components; a report from anywhere may, at the cost of their number squared."""


def unseen_changes(base: Report, head: Report) -> tuple[UnseenChange, ...]:
    """Return what this side changed, added or removed in the configuration that neither side's engine reads.

    Not known if one of the engines does not say what it ignores.
    """
    configured_components, other = (
        side.engine.configured if side.engine is not None else None for side in (base, head)
    )
    if configured_components is None or other is None:
        return ()
    return differences(configured_components, other)


def differences(_components: _Components, other: _Components) -> tuple[UnseenChange, ...]:
    """Return the differences between two configurations that the engine does not read."""
    found: list[UnseenChange] = []
    for section in ("recipe", "pipeline", "policies", "importers"):
        before, after = (
            [component for component in side if component.section == section][:_MOST] for side in (_components, other)
        )
        found += _of_section(before, after)
    return tuple(found)


def run_alike(_components: _Components, other: _Components) -> bool:
    """Whether the engine runs the same for both configurations, whatever else differs."""
    return _run(_components) == _run(other)


def _run(components: _Components) -> list[tuple[str, str]]:
    return [(component.section, component.runs) for component in components if component.runs is not None]


def _of_section(before: Sequence[ConfiguredComponent], after: Sequence[ConfiguredComponent]) -> Iterable[UnseenChange]:
    """Pair components by their names, in order; those without a counterpart are new, gone or in another place."""
    found: list[UnseenChange] = []
    gone: list[ConfiguredComponent] = []
    new: list[ConfiguredComponent] = []
    before_names, after_names = _told_apart(before, after)
    matcher = SequenceMatcher(None, before_names, after_names, autojunk=False)
    for kind, first, end, start, stop in matcher.get_opcodes():
        if kind == "equal":
            for component, other in zip(before[first:end], after[start:stop], strict=True):
                found += _of_component(component, other)
        else:
            replaced = run_the_same(before[first:end], after[start:stop])
            found += (_replacement(one, other) for one, other in replaced)
            gone += (one for one in before[first:end] if all(one is not pair[0] for pair in replaced))
            new += (one for one in after[start:stop] if all(one is not pair[1] for pair in replaced))
    moved = Counter(map(_class, gone)) & Counter(map(_class, new))
    found += (
        _whole("removed", configured_component)
        for configured_component in gone
        if configured_component.runs is None and not moved[_class(configured_component)]
    )
    found += (_whole("moved" if moved[_class(one)] else "added", one) for one in new if one.runs is None)
    return sorted(found, key=_place)


def _told_apart(
    before: Sequence[ConfiguredComponent], after: Sequence[ConfiguredComponent]
) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Name the components of both sides by their classes, and those of one class by a number that equal ones share.

    Of two ``CountVectorsFeaturizer``, the one that was removed is the one whose parameters are gone.
    """
    names: tuple[dict[int, tuple[str, int]], dict[int, tuple[str, int]]] = ({}, {})
    for of_class in dict.fromkeys(map(_class, (*before, *after))):
        old, new = ([at for at, one in enumerate(side) if _class(one) == of_class] for side in (before, after))
        contents = [_content(before[at]) for at in old], [_content(after[at]) for at in new]
        blocks = SequenceMatcher(None, contents[0], contents[1], autojunk=False).get_matching_blocks()
        pairs = [(old[block.a + at], new[block.b + at]) for block in blocks for at in range(block.size)]
        only_old = [at for at in old if all(at != pair[0] for pair in pairs)]
        only_new = [at for at in new if all(at != pair[1] for pair in pairs)]
        for number, pair in enumerate([*pairs, *zip_longest(only_old, only_new)]):
            for side, at in zip(names, pair, strict=True):
                if at is not None:
                    side[at] = of_class, number
    return [names[0][at] for at in range(len(before))], [names[1][at] for at in range(len(after))]


def _content(component: ConfiguredComponent) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    return component.runs, tuple(sorted((name, one.value) for name, one in component.ignored.items()))


def _class(component: ConfiguredComponent) -> str:
    """The name of the class; Rasa's own may be given with their modules, or by the names of Rasa 0."""
    name = component.name
    short = name.rpartition(".")[2] if name.startswith(("rasa.", "rasa_nlu.")) else name
    return NAMES.get(short, short)


def run_the_same(
    before: Sequence[ConfiguredComponent], after: Sequence[ConfiguredComponent]
) -> list[tuple[ConfiguredComponent, ConfiguredComponent]]:
    """Pair components of different names for which the same runs, in the order of both.

    Of those for which nothing runs, one takes the place of another only if their names end with the same word:
    ``BertTokenizer`` does not replace ``RegexFeaturizer``.
    """
    matcher = SequenceMatcher(
        None, [_what_runs(one) for one in before], [_what_runs(one) for one in after], autojunk=False
    )
    return [
        (before[block.a + place], after[block.b + place])
        for block in matcher.get_matching_blocks()
        for place in range(block.size)
    ]


def _what_runs(component: ConfiguredComponent) -> tuple[str | None, str]:
    return component.runs, "" if component.runs is not None else re.split("(?=[A-Z])", component.name)[-1]


def _replacement(configured_component: ConfiguredComponent, other: ConfiguredComponent) -> UnseenChange:
    return UnseenChange(
        change="replaced",
        component=other.name,
        base=configured_component.name,
        location=other.location,
        base_location=configured_component.location,
    )


def _whole(change: Literal["added", "moved", "removed"], component: ConfiguredComponent) -> UnseenChange:
    gone = change == "removed"
    return UnseenChange(
        change=change,
        component=component.name,
        location=None if gone else component.location,
        base_location=component.location if gone else None,
    )


def _of_component(configured_component: ConfiguredComponent, other: ConfiguredComponent) -> Iterator[UnseenChange]:
    if (configured_component.runs is None) != (other.runs is None):
        return  # that it runs on one side only is something that the engine sees
    for name in dict.fromkeys((*other.ignored, *configured_component.ignored)):
        before, after = configured_component.ignored.get(name), other.ignored.get(name)
        if (before and before.value) != (after and after.value):
            yield _of_parameter(name, before, after, other)


def _of_parameter(
    name: str, before: IgnoredParameter | None, after: IgnoredParameter | None, component: ConfiguredComponent
) -> UnseenChange:
    return UnseenChange(
        change="changed" if before and after else "added" if after else "removed",
        component=component.name,
        parameter=name,
        base=before.value if before else "",
        value=after.value if after else "",
        location=after.location if after else component.location,
        base_location=before.location if before else None,
    )


def _place(change: UnseenChange) -> tuple[str, int]:
    location = change.location or change.base_location
    return ("", 0) if location is None else (location.path, location.line or 0)


def changed_findings(
    base: Report, head: Report, renamed: Sequence[Renamed] = (), repaired: Collection[Unread] = ()
) -> tuple[tuple[FindingChange, ...], tuple[FindingChange, ...]]:
    """Return the findings that are new, with the names that are ``renamed``, and those that are gone, worst first.

    If a file cannot be read, no finding is known to be gone. What this side ``repaired`` is no finding that it has.
    """
    of_base = findings_worst_first(base)
    mended = _mended(of_base, findings_worst_first(head), repaired)
    known = [one for number, one in enumerate(of_base) if number not in mended]
    before, after = without_partners(known, findings_worst_first(head), renamed_on_both(base, head, renamed))
    before = [one for one in of_base if one in before or one not in known]
    after = _not_of_parts(after, of_base)
    gone = () if is_read_in_part(head) else before
    component = _removed_own_component(base, head)
    new = (_with_cause(_finding_change(finding, renamed), component) for finding in after)
    return tuple(new), tuple(map(_finding_change, gone))


def _mended(of_base: Sequence[Finding], of_head: Sequence[Finding], repaired: Iterable[Unread]) -> set[int]:
    """The numbers of the findings that this side repaired, by their places.

    Where a repaired base has others at that place, too, those stay that are on a line which this side has as well.
    """
    left = Counter((one.location, one.code) for one in repaired)
    there = {(one.code, one.lines[0]) for one in of_head if one.lines}
    at_places = [number for number, one in enumerate(of_base) if (one.location, one.code) in left]
    at_places.sort(key=lambda number: (of_base[number].code, *of_base[number].lines[:1]) in there)
    found = set()
    for number in at_places:
        one = of_base[number]
        if (one.code, *one.lines[:1]) not in there or left[one.location, one.code] > 0:
            found.add(number)
        left[one.location, one.code] -= 1
    return found


_UNLESS_OWN: Final = frozenset(
    {
        *("annotation-misaligned", "component-order", "entity-unused", "selector-missing", "synonym-unreached"),
        *("test-entity-not-extractable", "nlu-data-unread"),
    }
)
"""The codes that are never found while the pipeline has a component of the project's own, which may do anything."""


def _removed_own_component(base: Report, head: Report) -> str:
    """The last component of the project's own that this side removed from the pipeline; empty if it has one still."""
    before, after = (
        [part.name for part in (side.engine.configured if side.engine else None) or () if _is_own(part)]
        for side in (base, head)
    )
    return before[-1] if before and not after else ""


def _is_own(part: ConfiguredComponent) -> bool:
    return part.section == "pipeline" and "." in part.name and not part.name.startswith("rasa")


def _with_cause(change: FindingChange, component: str) -> FindingChange:
    """A finding that the base could not have, since a component of its own may have seen to it: say which one."""
    if not component or change.code not in _UNLESS_OWN:
        return change
    said = f"{change.message_now or change.message} '{component}' was removed in this change; it may have seen to that."
    return msgspec.structs.replace(change, message_now=said, names=(Name("component", component), *change.names))


class NewSuppressions(Struct, frozen=True):
    """What a change newly suppresses; ``known``: whether the base's report says what it suppresses."""

    found: tuple[FindingChange, ...] = ()
    known: bool = True


def new_suppressions(base: Report, head: Report, renamed: Sequence[Renamed] = ()) -> NewSuppressions:
    """Return the errors that are suppressed here and not on the base, identified as :func:`changed_findings` does.

    Where warnings fail the run, on either side, suppressed warnings count as well. Of an older base, which does not say
    what it suppresses, only what it showed is known to be newly suppressed.
    """
    severities = {"error", *(["warning"] if base.settings.fail_on_warnings or head.settings.fail_on_warnings else [])}
    after = [finding for finding in _suppressed(head) or () if finding.severity in severities]
    before = _suppressed(base)
    renamed = renamed_on_both(base, head, renamed)
    if before is None:
        shown = base.validation.findings if base.validation else ()
        _, others = without_partners(shown, after, renamed)
        return NewSuppressions(
            tuple(_finding_change(finding) for finding in after if finding not in others), known=not others
        )
    _, others = without_partners(before, after, renamed)
    return NewSuppressions(tuple(map(_finding_change, others)))


def _suppressed(report: Report) -> tuple[Finding, ...] | None:
    """What a report suppresses; ``None`` if it does not say so."""
    return report.validation.suppressed if report.validation else ()


def _not_of_parts(findings: list[Finding], of_base: list[Finding]) -> list[Finding]:
    """The findings without warnings about a whole file that the base has about another one: a file that is split into
    many has what was wrong with it in each part."""
    known = {(finding.code, unnamed(finding)) for finding in of_base if unnamed(finding) != finding.message}
    return [
        finding for finding in findings if finding.severity == "error" or (finding.code, unnamed(finding)) not in known
    ]


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


def changed_names(base: Report, head: Report, kind: str, renamed: Iterable[Renamed] = ()) -> ChangedNames:
    """Return the intents or entities (``kind``) that are new and those that are removed, but not ``renamed`` ones."""
    before, after = _names(base, kind), _names(head, kind)
    if not before or not after:
        return ChangedNames()
    pairs = [(rename.old, rename.new) for rename in renamed if rename.kind == kind]
    there, was = {*after, *(old for old, _ in pairs)}, {*before, *(new for _, new in pairs)}
    return ChangedNames(
        added=tuple(Named(name=name, location=location) for name, location in after.items() if name not in was),
        removed=tuple(Named(name=name, location=place) for name, place in before.items() if name not in there),
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


_NAMED_ELSEWHERE: Final = frozenset({"intents", "entities", "flow_steps"})
"""Kinds whose new and removed names the comparison lists anyway; a flow that lost a step is one that changed."""


def removed_items(base: Report, head: Report, renamed: Iterable[Renamed]) -> tuple[ChangedPart, ...]:
    """Return the parts that only the base has; one that has only another name or place is not gone.

    Nor is an action that is listed as a form now, or a form that is an action; nor a story of which there is a new rule
    instead, or a rule of which there is a story.
    """
    now_called = {(rename.kind, rename.old) for rename in renamed}
    for kind, other in (("actions", "forms"), ("forms", "actions")):
        now_called |= {(kind, item.name) for item in (head.coverage[other].items if other in head.coverage else ())}
    for kind, other in (("stories", "rules"), ("rules", "stories")):
        if other in base.coverage and other in head.coverage:
            known = {item.name for item in base.coverage[other].items}
            now_called |= {(kind, item.name) for item in head.coverage[other].items if item.name not in known}
    found = []
    for kind in COVERAGE_KINDS:
        if kind in _NAMED_ELSEWHERE or kind not in base.coverage or kind not in head.coverage:
            continue
        before, after = base.coverage[kind].items, head.coverage[kind].items
        contents = Counter(coverage_item.content for coverage_item in _new(before, after))
        for item, now in paired(before, after):
            if now is not None:
                continue
            if item.content and contents[item.content] > 0:
                contents[item.content] -= 1
            elif (kind, item.name) not in now_called:
                found.append(ChangedPart(kind=kind, name=item.name, location=item.location, change="removed"))
    return tuple(found)


def cut_word_lists(base: Report, head: Report, renamed: Iterable[Renamed] = ()) -> tuple[ChangedPart, ...]:
    """Return the synonyms, lookup tables and patterns that are gone or have other words, but not only more of them."""
    if is_read_in_part(head):
        return ()
    called = {(rename.kind, rename.old): rename.new for rename in renamed}
    after = {(word_list.kind, word_list.name): word_list for word_list in head.word_lists}
    found = []
    for old in base.word_lists:
        new = after.get((old.kind, called.get((old.kind, old.name), old.name)))
        if new is None:
            found.append(ChangedPart(kind=old.kind, name=old.name, location=old.location, change="removed"))
        elif new.digest != old.digest and new.entries <= old.entries:
            lost = old.entries - new.entries
            part = ChangedPart(kind=new.kind, name=new.name, location=new.location, change="changed", lost=lost)
            found.append(part)
    return tuple(found)


def changed_components(base: Report, head: Report) -> tuple[ChangedPart, ...]:
    """Return the components and policies that the engine runs otherwise; not known of engines that do not say it.

    Another version of the engine runs all of them otherwise, which is no change of the project. Without a configuration
    all of them are defaults, of which none was removed or changed. A featurizer that is still configured was not
    removed if only what used it was.
    """
    if (
        base.engine is None
        or head.engine is None
        or base.tool != head.tool
        or base.engine.version != head.engine.version
    ):
        return ()
    configured_components, other = base.engine.configured, head.engine.configured
    if configured_components is None or other is None or run_alike(configured_components, other):
        return ()
    if not all(any(part.location.path for part in side) for side in (configured_components, other)):
        return ()
    before, after = ([part for part in side if part.runs is not None] for side in (configured_components, other))
    gone, new = _unpaired(before, after, _runs), _unpaired(after, before, _runs)
    removed, added = _unpaired(gone, new, _name), _unpaired(new, gone, _name)
    changed = [part for part in new if part not in added]
    idle_before, idle = ([part for part in side if part.runs is None] for side in (configured_components, other))
    unused = _paired(idle, removed, _name)
    used = _paired(added, idle_before, _name)
    removed, added = _unpaired(removed, idle, _name), _unpaired(added, idle_before, _name)
    moved = (
        []
        if gone or new
        else [next(part for old, part in zip(before, after, strict=True) if _runs(old) != _runs(part))]
    )
    return (
        *(_component(part, "removed") for part in removed),
        *(_component(part, "added") for part in added),
        *(_component(part, "changed") for part in changed),
        *(_component(part, "moved") for part in moved),
        *(_component(part, "unused") for part in unused),
        *(_component(part, "used") for part in used),
    )


def _runs(part: ConfiguredComponent) -> Hashable:
    return part.section, part.runs


def _name(part: ConfiguredComponent) -> Hashable:
    return part.section, _class(part)


def _unpaired(
    parts: Iterable[ConfiguredComponent],
    others: Iterable[ConfiguredComponent],
    key: Callable[[ConfiguredComponent], Hashable],
) -> list[ConfiguredComponent]:
    """Those without a counterpart among the others; equal ones are counted."""
    left = Counter(map(key, others))
    unpaired = []
    for part in parts:
        if left[key(part)] > 0:
            left[key(part)] -= 1
        else:
            unpaired.append(part)
    return unpaired


def _paired(
    parts: Iterable[ConfiguredComponent],
    others: Iterable[ConfiguredComponent],
    key: Callable[[ConfiguredComponent], Hashable],
) -> list[ConfiguredComponent]:
    """Those with a counterpart among the others; equal ones are counted."""
    parts = list(parts)
    unpaired = {id(part) for part in _unpaired(parts, others, key)}
    return [part for part in parts if id(part) not in unpaired]


def _component(part: ConfiguredComponent, change: PartChange) -> ChangedPart:
    return ChangedPart(kind=part.section, name=part.name, location=part.location, change=change)


def _new(before: Sequence[CoverageItem], after: Sequence[CoverageItem]) -> list[CoverageItem]:
    known = {item.name for item in before}
    return [item for item in after if item.name not in known]


def with_changed_rules(cases: ChangedCases, base: Report, head: Report, removed: Iterable[ChangedPart]) -> ChangedCases:
    """Add to each test that newly fails the rules and stories of its wrong step that the change edited or removed.

    A rule has to do with a step if it has the step's action and the intent that is written before it.
    """
    candidates = _changed(base, head, removed)
    if not candidates:
        return cases

    def each(changes: tuple[CaseChange, ...]) -> tuple[CaseChange, ...]:
        return tuple(_with_rules(change, candidates) if change.failed else change for change in changes)

    return msgspec.structs.replace(
        cases, worse=each(cases.worse), edited=each(cases.edited), added_failing=each(cases.added_failing)
    )


def _changed(base: Report, head: Report, removed: Iterable[ChangedPart]) -> list[tuple[Cause, frozenset[str]]]:
    """The rules and stories that the change edited or removed, each with the names of its steps on both sides."""
    gone = {(changed_part.kind, changed_part.location): changed_part for changed_part in removed}
    steps = changed_steps(base, head)
    found = []
    for kind in LEADING:
        if kind in base.coverage and kind in head.coverage:
            for old, new in paired(base.coverage[kind].items, head.coverage[kind].items):
                if new is None and (part := gone.get((kind, old.location))):
                    cause = Cause(
                        kind=kind, name=part.name, change="removed", location=None, base_location=part.location
                    )
                    found.append((cause, frozenset(old.names)))
                elif new is not None and new.digest != old.digest:
                    place = steps.get((kind, new.location), new.location)
                    cause = Cause(
                        kind=kind, name=new.name, change="changed", location=place, base_location=old.location
                    )
                    found.append((cause, frozenset((*old.names, *new.names))))
    return found


def _with_rules(case: CaseChange, candidates: Iterable[tuple[Cause, frozenset[str]]]) -> CaseChange:
    wrong, *before = case.rests_on or ("",)
    intents = set(before[:1])
    rules = [
        part for part, names in candidates if wrong in names and (not intents or intents & names or case.expected == "")
    ]
    rules += [part for part, names in candidates if part not in rules and case.actual in names and intents & names]
    return msgspec.structs.replace(case, causes=tuple(rules)) if rules else case
