"""Logistic regression with a penalty on the squared weights, by accelerated gradient steps.

Nothing is random and nothing is tuned: the step length follows from the rows, so the result is the
same on every machine up to rounding.

Reference
    Nesterov 1983; Beck and Teboulle 2009, "A fast iterative shrinkage-thresholding algorithm".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROUNDS = 300


@dataclass(frozen=True, eq=False)
class Logistic:
    """Weights and an intercept; ``score`` is the logarithm of the odds."""

    weights: NDArray[np.floating]
    intercept: float

    def score(self, rows: NDArray[np.floating]) -> NDArray[np.float64]:
        """Higher means the second class."""
        return np.asarray(rows @ self.weights, np.float64) + self.intercept


def fit_logistic(
    rows: NDArray[np.floating], labels: NDArray[np.bool_], penalty: float = 1e-3
) -> Logistic:
    """The classifier with the least mean loss plus ``penalty``·|w|²/2."""
    count = len(rows)
    # The second derivative of the mean loss is at most a quarter of the rows' mean squared length,
    # the intercept's place in it included.
    step = 1.0 / ((float(np.vdot(rows, rows)) / count + 1.0) / 4 + penalty)
    signs = np.where(labels, 1.0, -1.0)
    weights = np.zeros(rows.shape[1], dtype=rows.dtype)
    ahead, intercept, ahead_intercept, momentum = weights, 0.0, 0.0, 1.0
    for _ in range(ROUNDS):
        margins = signs * (rows @ ahead + ahead_intercept)
        pull = -signs / (1.0 + np.exp(np.clip(margins, -500, 500))) / count
        slope = rows.T @ pull.astype(rows.dtype) + penalty * ahead
        new, new_intercept = ahead - step * slope, ahead_intercept - step * float(pull.sum())
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        push = (momentum - 1) / following
        ahead = (new + push * (new - weights)).astype(rows.dtype)
        ahead_intercept = new_intercept + push * (new_intercept - intercept)
        weights, intercept, momentum = new.astype(rows.dtype), new_intercept, following
    return Logistic(weights, float(intercept))
