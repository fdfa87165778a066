"""What only this side judges, in words: new intents, responses, entities and suites, and how well they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.newly_judged import is_mostly_wrong
from turncheck.messages.phrasing import count
from turncheck.render.spans import Code, Line, line, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.changes import NameCount, NewlyJudged
    from turncheck.comparison.model import Comparison

WHAT: Final = {"intents": "intent", "responses": "response", "entities": "entity", "suites": "suite"}
"""What a thing of each kind is called."""
_DOES: Final = {
    "intents": "is understood in",
    "responses": "is right for",
    "entities": "is found in",
    "suites": "passes",
}
_GO: Final = {"intents": "to", "responses": "to", "entities": "to"}
_MOST_NAMED: Final = 3
_LONGEST_NAME: Final = 80


def mostly_wrong(compared: Comparison) -> list[NewlyJudged]:
    """Return what is new and mostly wrong, the worst first."""
    return [one for one in compared.newly_judged if one.mostly_wrong]


def mostly_wrong_in_words(compared: Comparison) -> str:
    """``the new intent 'hours' is understood in 4 of its 10 sentences (4 go to 'greet')``; empty if nothing is."""
    wrong = mostly_wrong(compared)
    if not wrong:
        return ""
    first, others = wrong[0], len(wrong) - 1
    more = f"; {others:,} more new {'one is' if others == 1 else 'ones are'} mostly wrong" if others else ""
    name = _short(first.name)
    who = (
        f"{WHAT[first.kind]} '{name}', which the base could not judge,"
        if first.known
        else f"the new {WHAT[first.kind]} '{name}'"
    )
    return f"{who} {outcome_in_words(first)}{_first_in_words(first)}{more}"


def outcome_in_words(one: NewlyJudged) -> str:
    """``is understood in 4 of its 10 sentences``, or what is worse about it."""
    if one.mostly_wrong and not is_mostly_wrong(one.right, one.judged):
        return f"takes {count(_total(one.takes), 'sentence')} of other intents"
    what = "case" if one.kind == "suites" else "sentence"
    return f"{_DOES[one.kind]} {one.right:,} of its {count(one.judged, what)}"


def right_in_short(one: NewlyJudged) -> str:
    """``new: 4 of 10 right``."""
    return f"{'newly judged' if one.known else 'new'}: {one.right:,} of {one.judged:,} right"


def details(one: NewlyJudged) -> Line:
    """What is found instead, and which sentences of others a new intent takes."""
    parts: list[Line] = []
    if one.kind in _GO and one.instead:
        parts.append(listed([_goes(name, f" {_GO[one.kind]} ") for name in one.instead[:_MOST_NAMED]]))
    if one.takes:
        of = listed(
            [line(f"{count(name.number, 'sentence')} of ", _code(name.name)) for name in one.takes[:_MOST_NAMED]]
        )
        parts.append(line("it takes ", of))
    return tuple(span for part in parts for span in line("; ", part))


def _goes(one: NameCount, to: str) -> Line:
    verb = "goes" if one.number == 1 else "go"
    found = line(f"{one.number:,} {verb}{to}", _code(one.name))
    return found if one.name else line(f"nothing is found in {one.number:,}")


def _first_in_words(one: NewlyJudged) -> str:
    """The intent that has most of the sentences, or that lost most of its own."""
    if one.mostly_wrong and not is_mostly_wrong(one.right, one.judged):
        return f" ({one.takes[0].number:,} of '{_short(one.takes[0].name)}')"
    if one.kind not in _GO or not one.instead:
        return ""
    first = one.instead[0]
    if not first.name:
        return f" (nothing is found in {first.number:,})"
    return f" ({first.number:,} {'goes' if first.number == 1 else 'go'} to '{_short(first.name)}')"


def _total(names: Sequence[NameCount]) -> int:
    return sum(name.number for name in names)


def _code(name: str) -> Code:
    return Code(name, _LONGEST_NAME)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
