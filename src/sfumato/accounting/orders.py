"""From Rényi divergences to (epsilon, delta), whatever the release: the best of many orders.

Guarantee
    If two releases differ by a Rényi divergence of at most D(α) at order α, they are
    (epsilon, delta)-indistinguishable for the epsilon that ``best_epsilon`` gives, and for the
    delta that ``best_delta`` gives.

Why it holds
    Canonne, Kamath and Steinke 2020 ("The discrete Gaussian for differential privacy", proposition
    12): epsilon = D(α) + ln(1 − 1/α) − ln(δ·α)/(α − 1), for every α > 1. Each order is a proof of
    its own, so any choice of orders is safe, and a better one only finds a smaller level.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from sfumato.core.checks import between

if TYPE_CHECKING:
    from sfumato.core.arrays import Floats

Divergence = Callable[["Floats"], "Floats"]
"""A bound on the divergence at each of some orders."""

# Orders that are tried: 1 + 10^x for x between these, so many at first and again around the best.
_LOWEST, _HIGHEST, _TRIED = -4.0, 7.0, 600
_ROUNDING = 1e-12


def best_epsilon(divergence: Divergence, delta: float) -> float:
    """The smallest level that an order proves at ``delta``, rounded up; infinite without a delta.

    >>> round(best_epsilon(lambda orders: 0.125 * orders, 1e-5), 4)  # Gaussian noise, multiplier 2
    2.1657
    """
    if between("delta", delta, 0.0, 1.0) == 0.0:
        return math.inf

    def levels(orders: Floats) -> Floats:
        import numpy as np

        above = orders - 1
        found: Floats = divergence(orders) + np.log(above / orders) - np.log(delta * orders) / above
        return found

    return max(0.0, _smallest(levels)) * (1 + _ROUNDING)


def best_delta(divergence: Divergence, epsilon: float) -> float:
    """The smallest delta that an order proves at ``epsilon``, rounded up."""

    def logarithms(orders: Floats) -> Floats:
        import numpy as np

        above = orders - 1
        found: Floats = above * (divergence(orders) - epsilon + np.log(above / orders))
        return found - np.log(orders)

    return min(1.0, math.exp(min(0.0, _smallest(logarithms))) * (1 + 1e-9))


def _smallest(of: Callable[[Floats], Floats]) -> float:
    import numpy as np

    powers = np.linspace(_LOWEST, _HIGHEST, _TRIED)
    step = powers[1] - powers[0]
    found = of(1 + 10.0**powers)
    best = powers[int(found.argmin())]
    finer = of(1 + 10.0 ** np.linspace(best - step, best + step, _TRIED))
    return float(min(found.min(), finer.min()))
