"""Rows: told from mechanisms without them, distances to the last digits, copies without a store."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from pairs import all_points
from sfumato.core.randomness import Randomness
from sfumato.mechanisms import rows as module
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.hyperbolic import HyperbolicRows
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.rows import ByDistance, RowMechanism, distances, log_normalized
from sfumato.mechanisms.truncated import Truncated
from sfumato.vectors import distances as squares
from sfumato.vectors.space import Space


def by_distance(space: Space, epsilon: float) -> list[ByDistance]:
    return [
        Exponential(space=space, epsilon=epsilon),
        Truncated(space=space, epsilon=epsilon, gamma=1.5),
        HyperbolicRows(space=space, epsilon=epsilon),
    ]


def test_a_mechanism_with_rows_is_told_from_one_without(small_space: Space) -> None:
    assert isinstance(Exponential(space=small_space, epsilon=1), RowMechanism)
    assert not isinstance(Laplace(space=small_space, epsilon=1), RowMechanism)


@pytest.mark.parametrize("width", [1, 5, 4096])
def test_distances_are_those_of_the_space(
    small_space: Space, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WORDS", width)
    found = distances(small_space, all_points(small_space))
    naive = np.stack([small_space.distances_from(point) for point in all_points(small_space)])
    assert np.abs(found - naive).max() < 1e-14
    assert (
        np.abs(distances(small_space, np.array([12, 3]), slice(4, 9)) - naive[[12, 3], 4:9]).max()
        < 1e-14
    )


def far_cluster() -> Space:
    """Words a millionth apart, a thousand away from another word: products alone would cancel."""
    generator = np.random.default_rng(3)
    cluster = 500.0 + generator.normal(size=(40, 5)) * 1e-3
    vectors = np.vstack([cluster, cluster[:3], np.full((1, 5), -500.0)]).astype(np.float32)
    return Space("cluster", [f"w{number}" for number in range(44)], vectors)


def test_distances_between_near_duplicates_keep_their_digits() -> None:
    space = far_cluster()
    found = distances(space, all_points(space))
    naive = np.stack([space.distances_from(point) for point in all_points(space)])
    assert np.abs(found - naive).max() < 1e-11
    assert (found[[0, 1, 2], [40, 41, 42]] == 0.0).all()


def test_twin_that_trusts_the_product_loses_the_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(squares, "CLOSE", -1.0)
    space = far_cluster()
    naive = np.stack([space.distances_from(point) for point in all_points(space)])
    with np.errstate(invalid="ignore"):
        found = np.nan_to_num(distances(space, all_points(space)))
    assert np.abs(found - naive).max() > 1e-7


def test_normalized_scores_sum_to_one_however_low_they_are() -> None:
    scores = np.array([[-1e5, -1e5 - 1.0, -np.inf], [1e5, 0.0, -1e5], [0.0, 0.0, 0.0]])
    rows = np.exp(log_normalized(scores))
    assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-15)
    assert rows[0, 0] / rows[0, 1] == pytest.approx(np.e, rel=1e-9)
    assert rows[0, 2] == 0.0


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 100.0])
def test_weights_of_any_part_and_sums_of_blocks_are_those_of_the_row(
    random_space: Space, epsilon: float
) -> None:
    points = all_points(random_space)
    for mechanism in by_distance(random_space, epsilon):
        rows = np.exp(mechanism.log_rows(points))
        whole = mechanism.weights(points, slice(None))
        assert whole.max(axis=1) == pytest.approx(1.0)
        assert np.allclose(whole / whole.sum(axis=1, keepdims=True), rows, rtol=1e-9, atol=0)
        for part in (slice(0, 1), slice(32, 64), slice(190, 200)):
            found = mechanism.weights(points, part)
            assert np.allclose(found, whole[:, part], rtol=1e-9, atol=0)
        for size in (1, 32, 70, 200):
            sums = np.add.reduceat(whole, np.arange(0, 200, size), axis=1)
            assert np.allclose(mechanism.block_sums(points, size), sums, rtol=1e-9, atol=0)


@pytest.mark.parametrize(
    "make", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_a_copy_takes_no_rows_along_and_draws_alike(
    random_space: Space, make: Callable[[ByDistance], ByDistance]
) -> None:
    points = np.tile(all_points(random_space), 3)
    for mechanism in by_distance(random_space, 2.0):
        drawn = mechanism.privatize(points, Randomness.reproducible(1))
        assert mechanism._kept.count == 201
        other = make(mechanism)
        assert other._kept.count == 0
        assert (other.privatize(points, Randomness.reproducible(1)) == drawn).all()


def test_what_is_pickled_does_not_grow_with_the_words_privatized(random_space: Space) -> None:
    mechanism = Exponential(space=random_space, epsilon=2.0)
    before = len(pickle.dumps(mechanism))
    mechanism.privatize(all_points(random_space), Randomness.secure())
    assert len(pickle.dumps(mechanism)) == before
