"""Sensitive words always become sensitive words; the others mostly stay.

Guarantee
    Utility-optimized metric local DP, (V_S, V_S, epsilon, ln 1/p): for all words x, x' and every
    sensitive word y, P[M(x) = y] <= exp(epsilon * d(x, x')) * P[M(x') = y], with a further factor
    of 1/p where x is sensitive and x' is not. Of an output that is not sensitive nothing is said:
    it *is* the original. Words outside the vocabulary share one point, which is sensitive and never
    an output.

Why it holds
    A sensitive x becomes y in V_S with probability exp(−epsilon/2 · d(x, y))/Z(x), Z summing over
    V_S: the exponential mechanism, whose bound holds for any two points of the space. Any other x
    stays with probability 1 − p and otherwise takes the same step, so to a sensitive y it gives p
    times that. The factor p cancels, helps, or costs 1/p. A word that is not sensitive is the
    output of itself alone.

Care
    V_S must be public. By default it is a matter of rank: the vocabulary stands most frequent first
    and ``sensitive_share`` of it, the rarest words, is sensitive, with any further words named in
    ``sensitive``; naming words because they occur in the private text would show that they do. It
    is ordinary metric DP among sensitive originals only. The smaller p, the more of the other words
    stand in the clear, and the more a sensitive output says that its original was sensitive.

Reference
    Yue et al. 2021, "Differential privacy for text analytics via natural text sanitization"
    (SanText+; there the least frequent words of the text itself are sensitive).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats, Points, Singles
from sfumato.core.checks import number
from sfumato.core.errors import InvalidArgument
from sfumato.guarantees.guarantee import Guarantee, Notion, metric_dp
from sfumato.mechanisms.claims import euclidean
from sfumato.mechanisms.mechanism import check_level
from sfumato.mechanisms.rows import (
    AT_ONCE,
    FEW_WORDS,
    FromRows,
    distances,
    log_normalized,
    single_distances,
)
from sfumato.vectors.space import Space


@dataclass(frozen=True, kw_only=True)
class SanitizePlus(FromRows):
    """Draw a sensitive word by distance, for every sensitive word and for a share of the others.

    >>> from sfumato.vectors.load import default_space
    >>> mechanism = SanitizePlus(space=default_space(), epsilon=8)
    >>> the = mechanism.space.point_of("the")
    >>> row = mechanism.row(the)
    >>> round(float(row[the]), 9), round(float(row.sum()), 9)
    (0.7, 1.0)
    """

    space: Space
    epsilon: float
    p: float = 0.3
    sensitive_share: float = 0.9
    sensitive: tuple[str, ...] = ()

    # Among sensitive words as for any distance, from others p times that; others are their own.
    own_is_likeliest: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_level(self.epsilon))
        for name in ("p", "sensitive_share"):
            object.__setattr__(self, name, _share(name, getattr(self, name)))
        object.__setattr__(self, "sensitive", _words(self.sensitive))

    def guarantee(self) -> Guarantee:
        """Utility-optimized metric LDP; plain metric DP where no word ever stays on purpose."""
        about = (self.space, self.p, self.sensitive_share, frozenset(self.sensitive))
        plain = metric_dp(epsilon=self.epsilon, metric=self.space.metric, about=about)
        if self.p == 1 or self.is_sensitive.all():
            return plain
        listed = int(np.count_nonzero(self.is_sensitive[: self._frequent]))
        return Guarantee(
            notion=Notion.UTILITY_OPTIMIZED_METRIC_LDP,
            unit=plain.unit,
            neighbors=f"{plain.neighbors} (with a further factor of 1/{self.p}, in each release, "
            "where the one is sensitive and the other is not)",
            epsilon=self.epsilon,
            metric=self.space.metric,
            uncovered=(
                f"originals that are not sensitive (the {self._frequent:,} most frequent of the "
                f"{len(self.space):,} words of {self.space.name}"
                + (f", less {listed:,} named as sensitive" if listed else "")
                + f"), which stay with probability 1 − {self.p} and then show themselves",
            ),
            about=about,
        )

    def loss_bounds(self, point: int) -> NDArray[np.float64]:
        """Epsilon times the distance, and ln 1/p more from a sensitive point to any other."""
        bounds = self.epsilon * euclidean(self.space, point)
        if self.is_sensitive[point]:
            bounds[~self.is_sensitive] -= math.log(self.p)
        return bounds

    def covered_outputs(self) -> NDArray[np.bool_]:
        """The sensitive words: any other output is its own original."""
        return self.is_sensitive[:-1].copy()

    @cached_property
    def is_sensitive(self) -> NDArray[np.bool_]:
        """Of every point, the unknown one last, whether it is sensitive; public."""
        key = ("sensitive", self.sensitive_share, self.sensitive)
        return self.space.derive(key, self._make_sensitive)

    def _make_sensitive(self) -> NDArray[np.bool_]:
        sensitive = np.arange(len(self.space) + 1) >= self._frequent
        sensitive[self.space.points(self.sensitive)] = True
        # Equal spellings are one word, wherever they stand: an output must be either or.
        sensitive[:-1] = sensitive[self.space.points(self.space.words)]
        if not sensitive[:-1].any():
            raise InvalidArgument(
                f"sensitive_share={self.sensitive_share} leaves no sensitive word in "
                f"{self.space.name}, whose rarest words are spelled like frequent ones; a larger "
                "share does, or words named in sensitive"
            )
        return sensitive

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """Log-probability of every word, one row per point; −inf where it cannot come."""
        scores = distances(self.space, points)
        scores[:, ~self.is_sensitive[:-1]] = np.inf
        # What all words of a row have in common cancels; without it no level is too high.
        scores -= scores.min(axis=1, keepdims=True)
        scores *= -0.5 * self.epsilon
        logs = log_normalized(scores)
        staying = np.flatnonzero(~self.is_sensitive[points])
        logs[staying] += math.log(self.p)
        logs[staying, points[staying]] = math.log1p(-self.p) if self.p < 1 else -math.inf
        return logs

    def chances(self, points: Points, words: Points) -> Floats:
        """Probability of some words, one row per point, from distances in single precision."""
        if len(self.space) <= FEW_WORDS:
            return super().chances(points, words)
        found = np.empty((len(points), len(words)))
        for start in range(0, len(points), AT_ONCE):
            block = points[start : start + AT_ONCE]
            weights = self._weights_singly(block)
            share = np.where(self.is_sensitive[block], 1.0, self.p)
            share /= weights.sum(axis=1, dtype=np.float64)
            found[start : start + AT_ONCE] = weights[:, words] * share[:, None]
        rows, columns = np.nonzero((points[:, None] == words) & ~self.is_sensitive[words])
        found[rows, columns] = 1 - self.p
        return found

    def own_and_rivals(self, words: Points, shares: Floats) -> tuple[Floats, Floats]:
        """P[y | y] of some words, and a bound on share(x) · P[y | x] for all other words x.

        From sensitive words it is bounded as by any distance, from others by p · P[y | y]. A word
        that is not sensitive comes from itself alone.
        """
        own, rivals = np.empty(len(words)), np.zeros(len(words))
        sensitive = self.is_sensitive[:-1]
        likely = np.where(sensitive, shares[: len(self.space)], 0.0).astype(np.float32)
        others = self.p * float(shares[: len(self.space)].max(initial=0.0, where=~sensitive))
        for start in range(0, len(words), AT_ONCE):
            block = words[start : start + AT_ONCE]
            weights = self._weights_singly(block)
            here = 1 / weights.sum(axis=1, dtype=np.float64)
            np.minimum(weights, here.astype(np.float32)[:, None], out=weights)
            weights *= likely
            weights[np.arange(len(block)), block] = 0
            own[start : start + AT_ONCE] = here
            rivals[start : start + AT_ONCE] = np.maximum(weights.max(axis=1), others * here)
        apart = ~self.is_sensitive[words]
        own[apart], rivals[apart] = 1 - self.p, 0.0
        return own, rivals

    def _weights_singly(self, points: Points) -> Singles:
        """exp(−epsilon/2 · d) from each point to every sensitive word, 0 to all others."""
        weights = single_distances(self.space, points)
        weights[:, ~self.is_sensitive[:-1]] = np.inf
        weights -= weights.min(axis=1, keepdims=True)
        weights *= -0.5 * self.epsilon
        return np.exp(weights, out=weights)

    @property
    def _frequent(self) -> int:
        """How many words are too frequent to be sensitive by rank; at least one is rare enough."""
        size = len(self.space)
        return min(round((1 - self.sensitive_share) * size), size - 1)


def _share(name: str, value: object) -> float:
    if not 0 < number(name, value) <= 1:
        raise InvalidArgument(f"{name}={value} must be greater than 0 and at most 1")
    return number(name, value)


def _words(value: object) -> tuple[str, ...]:
    if not isinstance(value, (tuple, list)) or not all(isinstance(word, str) for word in value):
        raise InvalidArgument("sensitive must be a list of words (none, or a few with commas)")
    return tuple(value)
