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

import logging
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.accounting import bounded_range
from sfumato.accounting.divergences import at_order, at_whole_orders
from sfumato.accounting.events import BoundedRange, Event, SampledGaussian, merge
from sfumato.accounting.losses import lay_out
from sfumato.accounting.orders import best_delta, best_epsilon
from sfumato.accounting.solving import least
from sfumato.core.checks import between, extra, one_of
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Those that know what sampling gains, for training; and all.
ACCOUNTANTS = ("pld", "rdp", "pure")
EVERY_ACCOUNTANT = (*ACCOUNTANTS, "zcdp")

# The part of delta that is set aside for rounding errors of Fourier transforms: once, and for every
# composition. Where the true delta is known, the error is at most a tenth of that.
ROUNDING = (1e-13, 2e-16)

# The discretization interval above which exp() overflows: then there is practically no noise.
_COARSEST = 300.0

# The most releases that are composed: more take minutes, and the result is mostly rounding error.
MOST_COMPOSED = 1_000_000

# Above the first number, releases are composed in two steps, the first in groups of the second.
_MANY, _SOME = 20_000, 3_000

# A level up to which exp(−level) is far from underflow.
_LOSSLESS = 500.0

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
        return _Everything() if _interval(gaussians) > _COARSEST else _Pld.of(gaussians)
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

        return min(1.0, float(np.exp(self._best(logarithms))))

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


@cache
def _orders() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Those of the library: whole ones, which take little time, and others, which take much."""
    orders = _library("dp_accounting.rdp.rdp_privacy_accountant").DEFAULT_RDP_ORDERS
    whole = tuple(float(order) for order in orders if float(order).is_integer())
    return whole, tuple(float(order) for order in orders if not float(order).is_integer())


@lru_cache(maxsize=4096)
def _divergences(
    noise_multiplier: float, rate: float, orders: tuple[float, ...]
) -> NDArray[np.float64]:
    """The divergence of one release at every order; negative values, from rounding, count as 0."""
    import numpy as np

    with _quietly():
        if all(order.is_integer() for order in orders):
            return at_whole_orders(noise_multiplier, rate, np.array(orders))
        return np.array([at_order(noise_multiplier, rate, order) for order in orders])


@dataclass(frozen=True)
class _Pld:
    """The distribution of the privacy loss of the whole."""

    distribution: Any
    rounding: float

    @classmethod
    def of(cls, events: Sequence[SampledGaussian]) -> _Pld:
        losses = _library("dp_accounting.pld.privacy_loss_distribution")
        interval = _interval(events)
        sampled = [event for event in events if event.rate < 1.0]
        # Gaussian releases without sampling compose to a single one, which is discretized once.
        together = math.fsum(e.count / e.noise_multiplier**2 for e in events if e.rate == 1.0)
        parts = [(event.noise_multiplier, event.rate, event.count) for event in sampled]
        if together:
            parts.append((1 / math.sqrt(together), 1.0, 1))
        compositions = sum(event.count for event in sampled) + 1
        if compositions > MOST_COMPOSED:
            raise InvalidArgument(
                f"{compositions - 1:,} sampled steps are too many for privacy loss distributions "
                f"({MOST_COMPOSED:,}); use the accountant rdp, or larger batches"
            )
        with _quietly():
            whole = losses.identity(interval)
            for noise, rate, count in parts:
                one = lay_out(losses, noise, rate, interval)
                whole = whole.compose(_repeat(one, count))
        once, each = ROUNDING
        return cls(whole, once + each * compositions)

    def epsilon(self, delta: float) -> float:
        if between("delta", delta, 0.0, 1.0) < 2 * self.rounding:
            raise InvalidArgument(
                f"delta={delta:g} is within the rounding error of privacy loss distributions here "
                f"({self.rounding:.1g}); use the accountant rdp"
            )
        with _quietly():
            level = float(self.distribution.get_epsilon_for_delta(delta - self.rounding))
        if level < _LOSSLESS:
            return level
        # Here exp(−level) underflows, and the library's level is wrong or infinite. Its deltas are
        # computed from differences of losses, and stay accurate.
        return least(self.delta, delta, guess=min(level, 10 * _LOSSLESS))

    def delta(self, epsilon: float) -> float:
        with _quietly():
            delta = float(self.distribution.get_delta_for_epsilon(epsilon))
        return min(1.0, delta + self.rounding)


def _repeat(distribution: Any, count: int) -> Any:
    """The composition of ``count`` equal releases.

    To choose its method, the library raises the number of losses to the power of ``count``, which
    takes minutes for millions. So many releases are composed in groups.
    """
    if count <= _MANY:
        return distribution.self_compose(count)
    times, rest = divmod(count, _SOME)
    # Probability that is cut off at the ends counts as an infinite loss, once per group.
    some = distribution.self_compose(_SOME, tail_mass_truncation=1e-15 / times)
    whole = some.self_compose(times)
    return whole.compose(distribution.self_compose(rest)) if rest else whole


def _interval(events: Sequence[SampledGaussian]) -> float:
    """The discretization interval of losses; since losses are rounded up, a coarser one is safe.

    Rounding adds to the variance of a loss at most a quarter of the squared interval, so the
    interval is a small part of the standard deviation of the whole, per composition.
    """
    deviation = math.sqrt(math.fsum(event.count * _loss_variance(event) for event in events))
    compositions = sum(event.count for event in events if event.rate < 1.0) + 1
    each = deviation / math.sqrt(compositions)
    # For few compositions the total rounding is small: an interval of a thousandth is fine enough.
    wanted = max(min(each / 16, deviation / 500), min(each / 8, 1e-3 / math.sqrt(compositions)))
    # All losses must fit into memory: those of one release, and those of the whole.
    smallest = min(event.noise_multiplier for event in events)
    mean = math.fsum(e.count * e.rate / (2 * e.noise_multiplier**2) for e in events)
    widest = 10 / smallest + 0.5 / smallest**2
    each_one = widest / 1e6
    if compositions > _MANY:
        # Every loss costs time in each composition, so a coarser grid is used. Sampling makes all
        # losses smaller.
        rate = max(event.rate for event in events)
        sampled = math.log1p(rate * math.expm1(widest)) if widest < _LOSSLESS else widest
        each_one = max(each_one, sampled / 5e4)
    return max(wanted, each_one, (mean + 20 * deviation) / 2e6)


def _loss_variance(event: SampledGaussian) -> float:
    """A rough estimate; it affects the discretization, not the proof."""
    inverse = 1 / event.noise_multiplier**2
    rare = event.rate * (inverse + inverse**2 / 4)
    return min(rare, event.rate**2 * math.expm1(min(inverse, 500.0)))


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
    gaussian = _library("dp_accounting").get_epsilon_gaussian
    with _quietly():
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


@cache
def _library(module: str) -> ModuleType:
    with _quietly():
        return extra(module, needed_for="accounting for private training", extra="train")


@contextmanager
def _quietly() -> Iterator[None]:
    """Hide the library's warnings; their causes (orders left out, overflows) are handled here."""
    import numpy as np

    logger = logging.getLogger("absl")
    before = logger.disabled
    logger.disabled = True  # to change its level would empty the caches of all loggers
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.disabled = before
