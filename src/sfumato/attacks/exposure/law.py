"""Exposure beyond what a sample can count: a skew-normal law fitted to sampled scores.

From n candidates nothing beyond log2(n + 1) bits can be counted. Carlini et al. found −log2 p of
candidates to be nearly skew-normal, and read the chance of a score as small as the canary's off
the fitted law. That is an assumption, so it is tested: the law is fitted to one half of the sample
and compared with the other half (Kolmogorov–Smirnov). A fit to the same half it is tested on would
nearly always pass. The test sees the middle of the law; beyond log2 n bits the figure rests on its
tail, which no test sees, and is flagged.

Reference
    Carlini et al. 2019, "The secret sharer"; Azzalini 1985 for the law.

Exposure from scores, and what chance gives.

Guarantee
    For a secret drawn uniformly from the space and never shown to the model,
    P[exposure >= x] <= 2^(−x), whatever the model. The mean is about 1/ln 2 = 1.443 bits.

Why it holds
    The rank of a uniform draw among all candidates is uniform under any fixed score. Ties are
    counted against the attacker: every candidate at least as likely as the canary stands before
    it, the canary itself included, so a tie can only lower the exposure. In the sampled estimator
    the canary counts as one of n + 1 exchangeable draws; without the + 1 a canary better than all
    n would get an infinite exposure with chance 1/(n + 1).

Reference
    Carlini et al. 2019, "The secret sharer".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import Floats, Integers
from sfumato.core.checks import extra
from sfumato.core.errors import BadInput
from sfumato.statistics.intervals import clopper_pearson

FEWEST = 100
# Below this p-value the sample does not look skew-normal.
DOUBTFUL = 0.01
_SMALL = 1e-3


def needs_scipy() -> None:
    """Refuse to start without the library that fits."""
    extra("scipy", needed_for="extrapolated exposure", extra="attack")


class NoLaw(BadInput):
    """Scores to which no law can be fitted."""


@dataclass(frozen=True)
class SkewNormal:
    """A fitted law, and the p-value of its test on the scores it was not fitted to."""

    shape: float
    location: float
    scale: float
    fit: float

    def exposures(self, surprises: Floats) -> Floats:
        """−log2 of the chance of a score no larger than each."""
        from scipy.stats import skewnorm

        places = (surprises - self.location) / self.scale
        chances = skewnorm.cdf(places, self.shape)
        logs = np.log(np.maximum(chances, _SMALL))
        for place in np.flatnonzero(chances < _SMALL):
            logs[place] = self._log_tail(float(places[place]))
        bits: Floats = np.maximum(0.0, -logs / math.log(2))
        return bits

    def _log_tail(self, place: float) -> float:
        """The logarithm of the chance below a place in the lower tail, however small.

        There the distribution function, a difference of larger numbers, has no digits left. The
        density is log-concave, so below the place it falls at least as fast as the exponential
        with the slope it has there: that sets the scale on which it is integrated.
        """
        from scipy.integrate import quad
        from scipy.special import log_ndtr

        top, inside = self._log_density(place), self.shape * place
        log_ratio = -0.5 * inside * inside - 0.5 * math.log(2 * math.pi) - float(log_ndtr(inside))
        slope = -place + self.shape * math.exp(log_ratio)
        rest, _ = quad(lambda u: math.exp(self._log_density(place - u / slope) - top), 0, 60)
        return top + math.log(rest / slope)

    def _log_density(self, place: float) -> float:
        from scipy.special import log_ndtr

        normal = -0.5 * place * place - 0.5 * math.log(2 * math.pi)
        return math.log(2) + normal + float(log_ndtr(self.shape * place))


def fit_skew_normal(surprises: Floats) -> SkewNormal:
    """Fit to one half of independent scores, test on the other."""
    needs_scipy()
    from scipy.stats import kstest, skewnorm

    if len(surprises) < FEWEST:
        raise NoLaw(f"samples={len(surprises)} are too few for a fit; take at least {FEWEST}")
    if not np.isfinite(surprises).all():
        raise NoLaw("the model gives no chance at all to some candidates; no law fits that")
    # The draws are independent, so every other one is as good as any half.
    half, other = surprises[::2], surprises[1::2]
    center, spread = float(half.mean()), float(half.std())
    if spread == 0:
        raise NoLaw("all candidates are equally likely: there is no law to be fitted")
    # In units of their spread, so that the search for the best fit has the right scale.
    shape, location, scale = skewnorm.fit((half - center) / spread)
    law = (float(shape), center + spread * float(location), spread * float(scale))
    test = kstest(other, skewnorm(*law).cdf)
    return SkewNormal(*law, fit=float(test.pvalue))


def at_least_as_likely(candidates: Floats, surprises: Floats) -> Integers:
    """How many candidates have no larger −log2 p than each of some secrets."""
    return np.searchsorted(np.sort(candidates), surprises, side="right").astype(np.int64)


def exact(ranks: Integers, size: int) -> Floats:
    """log2 of the size of the space − log2 of the rank, 1 being the likeliest.

    >>> exact(np.array([1, 2, 1000]), 1000).round(3).tolist()
    [9.966, 8.966, 0.0]
    """
    bits: Floats = np.log2(size) - np.log2(ranks)
    return bits


def exposure_by_sample(counts: Integers, draws: int) -> Floats:
    """−log2((c + 1)/(n + 1)), where c of n drawn candidates are at least as likely.

    >>> exposure_by_sample(np.array([0, 511, 1023]), 1023).tolist()
    [10.0, 1.0, 0.0]
    """
    bits: Floats = np.log2(draws + 1) - np.log2(counts + 1)
    return bits


def sample_interval(count: int, draws: int, bits: float) -> tuple[float, float]:
    """Clopper and Pearson's limits on the share of likelier candidates, as bits."""
    low, high = clopper_pearson(count, draws)
    # The canary itself is in the space: the share is at least one in its size.
    return -math.log2(high), min(bits, -math.log2(low)) if low > 0 else bits


def mean_by_chance(places: int) -> float:
    """The mean of log2(places) − log2(rank) for a uniform rank.

    >>> round(mean_by_chance(10**6), 3), round(mean_by_chance(2), 3)
    (1.443, 0.5)
    """
    if places > 2**53:  # beyond, a number has no digits left for the difference
        return 1 / math.log(2)
    return math.log2(places) - math.lgamma(places + 1) / (places * math.log(2))
