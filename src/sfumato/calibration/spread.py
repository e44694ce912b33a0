"""The standard error of the mean over seeds at each level.

A figure is uncertain for two reasons. Another seed gives another model or text; the spread over
seeds shows that. And the attack looked at a limited number of canaries or texts; the interval of
each row shows that. Rows of different seeds often look at the same texts, and then the second error
does not average out over seeds. So the variance of a mean over n seeds is

    max(0, row² − spread²) + spread²/n

If the errors of rows are independent, the spread contains them: the first term vanishes, and the
second is the usual one. If all rows have the same error, the spread does not show it, and the first
term keeps it. The spread is the larger of a level's own and the pooled one, because some levels are
noisier than others and a few seeds do not show which.

The precision of the pooled spread depends on how the figures of one seed are correlated. A study
uses the same seeds at all levels. If a seed raises or lowers all figures alike, five levels show
its spread no better than one. So the degrees of freedom of the pooled spread are those of one level
times the effective number of independent levels, (Σλ)²/Σλ², where λ are the eigenvalues of the
figures' products over seeds (Satterthwaite 1946). That number tends to be too small, not too large,
because there are no more such eigenvalues than seeds.

Care
    With a single seed only the rows' own intervals are known. They do not cover the difference to
    another run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.statistics.intervals import beta_quantile

# Rows have intervals of 95 %: as wide as this many standard errors on both sides.
ROW_QUANTILE = NormalDist().inv_cdf(0.975)
CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True, eq=False)
class Noise:
    """Standard errors of the means; ``freedom`` is their degrees of freedom.

    ``errors`` is None if neither seeds nor rows give any.
    """

    errors: Floats | None
    freedom: float

    def halves(self, confidence: float = CONFIDENCE) -> Floats | None:
        """Half the width of an interval around each mean."""
        return None if self.errors is None else quantile(confidence, self.freedom) * self.errors


def noise_of(
    values: Sequence[Sequence[float]],
    rows: Sequence[float | None],
    seeds: Sequence[Sequence[int]] = (),
) -> Noise:
    """The noise of the means, from each level's values over seeds and the error in its rows.

    ``seeds`` names the seed of each value; without it all seeds count as different.
    """
    counts = np.array([len(some) for some in values], dtype=np.float64)
    freedom = float((counts - 1).sum())
    known = np.array([math.nan if one is None else one for one in rows], dtype=np.float64)
    if freedom == 0:
        if np.isnan(known).all():
            return Noise(errors=None, freedom=math.inf)
        # A level whose row has no interval is taken to be as noisy as the noisiest.
        return Noise(errors=np.where(np.isnan(known), np.nanmax(known), known), freedom=math.inf)
    own = np.array([np.var(some, ddof=1) if len(some) > 1 else 0.0 for some in values])
    pooled = float((own * (counts - 1)).sum() / freedom)
    shared = np.maximum(0.0, np.nan_to_num(known) ** 2 - pooled)
    errors = np.sqrt(shared + np.maximum(own, pooled) / counts)
    return Noise(errors=errors, freedom=_freedom(values, seeds) if seeds else freedom)


def _freedom(values: Sequence[Sequence[float]], seeds: Sequence[Sequence[int]]) -> float:
    """The degrees of freedom of the pooled spread, if errors of one seed may be correlated."""
    several = [place for place, some in enumerate(values) if len(some) > 1]
    freedom = float(sum(len(values[place]) - 1 for place in several))
    names = sorted({seed for place in several for seed in seeds[place]})
    if len(names) == sum(len(seeds[place]) for place in several):
        return freedom  # no seed was used at two levels
    away = np.zeros((len(names), len(several)))
    for column, place in enumerate(several):
        some = np.asarray(values[place], dtype=np.float64)
        away[[names.index(seed) for seed in seeds[place]], column] = some - some.mean()
    products = away.T @ away
    squares = float(np.square(products).sum())
    if squares == 0:
        return freedom
    return freedom / len(several) * float(np.trace(products)) ** 2 / squares


def quantile(confidence: float, freedom: float) -> float:
    """The half-width of an interval in standard errors: Student's t, or normal if infinite.

    >>> round(quantile(0.95, 4), 4), round(quantile(0.95, math.inf), 4)
    (2.7764, 1.96)
    """
    if math.isinf(freedom):
        return NormalDist().inv_cdf((1 + confidence) / 2)
    # t²/(freedom + t²) has the distribution Beta(1/2, freedom/2).
    share = beta_quantile(confidence, 0.5, freedom / 2)
    return math.sqrt(freedom * share / (1 - share))
