"""The word mechanisms besides Laplace draw with the probabilities their proofs speak of.

Where a row can be written down or integrated, the counted outputs are compared with it, for every
input and the unknown point among them. Each sabotaged twin must be rejected by the same check.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sfumato.core.randomness import Randomness
from sfumato.mechanisms.binary import Binary
from sfumato.mechanisms.custom import Custom
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.laplace import laplace_noise
from sfumato.mechanisms.mahalanobis import Mahalanobis
from sfumato.mechanisms.projected import Projected
from sfumato.mechanisms.rows import RowMechanism
from sfumato.mechanisms.sanitize_plus import SanitizePlus
from sfumato.mechanisms.truncated import Truncated
from sfumato.vectors.space import Space
from statistical import budget
from statistical.rows import (
    Gamma,
    along_rays,
    corners,
    exact_rows,
    piecewise_integral,
    worst_excess,
)

Points = NDArray[np.float64]
Counts = NDArray[np.int64]
Draw = Callable[[NDArray[np.intp], Randomness], NDArray[np.intp]]

PLANE = Space(
    "plane",
    ["middle", "east", "west", "north", "south", "pair", "far"],
    np.array(
        [[0, 0], [0.25, 0], [-0.25, 0.03125], [0, 0.25], [0.03125, -0.25], [1.5, 1], [-2, -3]],
        dtype=np.float32,
    ),
)
DRAWS = 20_000


def inputs_of(space: Space) -> Points:
    """Every word's point and, last, the point of all unknown words."""
    return space.at(np.arange(len(space) + 1))


def counted(space: Space, draw: Draw, seed: int) -> Counts:
    """How often each output came, one row per input; all inputs stand mixed in one text."""
    points = np.tile(np.arange(len(space) + 1), DRAWS)
    outputs = draw(points, Randomness.reproducible(seed))
    cells = np.bincount(points * len(space) + outputs, minlength=(len(space) + 1) * len(space))
    return cells.reshape(len(space) + 1, len(space))


def disagrees(counts: Counts, rows: Points, check: str, case: str) -> bool:
    """Whether counted outputs are too far from their exact probabilities."""
    p_values = [
        budget.fits_share(int(hits), DRAWS, min(1.0, float(share)))
        for hits, share in zip(counts.ravel(), rows.ravel(), strict=True)
    ]
    return budget.rejects(check, case, p_values)


# --- drawing from rows -----------------------------------------------------------------------


