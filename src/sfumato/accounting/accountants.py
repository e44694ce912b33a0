"""From releases to (epsilon, delta): privacy loss distributions, Rényi DP, pure composition.

Guarantee
    ``accountant.spent(events).epsilon(delta)`` is an epsilon for which the releases together are
    (epsilon, delta)-DP between neighbors of which one lacks a unit of the other. Each accountant
    gives an upper bound; a smaller one is a better proof, not a better mechanism.

Why it holds
    ``pld`` composes discretized distributions of the privacy loss, every rounding of a loss being
    upwards, in both directions (unit added, unit removed). ``rdp`` adds up Rényi divergences order
    by order and takes the best order (Canonne, Kamath and Steinke 2020, proposition 12). ``pure``
    splits delta equally over the releases, amplifies each by its sampling (Balle, Barthe and
    Gaboardi 2018, theorem 8), and adds the levels.

Care
    The distributions are multiplied by Fourier transforms, whose rounding errors can put delta
    too low: without a margin, epsilon falls below its true value for deltas around 1e-11. So a
    part of delta is set aside for rounding, and a delta not well above it is refused. Rényi
    divergences that come out negative (rounding again) count as 0, not as "perfectly private",
    and an order whose series does not converge is left out.
    The library's RDP ignores that neighbors by replacement move a sum twice as far; here
    replacement is expressed in the events, and the library is never asked for it.

Reference
    The distributions and divergences are computed by dp-accounting (Google).
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.accounting.events import SampledGaussian, merge
from sfumato.accounting.solving import least
from sfumato.core.checks import between, extra, one_of
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ACCOUNTANTS = ("pld", "rdp", "pure")

# Set aside out of delta for the rounding of Fourier transforms: once, and for every composition.
# Where the true delta is known the error is at most a tenth of that.
ROUNDING = (1e-13, 2e-16)

# An interval of losses above which exp() overflows: there is practically no noise then.
_COARSEST = 300.0

# Distributions of more releases take minutes, and are mostly rounding.
MOST_COMPOSED = 1_000_000

# Releases that are composed in two steps, and how many in the first.
_MANY, _SOME = 20_000, 3_000

# A level up to which exp(−level) is far from underflow.
_LOSSLESS = 500.0


class Spent(Protocol):
    """What some releases have cost together."""

    def epsilon(self, delta: float) -> float:
        """The level at this delta; infinite if nothing can be said."""
        ...

    def delta(self, epsilon: float) -> float:
        """The delta at this level."""
        ...


def compute_spending(events: Sequence[SampledGaussian], accountant: str = "pld") -> Spent:
    """What the releases cost together, by an accountant.

    >>> gaussian = SampledGaussian(noise_multiplier=2.0)
    >>> round(compute_spending([gaussian]).epsilon(1e-5), 4)
    1.9931
    >>> round(compute_spending([gaussian], "rdp").epsilon(1e-5), 4)
    2.1657
    """
    one_of("accountant", accountant, ACCOUNTANTS)
    together = merge(events)
    if not together:
        return _Nothing()
    if any(event.noise_multiplier == 0 for event in together):
        return _Everything()
    kinds: dict[str, Any] = {"pld": _Pld.of, "rdp": _Rdp.of, "pure": _Pure}
    if accountant == "pld" and _interval(together) > _COARSEST:
        return _Everything()
    made: Spent = kinds[accountant](together)
    return made


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
    """A release without noise, or with so little that nothing is said about it."""

    def epsilon(self, delta: float) -> float:
        return 0.0 if between("delta", delta, 0.0, 1.0) == 1.0 else math.inf

    def delta(self, epsilon: float) -> float:  # noqa: ARG002
        return 1.0


@dataclass(frozen=True)
class _Rdp:
    """The Rényi divergence of the whole, one number per order."""

    orders: NDArray[np.float64]
    divergences: NDArray[np.float64]

    @classmethod
    def of(cls, events: Sequence[SampledGaussian]) -> _Rdp:
        import numpy as np

        orders = np.array(_library("dp_accounting.rdp.rdp_privacy_accountant").DEFAULT_RDP_ORDERS)
        parts = [event.count * _divergences(event.noise_multiplier, event.rate) for event in events]
        return cls(orders, np.sum(parts, axis=0))

    def epsilon(self, delta: float) -> float:
        import numpy as np

        if between("delta", delta, 0.0, 1.0) == 0.0:
            return math.inf
        orders = self.orders
        levels = self.divergences + np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1)
        return max(0.0, float(levels.min()))

    def delta(self, epsilon: float) -> float:
        import numpy as np

        orders = self.orders
        slopes = self.divergences - epsilon + np.log1p(-1 / orders)
        return min(1.0, float(np.exp(np.min((orders - 1) * slopes - np.log(orders)))))


@lru_cache(maxsize=4096)
def _divergences(noise_multiplier: float, rate: float) -> NDArray[np.float64]:
    """Of one release, for every order; a value rounded below 0 must not make it look free."""
    import numpy as np

    dp, rdp = _library("dp_accounting"), _library("dp_accounting.rdp")
    event = dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(noise_multiplier))
    with _quietly():
        divergences = rdp.RdpAccountant().compose(event).rdp
    # What is not a number has not been computed: the order is left out.
    return np.where(np.isnan(divergences), np.inf, np.maximum(divergences, 0.0))


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
        # Gaussians without sampling are one Gaussian: nothing to discretize step by step.
        together = math.fsum(e.count / e.noise_multiplier**2 for e in events if e.rate == 1.0)
        parts = [(event.noise_multiplier, event.rate, event.count) for event in sampled]
        if together:
            parts.append((1 / math.sqrt(together), 1.0, 1))
        compositions = sum(event.count for event in sampled) + 1
        if compositions > MOST_COMPOSED:
            raise InvalidArgument(
                f"{compositions - 1:,} sampled steps are too many for privacy loss distributions "
                f"({MOST_COMPOSED:,}); take the accountant rdp, or larger batches"
            )
        with _quietly():
            whole = losses.identity(interval)
            for noise, rate, count in parts:
                one = losses.from_gaussian_mechanism(
                    noise, value_discretization_interval=interval, sampling_prob=rate
                )
                whole = whole.compose(_repeat(one, count))
        once, each = ROUNDING
        return cls(whole, once + each * compositions)

    def epsilon(self, delta: float) -> float:
        if between("delta", delta, 0.0, 1.0) < 2 * self.rounding:
            raise InvalidArgument(
                f"delta={delta:g} is within the rounding error of privacy loss distributions here "
                f"({self.rounding:.1g}); take the accountant rdp"
            )
        with _quietly():
            level = float(self.distribution.get_epsilon_for_delta(delta - self.rounding))
        if level < _LOSSLESS:
            return level
        # There exp(−level) underflows, and the library's level is off or infinite. Its deltas are
        # computed from differences of losses, and remain good.
        return least(self.delta, delta, guess=min(level, 10 * _LOSSLESS))

    def delta(self, epsilon: float) -> float:
        with _quietly():
            delta = float(self.distribution.get_delta_for_epsilon(epsilon))
        return min(1.0, delta + self.rounding)


def _repeat(distribution: Any, count: int) -> Any:
    """A release, ``count`` times.

    To choose how, the library raises the number of losses to the power of ``count``, which takes
    minutes for millions; so of many, some are composed first.
    """
    if count <= _MANY:
        return distribution.self_compose(count)
    times, rest = divmod(count, _SOME)
    # What is cut off at the ends counts as lost, once for each time.
    some = distribution.self_compose(_SOME, tail_mass_truncation=1e-15 / times)
    whole = some.self_compose(times)
    return whole.compose(distribution.self_compose(rest)) if rest else whole


def _interval(events: Sequence[SampledGaussian]) -> float:
    """How finely losses are discretized: coarser is quicker and, rounding upwards, never unsafe.

    Rounding adds to the variance of a loss at most a quarter of the squared interval, so the
    interval is a small part of the standard deviation of the whole, per composition.
    """
    deviation = math.sqrt(math.fsum(event.count * _loss_variance(event) for event in events))
    compositions = sum(event.count for event in events if event.rate < 1.0) + 1
    each = deviation / math.sqrt(compositions)
    # Few compositions add little, whatever they round: a thousandth is then fine enough.
    wanted = max(min(each / 16, deviation / 500), min(each / 8, 1e-3 / math.sqrt(compositions)))
    # All losses must fit into memory: those of one release, and those of the whole.
    smallest = min(event.noise_multiplier for event in events)
    mean = math.fsum(e.count * e.rate / (2 * e.noise_multiplier**2) for e in events)
    widest = 10 / smallest + 0.5 / smallest**2
    each_one = widest / 1e6
    if compositions > _MANY:
        # Each loss takes time, and has to be found again and again: fewer will do. Sampling makes
        # all of them smaller.
        rate = max(event.rate for event in events)
        sampled = math.log1p(rate * math.expm1(widest)) if widest < _LOSSLESS else widest
        each_one = max(each_one, sampled / 5e4)
    return max(wanted, each_one, (mean + 20 * deviation) / 2e6)


def _loss_variance(event: SampledGaussian) -> float:
    """Roughly; it shapes the discretization, not what is proven."""
    inverse = 1 / event.noise_multiplier**2
    rare = event.rate * (inverse + inverse**2 / 4)
    return min(rare, event.rate**2 * math.expm1(min(inverse, 500.0)))


@dataclass(frozen=True)
class _Pure:
    """Levels and deltas simply add up."""

    events: tuple[SampledGaussian, ...]

    def epsilon(self, delta: float) -> float:
        if between("delta", delta, 0.0, 1.0) == 0.0:
            return math.inf
        each = delta / sum(event.count for event in self.events)
        return math.fsum(event.count * _amplify(event, each) for event in self.events)

    def delta(self, epsilon: float) -> float:  # noqa: ARG002
        raise InvalidArgument(
            "pure composition states a level for a delta, not the other way round; for neighbors "
            "by replacement under sampling take the accountant pld or rdp"
        )


def _amplify(event: SampledGaussian, delta: float) -> float:
    """One release at its own delta: log(1 + rate·(exp(level) − 1)), delta shrinking by the rate."""
    gaussian = _library("dp_accounting").get_epsilon_gaussian
    with _quietly():
        level = float(gaussian(event.noise_multiplier, min(1.0, delta / event.rate)))
    if event.rate == 1.0 or level < 1e-12:
        return level
    low, high = math.log1p(-event.rate), math.log(event.rate) + level
    return max(low, high) + math.log1p(math.exp(-abs(high - low)))


@cache
def _library(module: str) -> ModuleType:
    with _quietly():
        return extra(module, needed_for="accounting for private training", extra="train")


@contextmanager
def _quietly() -> Iterator[None]:
    """What the library warns of is handled here: orders left out, infinite intermediate results."""
    import numpy as np

    logger = logging.getLogger("absl")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
