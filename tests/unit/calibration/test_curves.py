"""Curves from rows: order, seeds, noise, and levels that are infinite or not positive."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sfumato.calibration.curves import Axis, estimate_of
from sfumato.core.errors import InvalidArgument
from sfumato.statistics.intervals import student
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


def test_the_interval_of_seeds_is_that_of_a_mean() -> None:
    values = [(level, level + shift, seed) for level in (1.0, 5.0)
              for seed, shift in enumerate((-1.0, 0.0, 1.0))]  # fmt: skip
    found = curve([row(*one) for one in values])
    half = stats.t.ppf(0.975, 2) / math.sqrt(3)
    for index, level in enumerate((1.0, 5.0)):
        at = found.at(index)
        assert (at.value, at.low, at.high) == pytest.approx((level, level - half, level + half))


def test_a_level_stands_for_itself() -> None:
    """Seeds that agree at one level keep a short interval there, however others vary."""
    apart = [row(8.0, value, seed) for seed, value in enumerate((2.0, 9.0))]
    alone = [row(1.0, value, seed) for seed, value in enumerate((0.3000, 0.3001))]
    assert curve(apart + alone).at(0) == curve(alone).at(0)


def test_a_level_without_an_interval_is_as_uncertain_as_the_most_uncertain_one() -> None:
    known = replace(row(1.0, 1.0), low=0.5, high=1.25)
    band = curve([known, row(2.0, 2.0)]).band()
    assert band is not None
    assert band.below.tolist() == [0.5, 0.5]
    assert band.above.tolist() == [0.25, 0.5]
    assert curve([row(1.0, 1.0), row(2.0, 2.0)]).band() is None


def test_a_band_is_cut_where_it_stands() -> None:
    """Around a fit above the means the lower side is cut there, and not where the mean was."""
    rows = [
        replace(row(level, value, seed), least=0.0, most=1.0)
        for level, value, seed in ((1.0, 0.4, 1), (1.0, 0.5, 2), (2.0, 0.0, 1), (2.0, 0.1, 2))
    ]
    found = curve(rows)
    assert found.at(1).low == 0.0
    assert found.at(1).high == pytest.approx(0.685, abs=1e-3)
    band = found.band()
    assert band is not None
    lower, upper = band.around(np.array([0.25, 0.25]))
    assert lower.tolist() == [0.0, 0.0]
    assert upper.max() <= 1.0


@pytest.mark.parametrize("freedom", [1, 2, 5, 30, math.inf])
def test_quantiles_are_student_s(freedom: float) -> None:
    theirs = stats.norm.ppf(0.975) if math.isinf(freedom) else stats.t.ppf(0.975, freedom)
    assert student(0.95, freedom) == pytest.approx(theirs, rel=1e-9)


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
