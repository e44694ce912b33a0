"""The least noise that gives a level, and the least level that holds at a delta."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context

_CLOSE = 1e-5  # of what is wanted, and
_FINEST = 1e-7  # of the result: whatever is reached first
_SMALLEST, _LARGEST = 1e-6, 1e9


def least(falling: Callable[[float], float], wanted: float, guess: float) -> float:
    """Where ``falling`` is at most ``wanted``, by less than a part in 10⁵.

    A result at which the function was not evaluated and found to be at most ``wanted`` is never
    returned. Infinite if even a very large argument is not enough, 0 if a very small one is.
    """
    low, high = _bracket(falling, wanted, guess)
    if not (low and math.isfinite(high)):
        return high
    at_low, at_high = falling(low), falling(high)
    turn = 0
    while at_high < wanted * (1 - _CLOSE) and high > low * (1 + _FINEST):
        middle = math.sqrt(low * high)
        if turn % 3 and math.isfinite(at_low) and at_high > 0:
            # The logarithms lie almost on a line: cut it just beyond where it meets the aim, and
            # halve the bracket now and then in case they do not.
            share = math.log(at_low / (wanted * (1 - _CLOSE / 2))) / math.log(at_low / at_high)
            middle = low * (high / low) ** min(max(share, 1e-3), 1 - 1e-3)
        turn += 1
        found = falling(middle)
        if found <= wanted:
            high, at_high = middle, found
        else:
            low, at_low = middle, found
    return high


def _bracket(falling: Callable[[float], float], wanted: float, guess: float) -> tuple[float, float]:
    """Two arguments, the first too small and the second enough."""
    low = high = guess
    ratio = 1.25
    enough = falling(guess) <= wanted
    while (falling(low) <= wanted) if enough else (falling(high) > wanted):
        if low == _SMALLEST:
            return 0.0, 0.0
        if high == _LARGEST:
            return high, math.inf
        if enough:
            low, high = max(low / ratio, _SMALLEST), low
        else:
            low, high = high, min(high * ratio, _LARGEST)
        ratio = min(2 * ratio, 64.0)
    return low, high


def round_up(value: float, digits: int = 6) -> float:
    """The number in few digits, never below it: more noise, or a larger level, is safe.

    >>> round_up(0.79396421), round_up(8.0), round_up(9.310824, 4)
    (0.793965, 8.0, 9.311)
    """
    if not math.isfinite(value):
        return value
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(value)))
