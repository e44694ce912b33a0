"""Truncated Gumbel noise over the nearest words only.

What is claimed
    Draw k from a Poisson law of mean ln|W|, truncated to 1 … |W|; among the k words nearest to the
    input take the one with the smallest distance plus truncated Gumbel noise of scale b: metric DP
    at level ε, b being a function of ε and of the smallest and largest distance in the vocabulary.

Why it is false
    Which words are the k nearest is decided by looking at the input. A word of rank r is possible
    only if k >= r, so its probability is at most P[k >= r], which falls off faster than any
    exponential; but a word may be the nearest to one input and of rank |W| for another, at a
    distance that is not large at all.

Repair
    Gumbel noise on all words, which is the exponential mechanism.

Reference
    Xu, Feyisetan, Aggarwal, Xu and Teissier 2021, "Density-aware differentially private textual
    perturbations using truncated Gumbel noise". The claim is made for levels at which the scale is
    positive, as here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.exhibits.exhibit import Exhibit, frequent_words
from sfumato.core.arrays import Floats
from sfumato.guarantees.guarantee import Guarantee, metric_dp
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rows import FromRows, distances
from sfumato.vectors.space import Space

WORDS = 60
EPSILON = 12.0
# Places per interval at which the noise is looked at; the integrand is smooth between two kinks.
NODES = 12


@dataclass(frozen=True, kw_only=True)
class TruncatedGumbel(FromRows):
    """The k nearest words, then the smallest distance plus truncated Gumbel noise."""

    space: Space
    epsilon: float

    def guarantee(self) -> Guarantee:
        """The claim."""
        return metric_dp(epsilon=self.epsilon, metric=self.space.metric, about=(self.space,))

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """Log-probability of every word, by integrating over the smallest noisy distance."""
        between = distances(self.space, np.arange(len(self.space)))
        apart = between[between > 0]
        scale, reach = self.scale(float(apart.min()), float(apart.max())), float(apart.max())
        chosen = log_chances(len(self.space))
        rows = np.empty((len(points), len(self.space)))
        for row, away in zip(rows, distances(self.space, points), strict=True):
            order = np.argsort(away, kind="stable")
            row[order] = _log_row(away[order], chosen, scale, reach)
        return rows

    def scale(self, smallest: float, largest: float) -> float:
        """b, as published; ``smallest`` and ``largest`` are distances between different words."""
        a = (self.epsilon - 2 * (1 + math.log(len(self.space))) / smallest) / 3
        return 2 * largest / min(lambert(2 * a * largest), math.log(a * smallest))


def log_chances(words: int) -> Floats:
    """The logarithm of P[k] for k = 1 … words: Poisson with mean ln(words), truncated."""
    k = np.arange(1, words + 1)
    logs = k * math.log(math.log(words)) - np.array([math.lgamma(n + 1) for n in k.tolist()])
    total: Floats = logs - np.log(np.exp(logs).sum())
    return total


def lambert(x: float) -> float:
    """The w with w·exp(w) = x, for positive x.

    >>> round(lambert(math.e), 12)
    1.0
    """
    w = math.log1p(x)
    for _ in range(50):
        w -= (w * math.exp(w) - x) / (math.exp(w) * (w + 1))
    return w


def _log_row(away: Floats, chosen: Floats, scale: float, reach: float) -> Floats:
    """The logarithm of P for each word, nearest first.

    P[i] = ∫ f_i(t) · Σ_{k >= i} P[k] · Π_{j <= k, j ≠ i} S_j(t) dt, t being the smallest noisy
    distance, f_i the density of the i-th one and S_j the chance of the j-th to lie above.
    """
    kinks = np.unique(np.append(away - reach, away[0] + reach))
    kinks = kinks[kinks <= away[0] + reach]
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(kinks)[:, None] / 2
    places = (kinks[:-1, None] + half * (1 + nodes)).ravel()
    weights = (half * weights).ravel()
    log_density, log_survival = _truncated_gumbel(places - away[:, None], scale, reach)
    # The first k words all lie above t; the chance of k and of larger ones, summed from the end.
    above = np.exp(chosen[:, None] + log_survival.cumsum(axis=0))
    from_rank = above[::-1].cumsum(axis=0)[::-1]
    row: Floats = (np.exp(log_density - log_survival) * from_rank) @ weights
    return np.log(row)


def _truncated_gumbel(x: Floats, scale: float, reach: float) -> tuple[Floats, Floats]:
    """Logarithms of the density and of the chance to lie above, cut to [−reach, reach]."""
    low, high = (math.exp(-math.exp(-end / scale)) for end in (-reach, reach))
    inside = np.clip(x, -reach, reach) / scale
    below = np.exp(-np.exp(-inside))
    with np.errstate(divide="ignore"):
        survival = np.log((high - below) / (high - low))
        density = -inside - np.exp(-inside) - math.log(scale * (high - low))
        density = np.where(np.abs(x) <= reach, density, -np.inf)
    return density, survival


def make_broken() -> PointMechanism:
    """As published."""
    return TruncatedGumbel(space=frequent_words(WORDS), epsilon=EPSILON)


def make_repaired() -> PointMechanism:
    """Gumbel noise on all words: the exponential mechanism, as it is in the catalog."""
    return Exponential(space=frequent_words(WORDS), epsilon=EPSILON)


EXHIBIT = Exhibit(
    name="truncated-gumbel",
    source="truncated Gumbel noise (Xu et al. 2021a)",
    claim="metric DP at level ε",
    reason="the k nearest words are chosen by looking at the input",
    repair="Gumbel noise on all words (exponential)",
    broken=make_broken,
    repaired=make_repaired,
)
