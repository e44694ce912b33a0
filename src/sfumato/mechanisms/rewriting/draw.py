"""Draws by weights, right in proportion for every outcome, however unlikely it is.

Guarantee
    A draw of ``Weighted.of(weights)`` is outcome y with probability weights[y]/Σ weights,
    exactly for the float64 weights that are given. So a ratio of probabilities is wrong by no more
    than the weights are (some 1e-15 of them), at any level.

Why it holds
    A weight is m·2^e with ½ <= m < 1. Outcomes with the same e form a class, of mass (number of its
    members)·2^e: a whole number of times the smallest 2^e, so a uniform whole number below the sum
    of the masses finds a class and one of its members without any rounding. That outcome is taken
    with probability m, which a uniform number with 53 digits meets exactly, and else all of it is
    repeated. The probability of y in one round is proportional to 2^e·m, its weight, and a round
    ends with probability ½ at least.

    A draw by inversion of a cumulated row does not do: its steps of 2^−53 are as large as the
    probability of unlikely outcomes, and at the levels of rewriting such an outcome may rule an
    input out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import Floats, Integers, Points
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness

# Whole numbers of so many bits are drawn at once; of larger ones there are few.
_BITS = 62


@dataclass(frozen=True, eq=False, repr=False)
class Weighted:
    """Outcomes in the order of their classes, the lightest class first.

    ``shares`` are the m of each outcome. Of each class there are: where it begins among the
    outcomes, its power of two over that of the first class, and the sum of masses before it.
    """

    outcomes: Points
    shares: Floats
    begins: Points
    powers: Integers
    before: tuple[int, ...]
    total: int

    @classmethod
    def of(cls, weights: Floats) -> Weighted:
        """Outcomes with these weights, some of which may be 0."""
        if not np.isfinite(weights).all() or (weights < 0).any() or not (weights > 0).any():
            raise InvalidArgument("weights must be finite, none negative and one positive at least")
        possible = np.flatnonzero(weights > 0)
        shares, powers = np.frexp(weights[possible])
        order = np.argsort(powers, kind="stable")
        ordered = powers[order].astype(np.int64)
        begins = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
        heights = ordered[begins] - ordered[0]
        counts = np.diff(np.append(begins, len(ordered)))
        before, total = [], 0
        # Python's whole numbers, because a mass may be larger than a machine's.
        for height, count in zip(heights.tolist(), counts.tolist(), strict=True):
            before.append(total)
            total += count << height
        return cls(possible[order], shares[order], begins, heights, tuple(before), total)

    def draw(self, count: int, randomness: Randomness) -> Points:
        """So many independent outcomes.

        >>> Weighted.of(np.array([0.0, 3.0, 0.0])).draw(2, Randomness.secure()).tolist()
        [1, 1]
        """
        found = np.empty(count, dtype=np.intp)
        left = np.arange(count)
        while len(left):
            places = self._places(len(left), randomness)
            taken = randomness.uniform(len(left)) < self.shares[places]
            found[left[taken]] = self.outcomes[places[taken]]
            left = left[~taken]
        return found

    def _places(self, count: int, randomness: Randomness) -> Points:
        """Places among the outcomes, each as likely as the power of two of its class."""
        if self.total <= 1 << _BITS:
            numbers = randomness.integers(self.total, count)
            before = np.array(self.before, dtype=np.int64)
            which = np.searchsorted(before, numbers, side="right") - 1
            inside = (numbers - before[which]) >> self.powers[which]
            places: Points = (self.begins[which] + inside).astype(np.intp)
            return places
        return np.array([self._large(randomness) for _ in range(count)], dtype=np.intp)

    def _large(self, randomness: Randomness) -> int:
        number = _below(self.total, randomness)
        which = max(place for place, start in enumerate(self.before) if start <= number)
        inside = (number - self.before[which]) >> int(self.powers[which])
        return int(self.begins[which]) + inside


def _below(bound: int, randomness: Randomness) -> int:
    """A uniform whole number below ``bound``, which is larger than a machine's integers."""
    pieces = -(-bound.bit_length() // _BITS)
    space = 1 << (_BITS * pieces)
    limit = space - space % bound
    while True:
        number = 0
        for piece in randomness.integers(1 << _BITS, pieces).tolist():
            number = (number << _BITS) | int(piece)
        if number < limit:
            return number % bound
