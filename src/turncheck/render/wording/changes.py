"""What a change did to the data, in words: what it took away, broke, suppressed, or altered unseen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.comparison.changes import (
    SINGULAR,
    ChangedPart,
    CutIntent,
    DeletedFile,
    FallbackChange,
    FindingChange,
    StrippedIntent,
)
from turncheck.comparison.explanations import LEADING
from turncheck.comparison.training_changes import dropped_intents, intent_of, many_moved
from turncheck.messages.phrasing import count
from turncheck.render.wording.causes import causes_in_words
from turncheck.render.wording.figures import few

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from turncheck.comparison.model import Comparison
    from turncheck.messages.finding import Finding
    from turncheck.report.model import Report, Unread


# What a change took away from the training data, as clauses of the verdict's summary: it leads, whatever passed.


def taken_away_in_words(report: Report, compared: Comparison, told: AbstractSet[str] = frozenset()) -> list[str]:
    """Return what is no longer read, judged or understood, and what was removed or moved, the worst first.

    ``told``: the names of which the line says already what happened to them.
    """
    otherwise = read_as_something_else(report, compared)
    clauses = [_read_otherwise_in_words(otherwise, compared)] if otherwise else []
    clauses += _cut([one for one in compared.cut_intents if one.now or one.intent not in told])
    less = compared.fallback if compared.fallback is not None and compared.fallback.number else None
    changed = threshold_in_words(less) if less else ""
    if less and changed:
        clauses.append(f"{count(less.number, 'sentence')} no longer understood ({changed})")
    clauses += _annotations(compared.stripped)
    gone = [component for component in compared.changed_components if component.change == "removed"]
    components = [component for component in gone if component.name not in told]
    if components:
        more = f" and {len(components) - 1:,} more" if len(components) > 1 else ""
        clauses.append(f"{SINGULAR[components[0].kind]} '{components[0].name}'{more} removed")
    if moved := many_moved(compared):
        explains = any(intent.base - intent.now <= moved and not intent.unjudged for intent in compared.cut_intents[:1])
        clauses.insert(0 if explains else len(clauses), f"{count(moved, 'training sentence')} moved to another intent")
    if less and not changed:  # a consequence of what is named before it
        clauses.append(f"{count(less.number, 'sentence')} no longer understood")
    return clauses


def with_it(file: DeletedFile) -> str:
    """``, with 12 training sentences and 2 stories and rules``: what is gone with a deleted file."""
    parts = [
        *([count(file.sentences, "training sentence")] if file.sentences else []),
        *([count(file.blocks, "story or rule", "stories and rules")] if file.blocks else []),
    ]
    parts = parts or [count(file.names, "name")]
    return f", with {' and '.join(parts)}"


def deleted_in_words(compared: Comparison) -> str:
    """Say which deleted file broke something; empty if none did."""
    files = [file for file in compared.deleted_files if file.broke]
    more = f" and {count(len(files) - 1, 'more file')}" if len(files) > 1 else ""
    return f"'{files[0].path}'{more} {'was' if len(files) == 1 else 'were'} deleted" if files else ""


def all_stories_gone(report: Report, compared: Comparison) -> int:
    """Return how many stories and rules the base had, if none is left."""
    kinds = [report.coverage[kind] for kind in LEADING if kind in report.coverage]
    return 0 if any(kind.items for kind in kinds) else len(_stories_gone(compared))


def read_as_something_else(report: Report, compared: Comparison) -> Finding | None:
    """Return the finding on a file that is not read as what it is, or not at all, and had parts that are gone."""
    paths = {part.location.path for part in compared.removed_items if part.change == "removed"}
    paths |= {cut.location.path for cut in compared.cut_intents if not cut.now and cut.location}
    findings = report.validation.findings if report.validation else ()
    lost = (one for one in findings if one.location.path in paths and (one.subject or is_unread(one)))
    return next((one for one in lost if one.code in _READ_OTHERWISE), None)


_UNREAD: Final = "format-not-read"
_READ_OTHERWISE: Final = frozenset({"markdown-read-otherwise", "markdown-ignored", _UNREAD})


def is_unread(finding: Finding) -> bool:
    """Whether a finding says that a file is not read at all: an older Rasa may have read it."""
    return finding.code == _UNREAD


def _stories_gone(compared: Comparison) -> list[ChangedPart]:
    return [part for part in compared.removed_items if part.change == "removed" and part.kind in LEADING]


def _read_otherwise_in_words(finding: Finding, compared: Comparison) -> str:
    gone = sum(part.location.path == finding.location.path for part in _stories_gone(compared))
    line = f"'{finding.location.path}' is read as {finding.subject} (line {finding.location.line})"
    line = f"'{finding.location.path}' is no longer read" if is_unread(finding) else line
    return f"{line}, {count(gone, 'story or rule', 'stories and rules')} gone" if gone else line


def _annotations(stripped: Sequence[StrippedIntent]) -> Iterator[str]:
    """Say how many annotations are gone, and how many have another entity."""
    kinds = (
        ([one.annotations for one in stripped], "removed from"),
        ([one.changed for one in stripped], "given another entity in"),
    )
    for numbers, what in kinds:
        intents = [stripped_intent.intent for stripped_intent, number in zip(stripped, numbers, strict=True) if number]
        if intents:
            more = f" and {count(len(intents) - 1, 'more intent')}" if len(intents) > 1 else ""
            yield f"{count(sum(numbers), 'annotation')} {what} intent '{intents[0]}'{more}"


def removed_in_words(report: Report, compared: Comparison) -> str:
    """Return which parts of the project are gone, a rule or story with a name first; empty if none is.

    Without those in a file that is read otherwise now, which another clause counts.
    """
    otherwise = read_as_something_else(report, compared)
    told = otherwise.location.path if otherwise else None
    removed = [item for item in compared.removed_items if item.change == "removed" and item.location.path != told]
    if not removed:
        return ""
    first = min(removed, key=lambda part: (part.kind not in {"rules", "stories"}, not part.name))
    more = f" and {count(len(removed) - 1, 'more part')}" if len(removed) > 1 else ""
    what = SINGULAR.get(first.kind, "part")
    return f"{what} '{first.name}'{more} removed" if first.name else f"{what} without a name{more} removed"


def _cut(intents: Sequence[CutIntent]) -> Iterator[str]:
    if not intents:
        return
    first, others = intents[0], len(intents) - 1
    judged = " and no longer judged" if first.unjudged else ""
    more = f" ({count(others, 'more intent')})" if others else ""
    yield f"intent '{first.intent}' cut from {first.base:,} to {count(first.now, 'sentence')}{judged}{more}"


def threshold_in_words(change: FallbackChange) -> str:
    """``threshold from 0.3 to 0.95``; empty if no threshold was changed so that it explains what is understood now.

    A lower one lets more through: it is not why sentences are no longer understood.
    """
    sides = (
        ("threshold", change.base or 0.0, change.value or 0.0),
        ("ambiguity threshold", change.base_ambiguity or 0.0, change.ambiguity or 0.0),
    )
    explaining = [one for one in sides if (one[2] > one[1] if change.number else one[2] < one[1])]
    return ", ".join(f"{name} from {_shown(before)} to {_shown(now)}" for name, before, now in explaining)


def _shown(threshold: float) -> str:
    return f"{threshold:g}" if threshold else "none"


# Intents that the change broke.


def broken_intents_in_words(compared: Comparison, reported: AbstractSet[str | None] = frozenset()) -> str:
    """``a real drop of intent 'inform', which now collides with 'order_pizza'``; empty if no intent is broken.

    Args:
        compared: this side with the base.
        reported: metrics that something else reports already. With whom a new intent collides that is mostly wrong is
            said with it.
    """
    metrics = [intent for intent in dropped_intents(compared) if intent.name not in reported]
    dropped = [intent_of(intent.name) for intent in metrics]
    new = {one.name for one in compared.newly_judged if one.mostly_wrong and one.kind == "intents"}
    pairs = [collision.intents for collision in compared.collisions if not new & set(collision.intents)]
    if not dropped:
        return (
            f"{_collide(*pairs[0])}{_more(len(pairs) - 1, 'pair')}" if pairs else _dropped_overall(compared, reported)
        )
    first, others = dropped[0], dropped[1:]
    partner = next((one if other == first else other for one, other in pairs if first in {one, other}), None)
    why = f", which now collides with '{partner}'" if partner is not None else ""
    why += f": {causes_in_words(causes)}" if (causes := metrics[0].known_causes) else ""
    apart = [pair for pair in pairs if not set(pair) & set(dropped)]
    collide = f"; {_collide(*apart[0])}" if apart else ""
    return f"a real drop of intent '{first}'{_more(len(others), 'intent')}{why}{collide}"


def _dropped_overall(compared: Comparison, reported: AbstractSet[str | None]) -> str:
    """``a real drop of the accuracy of intents``, where no single one of them really drops."""
    named = (("nlu.intents.f1", "F1"), ("nlu.intents.accuracy", "accuracy"))
    worse = {one.name for one in compared.metrics if one.judgement == "worse"} - reported
    return next((f"a real drop of the {what} of intents" for name, what in named if name in worse), "")


_F1_OF_ENTITIES: Final = re.compile(r"nlu\.entities\.[^\[]+(?<!\.spans)(?:\[(?P<entity>.+)\])?\.f1")


def broken_entities_in_words(compared: Comparison, reported: AbstractSet[str | None] = frozenset()) -> str:
    """``a real drop of entity 'size'``, of all entities if no single one really drops; empty if they do not."""
    worse = [one.name for one in compared.metrics if one.judgement == "worse" and one.name not in reported]
    found = [match for name in worse if (match := _F1_OF_ENTITIES.fullmatch(name))]
    if all(match["entity"] for match in found):
        return ""
    dropped = list(dict.fromkeys(match["entity"] for match in found if match["entity"]))
    if not dropped:
        return "a real drop of the F1 of entities"
    more = f" ({len(dropped) - 1:,} more)" if len(dropped) > 1 else ""
    return f"a real drop of entity '{dropped[0]}'{more}"


def _collide(one: str, other: str) -> str:
    return f"intents '{one}' and '{other}' now collide"


def _more(number: int, what: str) -> str:
    return f" ({count(number, f'more {what}')})" if number else ""


def unreadable_in_words(unread: Sequence[Unread]) -> str:
    """``has no 'domain.yml' and cannot be read at 'data/nlu.yml:3'``; empty if there is nothing."""
    missing = dict.fromkeys(one.location.path for one in unread if one.code.endswith("-not-found"))
    places = dict.fromkeys(
        f"{one.location.path}:{one.location.line or 1}" for one in unread if one.location.path not in missing
    )
    parts = [f"has no {few([*missing])}"] if missing else []
    parts += [f"cannot be read at {few([*places])}"] if places else []
    return " and ".join(parts)


def unseen_in_words(compared: Comparison, engine: str) -> str:
    """Return ``1 change of the configuration that the embedded engine cannot judge``; empty if there is none."""
    number = len(compared.unseen_changes)
    return f"{count(number, 'change')} of the configuration that the {engine} engine cannot judge" if number else ""


# Findings.


def old_in_words(found: Sequence[Finding | FindingChange], comparison: Comparison | None, severity: str) -> str:
    """``, both on the base too``: how many of the findings of a severity the base has; empty if none or not known."""
    if (
        comparison is None
        or not comparison.judged
        or any(lack.evaluation == "validate" for lack in comparison.base_lacks)
    ):
        return ""
    not_old = (*comparison.new_findings, *comparison.unknown_findings)
    old = len(found) - sum(finding.severity == severity for finding in not_old)
    if old <= 0:
        return ""
    many = {1: "", 2: "both "}.get(old, "all ") if old == len(found) else f"{old:,} of them "
    return f", {many}on the base too"


def suppressed_in_words(finding_changes: Sequence[FindingChange]) -> str:
    """Return ``2 errors newly suppressed``; warnings are counted apart."""
    numbers = {one: sum(finding.severity == one for finding in finding_changes) for one in ("error", "warning")}
    return f"{' and '.join(count(number, what) for what, number in numbers.items() if number)} newly suppressed"
