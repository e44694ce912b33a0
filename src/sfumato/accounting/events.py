"""What is released, in terms of accountants.

``SampledGaussian`` is what private training releases. Every release is a sum over privacy units,
each bounded in norm by C, plus Gaussian noise of standard deviation ``noise_multiplier`` × C. The
sum is over a secret Poisson sample of the units, or over all of them. Two neighbors differ in one
unit, which is present in one and contributes nothing in the other, so the sum changes by at most C.

``BoundedRange`` is what rewriting releases: draws among public outcomes by scores from a window, or
by scores of any size that a neighbor moves by little.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from sfumato.core.checks import at_least, between, number
from sfumato.core.errors import InvalidArgument

# Outside this range, squares of a multiplier or of its reciprocal overflow or underflow.
COMPUTABLE_NOISE = 1e-30, 1e30

# Beyond this range, probabilities are smaller than a draw by inversion in float64 can hit.
LARGEST_RANGE = 30.0
MOST_OUTCOMES = 10**9


@dataclass(frozen=True, kw_only=True)
class SampledGaussian:
    """``count`` noisy sums, each over a fresh Poisson sample of the units.

    ``rate`` is the probability with which a unit is in a sample; at 1 all units are in every
    sample, and there is no amplification. Each sum may depend on the results of those before it.
    """

    noise_multiplier: float
    rate: float = 1.0
    count: int = 1

    def __post_init__(self) -> None:
        computable_noise("noise_multiplier", self.noise_multiplier)
        if not between("rate", self.rate, 0.0, 1.0):
            raise InvalidArgument("rate=0 samples nobody; it must be greater than 0")
        at_least("count", self.count, 1)


@dataclass(frozen=True, kw_only=True)
class BoundedRange:
    """``count`` draws, each among ``outcomes`` public outcomes y with probability ∝ exp(s(y)).

    For every input the scores s lie in a window of width ``range``, and each draw may depend on the
    outcomes of those before it. Neighbors are any two inputs (``accounting/bounded_range.py``).
    With ``outcomes=None`` scores may lie anywhere, and ``range`` is how far a neighbor moves each
    of them, up or down, at most.
    """

    range: float
    outcomes: int | None
    count: int = 1

    def __post_init__(self) -> None:
        if not 0.0 <= number("range", self.range) <= LARGEST_RANGE:
            raise InvalidArgument(
                f"range={self.range:g} must lie between 0 and {LARGEST_RANGE:g}: a draw in float64 "
                "misses outcomes of probability below 1e-16, so beyond that an outcome could rule "
                "an input out; take a narrower window, a smaller weight or a higher temperature"
            )
        if self.outcomes is not None:
            at_least("outcomes", self.outcomes, 2, MOST_OUTCOMES)
        at_least("count", self.count, 1)


Event = SampledGaussian | BoundedRange
EventT = TypeVar("EventT", SampledGaussian, BoundedRange, Event)


def computable_noise(name: str, value: object) -> float:
    """A noise multiplier that floats can compute with, or 0 for no noise.

    >>> computable_noise("noise_multiplier", 1e-300)
    Traceback (most recent call last):
        ...
    sfumato.core.errors.InvalidArgument: noise_multiplier=1e-300 must lie between 1e-30 and 1e+30
    """
    noise = number(name, value)
    if noise < 0:
        raise InvalidArgument(f"{name}={value} must not be negative")
    return between(name, value, *COMPUTABLE_NOISE) if noise else 0.0


def merge(events: Iterable[EventT]) -> tuple[EventT, ...]:
    """The same releases with equal ones merged; their order does not matter.

    >>> merge([SampledGaussian(noise_multiplier=2), SampledGaussian(noise_multiplier=2, count=3)])
    (SampledGaussian(noise_multiplier=2, rate=1.0, count=4),)
    """
    counts: dict[EventT, int] = {}
    for event in events:
        once = replace(event, count=1)
        counts[once] = counts.get(once, 0) + event.count
    return tuple(replace(once, count=count) for once, count in counts.items())


def jointly(*noise_multipliers: float) -> float:
    """The noise multiplier of several noisy sums over the same sample, as one release.

    If each sum is divided by the standard deviation of its noise, they form one Gaussian vector
    with unit noise, and a unit moves its mean by at most √(Σ 1/z²): a single release with this
    multiplier.

    >>> round(jointly(3.0, 4.0), 9), jointly(0.0, 1.0)
    (2.4, 0.0)
    """
    if min(noise_multipliers) == 0.0:
        return 0.0
    return 1.0 / math.hypot(*(1.0 / noise for noise in noise_multipliers))