def one_draw_per_word(mechanism: RowMechanism) -> Draw:
    """The twin that shares a draw among all occurrences of a word in ten."""

    def draw(points: NDArray[np.intp], source: Randomness) -> NDArray[np.intp]:
        size = 10 * (len(mechanism.space) + 1)
        outputs = mechanism.privatize(points[: len(points) // 10], source)
        blocks = outputs.reshape(-1, len(mechanism.space) + 1)
        return np.repeat(blocks, 10, axis=0).ravel()[: len(points) // size * size]

    return draw


def one_word_further(mechanism: RowMechanism) -> Draw:
    """The twin that is off by one in the cumulated row."""

    def draw(points: NDArray[np.intp], source: Randomness) -> NDArray[np.intp]:
        outputs = mechanism.privatize(points, source)
        return np.minimum(outputs + 1, len(mechanism.space) - 1)

    return draw


@pytest.mark.parametrize(
    ("name", "mechanism", "louder"),
    [
        (
            "exponential",
            Exponential(space=PLANE, epsilon=1.5),
            Exponential(space=PLANE, epsilon=3.0),
        ),
        (
            "truncated",
            Truncated(space=PLANE, epsilon=1.5, gamma=1.0),
            Truncated(space=PLANE, epsilon=1.5, gamma=1.5),
        ),
        (
            "custom",
            Custom(space=PLANE, epsilon=1.5, size=3),
            Custom(space=PLANE, epsilon=3.0, size=3),
        ),
        (
            "sanitize-plus",
            SanitizePlus(space=PLANE, epsilon=1.5, sensitive_share=0.6),
            SanitizePlus(space=PLANE, epsilon=1.5, sensitive_share=0.6, p=0.35),
        ),
    ],
)
def test_draws_follow_the_rows(name: str, mechanism: RowMechanism, louder: RowMechanism) -> None:
    rows = np.exp(mechanism.log_rows(np.arange(len(PLANE) + 1)))
    honest = counted(PLANE, mechanism.privatize, seed=11)
    assert not disagrees(honest, rows, "rows: drawn from", name)
    for twin in (louder.privatize, one_word_further(mechanism), one_draw_per_word(mechanism)):
        assert disagrees(counted(PLANE, twin, seed=12), rows, "rows: drawn from", name)


# --- noise in the shape of the vocabulary ----------------------------------------------------

SHAPES = pytest.mark.parametrize("lambda_", [0.0, 0.5, 1.0])
EPSILON = 2.5
COUNT = 8000


@cache
def cloud() -> Space:
    """100 words in 4 dimensions, stretched and turned."""
    generator = np.random.default_rng(5)
    vectors = generator.normal(size=(100, 4)) * [3.0, 1.0, 0.5, 0.2] @ generator.normal(size=(4, 4))
    return Space("cloud", [f"w{number}" for number in range(100)], vectors.astype(np.float32))


def matrix_of(space: Space, lambda_: float) -> Points:
    covariance = np.cov(space.vectors.T.astype(np.float64))
    covariance /= np.diag(covariance).mean()
    return np.asarray(lambda_ * covariance + (1 - lambda_) * np.eye(space.dimension))


def root_of(matrix: Points, power: float = 0.5) -> Points:
    values, axes = np.linalg.eigh(matrix)
    return np.asarray((axes * values**power) @ axes.T)


def noise_is_wrong(noise: Points, lambda_: float) -> bool:
    """Whitened, the noise must have Gamma lengths and uniform directions."""
    whitened = noise @ root_of(matrix_of(cloud(), lambda_), -0.5)
    lengths = np.linalg.norm(whitened, axis=1)
    directions = whitened / lengths[:, None]
    dimension = noise.shape[1]
    half = (dimension - 1) / 2
    p_values = [budget.fits_law(lengths, stats.gamma(dimension, scale=1 / EPSILON))]
    p_values.extend(
        budget.fits_law((1 + directions @ axis) / 2, stats.beta(half, half))
        for axis in np.linalg.eigh(matrix_of(cloud(), 1.0))[1].T
    )
    p_values.append(budget.has_no_drift(directions))
    return budget.rejects("noise: whitened", f"lambda={lambda_:g}", p_values)


def plain_noise(seed: int) -> Points:
    return laplace_noise(4, EPSILON, COUNT, Randomness.reproducible(seed))


@SHAPES
def test_whitened_noise_is_laplace_noise(lambda_: float) -> None:
    mahalanobis = Mahalanobis(space=cloud(), epsilon=EPSILON, lambda_=lambda_)
    assert not noise_is_wrong(mahalanobis.noise(COUNT, Randomness.reproducible(21)), lambda_)


@pytest.mark.parametrize("lambda_", [0.5, 1.0])
def test_twins_with_another_shape_are_caught(lambda_: float) -> None:
    plain, matrix = plain_noise(22), matrix_of(cloud(), lambda_)
    shaped = plain @ root_of(matrix)
    assert not noise_is_wrong(shaped, lambda_), "the twins fail for what was changed in them"
    lengths = np.linalg.norm(plain, axis=1) / np.linalg.norm(shaped, axis=1)
    assert noise_is_wrong(shaped * lengths[:, None], lambda_), "renormalized"
    assert noise_is_wrong(plain @ matrix, lambda_), "A in place of its root"
    assert noise_is_wrong(plain, lambda_), "round"


@SHAPES
def test_twins_with_another_length_are_caught(lambda_: float) -> None:
    shaped = plain_noise(23) @ root_of(matrix_of(cloud(), lambda_))
    assert noise_is_wrong(shaped / 2, lambda_)
    assert noise_is_wrong(shaped * 0.9, lambda_)


@cache
def shaped_rows(epsilon: float, power: float) -> Points:
    """Exact rows in a plane when the noise is r·A^power·u."""
    root = root_of(matrix_of(PLANE, 0.5), power)
    law = Gamma(2, scale=1 / epsilon)
    words = PLANE.vectors.astype(np.float64)

    def row(place: Points) -> Points:
        def density(angles: Points) -> Points:
            rays = np.column_stack([np.cos(angles), np.sin(angles)]) @ root.T
            return along_rays(words, place, rays, law) / (2 * np.pi)

        # Where corners of cells are seen the integrand has kinks: A^power·u points at them for
        # these u.
        seen = np.array(corners(words, place))
        turned = np.column_stack([np.cos(seen), np.sin(seen)]) @ np.linalg.inv(root)
        kinks = np.arctan2(turned[:, 1], turned[:, 0])
        return piecewise_integral(density, [-np.pi, *kinks.tolist(), np.pi])

    return np.stack([row(place) for place in inputs_of(PLANE)])


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_no_pair_exceeds_the_level_in_the_norm_of_the_shape_nor_the_euclidean_one(
    epsilon: float,
) -> None:
    mahalanobis = Mahalanobis(space=PLANE, epsilon=epsilon, lambda_=0.5)
    rows, inputs = shaped_rows(epsilon, 0.5), inputs_of(PLANE)
    whitened = inputs @ root_of(matrix_of(PLANE, 0.5), -0.5)
    assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    assert worst_excess(rows, whitened, epsilon) <= 1e-7
    assert worst_excess(rows, inputs, mahalanobis.euclidean_epsilon) <= 1e-7


def test_twin_with_the_matrix_in_place_of_its_root_exceeds_the_level() -> None:
    whitened = inputs_of(PLANE) @ root_of(matrix_of(PLANE, 0.5), -0.5)
    assert worst_excess(shaped_rows(3.0, 1.0), whitened, 3.0) > 1e-3


def test_mahalanobis_draws_with_the_exact_probabilities() -> None:
    rows, case = shaped_rows(3.0, 0.5), ("rows: after other noise", "mahalanobis")
    honest = Mahalanobis(space=PLANE, epsilon=3.0, lambda_=0.5)
    assert not disagrees(counted(PLANE, honest.privatize, seed=24), rows, *case)
    for epsilon, lambda_ in ((6.0, 0.5), (3.0, 0.0), (3.0, 0.9)):
        twin = Mahalanobis(space=PLANE, epsilon=epsilon, lambda_=lambda_)
        assert disagrees(counted(PLANE, twin.privatize, seed=25), rows, *case)


# --- noise after a projection ----------------------------------------------------------------


@cache
def projected_rows(epsilon: float) -> tuple[Points, Points]:
    """Exact rows of the projection to a line, and the projected inputs."""
    projection = Projected(space=PLANE, epsilon=epsilon, dimensions=1).projection
    words, inputs = PLANE.vectors.astype(np.float64) @ projection.T, inputs_of(PLANE) @ projection.T
    return exact_rows(words, inputs, Gamma(1, scale=1 / epsilon)), inputs


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_no_pair_exceeds_the_level_in_the_projected_distance_nor_the_euclidean_one(
    epsilon: float,
) -> None:
    projected = Projected(space=PLANE, epsilon=epsilon, dimensions=1)
    rows, images = projected_rows(epsilon)
    assert worst_excess(rows, images, epsilon) <= 1e-7
    assert worst_excess(rows, inputs_of(PLANE), projected.euclidean_epsilon) <= 1e-7


def test_twin_that_forgets_the_norm_of_the_projection_exceeds_the_level() -> None:
    # ‖Φ‖₂ = √2 here: the level in the projected distance is not one in the Euclidean distance.
    assert worst_excess(projected_rows(3.0)[0], inputs_of(PLANE), 3.0) > 1e-3


def test_projected_draws_with_the_exact_probabilities() -> None:
    rows, case = projected_rows(3.0)[0], ("rows: after other noise", "projected to a line")
    honest = Projected(space=PLANE, epsilon=3.0, dimensions=1)
    assert not disagrees(counted(PLANE, honest.privatize, seed=31), rows, *case)
    louder = Projected(space=PLANE, epsilon=6.0, dimensions=1)
    elsewhere = Projected(space=PLANE, epsilon=3.0, dimensions=1, projection_seed=1)
    whole = Projected(space=PLANE, epsilon=3.0, dimensions=2)
    for twin in (louder, elsewhere, whole):
        assert disagrees(counted(PLANE, twin.privatize, seed=32), rows, *case)


def test_projected_to_all_dimensions_is_laplace_in_law() -> None:
    words, case = PLANE.vectors.astype(np.float64), ("rows: after other noise", "turned")
    rows = exact_rows(words, inputs_of(PLANE), Gamma(2, scale=1 / 3))
    honest = Projected(space=PLANE, epsilon=3.0, dimensions=2)
    assert not disagrees(counted(PLANE, honest.privatize, seed=33), rows, *case)
    louder = Projected(space=PLANE, epsilon=6.0, dimensions=2)
    narrower = Projected(space=PLANE, epsilon=3.0, dimensions=1)
    for twin in (louder, narrower):
        assert disagrees(counted(PLANE, twin.privatize, seed=34), rows, *case)


# --- flipped bits ----------------------------------------------------------------------------


def test_binary_draws_with_the_exact_probabilities() -> None:
    case = ("rows: after other noise", "binary")
    honest = Binary(space=PLANE, epsilon=1.0, bits=6)
    rows = honest.enumerated_rows()
    assert not disagrees(counted(PLANE, honest.privatize, seed=41), rows, *case)
    for epsilon, bits in ((2.0, 6), (1.0, 5)):
        twin = Binary(space=PLANE, epsilon=epsilon, bits=bits)
        assert disagrees(counted(PLANE, twin.privatize, seed=42), rows, *case)
