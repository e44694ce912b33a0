"""The incomplete beta function and its inverse, for exact limits on a share.

I_x(a, b) is the chance that a Beta(a, b) number is below x. Binomial tails are values of it:
P[Bin(n, p) >= k] = I_p(k, n − k + 1). The continued fraction is evaluated on the side where it
converges in about √(a + b) steps, and there a small value has all its digits, which is what limits
at a very high confidence need.

Reference
    DiDonato and Morris 1992, "Algorithm 708"; Lentz 1976 for the evaluation.
"""

from __future__ import annotations

from math import exp, inf, lgamma, log, log1p, sqrt
from statistics import NormalDist

# A value at which the fraction would divide by zero is moved by this much, as Lentz proposed.
TINY = 1e-300
CLOSE_ENOUGH = 1e-16
SMALL_STEP = 1e-8
MOST_STEPS = 100_000
MOST_ROUNDS = 200


def log_beta_tail(x: float, a: float, b: float) -> float:
    """The logarithm of I_x(a, b), for positive a and b and x between 0 and 1.

    >>> round(exp(log_beta_tail(0.5, 2.0, 2.0)), 12)
    0.5
    """
    if x <= 0:
        return -inf
    if x >= 1:
        return 0.0
    if x * (a + b + 2) < a + 1:
        return _log_power(x, a, b) - log(a) + log(_fraction(x, a, b))
    other = _log_power(1 - x, b, a) - log(b) + log(_fraction(1 - x, b, a))
    return log1p(-min(exp(other), 1 - CLOSE_ENOUGH))


def beta_quantile(share: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = share.

    >>> round(beta_quantile(0.5, 3.0, 3.0), 12)
    0.5
    """
    wanted, low, high = log(share), 0.0, 1.0
    x = _guess(share, a, b)
    for _ in range(MOST_ROUNDS):
        reached = log_beta_tail(x, a, b)
        low, high = (x, high) if reached < wanted else (low, x)
        # Newton's step on the logarithm, whose slope is density / I_x; a step out of the bracket
        # is replaced by halving it.
        slope = exp(min(700.0, _log_power(x, a, b) - log(x) - log1p(-x) - reached))
        following = x + (wanted - reached) / slope if slope > 0 else inf
        if low < following < high and abs(following - x) <= SMALL_STEP * min(x, 1 - x):
            return following  # the error is about the square of the step
        if not low < following < high:
            following = (low + high) / 2
        if following in (low, high):
            return following
        x = following
    return x


def _guess(share: float, a: float, b: float) -> float:
    """About where the quantile lies: Wilson's limit, kept inside (0, 1)."""
    total = a + b
    z = NormalDist().inv_cdf(min(max(share, 1e-300), 1 - 1e-16))
    middle = a / total + z * z / (2 * total)
    half = sqrt(a * b / total**3 + z * z / (4 * total * total))
    guess = (middle + z * half) / (1 + z * z / total)
    return min(max(guess, 1e-12 * a / total), 1 - 1e-12)


def _log_power(x: float, a: float, b: float) -> float:
    """The logarithm of x^a (1−x)^b / B(a, b)."""
    return a * log(x) + b * log1p(-x) - (lgamma(a) + lgamma(b) - lgamma(a + b))


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of I_x(a, b) after its first factor, by Lentz's method."""
    c, d = 1.0, 1 / _off_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, MOST_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _off_zero(1 + term * d)
            c = _off_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < CLOSE_ENOUGH:
            break
    return value


def _off_zero(value: float) -> float:
    return value if abs(value) > TINY else TINY
