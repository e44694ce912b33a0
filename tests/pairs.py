"""The inequality for all pairs of points, the unknown one included, from exact rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.claims import covered_outputs, loss_bounds
from sfumato.mechanisms.rows import RowMechanism
from sfumato.vectors.space import Space

Logs = NDArray[np.float64]


def all_points(space: Space) -> NDArray[np.intp]:
    """Every word's point and, last, the point of all unknown words."""
    return np.arange(len(space) + 1)


def all_rows(mechanism: RowMechanism) -> Logs:
    """Log-probabilities of every output (one per column) for every point (one per row)."""
    return mechanism.log_rows(all_points(mechanism.space))


def worst_excess(rows: Logs, claim: RowMechanism) -> float:
    """Largest amount, in nats, by which any pair exceeds what ``claim`` says of it.

    ``rows`` may be those of a sabotaged twin. 0 against 0 says nothing; something against 0 is an
    infinite excess, unless nothing is claimed of that pair.
    """
    covered = rows[:, covered_outputs(claim)]
    worst = -math.inf
    for point, row in enumerate(covered):
        allowed = loss_bounds(claim, point)
        claimed = np.isfinite(allowed)
        with np.errstate(invalid="ignore"):
            lost = largest(row - covered[claimed])
        worst = max(worst, float((lost - allowed[claimed]).max()))
    return worst


def largest(ratios: Logs) -> Logs:
    """Of each row the largest number; those that are none, 0 against 0, do not count."""
    found: Logs = np.fmax.reduce(ratios, axis=1, initial=-math.inf)
    return found
