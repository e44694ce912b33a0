"""The exponential mechanism over a public pool, by cut cosines: the law of one sentence.

Guarantee
    For a private sentence with any unit vector x, or 0, the output is sentence y of the pool with
    probability ∝ exp(β·s(x, y)), s(x, y) = min(max(⟨x, y⟩, low), high) − low. Between any two
    sentences, P[y | x] <= e^ε·P[y | x'] with ε = e(R, M), R = β·(high − low) and M sentences in the
    pool (``accounting/bounded_range.py``); and ε = 2β·‖x − x'‖ holds, too.

Why it holds
    Scores lie in a window of width R whatever x is, which is the first. For the second, cutting
    brings two numbers nearer to each other or leaves them, and |⟨x, y⟩ − ⟨x', y⟩| <= ‖x − x'‖ for y
    of length 1 at most: so β·s changes by at most β·‖x − x'‖ for every y, and ln Z by as much.

Care
    The vectors of the pool are kept in float32, a hair shorter than 1, so that rounding makes none
    of them longer; the second bound then is right to the last digits of float64. The first holds
    for whatever numbers the products give.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.accounting.bounded_range import exact_level
from sfumato.core.arrays import Floats, Points
from sfumato.core.checks import number
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion, independent, metric_dp
from sfumato.mechanisms.mechanism import check_level
from sfumato.mechanisms.rewriting.pool import Pool
from sfumato.mechanisms.rewriting.proposals import CutCosines
from sfumato.mechanisms.rows import FromRows, log_normalized
from sfumato.vectors.space import Space

# Sentences of the pool that are compared at once; memory follows this, not the pool.
AT_ONCE = 1 << 15
NEIGHBORS = "any two values of one sentence"
POOL_GAP = "what stands in the pool, which must be public"


@dataclass(frozen=True, kw_only=True, eq=False)
class SentenceLaw:
    """What one sentence becomes, by its vector."""

    pool: Pool
    beta: float
    low: float
    high: float

    @property
    def score_range(self) -> float:
        """R: how far apart two scores can be."""
        return self.beta * (self.high - self.low)

    @property
    def level(self) -> float:
        """ε between any two sentences."""
        return exact_level(self.score_range, len(self.pool))

    def scores(self, vector: Floats) -> Floats:
        """β·s for every sentence of the pool."""
        found = np.empty(len(self.pool))
        for start in range(0, len(found), AT_ONCE):
            # One vector at a time: what others are beside it must not change a digit.
            part = self.pool.vectors[start : start + AT_ONCE].astype(np.float64)
            found[start : start + AT_ONCE] = part @ vector
        np.clip(found, self.low, self.high, out=found)
        found -= self.low
        found *= self.beta
        return found

    def log_rows(self, vectors: Floats) -> Floats:
        """Log-probability of every sentence of the pool, one row per vector."""
        return log_normalized(np.stack([self.scores(one) for one in vectors]))

    def draw(self, vector: Floats, randomness: Randomness, count: int = 1) -> Points:
        """The numbers of so many sentences of the pool, independent draws for one vector."""
        return self._cosines.propose(vector[None]).draw(count, randomness)

    def draw_each(self, vectors: Floats, randomness: Randomness) -> list[int]:
        """The number of a sentence for each vector; many share one pass over the pool."""
        proposals = self._cosines.propose_each(vectors)
        return [int(one.draw(1, randomness)[0]) for one in proposals]

    @property
    def _cosines(self) -> CutCosines:
        return CutCosines(public=self.pool.vectors, beta=self.beta, low=self.low, high=self.high)

    def guarantee(self, *, metric: bool = False) -> Guarantee:
        """What is proven about one sentence."""
        scope = f"every sentence, drawn from a public pool of {len(self.pool):,}"
        if self.beta == 0:
            return independent(unit="sentence", scope=scope).not_covering(POOL_GAP)
        if metric:
            stated = metric_dp(
                epsilon=2 * self.beta,
                metric=self.pool.metric,
                unit="sentence",
                about=(self.pool,),
            )
            return replace(stated, scope=scope).not_covering(POOL_GAP)
        return Guarantee(
            notion=Notion.PURE_DP,
            unit="sentence",
            neighbors=NEIGHBORS,
            epsilon=self.level,
            scope=scope,
            uncovered=(POOL_GAP,),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class OnPool(FromRows):
    """The law as a mechanism on points, so that its claim can be tested.

    The words of its space are the sentences of a pool, which are its inputs, too; the unknown point
    is a sentence without a vector. Draws go the way of ``rewrite``, from the vector on.
    """

    law: SentenceLaw
    metric: bool = False

    @cached_property
    def space(self) -> Space:  # type: ignore[override]
        """The pool as a space."""
        pool = self.law.pool
        return Space(pool.name, pool.sentences, np.asarray(pool.vectors, dtype=np.float32))

    def guarantee(self) -> Guarantee:
        """What is proven about one sentence of this pool."""
        return self.law.guarantee(metric=self.metric)

    def loss_bounds(self, point: int) -> Floats:
        """The level for every other sentence, or 2β times its distance."""
        vectors = self._vectors(np.arange(len(self.space) + 1, dtype=np.intp))
        away: Floats = np.linalg.norm(vectors - vectors[point], axis=1)
        if self.metric:
            return 2 * self.law.beta * away * (1 + 1e-12)
        return np.where(np.arange(len(away)) == point, 0.0, self.law.level)

    def log_rows(self, points: Points) -> Floats:
        """Log-probability of every sentence, one row per point."""
        return self.law.log_rows(self._vectors(points))

    def privatize(self, points: Points, randomness: Randomness) -> Points:
        """One independent draw for each point."""
        outputs = np.empty(len(points), dtype=np.intp)
        for point in np.unique(points):
            mine = points == point
            vector = self._vectors(np.array([point]))[0]
            outputs[mine] = self.law.draw(vector, randomness, int(mine.sum()))
        return outputs

    def _vectors(self, points: Points) -> Floats:
        pool = self.law.pool.vectors
        known = points < len(pool)
        found = pool[np.where(known, points, 0)].astype(np.float64)
        found[~known] = 0.0
        return found


def check_weight(epsilon: float | None, beta: float | None) -> None:
    """A level or the weight of a score is given, and not both."""
    if (epsilon is None) == (beta is None):
        raise InvalidArgument(
            "give the level, `epsilon=...`, or the weight of a score, `settings={'beta': 30}`; "
            "not both"
        )
    if epsilon is not None:
        check_level(epsilon)
    elif number("beta", beta) < 0:
        raise InvalidArgument(f"beta={beta} must not be negative")


def check_window(low: float, high: float) -> None:
    """The two ends to which cosines are cut."""
    if not -1 <= number("low", low) < number("high", high) <= 1:
        raise InvalidArgument(
            f"low={low:g} and high={high:g} must be cosines, the first the smaller"
        )
