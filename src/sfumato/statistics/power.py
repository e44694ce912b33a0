"""How large a share must be to be told from chance, by how many cases were looked at."""

from __future__ import annotations

from sfumato.core.checks import at_least, between
from sfumato.results.measured import CONFIDENCE
from sfumato.statistics.intervals import beta_quantile, lower_limit

POWER = 0.95


def hits_above(chance: float, cases: int) -> int | None:
    """The fewest hits whose exact 95 % interval lies above chance; None if all hits are too few.

    >>> hits_above(0.05, 100), hits_above(0.5, 3)
    (11, None)
    """
    between("chance", chance, 0, 1)
    low, high = 0, at_least("cases", cases, 1) + 1
    # The lower limit grows with the number of hits.
    while low + 1 < high:
        middle = (low + high) // 2
        above = lower_limit(middle, cases, (1 - CONFIDENCE) / 2) > chance
        low, high = (low, middle) if above else (middle, high)
    return high if high <= cases else None


def tells_from(chance: float, cases: int, power: float = POWER) -> float:
    """The smallest true share that independent cases tell from chance with this probability.

    It is 1 if no share is.

    >>> round(tells_from(0.05, 100), 3)
    0.164
    """
    hits = hits_above(chance, cases)
    if hits is None:
        return 1.0
    # P[Bin(n, p) >= k] = I_p(k, n − k + 1).
    return beta_quantile(power, hits, cases - hits + 1)
