"""One Gaussian release without sampling, in closed form.

Guarantee
    A release whose mean moves by at most ``shift`` standard deviations between two neighbors is
    (epsilon, delta)-DP for ``epsilon = gaussian_epsilon(shift, delta)``, and this is tight up to
    one part in 10⁵ of delta. Several releases without sampling, each of which may depend on those
    before it, are together such a release, with the shift √(Σ shift²).

Why it holds
    δ(ε) = Φ(−a) − e^ε·Φ(−b) with a = ε/μ − μ/2 and b = ε/μ + μ/2 (Balle and Wang 2018, theorem 8),
    which is the whole trade-off between the two errors of a test that tells the neighbors apart.
    Gaussians compose to Gaussians (Dong, Roth and Su 2022, corollary 3.3).

Care
    e^ε overflows and Φ(−b) underflows for large levels, though their product is an ordinary number:
    e^ε·Φ(−b) = φ(a)·R(b), R being Mills' ratio (1 − Φ)/φ.
"""

from __future__ import annotations

import math

from sfumato.accounting.solving import least
from sfumato.core.checks import between, number, positive
from sfumato.core.errors import InvalidArgument

# From this argument on, the continued fraction of Mills' ratio is exact to the last digits.
_FAR, _TERMS = 6.0, 80

# The smallest level that is distinguished from 0.
_SMALLEST = 1e-6


def gaussian_epsilon(shift: float, delta: float) -> float:
    """The level of a Gaussian release at ``delta``, rounded up.

    >>> round(gaussian_epsilon(0.5, 1e-5), 4), gaussian_epsilon(0.0, 1e-5)
    (1.9931, 0.0)
    """
    if not 0 < between("delta", delta, 0.0, 1.0) < 1:
        raise InvalidArgument(f"delta={delta} must lie strictly between 0 and 1")
    if math.isinf(shift):
        return math.inf
    if number("shift", shift) <= 0 or gaussian_delta(shift, 0.0) <= delta:
        return 0.0
    guess = shift * (shift / 2 + math.sqrt(-2 * math.log(delta)))
    return max(_SMALLEST, least(lambda level: gaussian_delta(shift, level), delta, guess))


def gaussian_noise(epsilon: float, delta: float) -> float:
    """The least standard deviation for a level at ``delta``, as a multiple of the sensitivity.

    For a vector that is clipped to length C, any two inputs are up to 2C apart: the standard
    deviation of every coordinate is then 2C times this number. The classic √(2·ln(1.25/δ))/ε is
    too small from an epsilon of about 8 on, and is proven up to 1 only.

    >>> round(gaussian_noise(1.0, 1e-5), 3), round(gaussian_noise(250.0, 1e-5), 5)
    (3.731, 0.05394)
    """
    if not 0 < between("delta", delta, 0.0, 1.0) < 1:
        raise InvalidArgument(f"delta={delta} must lie strictly between 0 and 1")
    level = positive("epsilon", epsilon)
    guess = 1 / (math.sqrt(2 * level - 2 * math.log(delta)) - math.sqrt(-2 * math.log(delta)))
    return least(lambda noise: gaussian_delta(1 / noise, level), delta, guess)


def gaussian_delta(shift: float, epsilon: float) -> float:
    """δ(ε) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)."""
    near, far = epsilon / shift - shift / 2, epsilon / shift + shift / 2
    density = math.exp(-near * near / 2) / math.sqrt(2 * math.pi)
    return max(0.0, math.erfc(near / math.sqrt(2)) / 2 - density * _mills(far))


def log_tail(place: float) -> float:
    """ln(1 − Φ(x)), right in proportion however far out.

    >>> round(log_tail(0.0), 6), round(log_tail(40.0), 3), log_tail(math.inf)
    (-0.693147, -804.608, -inf)
    """
    if place < _FAR:
        return math.log(math.erfc(place / math.sqrt(2)) / 2)
    if math.isinf(place):
        return -math.inf
    return -place * place / 2 - math.log(2 * math.pi) / 2 + math.log(_mills(place))


def log_between(low: float, high: float) -> float:
    """ln(Φ(high) − Φ(low)), right in proportion far out in either tail.

    >>> round(log_between(-math.inf, 0.0), 6), round(log_between(40.0, math.inf), 3)
    (-0.693147, -804.608)
    """
    if high <= 0:
        low, high = -high, -low
    if low < 0:
        return math.log1p(-math.exp(log_tail(high)) - math.exp(log_tail(-low)))
    near, far = log_tail(low), log_tail(high)
    return near + math.log1p(-math.exp(far - near))


def _mills(place: float) -> float:
    """(1 − Φ(x))/φ(x) for x >= 0."""
    if place < _FAR:
        tail = math.erfc(place / math.sqrt(2)) / 2
        return tail * math.sqrt(2 * math.pi) * math.exp(place * place / 2)
    fraction = place
    for term in range(_TERMS, 0, -1):
        fraction = place + term / fraction
    return 1 / fraction
