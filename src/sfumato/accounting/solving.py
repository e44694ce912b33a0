"""Root finding for the least noise at a level, or the least level at a delta; rounding up."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context

_CLOSE = 1e-5  # relative tolerance of the function value, unless told, and
_FINEST = 1e-7  # of the argument; the search ends when one of them is reached
_SMALLEST, _LARGEST = 1e-6, 1e9


def least(
    falling: Callable[[float], float], wanted: float, guess: float, close: float = _CLOSE
) -> float:
    """The smallest argument at which ``falling`` is at most ``wanted``, to one part in 10⁵.

    The function was evaluated at the result and is at most ``wanted`` there. The result is infinite
    if even a very large argument is not enough, and 0 if a very small one is. A larger ``close``
    ends the search earlier, as soon as the function is by less than that share below ``wanted``.
    """
    low, high = _bracket(falling, wanted, guess)
    if not (low and math.isfinite(high)):
        return high
    at_low, at_high = falling(low), falling(high)
    turn = 0
    while at_high < wanted * (1 - close) and high > low * (1 + _FINEST):
        middle = math.sqrt(low * high)
        if turn % 3 and math.isfinite(at_low) and at_high > 0:
            # In logarithms the function is almost linear: interpolate to just beyond the target,
            # and bisect now and then in case it is not.
            share = math.log(at_low / (wanted * (1 - close / 2))) / math.log(at_low / at_high)
            middle = low * (high / low) ** min(max(share, 1e-3), 1 - 1e-3)
        turn += 1
        found = falling(middle)
        if found <= wanted:
            high, at_high = middle, found
        else:
            low, at_low = middle, found
    return high


def _bracket(falling: Callable[[float], float], wanted: float, guess: float) -> tuple[float, float]:
    """Two arguments, the first too small and the second large enough."""
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
    """The number rounded up to few digits: more noise, or a larger level, is safe.

    >>> round_up(0.79396421), round_up(8.0), round_up(9.310824, 4)
    (0.793965, 8.0, 9.311)
    """
    if not math.isfinite(value):
        return value
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(value)))
