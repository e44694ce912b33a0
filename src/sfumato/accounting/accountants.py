"""From releases to (epsilon, delta): privacy loss distributions, Rényi DP, zCDP, pure composition.

Guarantee
    ``compute_spending(events, accountant).epsilon(delta)`` is an epsilon for which the releases
    together are (epsilon, delta)-DP for neighbors of which one lacks a unit of the other. Each
    accountant gives an upper bound; a smaller bound is a better proof, not a better mechanism.
    ``replacing_one`` does the same for neighbors by replacement: if removing or adding a unit is
    (a, d(a))-DP for every level a, then exchanging a unit for another is (a + b, d(a) +
    exp(a)·d(b))-DP, for all a and b.

Why it holds
    ``pld`` composes discretized distributions of the privacy loss, with every loss rounded up, in
    both directions (unit added, unit removed). ``rdp`` adds up Rényi divergences order by order and
    takes the best order (Canonne, Kamath and Steinke 2020, proposition 12). ``pure`` splits delta
    equally over the releases, applies amplification by sampling to each (Balle, Barthe and Gaboardi
    2018, theorem 8), and adds the levels. ``zcdp`` adds up ρ: 1/2z² of a Gaussian release with the
    multiplier z, and R²/2 of a draw with scores in a window of width R. Replacement is
    removing and then adding: P ≤ exp(a)·P' + d(a) and P' ≤ exp(b)·P'' + d(b).

Care
    The distributions are multiplied by Fourier transforms, whose rounding errors can put delta too
    low: without a margin, epsilon falls below its true value for deltas around 1e-11. So a part of
    delta is set aside for rounding, and a delta not well above it is refused. Rényi divergences
    that come out negative (rounding again) count as 0, not as "perfectly private", and an order
    whose series does not converge is left out. The library's RDP ignores that replacement moves a
    sum twice as far; so the library is never asked for it. Without sampling, replacement moves a
    sum by at most 2C, so it is accounted as half the noise multiplier. With Poisson sampling that
    would be wrong, because the pair of distributions is another one; there ``replacing_one`` is
    used. zCDP knows no amplification by sampling, so sampled releases are refused there. Draws
    (``BoundedRange``) are about any two inputs, and no single pair of distributions is the worst at
    every order, so there is no ``pld`` of them; ``bounded_range.least_level`` takes the best of the
    other proofs.

Reference
    The distributions are composed by dp-accounting (Google) and laid out in ``losses``; the
    divergences are in ``divergences``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.accounting import bounded_range
from sfumato.accounting.distributions import COARSEST, LossDistribution, grid_interval
from sfumato.accounting.divergences import at_order, at_whole_orders
from sfumato.accounting.events import BoundedRange, Event, SampledGaussian, merge
from sfumato.accounting.library import load_library, quietly
from sfumato.accounting.orders import best_delta, best_epsilon
from sfumato.accounting.solving import least
from sfumato.core.checks import between, one_of
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Those that know what sampling gains, for training; and all.
ACCOUNTANTS = ("pld", "rdp", "pure")
EVERY_ACCOUNTANT = (*ACCOUNTANTS, "zcdp")

# Shares of the level of a replacement that are tried for the first of its two steps.
_SPLITS = tuple(share / 40 for share in range(12, 20))


class Spent(Protocol):
    """The privacy cost of some releases together."""

    def epsilon(self, delta: float) -> float:
        """The level at this delta; infinite if there is no guarantee."""
        ...

    def delta(self, epsilon: float) -> float:
        """The delta at this level."""
        ...


def compute_spending(events: Sequence[Event], accountant: str = "pld") -> Spent:
    """The cost of the releases together, by an accountant.

    >>> gaussian = SampledGaussian(noise_multiplier=2.0)
    >>> round(compute_spending([gaussian]).epsilon(1e-5), 4)
    1.9931
    >>> round(compute_spending([gaussian], "rdp").epsilon(1e-5), 4)
    2.1657
    """
    one_of("accountant", accountant, EVERY_ACCOUNTANT)
    together = merge(events)
    if not together:
        return _Nothing()
    gaussians = _gaussians(together)
    if any(event.noise_multiplier == 0 for event in gaussians):
        return _Everything()
    if accountant == "pld":
        if len(gaussians) < len(together):
            raise InvalidArgument(
                "draws among outcomes have no distribution of the privacy loss that is the worst "
                "for all inputs; use the accountant rdp, zcdp or pure"
            )
        return (
            _Everything() if grid_interval(gaussians) > COARSEST else LossDistribution.of(gaussians)
        )
    kinds: dict[str, Any] = {"rdp": _Rdp.of, "pure": _Pure, "zcdp": _Zcdp.of}
    made: Spent = kinds[accountant](together)
    return made


def _gaussians(events: Sequence[Event]) -> list[SampledGaussian]:
    return [event for event in events if isinstance(event, SampledGaussian)]


def _draws(events: Sequence[Event]) -> list[BoundedRange]:
    return [event for event in events if isinstance(event, BoundedRange)]


@dataclass(frozen=True)
class _Nothing:
    """No release."""

    def epsilon(self, delta: float) -> float:
        between("delta", delta, 0.0, 1.0)
        return 0.0

    def delta(self, epsilon: float) -> float:  # noqa: ARG002
        return 0.0


@dataclass(frozen=True)
class _Everything:
    """A release without noise, or with so little that no guarantee is given."""

    def epsilon(self, delta: float) -> float:
        return 0.0 if between("delta", delta, 0.0, 1.0) == 1.0 else math.inf

    def delta(self, epsilon: float) -> float:  # noqa: ARG002
        return 1.0


@dataclass(frozen=True)
class _Rdp:
    """The Rényi divergences of the whole: at every whole order, at others where they matter.

    Each order gives a bound, so leaving some out is safe. None that would be the best is left out:
    with D the divergence at order a, (a − 1)·D is convex in a, and so the logarithm of delta is
    convex and the level falls and then rises. The best order lies beside the best whole one, and
    is reached from there by steps of which each is better than the one before.
    """

    events: tuple[Event, ...]

    @classmethod
    def of(cls, events: Sequence[Event]) -> _Rdp:
        _orders()
        return cls(tuple(events))

    def divergences(self, orders: tuple[float, ...]) -> NDArray[np.float64]:
        import numpy as np

        each = [
            e.count * _divergences(e.noise_multiplier, e.rate, orders)
            for e in _gaussians(self.events)
        ]
        drawn = [
            e.count * bounded_range.divergences(e, np.array(orders)) for e in _draws(self.events)
        ]
        total: NDArray[np.float64] = np.sum([*each, *drawn], axis=0)
        return total

    def epsilon(self, delta: float) -> float:
        import numpy as np

        if between("delta", delta, 0.0, 1.0) == 0.0:
            return math.inf

        def levels(orders: NDArray[np.float64], spent: NDArray[np.float64]) -> Any:
            return spent + np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1)

        return max(0.0, self._best(levels))

    def delta(self, epsilon: float) -> float:
        import numpy as np

        def logarithms(orders: NDArray[np.float64], spent: NDArray[np.float64]) -> Any:
            return (orders - 1) * (spent - epsilon + np.log1p(-1 / orders)) - np.log(orders)

        return float(np.exp(min(0.0, self._best(logarithms))))

    def _best(self, bounds: Callable[[NDArray[np.float64], NDArray[np.float64]], Any]) -> float:
        import numpy as np

        def at(orders: tuple[float, ...]) -> NDArray[np.float64]:
            found: NDArray[np.float64] = bounds(np.array(orders), self.divergences(orders))
            return found

        whole, others = _orders()
        found = at(whole)
        place = int(found.argmin())
        start, best = whole[place], float(found[place])
        below = [order for order in reversed(others) if start - 1 < order < start]
        above = [order for order in others if start < order < start + 1]
        for side in (below, above):
            for order in side:
                (bound,) = at((order,))
                if not bound < best:
                    break
                best = float(bound)
            if best < found[place]:
                break
        return best


def renyi_divergences(events: Sequence[Event], orders: tuple[float, ...]) -> NDArray[np.float64]:
    """A bound on the Rényi divergence of the releases together, at each of some orders."""
    return _Rdp.of(merge(events)).divergences(orders)


def whole_orders() -> tuple[float, ...]:
    """The orders at which divergences take little time, from 2 on."""
    return _orders()[0]


@cache
def _orders() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Those of the library: whole ones, which take little time, and others, which take much."""
    orders = load_library("dp_accounting.rdp.rdp_privacy_accountant").DEFAULT_RDP_ORDERS
    whole = tuple(float(order) for order in orders if float(order).is_integer())
    return whole, tuple(float(order) for order in orders if not float(order).is_integer())


