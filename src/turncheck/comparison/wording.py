"""Figures in words: one rounding rule for everything that is shown.

Scores have three decimals, counts none. A score below 1 is never shown as 1.000, one above 0 never as 0.000, and a
difference that is not zero never as zero: a reader takes these three for exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.plurals import count

if TYPE_CHECKING:
    from turncheck.comparison.metrics import Kind

__all__ = ["count", "difference", "figure"]

MINUS: Final = "−"
_LEAST: Final = 0.001


def figure(value: float, kind: Kind, *, apart_from: float | None = None) -> str:
    """Show a value.

    Args:
        value: the metric.
        kind: a score between 0 and 1, or a count.
        apart_from: a limit the value is not on: decimals are added until the two read differently.

    >>> figure(0.99996, "score"), figure(0.8499999, "score", apart_from=0.85), figure(1234, "count")
    ('0.999', '0.8499999', '1,234')
    """
    if kind == "count":
        return f"{value:,.0f}"
    if 1 - _LEAST < value < 1:
        value = 1 - _LEAST
    elif 0 < value < _LEAST:
        value = _LEAST
    shown = f"{value:.3f}"
    if apart_from is not None and value != apart_from and float(shown) == apart_from:
        return f"{value:.7g}"
    return shown


def difference(delta: float, kind: Kind) -> str:
    """Show a difference with its sign.

    >>> difference(-0.0352, "score"), difference(0.00004, "score"), difference(0, "score"), difference(-2, "count")
    ('−0.035', '≈ ±0', '±0', '−2')
    """
    if abs(delta) < 1e-12:
        return "±0"
    sign = "+" if delta > 0 else MINUS
    if kind == "count":
        return f"{sign}{abs(delta):,.0f}"
    return f"{sign}{abs(delta):.3f}" if abs(delta) >= _LEAST else "≈ ±0"
