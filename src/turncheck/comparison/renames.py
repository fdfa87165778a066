"""What a change renamed: an intent, entity, slot, response, action or form that has another name now."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

import msgspec

from turncheck.comparison.model import Renamed
from turncheck.messages.suggestions import nearest

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from turncheck.comparison.changes import FindingChange
    from turncheck.messages.finding import Finding
    from turncheck.report.model import CoverageItem, Report

KINDS: Final = ("intents", "entities", "slots", "responses", "actions", "forms")
_SUGGESTED: Final = re.compile(r" Did you mean '[^']*'\?$")
_MOST_NAMES: Final = 200
"""If more names of a kind than this are gone, it is a different project."""
_COMMON: Final = 0.5
"""An intent was renamed if the Jaccard index of the old and the new one's training sentences is at least this."""


def renamed_names(base: Report, head: Report) -> tuple[Renamed, ...]:
    """Return the items whose old name only the base has and whose new name only this side has; each name occurs once.

    Two names mean the same item if the content is the same, if they share half of their training sentences (intents),
    or if the new name is close to the old one and to no other that is gone.
    """
    found: list[Renamed] = []
    for kind in KINDS:
        if kind in base.coverage and kind in head.coverage:
            before = {item.name: item for item in base.coverage[kind].items}
            after = {item.name: item for item in head.coverage[kind].items}
            gone = {name: item for name, item in before.items() if name not in after}
            new = {name: item for name, item in after.items() if name not in before}
            if gone and new and max(len(gone), len(new)) <= _MOST_NAMES:
                pairs = _pairs(gone, new, _sentences(base) if kind == "intents" else {}, _sentences(head))
                found += [
                    Renamed(kind=kind, old=old, new=name, location=new[name].location) for old, name in pairs.items()
                ]
    return tuple(found)


def message_of(finding: Finding | FindingChange, renamed: Sequence[Renamed]) -> str:
    """Return a finding's message; a name in it that this change replaced is shown with the current one."""
    now = [one for one in renamed if f"'{one.old}'" in finding.message and f"'{one.new}'" not in _bare(finding.message)]
    if not now:
        return finding.message
    changes = " and ".join(f"'{one.old}' was renamed to '{one.new}'" for one in now)
    return f"{_bare(finding.message)} {changes} in this change."


def with_new_names(findings: Sequence[FindingChange], renamed: Sequence[Renamed]) -> tuple[FindingChange, ...]:
    """Add to each finding what :func:`message_of` returns, if that differs from its message."""
    messages = [message_of(finding, renamed) for finding in findings]
    return tuple(
        msgspec.structs.replace(finding, message_now=message if message != finding.message else "")
        for finding, message in zip(findings, messages, strict=True)
    )


def _bare(message: str) -> str:
    return _SUGGESTED.sub("", message)


def _pairs(
    gone: Mapping[str, CoverageItem],
    new: Mapping[str, CoverageItem],
    sentences_before: Mapping[str, frozenset[str]],
    sentences_after: Mapping[str, frozenset[str]],
) -> dict[str, str]:
    pairs = _same({name: item.content for name, item in gone.items()}, {n: item.content for n, item in new.items()})
    for old, examples in sentences_before.items():
        if old in gone and old not in pairs:
            left = [name for name in new if name not in pairs.values()]
            best = max(left, key=lambda name: _common(examples, sentences_after.get(name, frozenset())), default=None)
            if best is not None and _common(examples, sentences_after.get(best, frozenset())) >= _COMMON:
                pairs[old] = best
    left_gone = [name for name in gone if name not in pairs]
    left_new = [name for name in new if name not in pairs.values()]
    for old in left_gone:
        near = nearest(old, left_new)
        if near and nearest(near[0], left_gone) == (old,) and near[0] not in pairs.values():
            pairs[old] = near[0]
    return pairs


def _same(gone: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """Names whose content is the same, if no other name of the kind has that content."""
    times: tuple[Counter[Hashable], Counter[Hashable]] = (Counter(gone.values()), Counter(new.values()))
    by_content = {content: name for name, content in new.items()}
    return {
        name: by_content[content]
        for name, content in gone.items()
        if content and all(counted[content] == 1 for counted in times)
    }


def _sentences(report: Report) -> dict[str, frozenset[str]]:
    texts: dict[str, set[str]] = defaultdict(set)
    for sentence in report.training_sentences:
        texts[sentence.intent.partition("/")[0]].add(sentence.text)
    return {intent: frozenset(of_intent) for intent, of_intent in texts.items()}


def _common(one: Iterable[str], other: Iterable[str]) -> float:
    ours, theirs = frozenset(one), frozenset(other)
    return len(ours & theirs) / max(1, len(ours | theirs))
