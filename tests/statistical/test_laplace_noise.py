"""The law of the Laplace noise: length Gamma(d, 1/ε), direction uniform, the two independent.

Each check is a function of a sample. It must accept the noise that the mechanism draws, and each
sabotaged twin must be rejected by the check named beside it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import laplace_noise
from statistical import budget

Sample = NDArray[np.float64]
Sampler = Callable[[int, float, int, Randomness], Sample]

EPSILON = 2.5
COUNT = 8000
SEED = 20240611

every_dimension = pytest.mark.parametrize("dimension", budget.DIMENSIONS)
above_one = pytest.mark.parametrize("dimension", budget.DIMENSIONS[1:])


def drawn(sampler: Sampler, dimension: int) -> Sample:
    return sampler(dimension, EPSILON, COUNT, Randomness.reproducible(SEED + dimension))


def lengths_of(noise: Sample) -> Sample:
    return np.asarray(np.linalg.norm(noise, axis=1))


def axes(dimension: int) -> Sample:
    """Fixed unit vectors: coordinates, sums and differences of two of them, and two diagonals."""
    first, last = np.zeros(dimension), np.zeros(dimension)
    first[0] = last[-1] = 1.0
    if dimension == 1:
        return first[None]
    middle = np.zeros(dimension)
    middle[dimension // 2] = 1.0
    signs = np.where(np.arange(dimension) % 2, -1.0, 1.0)
    # The sum and the difference of two coordinates carry their second moments, E[u_i·u_j] = 0.
    all_axes = [first, middle, last, first + last, first - last, np.ones(dimension), signs]
    return np.stack([axis / np.linalg.norm(axis) for axis in all_axes])


def length_law(dimension: int) -> stats.rv_continuous:
    return stats.gamma(dimension, scale=1 / EPSILON)


def radius_is_wrong(noise: Sample) -> bool:
    dimension = noise.shape[1]
    p_value = budget.fits_law(lengths_of(noise), length_law(dimension))
    return budget.rejects("noise: radius", f"d={dimension}", [p_value])


def direction_is_wrong(noise: Sample) -> bool:
    dimension = noise.shape[1]
    directions = noise / lengths_of(noise)[:, None]
    p_values = [budget.has_no_drift(directions)]
    for axis in axes(dimension):
        shadow = directions @ axis
        if dimension == 1:
            p_values.append(budget.fits_share(int((shadow > 0).sum()), len(shadow), 0.5))
        else:
            half = (dimension - 1) / 2
            p_values.append(budget.fits_law((1 + shadow) / 2, stats.beta(half, half)))
    if dimension == 2:
        # A square looks much like a circle from any one side; its four corners add up here.
        quarter_turns = np.arctan2(directions[:, 1], directions[:, 0]) / (np.pi / 2) % 1
        p_values.append(budget.fits_law(quarter_turns, stats.uniform()))
    return budget.rejects("noise: direction", f"d={dimension}", p_values)


def radius_depends_on_direction(noise: Sample) -> bool:
    dimension = noise.shape[1]
    lengths = lengths_of(noise)
    p_values: list[float] = []
    for axis in axes(dimension):
        shadow = noise @ axis / lengths
        steep = np.abs(shadow) > np.median(np.abs(shadow)) if dimension > 1 else shadow > 0
        p_values.extend(
            budget.fits_law(lengths[part], length_law(dimension))
            for part in (shadow > 0, shadow <= 0, steep, ~steep)
        )
    return budget.rejects("noise: radius given direction", f"d={dimension}", p_values)


@every_dimension
def test_lengths_follow_the_gamma_law(dimension: int) -> None:
    assert not radius_is_wrong(drawn(laplace_noise, dimension))


@every_dimension
def test_directions_are_uniform_on_the_sphere(dimension: int) -> None:
    assert not direction_is_wrong(drawn(laplace_noise, dimension))


@every_dimension
def test_lengths_do_not_depend_on_directions(dimension: int) -> None:
    assert not radius_depends_on_direction(drawn(laplace_noise, dimension))


# --- sabotaged twins -------------------------------------------------------------------------


def doubled_epsilon(dimension: int, epsilon: float, count: int, source: Randomness) -> Sample:
    return laplace_noise(dimension, 2 * epsilon, count, source)


def tenth_less_noise(dimension: int, epsilon: float, count: int, source: Randomness) -> Sample:
    return 0.9 * laplace_noise(dimension, epsilon, count, source)


def gaussian(dimension: int, epsilon: float, count: int, source: Randomness) -> Sample:
    """Gaussian noise of the same mean length."""
    scale = dimension / epsilon / stats.chi(dimension).mean()
    return np.asarray(scale * source.normal(count, dimension))


def laplace_per_coordinate(
    dimension: int, epsilon: float, count: int, source: Randomness
) -> Sample:
    """What protects the L1 distance, at the same epsilon."""
    signs = np.sign(source.normal(count, dimension))
    lengths = source.gamma(1.0, 1 / epsilon, count * dimension)
    return signs * lengths.reshape(count, dimension)


def biased(dimension: int, epsilon: float, count: int, source: Randomness) -> Sample:
    """The length is right; directions lean half a standard deviation to one side."""
    directions = source.normal(count, dimension)
    directions[:, 0] += 0.5
    return _with_gamma_lengths(directions, epsilon, source)


def one_coordinate_scaled(dimension: int, epsilon: float, count: int, source: Randomness) -> Sample:
    """The length is right; directions are drawn from an ellipse."""
    directions = source.normal(count, dimension)
    directions[:, -1] *= 1.5
    return _with_gamma_lengths(directions, epsilon, source)


def correlated(dimension: int, epsilon: float, count: int, source: Randomness) -> Sample:
    """The length is right, each coordinate alone looks right, two of them go together."""
    directions = source.normal(count, dimension)
    directions[:, -1] = 0.8 * directions[:, -1] + 0.6 * directions[:, 0]
    return _with_gamma_lengths(directions, epsilon, source)


def from_a_cube(dimension: int, epsilon: float, count: int, source: Randomness) -> Sample:
    """Directions of uniform points of a cube: a popular mistake."""
    directions = 2 * source.uniform(count * dimension).reshape(count, dimension) - 1
    return _with_gamma_lengths(directions, epsilon, source)


def longer_to_one_side(dimension: int, epsilon: float, count: int, source: Randomness) -> Sample:
    """Length and direction each have their law; together they do not."""
    noise = laplace_noise(dimension, epsilon, count, source)
    lengths = lengths_of(noise)
    directions = noise / lengths[:, None]
    order = directions[:, 0].argsort(kind="stable")
    paired = np.empty(count)
    paired[order] = np.sort(lengths)
    return paired[:, None] * directions


def _with_gamma_lengths(directions: Sample, epsilon: float, source: Randomness) -> Sample:
    lengths = source.gamma(directions.shape[1], 1 / epsilon, len(directions))
    return directions * (lengths / lengths_of(directions))[:, None]


@every_dimension
@pytest.mark.parametrize("twin", [doubled_epsilon, tenth_less_noise, gaussian])
def test_twins_with_a_wrong_length_are_caught(twin: Sampler, dimension: int) -> None:
    # A tenth less noise is the hardest at d = 1, where lengths vary most.
    assert radius_is_wrong(drawn(twin, dimension))


@above_one
def test_twin_with_laplace_noise_per_coordinate_is_caught(dimension: int) -> None:
    # In one dimension the two are the same law.
    assert radius_is_wrong(drawn(laplace_per_coordinate, dimension))


def test_laplace_noise_per_coordinate_is_right_in_one_dimension() -> None:
    assert not radius_is_wrong(drawn(laplace_per_coordinate, 1))


@every_dimension
def test_twin_with_biased_directions_is_caught(dimension: int) -> None:
    assert direction_is_wrong(drawn(biased, dimension))


@above_one
@pytest.mark.parametrize("twin", [one_coordinate_scaled, correlated])
def test_twins_with_directions_from_an_ellipse_are_caught(twin: Sampler, dimension: int) -> None:
    assert direction_is_wrong(drawn(twin, dimension))


@pytest.mark.parametrize("dimension", [2, 3])
def test_twin_with_directions_from_a_cube_is_caught(dimension: int) -> None:
    # In high dimensions a cube is nearly round, so only the low ones can show it.
    assert direction_is_wrong(drawn(from_a_cube, dimension))


@every_dimension
def test_twin_with_lengths_tied_to_directions_is_caught(dimension: int) -> None:
    tied = drawn(longer_to_one_side, dimension)
    assert not radius_is_wrong(tied)
    assert radius_depends_on_direction(tied)
