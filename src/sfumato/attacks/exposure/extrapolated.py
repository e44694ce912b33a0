"""Exposure beyond what a sample can count: a skew-normal law fitted to sampled scores.

From n candidates nothing beyond log2(n + 1) bits can be counted. Carlini et al. found −log2 p of
candidates to be nearly skew-normal, and read the chance of a score as small as the canary's off
the fitted law. That is an assumption, so it is tested: the law is fitted to one half of the sample
and compared with the other half (Kolmogorov–Smirnov). A fit to the same half it is tested on would
nearly always pass. The test sees the middle of the law; beyond log2 n bits the figure rests on its
tail, which nobody has seen, and is flagged.

Reference
    Carlini et al. 2019, "The secret sharer"; Azzalini 1985 for the law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import extra
from sfumato.core.errors import BadInput

Floats = NDArray[np.float64]

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


def fitted(surprises: Floats) -> SkewNormal:
    """Fit to one half of independent scores, test on the other."""
    needs_scipy()
    from scipy.stats import kstest, skewnorm

    if len(surprises) < FEWEST:
        raise NoLaw(f"samples={len(surprises)} are too few for a fit; take at least {FEWEST}")
    if not np.isfinite(surprises).all():
        raise NoLaw("the model gives no chance at all to some candidates; no law fits that")
    # The draws are independent, so every other one is as good as any half.
    half, other = surprises[::2], surprises[1::2]
    centre, spread = float(half.mean()), float(half.std())
    if spread == 0:
        raise NoLaw("all candidates are equally likely: there is no law to be fitted")
    # In units of their spread, so that the search for the best fit has the right scale.
    shape, location, scale = skewnorm.fit((half - centre) / spread)
    law = (float(shape), centre + spread * float(location), spread * float(scale))
    test = kstest(other, skewnorm(*law).cdf)
    return SkewNormal(*law, fit=float(test.pvalue))
