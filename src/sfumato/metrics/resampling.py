"""Intervals by resampling: the bootstrap, for figures that are means over cases.

Reference
    Efron and Tibshirani 1993, "An introduction to the bootstrap" (percentile intervals).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.metrics.prediction import CONFIDENCE, RESAMPLES, Measured


def mean_over(metric: str, values: NDArray[np.float64], randomness: Randomness) -> Measured:
    """The mean over independent cases with a percentile interval; none for a single case.

    >>> found = mean_over("share", np.array([0.0, 1.0] * 50), Randomness.reproducible(1))
    >>> found.value, 0.38 < found.low < 0.5 < found.high < 0.62
    (0.5, True)
    """
    if not len(values):
        raise BadInput(f"there is no case to measure {metric} on")
    if len(values) == 1:
        return Measured(metric, float(values[0]), None, None, 1)
    means = [values[randomness.integers(len(values), len(values))].mean() for _ in range(RESAMPLES)]
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Measured(metric, float(values.mean()), float(low), float(high), len(values))
