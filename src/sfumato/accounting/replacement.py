"""Neighbors by replacement, from neighbors of which one lacks a unit.

Guarantee
    Let removing or adding a unit be (a, d(a))-DP for every level a. Then exchanging a unit for
    another is (a + b, d(a) + exp(a)·d(b))-DP, for whatever a and b.

Why it holds
    Exchanging is removing and then adding: P ≤ exp(a)·P' + d(a) and P' ≤ exp(b)·P'' + d(b).

Care
    Without sampling there is a shorter way: the sum moves by at most 2C, so half the
    noise multiplier is all it takes. Under Poisson sampling that is wrong: there the pair of
    distributions is another one.
"""

from __future__ import annotations

import math

from sfumato.accounting.accountants import Spent
from sfumato.accounting.solving import least

_SHARES = tuple(share / 40 for share in range(12, 20))


def replacing_one(spent: Spent, delta: float) -> float:
    """The smallest level found to hold at ``delta`` when one unit is exchanged for another.

    Infinite if none is found: what an accountant leaves over for rounding is multiplied by
    exp(level).
    """
    single = spent.epsilon(delta)
    if math.isinf(single):
        return math.inf
    even = _smallest(spent, delta, 0.5, 2 * max(single, 1e-3))
    if math.isinf(even):
        return math.inf
    # Every way to split the level between the two moves is a proof; a good one near ``even`` is
    # found by trying a few.
    best = min(_SHARES, key=lambda share: _delta(spent, share * even, even - share * even))
    return min(even, _smallest(spent, delta, best, even))


def _smallest(spent: Spent, delta: float, share: float, guess: float) -> float:
    return least(lambda level: _delta(spent, share * level, level - share * level), delta, guess)


def _delta(spent: Spent, first: float, second: float) -> float:
    """d(first) + exp(first)·d(second); a result above 1 says nothing, however far above."""
    rest = spent.delta(second)
    moved = math.exp(min(first + math.log(rest), 1.0)) if rest > 0 else 0.0
    return spent.delta(first) + moved
