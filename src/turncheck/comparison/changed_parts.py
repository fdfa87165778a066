"""What a change removed or edited: parts of the project and its configuration, and the rules that a test rests on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from turncheck.comparison.cases import is_read_in_part
from turncheck.comparison.changes import CaseChange, ChangedCases, ChangedPart
from turncheck.comparison.explanations import LEADING, paired
from turncheck.comparison.unseen_changes import run_alike
from turncheck.report.model import COVERAGE_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from turncheck.comparison.model import Renamed
    from turncheck.report.model import ConfiguredComponent, CoverageItem, Report


_NAMED_ELSEWHERE: Final = frozenset({"intents", "entities"})
"""Kinds whose new and removed names the comparison lists anyway."""


def removed_items(base: Report, head: Report, renamed: Iterable[Renamed]) -> tuple[ChangedPart, ...]:
    """Return the parts that only the base has; one that has only another name or place is not gone."""
    now_called = {(rename.kind, rename.old) for rename in renamed}
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


def cut_word_lists(base: Report, head: Report) -> tuple[ChangedPart, ...]:
    """Return the synonyms, lookup tables and patterns that are gone or have other words, but not only more of them."""
    if is_read_in_part(head):
        return ()
    after = {(word_list.kind, word_list.name): word_list for word_list in head.word_lists}
    found = []
    for old in base.word_lists:
        new = after.get((old.kind, old.name))
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
    all of them are defaults, of which none was removed or changed.
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
    )


def _runs(part: ConfiguredComponent) -> Hashable:
    return part.section, part.runs


def _name(part: ConfiguredComponent) -> Hashable:
    return part.section, part.name


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


def _component(part: ConfiguredComponent, change: Literal["changed", "removed", "added", "moved"]) -> ChangedPart:
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


def _changed(base: Report, head: Report, removed: Iterable[ChangedPart]) -> list[tuple[ChangedPart, frozenset[str]]]:
    """The rules and stories that the change edited or removed, each with the names of its steps on both sides."""
    gone = {(changed_part.kind, changed_part.location): changed_part for changed_part in removed}
    found = []
    for kind in LEADING:
        if kind in base.coverage and kind in head.coverage:
            for old, new in paired(base.coverage[kind].items, head.coverage[kind].items):
                if new is None and (part := gone.get((kind, old.location))):
                    found.append((part, frozenset(old.names)))
                elif new is not None and new.digest != old.digest:
                    part = ChangedPart(kind=kind, name=new.name, location=new.location, change="changed")
                    found.append((part, frozenset((*old.names, *new.names))))
    return found


def _with_rules(case: CaseChange, candidates: Iterable[tuple[ChangedPart, frozenset[str]]]) -> CaseChange:
    wrong, *before = case.rests_on or ("",)
    intents = set(before[:1])
    rules = [
        part for part, names in candidates if wrong in names and (not intents or intents & names or case.expected == "")
    ]
    rules += [part for part, names in candidates if part not in rules and case.actual in names and intents & names]
    return msgspec.structs.replace(case, rules=tuple(rules)) if rules else case
