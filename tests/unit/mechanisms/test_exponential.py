"""The inequality is checked for every pair, and a sabotaged twin must fail the same check."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pairs import all_points, all_rows, worst_excess
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.exponential import Exponential
from sfumato.vectors.space import Space

LEVELS = pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 100.0])


@LEVELS
def test_no_pair_of_words_exceeds_the_claim(random_space: Space, epsilon: float) -> None:
    exponential = Exponential(space=random_space, epsilon=epsilon)
    assert worst_excess(all_rows(exponential), exponential) <= 1e-9


@LEVELS
def test_twin_with_four_times_the_epsilon_is_caught(random_space: Space, epsilon: float) -> None:
    # Between far-apart words Z hardly moves and the true level approaches epsilon/2, so a twin
    # with only twice the epsilon would keep the promise by accident.
    honest = Exponential(space=random_space, epsilon=epsilon)
    assert worst_excess(all_rows(replace(honest, epsilon=4 * epsilon)), honest) > 1e-6


@LEVELS
def test_every_row_sums_to_one(random_space: Space, epsilon: float) -> None:
    exponential = Exponential(space=random_space, epsilon=epsilon)
    rows = np.exp(all_rows(exponential))
    assert np.abs(rows.sum(axis=1) - 1).max() <= 1e-12


@LEVELS
def test_rows_are_the_definition_written_out(small_space: Space, epsilon: float) -> None:
    exponential = Exponential(space=small_space, epsilon=epsilon)
    for point in all_points(small_space).tolist():
        weights = [math.exp(-epsilon * d / 2) for d in small_space.distances_from(point)]
        naive = np.array(weights) / math.fsum(weights)
        assert exponential.row(point) == pytest.approx(naive, rel=1e-10)
        logs = all_rows(exponential)[point]
        assert exponential.log_row(point) == pytest.approx(logs, abs=1e-10)


def test_words_at_one_place_have_the_same_row_and_the_same_chance(random_space: Space) -> None:
    exponential = Exponential(space=random_space, epsilon=100)
    assert np.abs(exponential.log_row(0) - exponential.log_row(190)).max() <= 1e-9
    assert exponential.row(3)[0] == pytest.approx(exponential.row(3)[190], rel=1e-9)


def test_the_guarantee_is_metric_dp_at_the_level_in_the_distance_of_the_space(
    small_space: Space,
) -> None:
    guarantee = Exponential(space=small_space, epsilon=3).guarantee()
    assert guarantee.notion is Notion.METRIC_DP
    assert guarantee.epsilon == 3.0
    assert guarantee.metric == small_space.metric


def test_at_a_very_high_level_words_stay_and_unknown_ones_become_one_public_word(
    small_space: Space,
) -> None:
    points = all_points(small_space)
    outputs = Exponential(space=small_space, epsilon=1e9).privatize(points, Randomness.secure())
    assert (outputs[:-1] == points[:-1]).all()
    assert outputs[-1] == small_space.distances_from(small_space.unknown).argmin()


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, "much", None])
def test_a_level_that_is_no_positive_number_is_refused(small_space: Space, epsilon: float) -> None:
    with pytest.raises(InvalidArgument, match="epsilon="):
        Exponential(space=small_space, epsilon=epsilon)


def test_zero_epsilon_is_refused_with_a_reason(small_space: Space) -> None:
    with pytest.raises(ValueError, match=r"epsilon=0 must be greater than 0"):
        Exponential(space=small_space, epsilon=0)
