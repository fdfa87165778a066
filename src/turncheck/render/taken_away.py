"""Sections about what a change took away: sentences of an intent, annotations, parts of the project, understanding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.changes import SINGULAR
from turncheck.comparison.taken_away import threshold_in_words
from turncheck.comparison.wording import count
from turncheck.render.entries import item, rule
from turncheck.render.spans import Code, Entry, Place, Said, line, listed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.comparison.changes import ChangedPart, CutIntent, FallbackChange, LessUnderstood, StrippedIntent
    from turncheck.comparison.model import Comparison
    from turncheck.render.lists import Lists
    from turncheck.render.sections import NeutralSection

_MOST_QUOTED: Final = 3
_MOST_NAMED: Final = 8


def taken_away(lists: Lists, compared: Comparison) -> Iterable[NeutralSection]:
    """Return what leads a document: what is no longer judged, annotated, understood, or there."""
    cut = compared.cut_intents
    yield lists.listed("cut", f"Intents that lost most of their training sentences ({len(cut)})", cut, _cut)
    annotations = sum(one.annotations for one in compared.stripped)
    title = f"Annotations removed ({annotations:,})"
    yield lists.listed("stripped", title, compared.stripped, _stripped)
    less = compared.fallback
    lost = [*map(_lost, less.lost), *_newly_wrong(less)] if less else []
    title = f"No longer understood ({less.number:,})" if less and less.number else "Understood differently"
    because = threshold_in_words(less) if less else ""
    yield lists.listed("fallback", f"{title}: {because}" if because else title, lost, lambda entry: entry)
    components = compared.changed_components
    title = f"Components and policies that run otherwise ({len(components)})"
    yield lists.listed("components", title, components, rule)
    removed = compared.removed_items
    yield lists.listed("removed", f"Removed in this change ({len(removed)})", removed, _removed)


def _cut(intent: CutIntent) -> Entry:
    unjudged = ", too few to be judged" if intent.unjudged else ""
    spans = line(
        Code(intent.intent), f": {count(intent.now, 'training sentence')}, {intent.base:,} on the base{unjudged}"
    )
    return Entry(spans, Place(intent.location, not intent.now) if intent.location else None)


def _stripped(intent: StrippedIntent) -> Entry:
    types = listed([line(Code(name)) for name in intent.entities[:_MOST_NAMED]])
    where = count(intent.sentences, "sentence")
    words = f": {intent.annotations:,} of {count(intent.base, 'annotation')} removed, in {where}: "
    return Entry(line(Code(intent.intent), words, types), Place(intent.location))


def _lost(intent: LessUnderstood) -> Entry:
    quoted = listed([line(Said(one.text)) for one in intent.sentences[:_MOST_QUOTED]])
    more = len(intent.sentences) - _MOST_QUOTED
    words = f": {count(len(intent.sentences), 'sentence')} not understood now: "
    return Entry(line(Code(intent.intent), words, quoted, f" and {more:,} more" if more > 0 else ""))


def _newly_wrong(change: FallbackChange) -> list[Entry]:
    if not change.newly_wrong:
        return []
    quoted = listed([line(Said(one.text)) for one in change.newly_wrong[:_MOST_QUOTED]])
    more = len(change.newly_wrong) - _MOST_QUOTED
    words = f"{count(len(change.newly_wrong), 'sentence')} taken for a wrong intent instead of asking again: "
    return [Entry(line(words, quoted, f" and {more:,} more" if more > 0 else ""))]


def _removed(part: ChangedPart) -> Entry:
    lost = (
        f", {count(part.lost, 'word')} of it"
        if part.lost
        else ", some of its words"
        if part.change == "changed"
        else ""
    )
    spans = line(f"{SINGULAR.get(part.kind, 'part')} ", Code(part.name), lost)
    return Entry(spans, Place(part.location, on_base=part.change == "removed"))


def reached(lists: Lists, compared: Comparison) -> Iterable[NeutralSection]:
    """Return what was changed and is reached by tests, what leads a dialogue first, so that it is named."""
    changed = [one for one in compared.changed_items if one.covered and one.change == "changed"]
    changed.sort(key=lambda one: one.kind not in {"rules", "stories"})
    title = f"Changed, and reached by tests ({len(changed)})"
    yield lists.listed("reached", title, changed, item, unfolded=min(lists.unfolded, _MOST_QUOTED))
