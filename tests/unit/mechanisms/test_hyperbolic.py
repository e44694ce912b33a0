"""Hyperbolic noise: exact for every pair in its row form, its geometry and law in the other."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from pairs import all_points, all_rows, worst_excess
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.building import build
from sfumato.mechanisms.claims import loss_bounds
from sfumato.mechanisms.hyperbolic import Hyperbolic, HyperbolicRows
from sfumato.mechanisms.rows import RowMechanism
from sfumato.vectors.poincare import Ball
from sfumato.vectors.space import Space

LEVELS = pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 100.0])


def row_form(space: Space, epsilon: float, scale: float = 1.0) -> HyperbolicRows:
    mechanism = Hyperbolic(space=space, epsilon=epsilon, scale=scale, form="rows")
    assert isinstance(mechanism, HyperbolicRows)
    return mechanism


def in_the_ball(ball: Ball) -> NDArray[np.float64]:
    """Every point in the Poincaré ball, by the map as it is documented."""
    every = np.arange(len(ball.radii))
    return np.tanh(ball.radii / 2)[:, None] * ball.directions(every)


def ball_distance(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """The textbook formula."""
    gap = float(np.square(x - y).sum())
    return math.acosh(1 + 2 * gap / ((1 - float(x @ x)) * (1 - float(y @ y))))


def moebius(x: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
    """x ⊕ z, written out (Ungar 2008)."""
    inner, xx, zz = float(x @ z), float(x @ x), float(z @ z)
    return ((1 + 2 * inner + zz) * x + (1 - xx) * z) / (1 + 2 * inner + xx * zz)


@LEVELS
@pytest.mark.parametrize("scale", [0.05, 1.0, 2.0])
def test_no_pair_of_words_exceeds_the_claim(
    random_space: Space, epsilon: float, scale: float
) -> None:
    rows = row_form(random_space, epsilon, scale)
    logs = all_rows(rows)
    assert np.abs(np.exp(logs).sum(axis=1) - 1).max() <= 1e-12
    assert worst_excess(logs, rows) <= 1e-9


@LEVELS
def test_twin_with_four_times_the_epsilon_is_caught(random_space: Space, epsilon: float) -> None:
    honest = row_form(random_space, epsilon)
    assert worst_excess(all_rows(replace(honest, epsilon=4 * epsilon)), honest) > 1e-6


def test_the_distances_are_those_of_the_poincare_ball(small_space: Space) -> None:
    bent = Ball.of(small_space, 0.7)
    ball = in_the_ball(bent)
    for point in all_points(small_space).tolist():
        naive = [ball_distance(ball[point], other) for other in ball]
        # The textbook formula loses digits near 0; ours must not.
        assert bent.distances_from(point) == pytest.approx(naive, rel=1e-6, abs=2e-7)
        assert bent.distances_from(point)[point] == 0.0


def test_the_map_keeps_distances_from_the_centroid(small_space: Space) -> None:
    bent = Ball.of(small_space, 0.7)
    lengths = np.linalg.norm(small_space.vectors - small_space.centroid, axis=1)
    assert bent.distances_from(small_space.unknown)[:-1] == pytest.approx(0.7 * lengths)


def test_a_small_scale_is_nearly_flat(random_space: Space) -> None:
    bent = Ball.of(random_space, 1e-4)
    flat = np.linalg.norm(random_space.vectors - random_space.vectors[7], axis=1)
    assert bent.distances_from(7)[:-1] / 1e-4 == pytest.approx(flat, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("scale", [0.1, 1.0, 2.0])
def test_no_pair_is_stretched_by_more_than_the_stated_factor(
    random_space: Space, scale: float
) -> None:
    bent = Ball.of(random_space, scale)
    places = random_space.at(all_points(random_space))
    for point in all_points(random_space).tolist():
        flat = np.linalg.norm(places - places[point], axis=1)
        assert (bent.distances_from(point) <= bent.stretch * flat * (1 + 1e-9) + 1e-12).all()


def test_a_step_is_moebius_addition_and_as_long_as_it_says(small_space: Space) -> None:
    bent = Ball.of(small_space, 0.4)
    randomness = Randomness.reproducible(5)
    points = np.tile(all_points(small_space), 5)
    steps = 3 * randomness.uniform(len(points))
    along = randomness.normal(len(points), 3)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    ball = in_the_ball(bent)
    moved = bent.moved(points, along, np.tanh(steps))
    nearest = bent.nearest(moved)
    for place, point in enumerate(points.tolist()):
        # From the Klein model to the ball.
        there = moved[place] / (1 + math.sqrt(1 - float(moved[place] @ moved[place])))
        expected = moebius(ball[point], math.tanh(steps[place] / 2) * along[place])
        assert there == pytest.approx(expected, abs=1e-9)
        assert ball_distance(ball[point], there) == pytest.approx(steps[place], rel=1e-5)
        distances = [ball_distance(there, word) for word in ball[:-1]]
        assert distances[nearest[place]] == pytest.approx(min(distances), rel=1e-6)


def test_steps_beyond_the_rim_of_the_ball_still_find_a_word(small_space: Space) -> None:
    just_above = Hyperbolic(space=small_space, epsilon=2 + 1e-9)
    points = np.tile(all_points(small_space), 50)
    with np.errstate(all="raise", under="ignore"):
        outputs = just_above.privatize(points, Randomness.secure())
    assert outputs.min() >= 0
    # A step of endless length forgets where it began: no word is common to all directions.
    assert len(np.unique(outputs)) > 3


def test_the_level_decides_the_form(small_space: Space) -> None:
    low, high = (build("hyperbolic", space=small_space, epsilon=level) for level in (2.0, 2.5))
    assert isinstance(low, RowMechanism)
    assert not isinstance(high, RowMechanism)
    forced = Hyperbolic(space=small_space, epsilon=100.0, form="rows")
    assert isinstance(forced, RowMechanism)
    for mechanism in (low, high, forced):
        assert type(pickle.loads(pickle.dumps(mechanism))) is type(mechanism)
        assert loss_bounds(mechanism, 0)[0] == 0


def test_both_forms_name_the_scale_and_name_the_euclidean_factor(
    small_space: Space,
) -> None:
    noise = Hyperbolic(space=small_space, epsilon=5.0, scale=0.3)
    rows = Hyperbolic(space=small_space, epsilon=5.0, scale=0.3, form="rows")
    assert noise.guarantee().then(noise.guarantee()).epsilon == 10.0
    assert rows.guarantee().epsilon == noise.guarantee().epsilon
    assert "scale 0.3" in noise.guarantee().metric
    assert noise.euclidean_epsilon == pytest.approx(5.0 * noise.ball.stretch)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"epsilon": 2.0, "form": "noise"}, r"epsilon=2 must be greater than 2.*form='rows'"),
        ({"epsilon": 5.0, "form": "curved"}, "form"),
        ({"epsilon": 5.0, "scale": 0.0}, "scale=0"),
        ({"epsilon": 5.0, "scale": 1e6}, "must be at most"),
        ({"epsilon": -1.0}, "epsilon=-1"),
        ({"epsilon": math.nan}, "epsilon"),
    ],
)
def test_bad_settings_are_refused(
    small_space: Space, settings: dict[str, float], problem: str
) -> None:
    with pytest.raises(InvalidArgument, match=problem):
        Hyperbolic(space=small_space, **settings)  # type: ignore[arg-type]
