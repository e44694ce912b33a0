"""The Laplace mechanism as a function: shapes, limits, and what it refuses. Its law is tested in
``statistical``."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.laplace import SMALLEST_EPSILON, Laplace, laplace_noise
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.vectors.space import Space


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, "much", None])
def test_a_level_that_is_no_positive_number_is_refused(small_space: Space, epsilon: float) -> None:
    with pytest.raises(InvalidArgument, match="epsilon="):
        Laplace(space=small_space, epsilon=epsilon)


def test_a_level_below_what_numbers_can_hold_is_refused(small_space: Space) -> None:
    with pytest.raises(InvalidArgument, match="must be at least"):
        Laplace(space=small_space, epsilon=SMALLEST_EPSILON / 2)


def test_the_guarantee_is_metric_dp_at_the_level_in_the_distance_of_the_space(
    small_space: Space,
) -> None:
    laplace = Laplace(space=small_space, epsilon=3)
    assert isinstance(laplace, PointMechanism)
    guarantee = laplace.guarantee()
    assert guarantee.notion is Notion.METRIC_DP
    assert guarantee.epsilon == 3.0
    assert guarantee.metric == small_space.metric
    assert guarantee.uncovered == ()


def test_no_words_give_no_words(small_space: Space) -> None:
    nothing = np.empty(0, dtype=np.intp)
    laplace = Laplace(space=small_space, epsilon=1)
    assert len(laplace.privatize(nothing, Randomness.secure())) == 0


def test_at_a_very_high_level_words_stay_and_unknown_ones_become_one_public_word(
    small_space: Space,
) -> None:
    points = np.arange(len(small_space) + 1)
    outputs = Laplace(space=small_space, epsilon=1e9).privatize(points, Randomness.secure())
    assert (outputs[:-1] == points[:-1]).all()
    assert outputs[-1] == small_space.distances_from(small_space.unknown).argmin()


def test_inputs_are_not_changed(small_space: Space) -> None:
    points, vectors = np.arange(13), small_space.vectors.copy()
    Laplace(space=small_space, epsilon=1).privatize(points, Randomness.secure())
    assert (points == np.arange(13)).all()
    assert (small_space.vectors == vectors).all()


def test_equal_words_get_noise_of_their_own(small_space: Space) -> None:
    laplace = Laplace(space=small_space, epsilon=0.5)
    assert len(set(laplace.privatize(np.zeros(200, np.intp), Randomness.secure()).tolist())) > 3


def test_the_same_seed_gives_the_same_words_and_secure_noise_does_not(
    small_space: Space,
) -> None:
    laplace, points = Laplace(space=small_space, epsilon=0.5), np.zeros(200, np.intp)
    one, two = (laplace.privatize(points, Randomness.reproducible(5)) for _ in range(2))
    assert (one == two).all()
    one, two = (laplace.privatize(points, Randomness.secure()) for _ in range(2))
    assert (one != two).any()


@pytest.mark.parametrize("dimension", [1, 2, 50])
def test_noise_is_finite_and_has_the_asked_shape(dimension: int) -> None:
    noise = laplace_noise(dimension, 2.0, 1000, Randomness.secure())
    assert noise.shape == (1000, dimension)
    assert noise.dtype == np.float64
    assert np.isfinite(noise).all()
