"""Levels as whole numbers: sums of them are exact, whatever the database and the order.

Guarantee
    What is charged is never less than what was asked, and what is allowed is never more than what
    was given: a charge is rounded up and a limit down, to a billionth (of epsilon, of rho or of a
    divergence), or to 10⁻¹⁸ for delta. So if whole numbers stay within their limit, so do levels.

Why it holds
    A level is the number as it is written, which is a fraction of whole numbers, and it is rounded
    as that fraction. ``LARGEST`` fits into the 64 bits that both databases have, and an amount is
    compared with what is left of a limit, so that no sum is larger than that: none wraps around.

Care
    0.1 is a tenth here, so that ten of them are 1, though the float of that name is larger by a
    share of 10⁻¹⁷. No computed level is known as exactly as that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sfumato.core.checks import number
from sfumato.core.errors import InvalidArgument

UNITS, DELTA_UNITS = 10**9, 10**18
LARGEST = 1 << 62


@dataclass(frozen=True, order=False)
class Amount:
    """Some privacy, in billionths, and some delta, in 10⁻¹⁸.

    >>> Amount.charged(0.1, 1e-6) == Amount(100_000_000, 1_000_000_000_000)
    True
    >>> Amount.charged(1 / 3).units, Amount.allowed(1 / 3).units
    (333333334, 333333333)
    """

    units: int
    delta: int = 0

    def __post_init__(self) -> None:
        for held in (self.units, self.delta):
            if not 0 <= held <= LARGEST:
                raise InvalidArgument("an amount must lie between 0 and about 4.6 billion")

    @classmethod
    def charged(cls, level: float, delta: float = 0.0) -> Amount:
        """What a release costs, rounded up."""
        return cls(_round(level, UNITS, math.ceil), _round(delta, DELTA_UNITS, math.ceil))

    @classmethod
    def allowed(cls, level: float, delta: float = 0.0) -> Amount:
        """A limit, rounded down; an infinite one is the largest there is."""
        most = LARGEST if level == math.inf else _round(level, UNITS, math.floor)
        return cls(most, _round(delta, DELTA_UNITS, math.floor))

    def times(self, count: int) -> Amount:
        """So many releases of this cost."""
        return Amount(self.units * count, self.delta * count)

    def plus(self, other: Amount) -> Amount:
        """Both together."""
        return Amount(self.units + other.units, self.delta + other.delta)

    def without(self, other: Amount) -> Amount:
        """What is left of it."""
        return Amount(self.units - other.units, self.delta - other.delta)

    @property
    def level(self) -> float:
        """As a level again; infinite for the largest amount."""
        return math.inf if self.units == LARGEST else self.units / UNITS

    @property
    def probability(self) -> float:
        """As a delta again."""
        return self.delta / DELTA_UNITS


def _round(value: float, units: int, rounding: Callable[[Fraction], int]) -> int:
    exact = Fraction(repr(number("an amount", value))) * units
    if not 0 <= exact <= LARGEST:
        raise InvalidArgument(
            f"an amount of {value:g} is out of range: it must be at least 0 and at most "
            f"{LARGEST / units:.2g}"
        )
    return rounding(exact)
