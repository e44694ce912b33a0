"""Rényi divergences of a Gaussian release under Poisson sampling, by order.

Guarantee
    Each number is at least the divergence of its order, up to rounding: for whole orders it is the
    divergence, for others an upper bound. That is hardly larger, except where a divergence is tiny
    (much noise) and the rate is large: there, below order 2, it may be a thousand times too large.

Why it holds
    With q the rate and z the noise multiplier, (α − 1) times the divergence at order α is the
    logarithm of E[(1 − q + q·exp((2x − 1)/2z²))^α] over x ~ N(0, z²). For whole α the power is a
    binomial sum. For others it is the series of the smaller part over the larger one, on either
    side of the point where both are equal; its terms are added by their absolute values.

Care
    A series that has not converged after ``TERMS`` terms gives no bound, hence infinity. Values
    below 0 come from rounding and count as 0.

Reference
    Mironov, Talwar and Zhang 2019, "Rényi differential privacy of the sampled Gaussian mechanism",
    section 3.3. dp-accounting (Google) computes the same, a term at a time.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TERMS = 1000
# Beyond this order a whole-numbered sum is too long; sampling gains nothing there anyway.
_LONGEST_SUM = 10_000
# What rounding may take away: a share of a divergence, and an exponent for every unit of order.
_SHARE, _EXPONENT = 1e-9, 1e-13
# The series ends with terms that fall, and that are smaller than the sum by exp of this.
_NEGLIGIBLE = 30.0


def at_whole_orders(
    noise_multiplier: float, rate: float, orders: NDArray[np.float64]
) -> NDArray[np.float64]:
    """ln(Σ_k C(α, k)(1−q)^{α−k}·q^k·exp(k(k−1)/2z²))/(α−1), all orders at once."""
    import numpy as np

    spread = 1 / (2 * noise_multiplier**2)
    if rate == 1.0:
        return orders * spread
    count = np.arange(orders.max() + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(count[1:]))])
    alpha = orders.astype(np.int64)[:, None]
    inside = count <= alpha
    rest = np.where(inside, alpha - count, 0).astype(np.int64)
    terms = (
        factorials[alpha]
        - factorials
        - factorials[rest]
        + count * math.log(rate)
        + rest * math.log1p(-rate)
        + count * (count - 1) * spread
    )
    terms = np.where(inside, terms, -np.inf)
    largest = terms.max(axis=1, keepdims=True)
    logs = largest[:, 0] + np.log(np.exp(terms - largest).sum(axis=1))
    found: NDArray[np.float64] = np.maximum(logs / (orders - 1), 0.0)
    return np.where(np.isnan(found), np.inf, found)


def at_order(noise_multiplier: float, rate: float, order: float) -> float:
    """The divergence at an order that need not be whole."""
    import numpy as np
    from scipy import special

    spread = 1 / (2 * noise_multiplier**2)
    if rate == 1.0:
        return order * spread
    if order.is_integer():
        return float(at_whole_orders(noise_multiplier, rate, np.array([order]))[0])
    taken, left = math.log(rate), math.log1p(-rate)
    # Here a unit that was sampled and one that was not are equally likely.
    border = noise_multiplier**2 * (left - taken) + 0.5
    count = np.arange(float(TERMS))
    rest = order - count
    choices = special.gammaln(order + 1) - special.gammaln(count + 1) - special.gammaln(rest + 1)
    below = choices + count * taken + rest * left + count * (count - 1) * spread
    below += special.log_ndtr((border - count) / noise_multiplier)
    above = choices + rest * taken + count * left + rest * (rest - 1) * spread
    above += special.log_ndtr((rest - border) / noise_multiplier)
    sums = np.logaddexp(np.logaddexp.accumulate(below), np.logaddexp.accumulate(above))
    falling = (np.diff(below) < 0) & (np.diff(above) < 0)
    negligible = np.maximum(below, above)[1:] < sums[1:] - _NEGLIGIBLE
    ended = np.flatnonzero(falling & negligible)
    found = float(sums[ended[0] + 1]) / (order - 1) if len(ended) else math.inf
    return math.inf if math.isnan(found) else max(found, 0.0)


def bound_at(noise_multiplier: float, rate: float, order: float) -> float:
    """At least the divergence at an order, rounding included: the least of three bounds.

    Sampling is a mixture, so the divergence is at most that without it. (α − 1) times the
    divergence is convex in α and 0 at 1, so between two whole orders it lies below the line through
    both. And the series.

    >>> 0.125 * 3 <= bound_at(2.0, 1.0, 3.0) < 0.125 * 3 * (1 + 1e-8)
    True
    """
    import numpy as np

    whole = order / (2 * noise_multiplier**2)
    if rate == 1.0 or order > _LONGEST_SUM:
        return whole * (1 + _SHARE)
    below = math.floor(order)
    ends = np.array([float(max(below, 2)), float(below + 1)])
    with np.errstate(all="ignore"):  # terms that are 0 beside each other, or too large
        low, high = at_whole_orders(noise_multiplier, rate, ends) * (ends - 1)
        series = at_order(noise_multiplier, rate, order)
    share = order - below
    line = (1 - share) * (low if below > 1 else 0.0) + share * high
    least = min(whole, line / (order - 1), series)
    return float(least) * (1 + _SHARE) + _EXPONENT * (1 + order) / (order - 1)