@lru_cache(maxsize=4096)
def _divergences(
    noise_multiplier: float, rate: float, orders: tuple[float, ...]
) -> NDArray[np.float64]:
    """The divergence of one release at every order; negative values, from rounding, count as 0."""
    import numpy as np

    with quietly():
        if all(order.is_integer() for order in orders):
            return at_whole_orders(noise_multiplier, rate, np.array(orders))
        return np.array([at_order(noise_multiplier, rate, order) for order in orders])


@dataclass(frozen=True)
class _Pure:
    """Basic composition: levels and deltas add up."""

    events: tuple[Event, ...]

    def epsilon(self, delta: float) -> float:
        between("delta", delta, 0.0, 1.0)
        gaussians, draws = _gaussians(self.events), _draws(self.events)
        drawn = bounded_range.least_level(draws).epsilon
        if not gaussians:
            return drawn
        if delta == 0.0:
            return math.inf
        each = delta / sum(event.count for event in gaussians)
        return drawn + math.fsum(event.count * _amplify(event, each) for event in gaussians)

    def delta(self, epsilon: float) -> float:  # noqa: ARG002
        raise InvalidArgument(
            "pure composition states a level for a delta, not the other way round; for neighbors "
            "by replacement under sampling use the accountant pld or rdp"
        )


