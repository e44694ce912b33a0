"""Two-sided geometric noise on whole numbers, drawn exactly, and its law in closed form.

Guarantee
    P[K = k] = (1 − a)/(1 + a) · a^|k| with a = exp(−rate), for every whole number k. So x + K is
    metric DP at level ``rate`` in |x − x'| for whole numbers x and x'.

Why it holds
    |k − x| and |k − x'| differ by at most |x − x'|, and a^|·| by that power of a.

    The draws have this very law, up to no error at all, if the bits they are made of are fair.
    Nothing is rounded: the rate is a fraction, all comparisons are between whole numbers, and
    exp(−n/d) is never computed. A chance of exp(−γ) for γ ≤ 1 comes from the series: with chances
    of γ/1, γ/2, γ/3 … tried until the first one fails, the number of trials is odd with probability
    1 − γ + γ²/2! − … = exp(−γ). Noise that is computed in floating point instead has gaps and heaps
    by which its original can be told (Mironov 2012).

Care
    How long a draw takes depends on the noise, never on what it is added to.

Reference
    Ghosh, Roughgarden and Sundararajan 2009, "Universally utility-maximizing privacy mechanisms"
    (the noise); Canonne, Kamath and Steinke 2020, "The discrete Gaussian for differential privacy",
    algorithms 1 and 2 (the draws); Mironov 2012, "On significance of the least significant bits for
    differential privacy".
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sfumato.core.arrays import Floats, Points
from sfumato.core.randomness import Randomness

# Random bits come in words of so many, and so many words at once.
BITS, WORDS = 32, 64


class ExactDraws:
    """Whole numbers and chances without rounding, from one stream of randomness.

    >>> draws = ExactDraws(Randomness.reproducible(3))
    >>> {draws.below(3) for _ in range(50)}
    {0, 1, 2}
    """

    def __init__(self, randomness: Randomness) -> None:
        self._randomness = randomness
        self._words: list[int] = []

    def below(self, high: int) -> int:
        """A whole number from 0 to ``high`` − 1, all equally likely; ``high`` has any size."""
        size = (high - 1).bit_length()
        if 0 < size <= BITS:
            return self._below_in_a_word(high, BITS - size)
        while True:
            value = self._bits(size)
            if value < high:
                return value

    def chance_of_exp(self, numerator: int, denominator: int) -> bool:
        """True with probability exp(−numerator/denominator), for a fraction between 0 and 1."""
        trials = 1
        while self.below(denominator * trials) < numerator:
            trials += 1
        return trials % 2 == 1

    def geometric(self, rate: Fraction) -> int:
        """Two-sided geometric noise: k with a probability proportional to exp(−rate·|k|)."""
        step, size = rate.numerator, rate.denominator
        while True:
            rest = self.below(size)
            if not self.chance_of_exp(rest, size):
                continue
            whole = 0
            while self.chance_of_exp(1, 1):
                whole += 1
            length = (rest + size * whole) // step
            negative = self.below(2) == 1
            # Zero would be drawn by both signs, so one of them is sent back.
            if not (negative and length == 0):
                return -length if negative else length

    def _below_in_a_word(self, high: int, unused: int) -> int:
        """The same for the many numbers that take part of one word."""
        words = self._words
        while True:
            if not words:
                words = self._words = self._fresh_words()
            value = words.pop() >> unused
            if value < high:
                return value

    def _bits(self, count: int) -> int:
        value = 0
        while count > 0:
            if not self._words:
                self._words = self._fresh_words()
            taken = min(count, BITS)
            value = value << taken | self._words.pop() >> (BITS - taken)
            count -= taken
        return value

    def _fresh_words(self) -> list[int]:
        words: list[int] = self._randomness.integers(1 << BITS, WORDS).tolist()
        return words


def cell_log_rows(rate: float, inputs: Points, places: Points) -> Floats:
    """Log-probability that x plus noise falls nearest to each place, one row per input x.

    ``places`` increase; what lies in the middle of two belongs to the lower one, and what lies
    beyond the first or the last belongs to that one. With places one apart this is the law of the
    noisy number, clamped.

    >>> rows = np.exp(cell_log_rows(0.5, np.array([3]), np.arange(6)))
    >>> rows.shape, round(float(rows.sum()), 12)
    ((1, 6), 1.0)
    """
    upper = (places[:-1] + places[1:]) // 2
    # Of each cell the first and the last whole number, seen from each input.
    here = inputs.astype(np.float64)[:, None]
    first: Floats = np.append(-np.inf, upper + 1.0) - here
    last: Floats = np.append(upper.astype(np.float64), np.inf) - here
    right, left = first >= 0, last <= 0
    start = np.where(right, first, np.where(left, -last, 0.0))
    end = np.where(right, last, np.where(left, -first, 0.0))
    norm = math.log1p(math.exp(-rate))
    # On one side of the input: a geometric series. Around it: all but both tails.
    one_side = -rate * start + np.log(-np.expm1(-rate * (end - start + 1))) - norm
    tails: Floats = _tail(rate, 1.0 - first, norm) + _tail(rate, 1.0 + last, norm)
    with np.errstate(divide="ignore"):
        around = np.log1p(-np.minimum(tails, 1.0))
    return np.where(right | left, one_side, around)


def _tail(rate: float, start: Floats, norm: float) -> Floats:
    """The probability of noise of ``start`` (at least 1) or more."""
    tail: Floats = np.exp(-rate * np.maximum(start, 1.0) - norm)
    return tail
