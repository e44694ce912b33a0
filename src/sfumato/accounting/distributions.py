"""The distribution of the privacy loss of many Gaussian releases together.

Guarantee
    At every level its delta is at least that of the releases together, for a unit that is added as
    for one that is removed.

Why it holds
    The loss of each release is laid out on a grid, never too small (``losses``). Losses of releases
    add up, also if a release depends on the results of those before it, so distributions are
    convolved. Gaussian releases without sampling are one Gaussian release.

Care
    Convolutions are computed by Fourier transforms, whose rounding errors can put delta too low:
    ``ROUNDING`` is added to it, and a delta that is not well above it is refused.

Reference
    dp-accounting (Google) convolves; Koskela, Jälkö and Honkela 2020 for the method.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.accounting.events import SampledGaussian
from sfumato.accounting.library import load_library, quietly
from sfumato.accounting.losses import lay_out
from sfumato.accounting.solving import least
from sfumato.core.checks import between
from sfumato.core.errors import InvalidArgument

# The part of delta that is set aside for rounding errors of Fourier transforms: once, and for every
# composition. Where the true delta is known, the error is at most a tenth of that.
ROUNDING = (1e-13, 2e-16)

# The discretization interval above which exp() overflows: then there is practically no noise.
COARSEST = 300.0

# The most releases that are composed: more take minutes, and the result is mostly rounding error.
MOST_COMPOSED = 1_000_000

# Above the first number, releases are composed in two steps, the first in groups of the second.
_MANY, _SOME = 20_000, 3_000

# A level up to which exp(−level) is far from underflow.
_LOSSLESS = 500.0


@dataclass(frozen=True)
class LossDistribution:
    """The distribution of the privacy loss of the whole."""

    distribution: Any
    rounding: float

    @classmethod
    def of(cls, events: Sequence[SampledGaussian]) -> LossDistribution:
        """Of these releases together."""
        losses = load_library("dp_accounting.pld.privacy_loss_distribution")
        interval = grid_interval(events)
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
        with quietly():
            whole = losses.identity(interval)
            for noise, rate, count in parts:
                one = lay_out(losses, noise, rate, interval)
                whole = whole.compose(_repeat(one, count))
        once, each = ROUNDING
        return cls(whole, once + each * compositions)

    def epsilon(self, delta: float) -> float:
        """The level at this delta, which must be well above rounding."""
        if between("delta", delta, 0.0, 1.0) < 2 * self.rounding:
            raise InvalidArgument(
                f"delta={delta:g} is within the rounding error of privacy loss distributions here "
                f"({self.rounding:.1g}); use the accountant rdp"
            )
        with quietly():
            level = float(self.distribution.get_epsilon_for_delta(delta - self.rounding))
        if level < _LOSSLESS:
            return level
        # Here exp(−level) underflows, and the library's level is wrong or infinite. Its deltas are
        # computed from differences of losses, and stay accurate.
        return least(self.delta, delta, guess=min(level, 10 * _LOSSLESS))

    def delta(self, epsilon: float) -> float:
        """The delta at this level."""
        with quietly():
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


def grid_interval(events: Sequence[SampledGaussian]) -> float:
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
