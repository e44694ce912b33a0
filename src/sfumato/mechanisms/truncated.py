"""The truncated exponential mechanism: near words by their distance, all far words alike.

Guarantee
    Metric DP at level ``epsilon`` in the distance min(d, gamma), d the Euclidean distance of
    ``space``: for all words x, x' and y,
    P[M(x) = y] <= exp(epsilon * min(d(x, x'), gamma)) * P[M(x') = y]. So it is metric DP in d as
    well, and no two words, however far apart, are told apart by more than epsilon·gamma. Words
    outside the vocabulary share one point, so the statement covers them too.

Why it holds
    The near words L = {y: d(x, y) <= gamma} have score −d(x, y); one item ⊥ stands for all others
    with score −gamma + (2/epsilon)·ln|W∖L|, and becomes one of them uniformly. The exponential
    mechanism over L and ⊥ then gives each far word exp(−epsilon/2·gamma)/Z(x): the same as the
    exponential mechanism over W with the distance min(d, gamma), which is a metric too.

Care
    gamma is public. By default it is (2/epsilon)·ln((1−β)(|W|−1)/β) with β = 0.001, which depends
    on epsilon and the size of the public vocabulary alone and makes ⊥ rarer than β for every known
    word. That is usefulness, not privacy, and it does not hold for the unknown point, which has no
    word at distance 0. With another count in the score of ⊥, such as |W|/|L|, the claim is false:
    between near-duplicates |L| may jump while d hardly moves.

Reference
    Carvalho, Vasiloudis, Feyisetan and Wang 2021, "TEM: High utility metric differential privacy
    on text".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Points, Singles
from sfumato.core.checks import positive
from sfumato.guarantees.guarantee import Guarantee, metric_dp
from sfumato.guarantees.wording import exact
from sfumato.mechanisms.claims import euclidean
from sfumato.mechanisms.mechanism import check_level
from sfumato.mechanisms.rows import (
    EVERY_WORD,
    ByDistance,
    distances,
    log_normalized,
    single_distances,
)
from sfumato.vectors.distances import words_within
from sfumato.vectors.space import Space

# How often, at most, a known word is replaced by one beyond the default gamma.
BETA = 0.001
# Share of near words up to which looking for them saves time, and words that are asked about it.
MOST_NEAR = 0.02
SAMPLE = 16


@dataclass(frozen=True, kw_only=True)
class Truncated(ByDistance):
    """Draw a near word by its distance, or any of the far words alike.

    >>> from sfumato.core.randomness import Randomness
    >>> from sfumato.vectors.load import default_space
    >>> truncated = Truncated(space=default_space(), epsilon=8)
    >>> points = truncated.space.points(["london"] * 5)
    >>> replaced = truncated.privatize(points, Randomness.reproducible(7))
    >>> len(replaced), truncated.guarantee().epsilon
    (5, 8.0)
    >>> round(truncated.reach, 2)
    4.48
    """

    space: Space
    epsilon: float
    gamma: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_level(self.epsilon))
        if self.gamma is not None and self.gamma != math.inf:
            object.__setattr__(self, "gamma", positive("gamma", self.gamma))

    @property
    def reach(self) -> float:
        """The gamma in use: as set, or computed from public quantities alone."""
        if self.gamma is not None:
            return self.gamma
        return default_gamma(self.epsilon, len(self.space))

    def guarantee(self) -> Guarantee:
        """Metric DP in the Euclidean distance, counted up to gamma and no further."""
        if self.reach == math.inf:
            return metric_dp(epsilon=self.epsilon, metric=self.space.metric, about=(self.space,))
        return metric_dp(
            epsilon=self.epsilon,
            metric=f"{self.space.metric}, or {exact(self.reach)} where that is smaller",
            about=(self.space, self.reach),
        )

    def loss_bounds(self, point: int) -> NDArray[np.float64]:
        """Epsilon times the distance to every point, counted up to gamma and no further."""
        return self.epsilon * np.minimum(euclidean(self.space, point), self.reach)

    def away(self, points: NDArray[np.intp], words: slice = EVERY_WORD) -> NDArray[np.float64]:
        """Euclidean distance from each point to each of the words, gamma where that is smaller."""
        found = distances(self.space, points, words)
        return np.minimum(found, self.reach, out=found)

    def away_singly(self, points: Points) -> Singles:
        """The same to every word, in single precision."""
        found = single_distances(self.space, points)
        return np.minimum(found, np.float32(self.reach), out=found)

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """Log-probability of every word, one row per point."""
        away = distances(self.space, points)
        near = away <= self.reach
        beyond = len(self.space) - np.count_nonzero(near, axis=1)
        # What all items of a row have in common cancels; without it no level is too high.
        common = np.minimum(away.min(axis=1), self.reach)
        away -= common[:, None]
        away *= -0.5 * self.epsilon
        # In units of the noise, epsilon/2 times the score; the last item is ⊥.
        items = np.empty((len(points), len(self.space) + 1))
        items[:, :-1] = np.where(near, away, -np.inf)
        with np.errstate(divide="ignore"):  # no ⊥ where no word is beyond: ln 0 = −inf
            spread = np.log(beyond)
        items[:, -1] = -0.5 * self.epsilon * (self.reach - common) + spread
        logs = log_normalized(items)
        # ⊥ becomes each word beyond gamma with the same chance.
        with np.errstate(invalid="ignore"):  # −inf − −inf where there is no ⊥ to share out
            each = logs[:, -1] - spread
        return np.where(near, logs[:, :-1], each[:, None])

    def block_sums(self, points: NDArray[np.intp], size: int) -> NDArray[np.float64]:
        """Sums of the weights of blocks of words, one row per point.

        All far words weigh alike: where few are near, only those are looked at one by one.
        """
        if not self._few_are_near:
            return super().block_sums(points, size)
        near = words_within(self.space, points, self.reach, round(MOST_NEAR * len(self.space)))
        starts = np.arange(0, len(self.space), size)
        far = math.exp(-0.5 * self.epsilon * self.reach)
        sums = np.empty((len(points), len(starts)))
        sums[:] = far * np.diff(starts, append=len(self.space))
        more = np.exp(-0.5 * self.epsilon * near.distances) - far
        cells = near.places * len(starts) + near.words // size
        sums += np.bincount(cells, more, sums.size).reshape(sums.shape)
        # The weights of the unknown point have a factor of their own.
        apart = near.crowded | (points == self.space.unknown)
        sums[apart] = super().block_sums(points[apart], size)
        return sums

    @cached_property
    def _few_are_near(self) -> bool:
        """Whether looking for near words saves time; measured on a few public words."""
        sample = np.linspace(0, len(self.space) - 1, SAMPLE).astype(np.intp)
        near = int(np.count_nonzero(distances(self.space, sample) <= self.reach))
        return near <= MOST_NEAR / 2 * SAMPLE * len(self.space)


def default_gamma(epsilon: float, words: int, beta: float = BETA) -> float:
    """The smallest gamma that keeps P[⊥] <= beta for every word of the vocabulary.

    >>> round(default_gamma(2.0, 1001), 3)
    13.815
    """
    return 2 / epsilon * math.log((1 - beta) * (words - 1) / beta)
