"""Inversion at targets: exact where it can be, open at the ends, and never beyond them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.calibration.curves import Curve
from sfumato.calibration.inverse import (
    ABOVE_EVERYWHERE,
    BELOW_EVERYWHERE,
    BEYOND_FINITE,
    REACHED,
    fit_monotone,
    invert,
)
from unit.calibration.sweeps import LEVELS, Noise, curve, logistic, row, sweep

HALF = 0.196


def straight(levels: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0), *, way: float = 1.0) -> Curve:
    """log2 of the level, known to ±0.196; an infinite level leaks 6."""
    values = [
        (level, way * (math.log2(level) if math.isfinite(level) else 6.0)) for level in levels
    ]
    return curve(
        [replace(row(level, value), low=value - HALF, high=value + HALF) for level, value in values]
    )


def test_a_straight_line_is_inverted_exactly() -> None:
    found = invert(straight(), 1.5, rising=True)
    assert found.status == REACHED
    assert found.level == pytest.approx(2**1.5)
    assert found.low == pytest.approx(2 ** (1.5 - HALF), rel=1e-4)
    assert found.high == pytest.approx(2 ** (1.5 + HALF), rel=1e-4)
    assert (found.surely_below, found.surely_above) == (2.0, 4.0)
    assert not found.open_low
    assert not found.open_high


def test_so_is_one_that_falls() -> None:
    found = invert(straight(way=-1.0), -1.5, rising=False)
    assert found.level == pytest.approx(2**1.5)
    assert found.low == pytest.approx(2 ** (1.5 - HALF), rel=1e-4)
    # With a larger level there is less leakage, so the level that is surely below is the larger.
    assert (found.surely_below, found.surely_above) == (4.0, 2.0)


def test_the_order_of_rows_does_not_matter() -> None:
    ordered, shuffled = straight((1.0, 2.0, 4.0, 8.0)), straight((4.0, 1.0, 8.0, 2.0))
    assert invert(ordered, 1.5, rising=True) == invert(shuffled, 1.5, rising=True)


def test_a_level_that_was_tried_is_given_back_exactly() -> None:
    assert invert(straight((0.3, 0.7, 4.0)), math.log2(0.7), rising=True).level == 0.7


@pytest.mark.parametrize(
    ("target", "status", "below", "above"),
    [(-1.0, ABOVE_EVERYWHERE, None, 1.0), (9.0, BELOW_EVERYWHERE, 8.0, None)],
)
def test_a_target_out_of_reach_is_not_extrapolated(
    target: float, status: str, below: float | None, above: float | None
) -> None:
    found = invert(straight(), target, rising=True)
    assert (found.status, found.level, found.low, found.high) == (status, None, None, None)
    assert (found.surely_below, found.surely_above) == (below, above)


def test_just_out_of_reach_the_interval_is_open_and_ends_where_levels_do() -> None:
    found = invert(straight(), 3.1, rising=True)
    assert (found.status, found.level) == (BELOW_EVERYWHERE, None)
    assert (found.high, found.open_high, found.open_low) == (8.0, True, False)
    assert found.low == pytest.approx(2 ** (3.1 - HALF), rel=1e-4)
    falling = invert(straight(way=-1.0), -3.1, rising=False)
    assert (falling.status, falling.high, falling.open_high) == (ABOVE_EVERYWHERE, 8.0, True)


def test_between_the_largest_level_and_infinity_no_level_is_named() -> None:
    endless = straight((1.0, 2.0, 4.0, 8.0, math.inf))
    found = invert(endless, 4.5, rising=True)
    assert (found.status, found.level) == (BEYOND_FINITE, None)
    assert (found.low, found.high, found.open_high) == (8.0, math.inf, False)
    assert invert(endless, 6.0, rising=True).level == math.inf
    assert invert(endless, 1.5, rising=True).level == pytest.approx(2**1.5)


def test_one_level_only() -> None:
    alone = straight((4.0,))
    assert invert(alone, 2.0, rising=True).level == 4.0
    near = invert(alone, 2.1, rising=True)
    assert (near.status, near.low, near.high) == (BELOW_EVERYWHERE, 4.0, 4.0)
    assert near.open_low
    assert near.open_high
    assert invert(straight((math.inf,)), 6.0, rising=True).level == math.inf


def test_levels_that_are_not_positive_stand_on_a_straight_scale() -> None:
    rows = [row(level, level) for level in (-2.0, 0.0, 2.0)]
    assert invert(curve(rows), 1.0, rising=True).level == pytest.approx(1.0)


def test_where_nothing_is_known_of_the_noise_there_is_no_interval() -> None:
    found = invert(curve([row(1.0, 0.0), row(4.0, 2.0)]), 1.0, rising=True)
    assert found.level == pytest.approx(2.0)
    assert (found.low, found.high, found.surely_below) == (None, None, None)


def test_on_a_level_stretch_the_strong_end_is_named_and_the_interval_covers_it() -> None:
    rows = [
        replace(row(level, value), low=value - 0.01, high=value + 0.01)
        for level, value in [(1.0, 0.0), (2.0, 3.0), (4.0, 3.0), (8.0, 6.0)]
    ]
    found = invert(curve(rows), 3.0, rising=True)
    assert found.level == 2.0
    assert found.low is not None
    assert found.high is not None
    assert found.low < 2.0
    assert found.high > 4.0


@given(
    st.lists(st.floats(0, 10), min_size=2, max_size=8),
    st.floats(-1, 11),
    st.booleans(),
)
def test_an_answer_lies_among_the_levels_and_on_the_fit(
    values: list[float], target: float, rising: bool
) -> None:
    rows = [row(2.0**place, value) for place, value in enumerate(values)]
    found_curve = curve(rows)
    found = invert(found_curve, target, rising=rising)
    fit = fit_monotone(found_curve, rising=rising)
    if found.level is None:
        assert target < fit.min() or target > fit.max()
    else:
        assert 1.0 <= found.level <= 2.0 ** (len(values) - 1)
        at = np.interp(math.log2(found.level), np.arange(len(values)), fit)
        assert at == pytest.approx(target, abs=1e-6)


def test_wider_confidence_gives_a_wider_interval_around_the_answer() -> None:
    rows = sweep(logistic, LEVELS, 3, Noise(0.3), np.random.default_rng(2))
    usual, sure = (
        invert(curve(rows), 3.0, rising=True, confidence=confidence) for confidence in (0.95, 0.999)
    )
    assert sure.low is not None
    assert usual.low is not None
    assert usual.level is not None
    assert sure.low < usual.low < usual.level