@dataclass(frozen=True)
class _Zcdp:
    """Zero-concentrated DP: at every order α the divergence is at most ρ·α."""

    rho: float

    @classmethod
    def of(cls, events: Sequence[Event]) -> _Zcdp:
        gaussians = _gaussians(events)
        if any(event.rate < 1.0 for event in gaussians):
            raise InvalidArgument(
                "zcdp knows no amplification by sampling, so it would overstate what sampled "
                "steps cost many times over; use the accountant pld or rdp"
            )
        noisy = math.fsum(one.count / (2 * one.noise_multiplier**2) for one in gaussians)
        return cls(noisy + bounded_range.concentration(_draws(events)))

    def epsilon(self, delta: float) -> float:
        return best_epsilon(lambda orders: self.rho * orders, delta)

    def delta(self, epsilon: float) -> float:
        return best_delta(lambda orders: self.rho * orders, epsilon)


def _amplify(event: SampledGaussian, delta: float) -> float:
    """One release at its own delta: log(1 + rate·(exp(level) − 1)), delta shrinking by the rate."""
    gaussian = load_library("dp_accounting").get_epsilon_gaussian
    with quietly():
        level = float(gaussian(event.noise_multiplier, min(1.0, delta / event.rate)))
    if event.rate == 1.0 or level < 1e-12:
        return level
    low, high = math.log1p(-event.rate), math.log(event.rate) + level
    return max(low, high) + math.log1p(math.exp(-abs(high - low)))


def replacing_one(spent: Spent, delta: float) -> float:
    """The smallest level found to hold at ``delta`` when one unit is replaced by another.

    Infinite if none is found: the part of delta that an accountant reserves for rounding is
    multiplied by exp(level).
    """
    single = spent.epsilon(delta)
    if math.isinf(single):
        return math.inf
    even = _least_level(spent, delta, 0.5, 2 * max(single, 1e-3))
    if math.isinf(even):
        return math.inf
    # Every split of the level between the two steps is a valid proof; a good one is found by trying
    # a few.
    best = min(_SPLITS, key=lambda share: _exchange_delta(spent, share * even, even - share * even))
    return min(even, _least_level(spent, delta, best, even))


def _least_level(spent: Spent, delta: float, share: float, guess: float) -> float:
    return least(
        lambda level: _exchange_delta(spent, share * level, level - share * level), delta, guess
    )


def _exchange_delta(spent: Spent, first: float, second: float) -> float:
    """d(first) + exp(first)·d(second); all results above 1 mean the same."""
    rest = spent.delta(second)
    moved = math.exp(min(first + math.log(rest), 1.0)) if rest > 0 else 0.0
    return spent.delta(first) + moved
