"""How far confidences can be trusted."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from turncheck.report.calibration import calibration_bin

if TYPE_CHECKING:
    from collections.abc import Iterable


def expected_calibration_error(answers: Iterable[tuple[float, bool]]) -> float | None:
    """Return the expected difference between confidence and share of right answers, 0 to 1.

    ECE over 15 bins of equal width (Guo et al., *On Calibration of Modern Neural Networks*, 2017): the mean over the
    bins of ``|share right - mean confidence|``, weighted by the answers in the bin. ``None`` without answers.

    Args:
        answers: for each, the confidence and whether it is right.

    >>> expected_calibration_error([(0.75, True), (0.75, False)])
    0.25
    """
    bins: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in answers:
        bins.setdefault(calibration_bin(confidence), []).append((confidence, right))
    if not bins:
        return None
    gaps = (
        abs(sum(right for _, right in members) - fsum(confidence for confidence, _ in members))
        for _, members in sorted(bins.items())
    )
    return fsum(gaps) / sum(len(members) for members in bins.values())
