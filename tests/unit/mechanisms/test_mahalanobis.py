"""The Mahalanobis mechanism as a function: its matrix, its limits, and what it refuses. The law
of its noise is tested in ``statistical``."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms import mahalanobis as module
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.mahalanobis import Mahalanobis, rounded_up, shape_matrix
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.vectors.space import Space

SHAPES = pytest.mark.parametrize("lambda_", [0.0, 0.2, 0.7, 1.0])


def one_place() -> Space:
    return Space("heap", ["a", "b", "c"], np.ones((3, 2), dtype=np.float32))


def flat() -> Space:
    """Words on a line in two dimensions: no spread across it."""
    return Space("flat", ["a", "b", "c"], np.array([[0, 0], [1, 1], [3, 3]], dtype=np.float32))


@SHAPES
@pytest.mark.parametrize("block", [5, 4096])
def test_the_matrix_is_the_scaled_covariance_mixed_with_the_identity(
    small_space: Space, lambda_: float, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    covariance = np.cov(small_space.vectors.T.astype(np.float64))
    covariance /= np.diag(covariance).mean()
    naive = lambda_ * covariance + (1 - lambda_) * np.eye(3)
    matrix = shape_matrix(small_space, lambda_)
    assert matrix == pytest.approx(naive, abs=1e-12)
    assert np.diag(matrix).mean() == pytest.approx(1.0)


@SHAPES
def test_the_factor_is_a_root_of_the_matrix_and_is_made_once(
    small_space: Space, lambda_: float
) -> None:
    mahalanobis = Mahalanobis(space=small_space, epsilon=1, lambda_=lambda_)
    root = mahalanobis._factor[0]
    assert root @ root == pytest.approx(shape_matrix(small_space, lambda_), abs=1e-12)
    mahalanobis.privatize(np.arange(13), Randomness.secure())
    assert mahalanobis._factor[0] is root


@SHAPES
def test_the_stretch_is_the_largest_ratio_of_the_two_distances(
    small_space: Space, lambda_: float
) -> None:
    mahalanobis = Mahalanobis(space=small_space, epsilon=2, lambda_=lambda_)
    inverse = np.linalg.inv(shape_matrix(small_space, lambda_))
    directions = np.random.default_rng(1).normal(size=(2000, 3))
    directions = np.vstack([directions, np.linalg.eigh(inverse)[1].T])
    norms = np.sqrt(np.einsum("nd,de,ne->n", directions, inverse, directions))
    ratios = norms / np.linalg.norm(directions, axis=1)
    assert ratios.max() == pytest.approx(mahalanobis.stretch, rel=1e-9)
    assert mahalanobis.euclidean_epsilon == 2 * mahalanobis.stretch


def test_with_lambda_zero_it_is_the_laplace_mechanism(small_space: Space) -> None:
    points = np.tile(np.arange(13), 50)
    plain = Laplace(space=small_space, epsilon=2)
    mahalanobis = Mahalanobis(space=small_space, epsilon=2, lambda_=0)
    ours = mahalanobis.privatize(points, Randomness.reproducible(3))
    assert (ours == plain.privatize(points, Randomness.reproducible(3))).all()
    assert mahalanobis.noise(9, Randomness.reproducible(3)) == pytest.approx(
        plain.noise(9, Randomness.reproducible(3)), abs=1e-15
    )
    assert mahalanobis.stretch == 1.0


def test_noise_is_the_factor_times_round_noise_and_not_scaled_back(small_space: Space) -> None:
    mahalanobis = Mahalanobis(space=small_space, epsilon=2, lambda_=0.8)
    shaped = mahalanobis.noise(500, Randomness.reproducible(4))
    plain = Laplace(space=small_space, epsilon=2).noise(500, Randomness.reproducible(4))
    inverse = np.linalg.inv(shape_matrix(small_space, 0.8))
    whitened = np.sqrt(np.einsum("nd,de,ne->n", shaped, inverse, shaped))
    assert whitened == pytest.approx(np.linalg.norm(plain, axis=1), rel=1e-9)
    assert np.linalg.norm(shaped, axis=1) != pytest.approx(np.linalg.norm(plain, axis=1), rel=0.01)


def test_the_guarantee_names_its_norm_and_what_that_is_in_the_euclidean_one(
    small_space: Space,
) -> None:
    mahalanobis = Mahalanobis(space=small_space, epsilon=3, lambda_=0.5)
    assert isinstance(mahalanobis, PointMechanism)
    guarantee = mahalanobis.guarantee()
    assert guarantee.notion is Notion.METRIC_DP
    assert guarantee.epsilon == 3.0
    assert "Mahalanobis distance" in guarantee.metric
    assert "lambda 0.5" in guarantee.metric
    assert f"at most {rounded_up(mahalanobis.stretch)} times the Euclidean" in guarantee.metric
    assert float(rounded_up(mahalanobis.stretch)) >= mahalanobis.stretch
    # Two releases under one matrix add up, whatever their levels.
    other = Mahalanobis(space=small_space, epsilon=1, lambda_=0.5).guarantee()
    assert guarantee.then(other).epsilon == 4.0


@pytest.mark.parametrize("factor", [1.0, 1.0000001, 1.23456789, 999.9999, 16.111066978871452])
def test_a_printed_factor_is_never_too_small(factor: float) -> None:
    assert factor <= float(rounded_up(factor)) <= factor * (1 + 1e-5)


@pytest.mark.parametrize("lambda_", [-0.1, 1.0001, math.nan, math.inf, "half", None])
def test_a_lambda_outside_zero_to_one_is_refused(small_space: Space, lambda_: float) -> None:
    with pytest.raises(InvalidArgument, match="lambda="):
        Mahalanobis(space=small_space, epsilon=1, lambda_=lambda_)


def test_the_allowed_range_is_named(small_space: Space) -> None:
    with pytest.raises(InvalidArgument, match=r"lambda=2 must lie between 0 and 1"):
        Mahalanobis(space=small_space, epsilon=1, lambda_=2)


def test_a_shape_without_noise_in_some_direction_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="a smaller lambda does"):
        Mahalanobis(space=flat(), epsilon=1, lambda_=1).guarantee()
    assert Mahalanobis(space=flat(), epsilon=1, lambda_=0.9).guarantee().epsilon == 1.0


def test_words_at_one_place_have_no_shape() -> None:
    with pytest.raises(InvalidArgument, match="must be 0"):
        Mahalanobis(space=one_place(), epsilon=1, lambda_=0.5).guarantee()
    assert Mahalanobis(space=one_place(), epsilon=1, lambda_=0).stretch == 1.0


def test_lambda_is_read_from_the_command_line(small_space: Space) -> None:
    built = build_mechanism(
        "mahalanobis", space=small_space, epsilon=1.0, settings={"lambda": "0.3"}
    )
    assert isinstance(built, Mahalanobis)
    assert built.lambda_ == 0.3
    with pytest.raises(UnknownName, match="lambda"):
        build_mechanism("mahalanobis", space=small_space, epsilon=1.0, settings={"lamda": "0.3"})
