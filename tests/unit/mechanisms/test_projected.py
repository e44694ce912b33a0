"""The projected mechanism as a function: its projection, its norm, its limits. Its law is tested
in ``statistical``."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms import projected as module
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.laplace import Laplace, laplace_noise
from sfumato.mechanisms.mahalanobis import rounded_up
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.projected import Projected, random_projection
from sfumato.vectors.space import Space


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 3), (2, 3), (3, 3), (10, 50)])
def test_the_rows_are_orthogonal_and_as_long_as_keeps_distances_on_average(
    rows: int, columns: int
) -> None:
    projection = random_projection(rows, columns, seed=4)
    assert projection.shape == (rows, columns)
    assert projection @ projection.T == pytest.approx(np.eye(rows) * columns / rows, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_the_first_row_points_where_the_first_normal_vector_does(seed: int) -> None:
    # The signs of a QR factor are an accident of the library; left as they come, no sign is random.
    first = np.random.default_rng(seed).standard_normal((5, 2))[:, 0]
    row = random_projection(2, 5, seed)[0]
    assert row == pytest.approx(first / np.linalg.norm(first) * math.sqrt(5 / 2), abs=1e-12)


def test_the_seed_decides_the_projection_and_nothing_else_does() -> None:
    one, two = (random_projection(2, 5, seed=4) for _ in range(2))
    assert (one == two).all()
    assert (one != random_projection(2, 5, seed=5)).any()


def test_the_projection_shares_no_number_with_noise_under_the_same_seed() -> None:
    public = np.random.default_rng(4).standard_normal(1000)
    private = Randomness.reproducible(4).normal(1, 1000)
    assert np.intersect1d(public, private).size == 0


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_no_two_points_come_apart_by_more_than_the_norm(
    small_space: Space, dimensions: int
) -> None:
    projected = Projected(space=small_space, epsilon=2, dimensions=dimensions)
    places = small_space.at(np.arange(len(small_space) + 1))
    before = np.linalg.norm(places[:, None] - places[None], axis=2)
    images = places @ projected.projection.T
    after = np.linalg.norm(images[:, None] - images[None], axis=2)
    assert (after <= projected.stretch * before + 1e-12).all()
    assert projected.stretch == pytest.approx(math.sqrt(3 / dimensions))
    assert projected.euclidean_epsilon == 2 * projected.stretch


def test_the_norm_is_computed_and_not_assumed(small_space: Space) -> None:
    projected = Projected(space=small_space, epsilon=2, dimensions=2)
    skewed = np.array([[3.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    projected.__dict__["projection"] = skewed
    assert projected.stretch == pytest.approx(5.0)


@pytest.mark.parametrize("projection_seed", [0, 7])
def test_with_all_dimensions_it_is_the_laplace_mechanism_turned(
    small_space: Space, projection_seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    projected = Projected(
        space=small_space, epsilon=2, dimensions=3, projection_seed=projection_seed
    )

    def turned(*settings: float, **_: object) -> NDArray[np.float64]:
        return laplace_noise(*settings) @ projected.projection.T  # type: ignore[arg-type]

    # Turned noise has the law of noise, so with it the outputs must be the very same words.
    monkeypatch.setattr(module, "laplace_noise", turned)
    points = np.tile(np.arange(13), 100)
    ours = projected.privatize(points, Randomness.reproducible(3))
    plain = Laplace(space=small_space, epsilon=2).privatize(points, Randomness.reproducible(3))
    assert (ours == plain).all()


def test_the_mechanism_is_projection_noise_and_nearest_projected_word(small_space: Space) -> None:
    points = np.tile(np.arange(13), 30)
    projected = Projected(space=small_space, epsilon=1.5, dimensions=2)
    outputs = projected.privatize(points, Randomness.reproducible(8))
    noise = laplace_noise(2, 1.5, len(points), Randomness.reproducible(8))
    images = small_space.vectors.astype(np.float64) @ projected.projection.T
    for output, point, shift in zip(outputs, points, noise, strict=True):
        place = small_space.at(np.array([point]))[0] @ projected.projection.T + shift
        assert output == np.linalg.norm(images - place, axis=1).argmin()


def test_the_guarantee_names_its_distance_and_what_that_is_in_the_euclidean_one(
    small_space: Space,
) -> None:
    projected = Projected(space=small_space, epsilon=3, dimensions=2, projection_seed=5)
    assert isinstance(projected, PointMechanism)
    guarantee = projected.guarantee()
    assert guarantee.notion is Notion.METRIC_DP
    assert guarantee.epsilon == 3.0
    assert guarantee.delta == 0.0
    assert "after projection 5 to 2 dimensions" in guarantee.metric
    assert f"at most {rounded_up(projected.stretch)} times" in guarantee.metric
    other = Projected(space=small_space, epsilon=1, dimensions=2, projection_seed=5).guarantee()
    assert guarantee.then(other).epsilon == 4.0


def test_half_of_the_dimensions_are_left_by_default(small_space: Space) -> None:
    assert Projected(space=small_space, epsilon=1).projection.shape == (1, 3)
    line = Space("line", ["a", "b"], np.array([[0], [1]], dtype=np.float32))
    assert Projected(space=line, epsilon=1).projection.shape == (1, 1)


@pytest.mark.parametrize("dimensions", [0, -1, 4, 1.5, "two", True])
def test_dimensions_that_the_space_does_not_have_are_refused(
    small_space: Space, dimensions: int
) -> None:
    with pytest.raises(InvalidArgument, match="dimensions="):
        Projected(space=small_space, epsilon=1, dimensions=dimensions)


def test_the_allowed_range_is_named(small_space: Space) -> None:
    with pytest.raises(InvalidArgument, match="dimensions=4 must lie between 1 and 3"):
        Projected(space=small_space, epsilon=1, dimensions=4)
    with pytest.raises(InvalidArgument, match="dimensions=0 must be at least 1"):
        Projected(space=small_space, epsilon=1, dimensions=0)
    with pytest.raises(InvalidArgument, match="projection_seed=-1 must be at least 0"):
        Projected(space=small_space, epsilon=1, projection_seed=-1)


def test_settings_are_read_from_the_command_line(small_space: Space) -> None:
    settings = {"dimensions": "2", "projection_seed": "9"}
    built = build_mechanism("projected", space=small_space, epsilon=1.0, settings=settings)
    assert isinstance(built, Projected)
    assert (built.dimensions, built.projection_seed) == (2, 9)
