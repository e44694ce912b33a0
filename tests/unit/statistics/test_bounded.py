"""Intervals of means within a range: exact for hits and misses, and the same in any order."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.statistics import bounded
from sfumato.statistics.bounded import mean_within, share_within
from sfumato.statistics.intervals import clopper_pearson


@pytest.mark.parametrize(("hits", "trials"), [(0, 12), (3, 12), (12, 12), (10, 40), (20, 300)])
def test_hits_and_misses_have_the_exact_interval(hits: int, trials: int) -> None:
    values = np.array([13.3] * hits + [0.0] * (trials - hits))
    low, high = mean_within(values, 0.0, 13.3)
    assert (low / 13.3, high / 13.3) == pytest.approx(clopper_pearson(hits, trials), abs=0.01)


def test_the_order_of_the_values_does_not_matter() -> None:
    values = np.random.default_rng(1).uniform(0, 13, 25)
    assert mean_within(values, 0.0, 13.3) == mean_within(values[::-1].copy(), 0.0, 13.3)
    sizes = np.arange(1.0, 26.0)
    assert share_within(values / 13 * sizes, sizes) == share_within(
        (values / 13 * sizes)[::-1].copy(), sizes[::-1].copy()
    )


def test_the_interval_moves_with_its_range() -> None:
    values = np.array([1.0, 2.0, 4.0])
    low, high = mean_within(values, 0.0, 10.0)
    moved = mean_within(2 * values + 5, 5.0, 25.0)
    assert moved == pytest.approx((2 * low + 5, 2 * high + 5))


def test_values_that_agree_leave_open_what_was_not_seen() -> None:
    low, high = mean_within(np.full(20, 1.0), 0.0, 13.3)
    assert low < 0.9
    assert high > 2.5


def test_many_values_are_weighed_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(2).uniform(0, 1, 500)
    whole = mean_within(values, 0.0, 1.0)
    monkeypatch.setattr(bounded, "_AT_ONCE", 50_000)
    parts = mean_within(values, 0.0, 1.0)
    assert parts == pytest.approx(whole, abs=0.01)
    assert whole[0] < values.mean() < whole[1]
