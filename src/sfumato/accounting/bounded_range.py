"""Draws among public outcomes by scores from a window: the exponential mechanism, token by token.

One draw takes an outcome y of V public ones with probability exp(s(y))/Z, Z = Σ exp(s(y)). The
scores may depend on the private input in any way, as long as they lie in a window of width R for
every input: cut similarities times a weight, or cut logits divided by a temperature. Inputs are any
two, and n draws may each depend on the outcomes before them.

Or (``outcomes=None``) the scores have any size, and between two neighbors each of them differs by R
at most: averages over many records, of which one is missing.

Guarantee
    ``exact_level`` is the smallest epsilon for one draw, over all scores in the window:
    e(R, V) = R + ln[(1 + (V−1)·e^R)/(e^R + V−1)], at most 2R; and 2R where scores have any size.
    ``least_level`` is a level for n draws: the least of three proofs, and it says which.

Why it holds
    Let ℓ(y) be the log-ratio ln P(y)/P'(y) = s(y) − s'(y) + ln(Z'/Z) of two inputs.

    - *One draw.* The ratio at y grows with s(y), falls with every other s, and the other way round
      for s'. So it is largest at the corner s(y) = R, s = 0 elsewhere, s'(y) = 0, s' = R elsewhere,
      which is e(R, V), and every level below it is wrong for some scores.
      Where scores have any size, s − s' <= R at y and >= −R elsewhere give a ratio of e^{2R} at
      most, which an outcome approaches that is unlikely for both inputs. e(R, V) would be wrong.
    - *Pure.* Levels of draws add up: n·e.
    - *Range.* s − s' lies in [−R, R], and Z'/Z is the same for all y: the values of ℓ lie within a
      range of w = 2R (R for each of the two inputs), whatever V is.
    - *Rényi.* Given t with t − w <= ℓ <= t, the divergence of order α is ln E'[e^{αℓ}]/(α−1), with
      E'[e^ℓ] = 1. x ↦ x^α is convex, so it is largest if ℓ takes only the two ends: with x = e^t
      and the probability of t that makes E'[e^ℓ] = 1, E'[e^{αℓ}] = [A·x^{α−1} − B·x^α]/(1 − e^{−w})
      with A = 1 − e^{−wα} and B = e^{−w} − e^{−wα}. Its derivative in x changes its sign once, at
      x = A(α−1)/(Bα), from plus to minus. A t in [w − e, e] exists, since |ℓ| <= e: take
      min(e, min ℓ + w). So the largest value over that interval is at that x, or at the end of the
      interval that is nearest to it.
    - *zCDP.* A log-ratio within a range of w is (w²/8)-zCDP (Cesar and Rogers 2021, from
      Hoeffding's lemma): ρ = R²/2 for each draw. (The constant 1/8 belongs to the range of the
      log-ratio, which is 2R; with the width R of the window in its place it would be a false
      claim.)

    Rényi divergences of draws add up although each draw may depend on those before it, because the
    bound holds for each draw whatever came before (Mironov 2017, proposition 1). So a text of n
    tokens, each of which the model draws after reading the former, is covered, and so is an end
    that comes early: with fewer tokens there are fewer draws. n must not depend on the input.

    Levels are rounded up by more than weights in float64 are off, so a draw that is right in
    proportion to its weights (``mechanisms/rewriting/draw.py``) has the level that is stated.

Care
    A float64 draw by inversion of a cumulated row never gives outcomes of probability below 1e-16,
    so a range above ``LARGEST`` is refused: there an outcome would rule out an input.

Reference
    McSherry and Talwar 2007; Dong, Durfee and Rogers 2020, "Optimal differential privacy
    composition for exponential mechanisms"; Cesar and Rogers 2021, "Bounding, concentrating, and
    truncating: unifying privacy loss composition for data analytics".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.accounting.events import LARGEST_RANGE, BoundedRange
from sfumato.accounting.orders import best_delta, best_epsilon
from sfumato.core.checks import between, positive
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from sfumato.core.arrays import Floats

PURE, CONCENTRATED, RENYI = "pure", "zcdp", "rdp"
_UP = 1 + 1e-14
_WEIGHTS = 4e-15
# Rounding of the logarithms in a divergence, added to it.
_LOGARITHMS = 1e-14
_HALVINGS = 200
_HAIR = 1e-4


@dataclass(frozen=True)
class ProvenLevel:
    """A level at a delta, and the accountant that proves it."""

    epsilon: float
    delta: float
    accountant: str


def exact_level(score_range: float, outcomes: int | None) -> float:
    """The level of one draw, which some scores in the window reach; rounded up.

    >>> round(exact_level(4.0, 49_152), 4), exact_level(0.0, 10), exact_level(4.0, None) >= 8
    (7.9989, 0.0, True)
    """
    event = BoundedRange(range=score_range, outcomes=outcomes)
    if event.outcomes is None:
        return 2 * event.range * _UP + _WEIGHTS if event.range else 0.0
    grown = math.expm1(event.range)
    # The quotient in e(R, V) is 1 + (V−2)(e^R − 1)/(e^R + V−1), which loses no digit.
    above = (event.outcomes - 2) * grown / (grown + event.outcomes)
    level = event.range + math.log1p(above)
    # What float64 weights are off by, in an exponent, is below this.
    return level * _UP + _WEIGHTS if level else 0.0


def widest_range(epsilon: float, outcomes: int) -> float:
    """The largest range whose draw has a level of at most ``epsilon``; the inverse of e(R, V).

    >>> widest = widest_range(10.0, 8000)
    >>> exact_level(widest, 8000) <= 10.0 < exact_level(widest + 1e-9, 8000)
    True
    """
    most = exact_level(LARGEST_RANGE, outcomes)
    if positive("epsilon", epsilon) > most:
        raise InvalidArgument(
            f"epsilon={epsilon:g} is more than one draw among {outcomes:,} outcomes can cost here "
            f"({most:.4g}): beyond, probabilities are smaller than a draw can be; give that or less"
        )
    # The level is at least the range, so the range is at most the level.
    low, high = 0.0, min(epsilon, LARGEST_RANGE)
    if exact_level(high, outcomes) <= epsilon:
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if exact_level(middle, outcomes) <= epsilon:
            low = middle
        else:
            high = middle
    return low


def divergences(event: BoundedRange, orders: Floats) -> Floats:
    """A bound on the Rényi divergence of one draw at each order, rounded up."""
    import numpy as np

    if event.range == 0.0:
        return np.zeros_like(orders)
    level, width = exact_level(event.range, event.outcomes), 2 * event.range
    above = orders - 1
    best = (
        width
        + np.log(np.expm1(-width * orders) / np.expm1(-width * above))
        + np.log(above / orders)
    )
    place = np.clip(best, max(0.0, width - level), min(level, width))
    # A − B·x, written as a sum of two numbers that are never negative, neither of which is the
    # difference of two nearly equal ones: in a narrow window that would lose every digit.
    left = -np.expm1(place - width) + np.exp(-width * orders) * np.expm1(place)
    with np.errstate(divide="ignore"):
        logs = above * place + np.log(left) - math.log(-math.expm1(-width))
    found = logs / above + _LOGARITHMS * (1 + width) * (1 + 1 / above)
    hoeffding = orders * event.range**2 / 2 * _UP
    smallest: Floats = np.minimum(np.minimum(found, level), hoeffding)
    return np.maximum(smallest, 0.0)


def least_level(events: Sequence[BoundedRange], delta: float = 0.0) -> ProvenLevel:
    """The least level that is proven for all draws together, and by what.

    >>> least_level([BoundedRange(range=4.0, outcomes=49_152, count=32)], 1e-5).accountant
    'rdp'
    """
    between("delta", delta, 0.0, 1.0)
    pure = math.fsum(one.count * exact_level(one.range, one.outcomes) for one in events)
    found = [ProvenLevel(pure, 0.0, PURE)]
    if delta > 0:
        rho = concentration(events)
        found += [
            ProvenLevel(best_epsilon(lambda orders: rho * orders, delta), delta, CONCENTRATED),
            ProvenLevel(best_epsilon(lambda orders: total(events, orders), delta), delta, RENYI),
        ]
    # A level without a delta says more than one that is smaller by a hair.
    return min(found, key=lambda one: one.epsilon * (1 if one.delta else 1 - _HAIR))


def least_delta(events: Sequence[BoundedRange], epsilon: float) -> float:
    """The smallest delta that is proven at a level."""
    if epsilon >= least_level(events).epsilon:
        return 0.0
    return best_delta(lambda orders: total(events, orders), epsilon)


def concentration(events: Sequence[BoundedRange]) -> float:
    """ρ of all draws together: they are ρ-zCDP."""
    return math.fsum(one.count * one.range**2 / 2 for one in events) * _UP


def total(events: Sequence[BoundedRange], orders: Floats) -> Floats:
    """The divergence of all draws together."""
    import numpy as np

    summed: Floats = np.sum([one.count * divergences(one, orders) for one in events], axis=0)
    return summed
