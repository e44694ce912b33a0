"""The least that is enough: what is returned was computed, and is enough."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.accounting.solving import least, round_up


@given(st.floats(0.6, 3), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.sampled_from([0.0, 1e-4]))
def test_the_result_is_enough_was_evaluated_and_hardly_more_than_needed(
    power: float, wanted: float, guess: float, wobble: float
) -> None:
    seen: dict[float, float] = {}

    def falling(x: float) -> float:
        # Not quite falling: discretization makes levels tremble.
        seen[x] = x**-power * (1 + wobble * math.sin(1e5 * x))
        return seen[x]

    found = least(falling, wanted, guess)
    assert seen[found] <= wanted
    assert found <= wanted ** (-1 / power) * (1 + 2 * wobble / power + 1e-4)
    assert len(seen) < 120


def test_infinite_levels_are_no_obstacle() -> None:
    assert least(lambda x: math.inf if x < 2 else 1 / x, 0.4, 1.0) == pytest.approx(2.5, rel=1e-4)


def test_levels_that_reach_zero_are_no_obstacle() -> None:
    found = least(lambda x: max(0.0, 1 - x), 0.4, 5.0)
    assert found == pytest.approx(0.6, rel=1e-4)
    assert 1 - found <= 0.4


def test_out_of_reach_is_told_apart_from_no_effort() -> None:
    assert least(lambda x: 5.0 + 1 / x, 4.0, 1.0) == math.inf
    assert least(lambda x: 1.0 + 0 * x, 4.0, 1.0) == 0.0


@given(st.floats(1e-300, 1e300), st.integers(1, 9))
def test_rounding_is_upwards_and_small(value: float, digits: int) -> None:
    found = round_up(value, digits)
    assert value <= found <= value * (1 + 10.0 ** (1 - digits)) * (1 + 1e-15)
    assert round_up(found, digits) == found


def test_rounding_leaves_infinity_alone() -> None:
    assert round_up(math.inf) == math.inf
