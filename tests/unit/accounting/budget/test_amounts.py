"""Whole numbers: charges are rounded up, limits down, and no sum leaves its 64 bits."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.accounting.budget.amounts import DELTA_UNITS, LARGEST, UNITS, Amount
from sfumato.core.errors import InvalidArgument

levels = st.floats(0, 1e9)


def written(number: float) -> Fraction:
    """The number as it is written: 0.1 is a tenth."""
    return Fraction(repr(number))


@given(levels, st.floats(0, 1))
def test_a_charge_is_never_less_and_a_limit_never_more(level: float, delta: float) -> None:
    charged, allowed = Amount.charged(level, delta), Amount.allowed(level, delta)
    assert Fraction(allowed.units, UNITS) <= written(level) <= Fraction(charged.units, UNITS)
    assert allowed.delta <= written(delta) * DELTA_UNITS <= charged.delta
    assert charged.units - allowed.units <= 1
    assert charged.delta - allowed.delta <= 1


@given(st.lists(st.floats(1e-12, 1e3), max_size=40), st.floats(1e-6, 1e4))
def test_amounts_within_a_limit_are_levels_within_it(costs: list[float], limit: float) -> None:
    """What a filter needs: whole numbers that fit are levels that fit."""
    if sum(Amount.charged(one).units for one in costs) <= Amount.allowed(limit).units:
        assert sum(map(written, costs)) <= written(limit)


def test_rounding_to_the_nearest_would_not_do() -> None:
    """The twin: a billion charges of a third of a billionth that count as nothing."""
    tiny = UNITS**-1 / 3
    assert Amount.charged(tiny).units == 1
    assert round(tiny * UNITS) == 0


@pytest.mark.parametrize("level", [-1.0, math.nan, -math.inf, 1e10, 1e300, math.inf])
def test_what_cannot_be_charged_is_refused(level: float) -> None:
    with pytest.raises(InvalidArgument):
        Amount.charged(level)


def test_two_of_the_largest_fit_into_64_bits() -> None:
    assert 2 * LARGEST < 2**63 + 1
    assert Amount.allowed(math.inf).level == math.inf
    with pytest.raises(InvalidArgument):
        Amount.charged(1.0).times(LARGEST)
    with pytest.raises(InvalidArgument):
        Amount(1).without(Amount(2))
