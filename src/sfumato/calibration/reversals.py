"""How far a curve goes back where it should go on, and whether noise explains that.

Why the p-value holds
    The statistic is the squared distance of the level means from the nearest monotone curve, in
    units of the noise. Among all monotone curves a constant one makes large values likeliest
    (Robertson, Wright and Dykstra 1988, chapter 2), so the law under a
    constant curve, which is drawn here, bounds the chance for all of them. What this assumes: the
    noise around the means is normal, and of one size over the levels where it is estimated from
    seeds.

Care
    With one seed the noise is that of the rows' intervals. They do not cover what another run
    would have given, so a reversal in a single run may be noise although it looks significant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.calibration.curves import Curve
from sfumato.calibration.monotone import isotonic, isotonic_rows
from sfumato.calibration.noise import CONFIDENCE, quantile
from sfumato.calibration.trend import blocks_of
from sfumato.core.randomness import Randomness

Floats = NDArray[np.float64]

DRAWS = 1999
# What is smaller than this, beside the figures themselves, comes from rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Reversal:
    """How a curve departs from a monotone one.

    ``share`` is the largest step back as a share of the whole range of the monotone fit; ``p``
    how likely noise makes one like it, None if nothing is known of the noise. ``beyond_noise``
    says whether the ends of the fit differ by more than noise, None likewise.
    """

    share: float
    p: float | None
    beyond_noise: bool | None


@dataclass(frozen=True, eq=False)
class _Effects:
    """Level means without what each seed adds to all levels; variances up to ``spread``²."""

    means: Floats
    weights: Floats
    spread: float | None
    freedom: float


def reversal_of(curve: Curve, *, rising: bool, randomness: Randomness) -> Reversal:
    """Measure and test the departure from a curve that rises, or falls, all the way."""
    effects = _effects(curve)
    means = effects.means if rising else -effects.means
    fitted = isotonic(means, effects.weights)
    whole = float(fitted[-1] - fitted[0])
    tiny = ROUNDING * max(1.0, float(np.abs(curve.means).max()))
    back = float((np.maximum.accumulate(means) - means).max())
    if back <= tiny:
        back = 0.0
    share = 0.0 if back == 0 else (back / whole if whole > tiny else math.inf)
    if effects.spread is None:
        return Reversal(share=share, p=None, beyond_noise=None)
    distance = float(np.square(means - fitted) @ effects.weights) if back > 0 else 0.0
    ends = math.sqrt(1 / effects.weights[0] + 1 / effects.weights[-1]) * effects.spread
    return Reversal(
        share=share,
        p=_p(distance, effects, randomness),
        beyond_noise=whole > max(tiny, quantile(CONFIDENCE, effects.freedom) * ends),
    )


def _p(distance: float, effects: _Effects, randomness: Randomness) -> float:
    if distance == 0:
        return 1.0
    noise = randomness.normal(DRAWS, len(effects.means)) / np.sqrt(effects.weights)
    drawn = np.square(noise - isotonic_rows(noise, effects.weights)) @ effects.weights
    if math.isfinite(effects.freedom):
        drawn = drawn / (randomness.gamma(effects.freedom / 2, 2 / effects.freedom, DRAWS))
    spread = effects.spread or 0.0
    return float((1 + np.count_nonzero(drawn * spread**2 >= distance)) / (1 + DRAWS))


def _effects(curve: Curve) -> _Effects:
    """Least squares with a term for each level and one for each seed."""
    points = curve.points
    places = np.array([curve.levels.index(point.level) for point in points])
    blocks = blocks_of(points)
    names = sorted(set(blocks.tolist()))
    # Seeds' terms add up to zero, so that the levels' terms are means.
    seeds = (blocks[:, None] == np.array(names[:-1])) * 1.0 - (blocks == names[-1])[:, None]
    design = np.hstack([np.eye(len(curve.levels))[places], seeds]) if len(names) > 1 else (
        np.eye(len(curve.levels))[places]
    )  # fmt: skip
    values = np.array([point.value for point in points])
    terms, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    freedom = len(points) - int(rank)
    means = terms[: len(curve.levels)]
    if freedom > 0:
        left = values - design @ terms
        spread = math.sqrt(float(left @ left) / freedom)
        return _Effects(means, curve.counts, spread, float(freedom))
    errors = curve.noise.errors
    if errors is None or not (errors > 0).all():
        return _Effects(means, curve.counts, None, math.inf)
    return _Effects(means, 1 / errors**2, 1.0, math.inf)
