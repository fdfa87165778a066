"""The bins in which confidences are compared with how often they are right."""

from __future__ import annotations

from typing import Final

CALIBRATION_BINS: Final = 15
"""Bins of equal width, as in Guo et al., *On Calibration of Modern Neural Networks*, 2017."""


def calibration_bin(confidence: float) -> int:
    """Return the bin of a confidence, 0 to 14; anything outside 0 to 1 is in the outermost one.

    >>> calibration_bin(0.5), calibration_bin(1.0)
    (7, 14)
    """
    return max(0, min(int(confidence * CALIBRATION_BINS), CALIBRATION_BINS - 1))
