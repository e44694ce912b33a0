"""Confidence intervals for shares, from the incomplete beta function and its inverse.

I_x(a, b) is the probability that a Beta(a, b) variable is below x. Binomial tails are values of it:
P[Bin(n, p) >= k] = I_p(k, n − k + 1). The continued fraction is evaluated on the side where it
converges in about √(a + b) steps. There a small value keeps all its digits, which limits at a very
high confidence need.

Reference
    DiDonato and Morris 1992, "Algorithm 708"; Lentz 1976 for the evaluation.
"""

from __future__ import annotations

from functools import cache
from math import exp, hypot, inf, isinf, lgamma, log, log1p, sqrt
from statistics import NormalDist

from sfumato.core.checks import at_least, number
from sfumato.core.errors import InvalidArgument

# A divisor of zero in the fraction is replaced by this value, as Lentz proposed.
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
        # Newton's step on the logarithm, whose slope is density / I_x. A step out of the bracket is
        # replaced by bisection.
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
    """An approximation of the quantile: Wilson's limit, kept inside (0, 1)."""
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


def wilson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval for a share, reliable near 0 and 1, unlike the normal approximation.

    Without trials the interval is (0, 1).

    >>> low, high = wilson(95, 100)
    >>> f"{low:.3f} to {high:.3f}"
    '0.888 to 0.978'
    >>> wilson(0, 0)
    (0.0, 1.0)
    """
    _check_counts(successes, trials)
    _check_inside("confidence", confidence)
    if trials == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = successes / trials
    weight = 1 + z * z / trials
    middle = (share + z * z / (2 * trials)) / weight
    half = z / weight * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    # At the ends the limit is exact; rounding must not exclude the share from its interval.
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == trials else min(1.0, middle + half)
    return low, high


def clopper_pearson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval for a share: each end errs with probability at most (1 − confidence)/2.

    It holds for every number of trials and every share, but is wider than Wilson's.

    >>> low, high = clopper_pearson(95, 100)
    >>> f"{low:.3f} to {high:.3f}"
    '0.887 to 0.984'
    """
    alpha = (1 - _check_inside("confidence", confidence)) / 2
    return lower_limit(successes, trials, alpha), upper_limit(successes, trials, alpha)


def lower_limit(successes: int, trials: int, alpha: float) -> float:
    """Clopper and Pearson's lower limit; it exceeds the share with probability at most alpha.

    >>> lower_limit(0, 10, 0.05)
    0.0
    >>> round(lower_limit(10, 10, 0.05), 4)  # 0.05 to the power 1/10
    0.7411
    """
    _check_counts(successes, trials)
    _check_inside("alpha", alpha)
    if successes == 0:
        return 0.0
    # The share at which this many successes, or more, have probability alpha.
    return beta_quantile(alpha, successes, trials - successes + 1)


def upper_limit(successes: int, trials: int, alpha: float) -> float:
    """Clopper and Pearson's upper limit; it is below the share with probability at most alpha.

    >>> round(upper_limit(0, 10, 0.05), 4)  # 1 minus 0.05 to the power 1/10
    0.2589
    """
    _check_counts(successes, trials)
    return 1.0 - lower_limit(trials - successes, trials, alpha)


@cache
def student(confidence: float, freedom: float) -> float:
    """The half-width of an interval in standard errors: Student's t, or normal if infinite.

    >>> round(student(0.95, 4), 4), round(student(0.95, inf), 4)
    (2.7764, 1.96)
    """
    if isinf(freedom):
        return NormalDist().inv_cdf((1 + confidence) / 2)
    # t²/(freedom + t²) has the distribution Beta(1/2, freedom/2).
    share = beta_quantile(confidence, 0.5, freedom / 2)
    return sqrt(freedom * share / (1 - share))


def difference_interval(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> tuple[float, float]:
    """The interval of a difference, first minus second, of figures (value, low, high) each.

    The figures must be independent, or move together, which makes it too wide. Squares of the sides
    that widen the difference are added (Zou and Donner 2008, "Construction of confidence limits
    about effect measures"), so that intervals that are not symmetric keep their shape.

    >>> low, high = difference_interval((0.75, 0.7, 0.79), (0.5, 0.38, 0.62))
    >>> round(low, 3), round(high, 3)
    (0.12, 0.376)
    """
    (one, low, high), (other, lower, higher) = first, second
    gap = one - other
    return gap - hypot(one - low, higher - other), gap + hypot(high - one, other - lower)


def bootstrap_tail(confidence: float, count: int) -> float:
    """The share of resampled figures to cut off at each end, if ``count`` cases were resampled.

    Resampling n cases gives a spread that is too small by √((n − 1)/n), and takes the normal law
    where Student's holds. So fewer are cut off: Φ(−t·√(n/(n − 1))), with Student's quantile t.

    Reference
        Hesterberg 2015, "What teachers should know about the bootstrap" (expanded percentiles).

    >>> round(bootstrap_tail(0.95, 1_000_000), 3), round(bootstrap_tail(0.95, 10), 3)
    (0.025, 0.009)
    """
    if at_least("count", count, 1) == 1:
        return 0.0
    return NormalDist().cdf(-student(confidence, count - 1) * sqrt(count / (count - 1)))


def _check_counts(successes: int, trials: int) -> None:
    at_least("trials", trials, 0)
    if at_least("successes", successes, 0) > trials:
        raise InvalidArgument(f"successes={successes} must not exceed trials={trials}")


def _check_inside(name: str, value: float) -> float:
    if not 0 < number(name, value) < 1:
        raise InvalidArgument(f"{name}={value} must lie between 0 and 1, both excluded")
    return value
