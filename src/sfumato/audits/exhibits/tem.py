"""TEM with another count in the score of ⊥.

What is claimed
    Near words, within γ, are scored by their distance; one item ⊥ stands for all others with score
    −γ + (2/ε)·ln(|W|/|L|), |L| being the number of near words: metric DP at level ε.

Why it is false
    ⊥ must be worth as much as all the far words it stands for, which takes ln|W∖L|. With |W|/|L| a
    word just beyond γ is far less likely than one just within, by a factor of about |L|·|W∖L|/|W|:
    for two near-duplicates, one on either side of γ from some word, that is a ratio which no small
    distance allows.

Repair
    (2/ε)·ln|W∖L|: the exponential mechanism for the distance min(d, γ).

Reference
    Carvalho, Vasiloudis, Feyisetan and Wang 2021, "TEM: High utility metric differential privacy on
    text" has ln|W∖L|; |W|/|L| is how a public implementation has it, with the same γ as here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.exhibits.exhibit import Exhibit, frequent_words
from sfumato.guarantees.guarantee import Guarantee, metric_dp
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rows import FromRows, distances, log_normalized
from sfumato.mechanisms.truncated import Truncated
from sfumato.vectors.space import Space

WORDS = 300
EPSILON = 5.0
BETA = 0.001
GAMMA = round(2 / EPSILON * math.log((1 - BETA) * WORDS / BETA), 1)


@dataclass(frozen=True, kw_only=True)
class WrongBottom(FromRows):
    """As TEM, but ⊥ is scored by |W|/|L| instead of |W∖L|."""

    space: Space
    epsilon: float
    gamma: float

    def guarantee(self) -> Guarantee:
        """The claim."""
        return metric_dp(epsilon=self.epsilon, metric=self.space.metric, about=(self.space,))

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """Log-probability of every word, one row per point."""
        away = distances(self.space, points)
        near = away <= self.gamma
        inside = np.count_nonzero(near, axis=1)
        items = np.empty((len(points), len(self.space) + 1))
        items[:, :-1] = np.where(near, -0.5 * self.epsilon * away, -np.inf)
        # With no word within γ the implementation divides by zero; one is the kindest reading.
        share = np.log(len(self.space) / np.maximum(inside, 1))
        items[:, -1] = -0.5 * self.epsilon * self.gamma + share
        beyond = len(self.space) - inside
        items[beyond == 0, -1] = -np.inf
        logs = log_normalized(items)
        each = logs[:, -1] - np.log(np.maximum(beyond, 1))
        return np.where(near, logs[:, :-1], each[:, None])


def make_broken() -> PointMechanism:
    """⊥ by |W|/|L|."""
    return WrongBottom(space=frequent_words(WORDS), epsilon=EPSILON, gamma=GAMMA)


def make_repaired() -> PointMechanism:
    """⊥ by |W∖L|, as it is in the catalog."""
    return Truncated(space=frequent_words(WORDS), epsilon=EPSILON, gamma=GAMMA)


EXHIBIT = Exhibit(
    name="tem-wrong-bottom",
    source="TEM (Carvalho et al. 2021) with |W|/|L| in the score of ⊥",
    claim="metric DP at level ε",
    reason="a word just beyond γ is far less likely than one just within it",
    repair="score ⊥ by ln|W∖L| (truncated)",
    broken=make_broken,
    repaired=make_repaired,
)
