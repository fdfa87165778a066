"""Intents that cross-validation left out, and how to get them judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.wording import count

if TYPE_CHECKING:
    from turncheck.report.model import Nlu, UnjudgedIntent

_MOST: Final = 5
_FEWEST_FOLDS: Final = 2


def unjudged_remark(nlu: Nlu) -> str | None:
    """Return one sentence about all of them, ``None`` if every intent was judged."""
    left_out = sorted(nlu.unjudged, key=lambda entry: (-entry.examples, entry.intent))
    if not left_out:
        return None
    shown = ", ".join(f"'{entry.intent[:80]}' ({entry.examples})" for entry in left_out[:_MOST])
    more = f" and {len(left_out) - _MOST:,} more" if len(left_out) > _MOST else ""
    verb = "was" if len(left_out) == 1 else "were"
    words = f"{count(len(left_out), 'intent')} {verb} not judged, with fewer examples than folds ({nlu.folds})"
    return f"{words}: {shown}{more}. {_remedy(left_out)}"


def why_unjudged(entry: UnjudgedIntent, folds: int | None) -> str:
    """Return the remark on one intent."""
    return f"not judged: {count(entry.examples, 'example')}, fewer than folds ({folds})"


def _remedy(left_out: list[UnjudgedIntent]) -> str:
    """The number of folds with which most of them are judged: as many as the smallest of them has examples."""
    enough = [entry.examples for entry in left_out if entry.examples >= _FEWEST_FOLDS]
    if not enough:
        return "Write more examples: an intent with one cannot be judged."
    who = "them" if len(enough) == len(left_out) else "all but those with one example"
    return f"--folds {min(enough)} judges {who}."
