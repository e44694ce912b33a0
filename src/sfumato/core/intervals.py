"""Confidence intervals for shares."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

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
    at_least("trials", trials, 0)
    if at_least("successes", successes, 0) > trials:
        raise InvalidArgument(f"successes={successes} must not exceed trials={trials}")
    if not 0 < number("confidence", confidence) < 1:
        raise InvalidArgument(f"confidence={confidence} must lie between 0 and 1, both excluded")
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
