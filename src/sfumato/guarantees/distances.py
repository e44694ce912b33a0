"""What a level per unit of a distance means, in a number that a reader can hold on to."""

from __future__ import annotations

import math
from collections.abc import Callable

# Of distances in a unit that everybody knows: how the metric begins, and one unit and several.
_UNITS = {"days": ("day", "days"), "km": ("km", "km"), "steps": ("step", "steps")}
_DIGITS = 3


def spell_out(metric: str, epsilon: float) -> str:
    """How far apart two originals may be for a factor of e, or the factor for one unit.

    >>> spell_out("km on the globe", 0.02)
    'within 50 km, at most e (2.72) times likelier'
    >>> spell_out("days between dates", 2.0)
    '1 day apart, at most 7.39 times likelier'
    >>> spell_out("Euclidean distance", 2.0)
    ''
    """
    units = _UNITS.get(metric.partition(" ")[0])
    if units is None or not 0 < epsilon < math.inf:
        return ""
    if epsilon <= 1:
        return f"within {_floor(1 / epsilon)} {units[1]}, at most e (2.72) times likelier"
    factor = f"{_ceil(math.exp(epsilon))}" if epsilon < 20 else f"exp({_ceil(epsilon)})"
    return f"1 {units[0]} apart, at most {factor} times likelier"


def _floor(value: float) -> str:
    return _say(value, math.floor)


def _ceil(value: float) -> str:
    return _say(value, math.ceil)


def _say(value: float, rounded: Callable[[float], int]) -> str:
    """Three digits, rounded so that no more is promised than holds."""
    scale = 10.0 ** (_DIGITS - 1 - math.floor(math.log10(value)))
    scaled = value * scale
    # What is a whole number up to the rounding of the product is one.
    near = round(scaled)
    whole = near if abs(scaled - near) < 1e-9 * scaled else rounded(scaled)
    return f"{whole / scale:,.10g}"
