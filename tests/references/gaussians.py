"""Privacy of Gaussian sums, worked out here from its definition: no accountant is called.

* no sampling: the closed form of Balle and Wang 2018;
* Poisson sampling: Rényi divergences by numerical integration, and by the binomial sum for whole
  orders; and the privacy loss of a composition, once with every loss rounded down (a lower bound
  on epsilon) and once rounded up (an upper bound).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, signal, special

Floats = NDArray[np.float64]


def closed_form_delta(mu: float, epsilon: float) -> float:
    """Of a Gaussian whose mean moves by ``mu`` standard deviations."""
    first = special.log_ndtr(mu / 2 - epsilon / mu)
    second = epsilon + special.log_ndtr(-mu / 2 - epsilon / mu)
    return float(math.exp(first) * -math.expm1(min(second - first, 0.0)))


def closed_form_epsilon(mu: float, delta: float) -> float:
    if closed_form_delta(mu, 0.0) <= delta:
        return 0.0
    highest = mu * mu / 2 + 40 * mu
    return float(optimize.brentq(lambda e: closed_form_delta(mu, e) - delta, 0.0, highest))


def divergences_by_integration(rate: float, sigma: float, orders: Sequence[float]) -> Floats:
    """log ∫ N(0,σ²)·((1−q) + q·exp((2z−1)/2σ²))^α dz, over α − 1."""
    found = []
    for order in orders:
        # The integrand is a mixture of bumps with centers between 0 and the order.
        z = np.linspace(-14 * sigma, order + 14 * sigma, 40_001)
        ratio = np.logaddexp(math.log1p(-rate), math.log(rate) + (2 * z - 1) / (2 * sigma**2))
        logs = order * ratio - z**2 / (2 * sigma**2) - math.log(sigma * math.sqrt(2 * math.pi))
        total = special.logsumexp(logs) + math.log(z[1] - z[0])
        found.append(float(total) / (order - 1))
    return np.array(found)


def divergence_by_binomial_sum(rate: float, sigma: float, order: int) -> float:
    """Mironov, Talwar and Zhang 2019, for a whole order."""
    logs = [
        math.log(math.comb(order, k))
        + k * math.log(rate)
        + (order - k) * math.log1p(-rate)
        + (k * k - k) / (2 * sigma**2)
        for k in range(order + 1)
    ]
    return float(special.logsumexp(logs)) / (order - 1)


def epsilon_of_divergences(orders: Sequence[float], divergences: Floats, delta: float) -> float:
    """The best order of the conversion of Canonne, Kamath and Steinke 2020."""
    levels = [
        divergence
        + math.log((order - 1) / order)
        - (math.log(delta) + math.log(order)) / (order - 1)
        for order, divergence in zip(orders, divergences, strict=True)
    ]
    return float(max(0.0, min(levels)))


def epsilon_bounds(rate: float, sigma: float, count: int, delta: float) -> tuple[float, float]:
    """A lower and an upper bound on epsilon, from losses rounded down and up; both directions."""
    step = 0.02 / count
    lows, highs = [], []
    for removed in (True, False):
        first, masses = _losses(rate, sigma, step, removed=removed)
        composed = np.maximum(_power(masses, count), 0.0)
        missing = 1.0 - float(masses.sum()) ** count
        # Each loss lies between its cell's lower end and a step above it.
        losses = step * (count * first + np.arange(len(composed), dtype=np.float64))
        lows.append(_epsilon(losses, composed, 0.0, delta))
        highs.append(_epsilon(losses + count * step, composed, missing, delta))
    return max(lows), max(highs)


def _losses(rate: float, sigma: float, step: float, *, removed: bool) -> tuple[int, Floats]:
    """The lowest cell k and the mass of the loss in (k·step, (k+1)·step], (k+1, k+2] and so on."""

    def loss(z: float) -> float:
        moved = math.log(rate) + (2 * z - 1) / (2 * sigma**2)
        value = float(np.logaddexp(math.log1p(-rate), moved))
        return value if removed else -value

    def place(level: Floats) -> Floats:
        """Where the loss reaches a level."""
        value = level if removed else -level
        inside = np.expm1(value) / rate + 1.0
        with np.errstate(invalid="ignore", divide="ignore"):
            found = sigma**2 * np.log(inside) + 0.5
        return np.where(inside <= 0, -np.inf, found)

    def mass_below(z: Floats) -> Floats:
        without: Floats = special.ndtr(z / sigma)
        moved: Floats = special.ndtr((z - 1) / sigma)
        return (1 - rate) * without + rate * moved if removed else without

    ends = sorted((loss(-9 * sigma), loss(1 + 9 * sigma)))
    first, last = math.floor(ends[0] / step), math.ceil(ends[1] / step)
    below = mass_below(place(step * np.arange(first, last + 1, dtype=np.float64)))
    return first, np.abs(np.diff(below))


def _power(masses: Floats, count: int) -> Floats:
    """``count``-fold convolution with itself."""
    result = np.ones(1)
    for digit in bin(count)[2:]:
        result = signal.fftconvolve(result, result)
        if digit == "1":
            result = signal.fftconvolve(result, masses)
    return result


def _epsilon(losses: Floats, masses: Floats, infinite: float, delta: float) -> float:
    def found(epsilon: float) -> float:
        above = losses > epsilon
        return infinite + float(np.dot(-np.expm1(epsilon - losses[above]), masses[above]))

    if found(0.0) <= delta:
        return 0.0
    return float(optimize.brentq(lambda epsilon: found(epsilon) - delta, 0.0, losses[-1]))
