"""The privacy loss of a Gaussian release under Poisson sampling, on a grid.

Guarantee
    The distribution on the grid dominates the privacy loss of the release: at every level its
    delta is at least that of the release, for a unit that is added as for one that is removed.

Why it holds
    The curve δ(ε) of a release is convex in e^ε. Between points of the grid it is replaced by the
    chord, which lies above it, and beyond the last point by a constant, which is the mass of an
    infinite loss: "connect the dots" (Doroshenko et al. 2022, theorem 3.3). The curve itself has a
    closed form. With q the rate, z the noise multiplier and Φ the normal distribution function, a
    unit that is removed turns the mixture q·N(−1, z²) + (1 − q)·N(0, z²) into N(0, z²), and one
    that is added does the reverse. The ratio of the densities is monotone, so that the best test
    at a level is a threshold x, where the logarithm of the ratio equals ε:
    δ(ε) = P(X ≤ x) − e^ε·P'(X ≤ x).

Care
    Every other threshold is a worse test, so an error in x can only make δ too small, and by no
    more than its square. That, and the rounding of the difference, are what
    ``distributions.ROUNDING`` is for. At the ends, probability e^-50 is cut off and counts as an
    infinite loss.

Reference
    dp-accounting (Google), ``from_gaussian_mechanism``, computes the same, a point at a time. Its
    distributions are used here: they compose.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CUT_OFF = -50.0  # the logarithm of the probability that is cut off at the ends
_NEAR = math.log(2.0)


def lay_out(
    distributions: ModuleType, noise_multiplier: float, rate: float, interval: float
) -> Any:
    """The distribution of the library for one release, on the multiples of ``interval``."""
    import numpy as np
    from scipy import special

    reach = -noise_multiplier * float(special.ndtri(math.exp(_CUT_OFF) / 2))
    variance = noise_multiplier**2

    def loss(place: float) -> float:
        """The logarithm of 1 − q + q·e^u at u = place/z²: of the mixture to the plain Gaussian."""
        mixed = math.log(rate) + place / variance
        if rate == 1.0:
            return mixed
        plain = math.log1p(-rate)
        return max(mixed, plain) + math.log1p(math.exp(-abs(mixed - plain)))

    def on_grid(lowest: float, highest: float, curve: Any) -> Any:
        first, last = math.floor(lowest / interval), math.ceil(highest / interval)
        deltas = curve(np.arange(first, last + 1) * interval, noise_multiplier, rate)
        return distributions.pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(
            interval, first, last, deltas
        )

    removed = on_grid(loss(-0.5 - reach), loss(0.5 + reach), when_removed)
    if rate == 1.0:
        return distributions.PrivacyLossDistribution(removed)
    added = on_grid(-loss(0.5 + reach), -loss(-0.5 - reach), when_added)
    return distributions.PrivacyLossDistribution(removed, added)


def when_removed(levels: NDArray[np.float64], noise: float, rate: float) -> NDArray[np.float64]:
    """δ at each level, from the mixture to the plain Gaussian.

    >>> import numpy as np
    >>> when_removed(np.array([0.0, 1.0]), 1.0, 0.5).round(6).tolist()
    [0.191462, 0.028868]
    """
    import numpy as np
    from scipy import special

    # Below log(1 − q) the mixture is larger everywhere: the test that always says yes is best.
    deltas = -np.expm1(levels)
    tested = levels > (math.log1p(-rate) if rate < 1.0 else -math.inf)
    level = levels[tested]
    place = -0.5 - noise**2 * _without_sampling(level, rate)
    mixture = rate * special.ndtr((place + 1) / noise) + (1 - rate) * special.ndtr(place / noise)
    deltas[tested] = mixture - np.exp(level + special.log_ndtr(place / noise))
    return np.clip(deltas, 0.0, 1.0)


def when_added(levels: NDArray[np.float64], noise: float, rate: float) -> NDArray[np.float64]:
    """δ at each level, from the plain Gaussian to the mixture.

    >>> import numpy as np
    >>> when_added(np.array([0.0, 0.5, 1.0]), 1.0, 0.5).round(6).tolist()
    [0.191462, 0.009157, 0.0]
    """
    import numpy as np
    from scipy import special

    # From −log(1 − q) on, the mixture times e^ε is larger everywhere, and no test gains anything.
    deltas = np.zeros_like(levels)
    tested = levels < (-math.log1p(-rate) if rate < 1.0 else math.inf)
    level = levels[tested]
    place = 0.5 + noise**2 * _without_sampling(-level, rate)
    mixture = math.log(rate) + special.log_ndtr((place - 1) / noise)
    if rate < 1.0:
        mixture = np.logaddexp(mixture, math.log1p(-rate) + special.log_ndtr(place / noise))
    deltas[tested] = special.ndtr(place / noise) - np.exp(level + mixture)
    return np.clip(deltas, 0.0, 1.0)


def _without_sampling(level: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """log(1 + (e^ε − 1)/q): the loss of a unit that is surely in the sample, from its loss ε."""
    import numpy as np

    if rate == 1.0:
        return level
    below = math.log1p(-rate) - level
    # 1 − e^below, which is tiny where the unit is hardly ever sampled and ε is near its least.
    rest = np.where(below > -_NEAR, np.log(-np.expm1(below)), np.log1p(-np.exp(below)))
    found: NDArray[np.float64] = level + rest - math.log(rate)
    return found
