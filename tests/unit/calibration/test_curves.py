"""Curves from rows: order, seeds, noise, and levels that are infinite or not positive."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sfumato.calibration.curves import Axis, estimate_of
from sfumato.calibration.spread import noise_of, quantile
from sfumato.core.errors import InvalidArgument
from unit.calibration.sweeps import curve, row


def test_levels_come_in_order_and_equal_ones_together() -> None:
    found = curve([row(8, 3.0), row(math.inf, 5.0), row(1, 1.0, 1), row(1, 2.0, 2), row(8, 4.0, 2)])
    assert found.levels == (1.0, 8.0, math.inf)
    assert found.means.tolist() == [1.5, 3.5, 5.0]
    assert found.counts.tolist() == [2, 2, 1]
    assert found.seeds == 2


def test_rows_of_the_same_level_and_seed_are_one_figure() -> None:
    found = curve([row(1, 1.0), row(1, 3.0), row(2, 5.0)])
    assert found.means.tolist() == [2.0, 5.0]
    assert found.counts.tolist() == [1, 1]


@pytest.mark.parametrize("bad", [row(1, None), row(1, math.nan), row(1, math.inf), row(None, 1.0)])
def test_a_row_without_a_figure_or_a_level_is_refused(bad: object) -> None:
    with pytest.raises(InvalidArgument, match="finite value"):
        curve([bad])  # type: ignore[list-item]


def test_a_curve_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="at least one row"):
        curve([])


def test_levels_stand_on_a_logarithmic_scale_unless_one_is_not_positive() -> None:
    logarithmic, straight = Axis.of([1.0, 4.0, math.inf]), Axis.of([0.0, 4.0])
    assert logarithmic.level((logarithmic.place(1) + logarithmic.place(4)) / 2) == pytest.approx(2)
    assert straight.level((straight.place(0) + straight.place(4)) / 2) == 2
    assert logarithmic.place(math.inf) > logarithmic.place(4)
    assert logarithmic.level(logarithmic.place(math.inf)) == math.inf


def test_the_noise_of_seeds_is_that_of_a_mean() -> None:
    values = [[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]
    noise = noise_of(values, [None, None])
    assert noise.errors == pytest.approx([1 / math.sqrt(3)] * 2)
    assert noise.freedom == 4
    halves = noise.halves()
    assert halves is not None
    assert halves == pytest.approx([stats.t.ppf(0.975, 4) / math.sqrt(3)] * 2)


def test_what_all_seeds_share_does_not_average_out() -> None:
    same = noise_of([[1.0, 1.0, 1.0, 1.0]], [0.5])
    assert same.errors == pytest.approx([0.5])
    independent = noise_of([[0.0, 2.0]], [1.0])
    assert independent.errors == pytest.approx([1.0])


def test_one_seed_has_the_noise_of_its_rows_and_without_them_none() -> None:
    assert noise_of([[1.0], [2.0]], [0.5, None]).errors == pytest.approx([0.5, 0.5])
    assert noise_of([[1.0], [2.0]], [None, None]).errors is None


@pytest.mark.parametrize("freedom", [1, 2, 5, 30, math.inf])
def test_quantiles_are_student_s(freedom: float) -> None:
    theirs = stats.norm.ppf(0.975) if math.isinf(freedom) else stats.t.ppf(0.975, freedom)
    assert quantile(0.95, freedom) == pytest.approx(theirs, rel=1e-9)


def test_an_anchor_is_a_mean_with_an_interval() -> None:
    rows = [row(None, value, seed, "no privacy") for seed, value in enumerate([8.0, 9.0, 10.0])]
    found = estimate_of([*rows, row(None, math.nan, 7, "no privacy")])
    assert found is not None
    assert (found.value, found.n) == (9.0, 3)
    assert found.low == pytest.approx(9 - stats.t.ppf(0.975, 2) / math.sqrt(3))
    assert estimate_of([]) is None
    one = estimate_of([replace(rows[0], low=7.0, high=9.0)])
    assert one is not None
    assert np.allclose([one.low or 0, one.high or 0], [7.0, 9.0])


def test_seeds_that_move_all_levels_alike_are_no_more_sure_than_one_level() -> None:
    """Three seeds at five levels, each seed a shift: two degrees of freedom, and not ten."""
    shifts = {1: -1.0, 2: 0.0, 3: 1.0}
    levels = (1.0, 2.0, 4.0, 8.0, 16.0)
    together = [row(level, level + shift, seed) for level in levels
                for seed, shift in shifts.items()]  # fmt: skip
    found = curve(together)
    assert found.noise.freedom == pytest.approx(2.0)
    halves = found.noise.halves()
    assert halves is not None
    # Student's 97.5 % point for two degrees of freedom, and the spread of the shifts over √3.
    assert halves.tolist() == pytest.approx([4.302653 / math.sqrt(3)] * 5, rel=1e-5)


def test_seeds_that_were_used_at_one_level_each_are_all_counted() -> None:
    apart = [row(level, value, seed) for seed, (level, value) in enumerate(
        [(1.0, 0.0), (1.0, 2.0), (1.0, 1.0), (2.0, 5.0), (2.0, 7.0), (2.0, 6.0)])]  # fmt: skip
    found = curve(apart)
    assert found.noise.freedom == 4.0


def test_levels_that_err_apart_are_surer_than_one_of_them() -> None:
    """Figures of a seed that have nothing in common: as sure as two levels, with three seeds."""
    first, second = (-1.0, 0.0, 1.0), (1.0, -2.0, 1.0)
    some = [row(1.0, value, seed) for seed, value in enumerate(first)]
    some += [row(2.0, value / math.sqrt(3), seed) for seed, value in enumerate(second)]
    found = curve(some)
    assert found.noise.freedom == pytest.approx(4.0)
