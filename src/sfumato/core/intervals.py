"""Confidence intervals for shares."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

from sfumato.core.beta import beta_quantile
from sfumato.core.checks import at_least, number
from sfumato.core.errors import InvalidArgument


def wilson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval for a share: it behaves near 0 and 1, where the simple one does not.

    Without trials nothing is known, and the interval says so.

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
    # At the ends the bound is exact; rounding must not push the share out of its interval.
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == trials else min(1.0, middle + half)
    return low, high


def clopper_pearson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval for a share: each end errs with chance (1 − confidence)/2 at most.

    It holds for every number of trials and every share, whatever the sample size, at the price of
    being wider than Wilson's.

    >>> low, high = clopper_pearson(95, 100)
    >>> f"{low:.3f} to {high:.3f}"
    '0.887 to 0.984'
    """
    alpha = (1 - _check_inside("confidence", confidence)) / 2
    return lower_limit(successes, trials, alpha), upper_limit(successes, trials, alpha)


def lower_limit(successes: int, trials: int, alpha: float) -> float:
    """Clopper and Pearson's one-sided limit: the share is smaller with a chance of alpha at most.

    >>> lower_limit(0, 10, 0.05)
    0.0
    >>> round(lower_limit(10, 10, 0.05), 4)  # 0.05 to the power 1/10
    0.7411
    """
    _check_counts(successes, trials)
    _check_inside("alpha", alpha)
    if successes == 0:
        return 0.0
    # The share at which this many successes, or more, have a chance of alpha.
    return beta_quantile(alpha, successes, trials - successes + 1)


def upper_limit(successes: int, trials: int, alpha: float) -> float:
    """Clopper and Pearson's one-sided limit: the share is larger with a chance of alpha at most.

    >>> round(upper_limit(0, 10, 0.05), 4)  # 1 minus 0.05 to the power 1/10
    0.2589
    """
    _check_counts(successes, trials)
    return 1.0 - lower_limit(trials - successes, trials, alpha)


def _check_counts(successes: int, trials: int) -> None:
    at_least("trials", trials, 0)
    if at_least("successes", successes, 0) > trials:
        raise InvalidArgument(f"successes={successes} must not exceed trials={trials}")


def _check_inside(name: str, value: float) -> float:
    if not 0 < number(name, value) < 1:
        raise InvalidArgument(f"{name}={value} must lie between 0 and 1, both excluded")
    return value
