"""Exact draws, and the closed form of what they add up to."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.randomness import Randomness
from sfumato.mechanisms.geometric import ExactDraws, cell_log_rows

RATES = [1e-6, 0.01, 0.3, 1.0, 5.0, 300.0]


@given(st.integers(1, 2**200))
def test_a_number_is_below_its_bound_whatever_the_size(high: int) -> None:
    assert 0 <= ExactDraws(Randomness.reproducible(high % 1000)).below(high) < high


def test_small_numbers_all_come() -> None:
    draws = ExactDraws(Randomness.reproducible(1))
    for high in (1, 2, 3, 10):
        assert {draws.below(high) for _ in range(200)} == set(range(high))


def test_certain_and_impossible_chances() -> None:
    draws = ExactDraws(Randomness.reproducible(1))
    assert all(draws.chance_of_exp(0, 7) for _ in range(50))
    assert {draws.chance_of_exp(7, 7) for _ in range(50)} == {True, False}


@pytest.mark.parametrize("rate", [1e-12, 1e-3, 1.0, 1e6, 1e300])
def test_every_level_can_be_drawn_at(rate: float) -> None:
    draws = ExactDraws(Randomness.reproducible(2))
    drawn = [draws.geometric(Fraction(rate)) for _ in range(50)]
    assert all(isinstance(one, int) for one in drawn)
    assert (set(drawn) == {0}) == (rate > 100)


def test_the_same_stream_gives_the_same_noise() -> None:
    once, again = (
        [ExactDraws(Randomness.reproducible(7)).geometric(Fraction(1, 9)) for _ in range(3)]
        for _ in range(2)
    )
    assert once == again


@pytest.mark.parametrize("rate", [0.01, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("places", [[0, 1, 2, 3], [-7, 0, 1, 9, 30]])
def test_the_law_of_cells_is_the_sum_of_the_law_of_numbers(rate: float, places: list[int]) -> None:
    inputs = np.array([-9, 0, 1, 4, 30])
    odds = np.exp(-rate)
    reach = round(60 / rate) + 60
    noise = np.arange(-reach, reach + 1)
    law = (1 - odds) / (1 + odds) * odds ** np.abs(noise)
    found = np.exp(cell_log_rows(rate, inputs, np.array(places)))
    for row, here in zip(found, inputs.tolist(), strict=True):
        nearest = [
            min(range(len(places)), key=lambda place: (abs(places[place] - there), place))
            for there in (here + noise).tolist()
        ]
        summed = np.bincount(nearest, weights=law, minlength=len(places))
        assert row == pytest.approx(summed, abs=1e-12)


@pytest.mark.parametrize("rate", RATES)
def test_the_inequality_holds_for_all_pairs(rate: float) -> None:
    places = np.array([0, 1, 2, 3, 10, 11, 500])
    rows = cell_log_rows(rate, np.arange(-3, 60), places)
    assert np.exp(rows).sum(axis=1) == pytest.approx(1.0)
    for first in range(len(rows)):
        for second in range(len(rows)):
            allowed = rate * abs(first - second)
            excess = (rows[first] - rows[second]).max() - allowed
            assert excess <= 1e-9 * max(1.0, np.abs(rows).max())


def test_a_twin_that_adds_the_tails_to_one_end_is_caught() -> None:
    """Draws that fall beyond the window are sent back: the rows are then told apart too well."""
    places = np.arange(5)
    logs = -0.5 * np.abs(places[:, None] - places[None, :])
    sent_back = logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
    assert (sent_back[0] - sent_back[1]).max() > 0.5
    honest = cell_log_rows(0.5, places, places)
    assert (honest[0] - honest[1]).max() <= 0.5 + 1e-12
