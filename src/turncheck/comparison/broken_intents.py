"""Intents that the change broke: one whose F1 really dropped, or two that began to collide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.wording import count

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from turncheck.comparison.judgement import MetricDelta
    from turncheck.comparison.model import Comparison

_PREFIX: Final = "nlu.intents["
_SUFFIX: Final = "].f1"


def is_f1_of_an_intent(name: str) -> bool:
    """Whether a metric is the F1 of a single intent."""
    return name.startswith(_PREFIX) and name.endswith(_SUFFIX)


def intent_of(name: str) -> str:
    """Return the intent that such a metric is about."""
    return name[len(_PREFIX) : -len(_SUFFIX)]


def dropped_intents(compared: Comparison) -> list[MetricDelta]:
    """Return the F1 metrics of the intents whose drop is more than chance, the worst first."""
    dropped = [one for one in compared.metrics if one.judgement == "worse" and is_f1_of_an_intent(one.name)]
    return sorted(dropped, key=lambda metric: ((metric.sides[1] or 0.0) - (metric.sides[0] or 0.0), metric.name))


def broken_intents_in_words(compared: Comparison, reported: AbstractSet[str | None] = frozenset()) -> str:
    """``a real drop of intent 'inform', which now collides with 'order_pizza'``; empty if no intent is broken.

    Args:
        compared: this side with the base.
        reported: metrics that something else reports already.
    """
    dropped = [intent_of(one.name) for one in dropped_intents(compared) if one.name not in reported]
    pairs = [collision.intents for collision in compared.collisions]
    if not dropped:
        return f"{_collide(*pairs[0])}{_more(len(pairs) - 1, 'pair')}" if pairs else ""
    first, others = dropped[0], dropped[1:]
    partner = next((one if other == first else other for one, other in pairs if first in {one, other}), None)
    why = f", which now collides with '{partner}'" if partner is not None else ""
    apart = [pair for pair in pairs if not set(pair) & set(dropped)]
    collide = f"; {_collide(*apart[0])}" if apart else ""
    return f"a real drop of intent '{first}'{_more(len(others), 'intent')}{why}{collide}"


def _collide(one: str, other: str) -> str:
    return f"intents '{one}' and '{other}' now collide"


def _more(number: int, what: str) -> str:
    return f" ({count(number, f'more {what}')})" if number else ""
