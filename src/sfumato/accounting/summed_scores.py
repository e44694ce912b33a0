"""One draw by scores that are sums: neighbors differ in one part of the sum.

One draw takes an outcome y of V public ones with probability exp(s(y))/Z. The score of y is a sum
s(y) = g(y) + u(y): u is what the changed part of the input adds, within a window of width R
whatever that part is, and g is what all the rest adds, within a window of width (m − 1)·R. Two
neighbors have the same g, and any u and u'. With m cut cosines, one for each sentence of a
document, neighbors differ in one sentence. A score that is no sum is covered, too, if it takes
values between 0 and m·R and a change moves it by R at most.

Guarantee
    ``change_level`` is the smallest epsilon for one draw, over all such scores:
    ε = R + ln[(1 + e^R·t)/(e^R + t)] with t = (V − 1)·e^{(m−1)R}. It is e(R, V) for m = 1
    (``bounded_range.py``), and below 2R always. ``whole_level`` is that of any two inputs, of which
    all m parts may differ: e(m·R, V), at most m times the other.

Why it holds
    ln P(y)/P'(y) = u(y) − u'(y) + ln(Z'/Z) grows with u(y) and with every u'(z), z ≠ y, and falls
    with u'(y) and every u(z). So for a given g it is largest at u(y) = R, u'(y) = 0, u(z) = 0 and
    u'(z) = R, where the ratio is e^R·(1 + e^R·t)/(e^R + t), t = Σ_z e^{g(z)} / e^{g(y)} over z ≠ y.
    That grows with t (its derivative has the sign of e^{2R} − 1), and t is largest where g(y) is 0
    and all other g are (m − 1)·R. Every level below it is wrong for some scores.

    *Scores that are no sums.* Let d and d' take values in [0, m·R] with |d − d'| <= R everywhere.
    The ratio at y grows with d(y) and all d'(z), and falls with d'(y) and all d(z). So at the worst
    d(y) = d'(y) + R and d(z) = d'(z) − R, which is the case above with g(y) = d'(y) >= 0 and
    g(z) = d(z) <= (m − 1)·R.

    Scores in float64 differ from their sums in the last digits. The level is rounded up by more
    than that: a sum of m numbers between 0 and R is wrong by m·R·(m + 1)·2^−53 at most, in each of
    two probabilities and two sums over the outcomes.

Care
    m is public. If it is taken from the input (a mean over the sentences that a document has), R is
    larger for short inputs, and what is claimed for m parts is wrong for them.

Reference
    McSherry and Talwar 2007 for 2R; the exact level is sfumato's own.
"""

from __future__ import annotations

import math

from sfumato.accounting.events import MOST_OUTCOMES
from sfumato.core.checks import at_least, number, positive
from sfumato.core.errors import InvalidArgument

# Weights up to e^600 are numbers in float64, and so are sums of as many as there can be.
LARGEST_WINDOW = 600.0
MOST_PARTS = 10_000
_UP = 1 + 1e-14
# 2^−53, and a little more.
_DIGIT = 1.2e-16
_HALVINGS = 200


def change_level(part_range: float, parts: int, outcomes: int) -> float:
    """The level of one draw for inputs that differ in one of ``parts``; rounded up.

    >>> round(change_level(2.0, 1, 100), 4), round(change_level(2.0, 12, 100), 4)
    (3.9294, 4.0)
    """
    width = _checked(part_range, parts, outcomes)
    if not width or not parts:
        return 0.0
    level = _corner(width, math.log(outcomes - 1) + (parts - 1) * width)
    return level * _UP + _rounding(width, parts)


def whole_level(part_range: float, parts: int, outcomes: int) -> float:
    """The level of one draw for any two inputs; rounded up."""
    width = _checked(part_range, parts, outcomes)
    if not width or not parts:
        return 0.0
    return _corner(width * parts, math.log(outcomes - 1)) * _UP + _rounding(width, parts)


def _checked(part_range: float, parts: int, outcomes: int) -> float:
    width = number("part_range", part_range)
    at_least("parts", parts, 0, MOST_PARTS)
    at_least("outcomes", outcomes, 2, MOST_OUTCOMES)
    if not 0.0 <= width * parts <= LARGEST_WINDOW:
        raise InvalidArgument(
            f"{parts} parts with a range of {width:g} each make {width * parts:g}, which must lie "
            f"between 0 and {LARGEST_WINDOW:g}: weights beyond are no numbers any more; take a "
            "smaller weight, a narrower window or fewer parts"
        )
    return width


def _corner(width: float, others: float) -> float:
    """R + ln[(1 + e^R·t)/(e^R + t)] for t = e^others, which is 1 at least."""
    # The quotient is 1 + (e^R − 1)(t − 1)/(e^R + t), which loses no digit.
    if width <= others:
        above = math.expm1(width) * -math.expm1(-others) / (1 + math.exp(width - others))
    else:
        above = -math.expm1(-width) * math.expm1(others) / (1 + math.exp(others - width))
    return width + math.log1p(above)


def _rounding(width: float, parts: int) -> float:
    """More than two probabilities and two sums are off, in an exponent."""
    return 4 * _DIGIT * ((parts + 2) * parts * width + 4)


def widest_part(epsilon: float, parts: int, outcomes: int, *, whole: bool = False) -> float:
    """The largest range of a part for a level; with ``whole``, for that of any two inputs.

    >>> widest = widest_part(5.0, 12, 1850)
    >>> change_level(widest, 12, 1850) <= 5.0 < change_level(widest + 1e-9, 12, 1850)
    True
    """

    def level(width: float) -> float:
        return (whole_level if whole else change_level)(width, parts, outcomes)

    largest = LARGEST_WINDOW / at_least("parts", parts, 1, MOST_PARTS) * (1 - 1e-15)
    if positive("epsilon", epsilon) > level(largest):
        raise InvalidArgument(
            f"epsilon={epsilon:g} is more than one draw among {outcomes:,} outcomes can cost here "
            f"({level(largest):.4g}); give that or less"
        )
    low, high = 0.0, largest
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if level(middle) <= epsilon else (low, middle)
    return low
