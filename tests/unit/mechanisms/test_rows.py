"""Rows and draws from them: distances to the last digits, bounded blocks, independent draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.accounting.guarantee import Guarantee, no_guarantee
from sfumato.core.randomness import Randomness
from sfumato.mechanisms import rows as module
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.rows import RowMechanism, distances, draw_from_rows, log_normalised
from sfumato.vectors.space import Space


@dataclass(frozen=True)
class Given:
    """A mechanism with the rows it is given, and a note of how they were asked for."""

    space: Space
    logs: NDArray[np.float64]
    asked: list[list[int]]

    def guarantee(self) -> Guarantee:
        return no_guarantee(unit="word")

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        self.asked.append(points.tolist())
        return self.logs[points]

    def log_row(self, point: int) -> NDArray[np.float64]:
        return self.log_rows(np.array([point])).ravel()

    def row(self, point: int) -> NDArray[np.float64]:
        return np.exp(self.log_row(point))

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        return draw_from_rows(self, points, randomness)


def given(space: Space, rows: NDArray[np.float64]) -> Given:
    with np.errstate(divide="ignore"):
        return Given(space, np.log(rows), [])


def all_points(space: Space) -> NDArray[np.intp]:
    return np.arange(len(space) + 1)


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


def far_cluster() -> Space:
    """Words a millionth apart, a thousand away from another word: products alone would cancel."""
    generator = np.random.default_rng(3)
    cluster = 500.0 + generator.normal(size=(40, 5)) * 1e-3
    vectors = np.vstack([cluster, cluster[:3], np.full((1, 5), -500.0)]).astype(np.float32)
    return Space("cluster", [f"w{number}" for number in range(44)], vectors)


@pytest.mark.parametrize("cells", [7, 1 << 22])
def test_distances_between_near_duplicates_keep_their_digits(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CELLS", cells)
    space = far_cluster()
    found = distances(space, all_points(space))
    naive = np.stack([space.distances_from(point) for point in all_points(space)])
    assert np.abs(found - naive).max() < 1e-11
    assert (found[[0, 1, 2], [40, 41, 42]] == 0.0).all()


def test_twin_that_trusts_the_product_loses_the_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLOSE", -1.0)
    space = far_cluster()
    naive = np.stack([space.distances_from(point) for point in all_points(space)])
    with np.errstate(invalid="ignore"):
        found = np.nan_to_num(distances(space, all_points(space)))
    assert np.abs(found - naive).max() > 1e-7


def test_normalised_scores_sum_to_one_however_low_they_are() -> None:
    scores = np.array([[-1e5, -1e5 - 1.0, -np.inf], [1e5, 0.0, -1e5], [0.0, 0.0, 0.0]])
    rows = np.exp(log_normalised(scores))
    assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-15)
    assert rows[0, 0] / rows[0, 1] == pytest.approx(np.e, rel=1e-9)
    assert rows[0, 2] == 0.0


def test_rows_far_below_the_smallest_number_are_drawn_from(small_space: Space) -> None:
    # exp(−1e5) is 0 in float64; shifted by the maximum nothing is lost.
    rows = np.full((13, 12), 1 / 12)
    low = Given(small_space, np.log(rows) - 1e5, [])
    outputs = draw_from_rows(low, np.zeros(2000, np.intp), Randomness.reproducible(1))
    assert set(outputs.tolist()) == set(range(12))


def test_words_without_probability_are_never_drawn(small_space: Space) -> None:
    rows = np.zeros((13, 12))
    rows[:, [3, 7]] = 0.5
    outputs = draw_from_rows(given(small_space, rows), np.arange(13), Randomness.secure())
    assert set(outputs.tolist()) <= {3, 7}


class OneDraw(Randomness):
    """A source that always gives the same number."""

    def __init__(self, draw: float) -> None:
        super().__init__(1)
        self.draw = draw

    def uniform(self, count: int) -> NDArray[np.float64]:
        return np.full(count, self.draw)


@pytest.mark.parametrize("total", [1.0, 1.0 + 2**-52, 1.5, 12.0, 2.0 - 2**-52])
def test_the_extreme_draws_give_the_first_and_the_last_word_that_can_come(
    small_space: Space, total: float
) -> None:
    rows = np.zeros((13, 12))
    rows[:, 2], rows[:, 9] = 1.0, max(total - 1.0, 2**-52)
    mechanism = given(small_space, rows)
    assert (draw_from_rows(mechanism, np.arange(13), OneDraw(0.0)) == 2).all()
    assert (draw_from_rows(mechanism, np.arange(13), OneDraw(1 - 2**-53)) == 9).all()


def test_each_row_is_built_once_however_often_its_word_stands_there(
    small_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CELLS", 30)  # two rows of twelve words
    mechanism = given(small_space, np.full((13, 12), 1 / 12))
    points = np.array([5, 12, 5, 0, 3, 5, 12, 9] * 50)
    draw_from_rows(mechanism, points, Randomness.secure())
    assert mechanism.asked == [[0, 3], [5, 9], [12]]


def test_a_block_holds_at_least_one_row(
    small_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CELLS", 1)
    outputs = draw_from_rows(given(small_space, np.eye(13, 12) + 1e-9), np.arange(12), OneDraw(0.5))
    assert (outputs == np.arange(12)).all()


def test_draws_do_not_depend_on_blocks(small_space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    exponential = Exponential(space=small_space, epsilon=1)
    points = np.tile(all_points(small_space), 40)
    whole = exponential.privatize(points, Randomness.reproducible(4))
    monkeypatch.setattr(module, "CELLS", 24)
    assert (exponential.privatize(points, Randomness.reproducible(4)) == whole).all()


def test_what_a_word_becomes_does_not_depend_on_its_neighbours(small_space: Space) -> None:
    exponential = Exponential(space=small_space, epsilon=1)
    one = exponential.privatize(np.array([3, 3, 3, 3]), Randomness.reproducible(4))
    two = exponential.privatize(np.array([3, 12, 0, 3]), Randomness.reproducible(4))
    assert one[[0, 3]].tolist() == two[[0, 3]].tolist()


def test_equal_words_get_draws_of_their_own(small_space: Space) -> None:
    exponential = Exponential(space=small_space, epsilon=0.5)
    outputs = exponential.privatize(np.zeros(200, np.intp), Randomness.secure())
    assert len(set(outputs.tolist())) > 3


def test_a_draw_is_the_inverse_of_the_cumulated_row(small_space: Space) -> None:
    exponential = Exponential(space=small_space, epsilon=1)
    points = np.tile(all_points(small_space), 30)
    outputs = exponential.privatize(points, Randomness.reproducible(6))
    draws = Randomness.reproducible(6).uniform(len(points))
    for point, draw, output in zip(points, draws, outputs, strict=True):
        naive = next(
            word
            for word in range(len(small_space))
            if draw < exponential.row(int(point))[: word + 1].sum() + 1e-15
        )
        assert output == naive


def test_no_points_give_no_words(small_space: Space) -> None:
    exponential = Exponential(space=small_space, epsilon=1)
    assert len(draw_from_rows(exponential, np.empty(0, np.intp), Randomness.secure())) == 0
