"""Figures in words: one rounding rule for everything that is shown.

Scores have three decimals, counts none. A score below 1 is never shown as 1.000, one above 0 never as 0.000, and a
difference that is not zero never as zero: readers take these three values as exact.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal

from turncheck.report.trust import LEAST_AGREEMENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.model import Comparison
    from turncheck.evaluations.kind import Unit

NO_BASE: Final = {
    "unreachable": "the baseline could not be reached",
    "unreadable": "the baseline could not be read",
}
"""What is said of a baseline that there is and that this run does not have."""
MINUS: Final = "−"
EXPECTED: Final = "expected "
GOT: Final = ", got "
_LEAST: Final = 0.001
_EXACT: Final = 1e-12
_NONE: Final = "±0"
_HARDLY_ANY: Final = "≈ ±0"
_TIMES: Final = 10_000
"""A difference of so many times the base is not shown in percent."""


def expected_got(expected: str | None, got: str | None) -> str:
    """What was expected and what was returned, as every document words it.

    >>> expected_got("greet", "goodbye")
    'expected greet, got goodbye'
    """
    return f"{EXPECTED}{expected}{GOT}{got}"


def figure(value: float, kind: Unit | Literal["share"], *, apart_from: float | None = None) -> str:
    """Show a value.

    Args:
        value: the metric.
        kind: a score between 0 and 1, the same in percent, a count, or an amount (with three digits that count).
        apart_from: a limit that the value does not equal: decimals are added until the two look different.

    >>> figure(0.99996, "score"), figure(0.8499999, "score", apart_from=0.85), figure(1234, "count")
    ('0.999', '0.8499999', '1,234')
    >>> figure(0.8125, "share"), figure(0.999, "share")
    ('81 %', '99 %')
    >>> figure(1234.5, "amount"), figure(2.345, "amount"), figure(0.0000345678, "amount"), figure(0, "amount")
    ('1,234', '2.35', '0.0000346', '0')
    """
    if kind == "amount":
        return _amount(value, apart_from)
    if kind == "count":
        return f"{value:,.0f}"
    if kind == "share":
        percent = round(value * 100) if value in {0.0, 1.0} else min(99, max(1, round(value * 100)))
        return f"{percent} %"
    if 1 - _LEAST < value < 1:
        value = 1 - _LEAST
    elif 0 < value < _LEAST:
        value = _LEAST
    shown = f"{value:.3f}"
    if apart_from is not None and value != apart_from and float(shown) == apart_from:
        return f"{value:.7g}"
    return shown


def _amount(value: float, apart_from: float | None) -> str:
    digits = 3
    if apart_from is not None and value != apart_from and f"{value:.3g}" == f"{apart_from:.3g}":
        digits = 7
    if abs(value) >= 10**digits:
        return f"{value:,.0f}"
    return f"{Decimal(f'{value:.{digits}g}'):f}"


def difference(delta: float, kind: Unit) -> str:
    """Show a difference with its sign.

    >>> difference(-0.0352, "score"), difference(0.00004, "score"), difference(0, "score"), difference(-2, "count")
    ('−0.035', '≈ ±0', '±0', '−2')
    """
    if abs(delta) < _EXACT:
        return _NONE
    sign = "+" if delta > 0 else MINUS
    if kind == "count":
        return f"{sign}{abs(delta):,.0f}"
    return f"{sign}{abs(delta):.3f}" if abs(delta) >= _LEAST else _HARDLY_ANY


def change(base: float, value: float, kind: Unit) -> str:
    """Show the difference between two figures as they are shown, so that the three numbers add up for the reader.

    >>> change(0.8754, 0.8637, "score"), difference(0.8637 - 0.8754, "score")
    ('−0.011', '−0.012')
    >>> change(0.9741, 0.97409, "score"), change(2, 1, "count"), change(400, 480, "amount")
    ('≈ ±0', '−1', '+20 %')
    """
    if kind == "amount":
        return _relative(base, value)
    if kind == "count":
        return difference(value - base, kind)
    shown = float(Decimal(figure(value, kind)) - Decimal(figure(base, kind)))
    if shown:
        return difference(shown, kind)
    return _NONE if abs(value - base) < _EXACT else _HARDLY_ANY


def points(base: float, value: float) -> str:
    """Show the difference between two shares as they are shown; nothing if there is none.

    >>> points(1.0, 0.8125), points(0.9, 0.91), points(0.9, 0.9004), points(0.5, 0.5)
    ('−19 points', '+1 point', '≈ ±0', '')
    """
    before, now = (int(figure(share, "share").removesuffix(" %")) for share in (base, value))
    if before == now:
        return "" if abs(value - base) < _EXACT else _HARDLY_ANY
    return f"{difference(now - before, 'count')} {'point' if abs(now - before) == 1 else 'points'}"


def _relative(base: float, value: float) -> str:
    """Show a difference in percent: ``+20 %``; nothing if the base is next to nothing."""
    if abs(value - base) > _TIMES * abs(base):
        return ""
    if value == base:
        return _NONE
    percent = round(100 * (value - base) / base)
    if not percent:
        return _HARDLY_ANY
    return f"{'+' if percent > 0 else MINUS}{abs(percent):,} %"


def few(names: Sequence[str], most: int = 3) -> str:
    """Show the first of some names.

    >>> few(["a", "b", "c", "d", "e"]), few(["a"])
    ("'a', 'b', 'c' and 2 more", "'a'")
    """
    shown = ", ".join(f"'{name[:80]}'" for name in names[:most])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


def no_verdict(agreement: float) -> str:
    """Say why a change has no verdict: the stand-in does not agree with the team's model on it."""
    return f"the stand-in agrees with your Rasa on {agreement:.0%} there, below {LEAST_AGREEMENT:.0%}".replace(
        "%", " %"
    )


def why_no_baseline(comparison: Comparison | None, *, brief: bool = False, brackets: bool = False) -> str:
    """Say why nothing can be compared: there is no baseline, or it cannot be fetched or read.

    ``brief``: without the reason, which is said elsewhere; ``brackets``: as a part of a longer sentence.
    """
    what = NO_BASE.get(comparison.baseline.status if comparison else "", "no baseline")
    why = comparison.baseline.reason if comparison else "none was asked for"
    if brief and comparison is not None and why:
        return what
    return f"{what} ({why})" if brackets else f"{what}: {why}"
