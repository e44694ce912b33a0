"""What private training releases, in the terms that accountants understand.

Everything here is a sum over privacy units, each bounded in norm by C, plus Gaussian noise of
standard deviation ``noise_multiplier`` × C, computed over a secret Poisson sample of the units or
over all of them. Two neighbors differ in one unit, which is there in one and contributes nothing
in the other, so the sum moves by at most C.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.core.checks import at_least, between, number
from sfumato.core.errors import InvalidArgument

# Beyond these, squares of a multiplier or of its reciprocal are no numbers any more.
COMPUTABLE_NOISE = 1e-30, 1e30


@dataclass(frozen=True, kw_only=True)
class SampledGaussian:
    """``count`` noisy sums, each over a fresh Poisson sample of the units.

    ``rate`` is the probability with which a unit is in a sample; 1 means that all are, and then
    nothing is gained from sampling. Each sum may depend on the results of those before it.
    """

    noise_multiplier: float
    rate: float = 1.0
    count: int = 1

    def __post_init__(self) -> None:
        computable_noise("noise_multiplier", self.noise_multiplier)
        if not between("rate", self.rate, 0.0, 1.0):
            raise InvalidArgument("rate=0 samples nobody; it must be greater than 0")
        at_least("count", self.count, 1)


def computable_noise(name: str, value: object) -> float:
    """A noise multiplier that floats can compute with, or 0 for none; all accounting starts here.

    >>> computable_noise("noise_multiplier", 1e-300)
    Traceback (most recent call last):
        ...
    sfumato.core.errors.InvalidArgument: noise_multiplier=1e-300 must lie between 1e-30 and 1e+30
    """
    noise = number(name, value)
    if noise < 0:
        raise InvalidArgument(f"{name}={value} must not be negative")
    return between(name, value, *COMPUTABLE_NOISE) if noise else 0.0


def merge(events: Iterable[SampledGaussian]) -> tuple[SampledGaussian, ...]:
    """The same releases with equal ones counted together; their order does not matter.

    >>> merge([SampledGaussian(noise_multiplier=2), SampledGaussian(noise_multiplier=2, count=3)])
    (SampledGaussian(noise_multiplier=2, rate=1.0, count=4),)
    """
    counts: dict[tuple[float, float], int] = {}
    for event in events:
        key = (event.noise_multiplier, event.rate)
        counts[key] = counts.get(key, 0) + event.count
    return tuple(
        SampledGaussian(noise_multiplier=noise, rate=rate, count=count)
        for (noise, rate), count in counts.items()
    )


def jointly(*noise_multipliers: float) -> float:
    """The noise multiplier of several noisy sums over one and the same sample, taken as one.

    Divided each by its own noise, the sums together are one Gaussian with unit noise, and a unit
    moves its mean by at most the root of Σ 1/z²: that is a single release with this multiplier.

    >>> round(jointly(3.0, 4.0), 9), jointly(0.0, 1.0)
    (2.4, 0.0)
    """
    if min(noise_multipliers) == 0.0:
        return 0.0
    return 1.0 / math.hypot(*(1.0 / noise for noise in noise_multipliers))
