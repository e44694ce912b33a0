"""Draws from rows: the inverse of the cumulated row, however it is computed and kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from pairs import all_points
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, no_guarantee
from sfumato.mechanisms import draws as blockwise
from sfumato.mechanisms import draws as module
from sfumato.mechanisms import truncated
from sfumato.mechanisms.claims import euclidean
from sfumato.mechanisms.draws import draw_columns, draw_from_rows, invert_rows
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.hyperbolic import HyperbolicRows
from sfumato.mechanisms.row_store import RowStore, Search
from sfumato.mechanisms.rows import ByDistance, RowMechanism
from sfumato.mechanisms.sanitize_plus import SanitizePlus
from sfumato.mechanisms.truncated import Truncated
from sfumato.vectors.space import Space

Make = Callable[[Space], ByDistance]

EVERY_KIND = pytest.mark.parametrize(
    "make",
    [
        lambda space: Exponential(space=space, epsilon=0.2),
        lambda space: Exponential(space=space, epsilon=3.0),
        lambda space: Exponential(space=space, epsilon=50.0),
        lambda space: Truncated(space=space, epsilon=4.0, gamma=1.5),
        lambda space: HyperbolicRows(space=space, epsilon=2.0),
    ],
)


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


class OneDraw(Randomness):
    """A source that always gives the same number."""

    def __init__(self, draw: float) -> None:
        super().__init__(1)
        self.draw = draw

    def uniform(self, count: int) -> NDArray[np.float64]:
        return np.full(count, self.draw)


# --- the inverse of a row --------------------------------------------------------------------


def wrong_words(
    mechanism: RowMechanism, row: NDArray[np.float64], point: int, store: RowStore | None = None
) -> int:
    """How many numbers do not give the word of the plain inverse of ``row``.

    They lie on a grid, and a little below and above every bound between two words.
    """
    bounds = np.cumsum(row) / row.sum()
    draws = np.concatenate(
        [
            np.arange(3000) / 3000,
            *(bounds * (1 + one) for one in (-1e-9, 1e-9, -1e-5, 1e-5)),
            [1 - 2**-53, 1e-300, 0.5 - 2**-54],
        ]
    )
    draws = draws[draws < 1]
    plain = np.minimum(bounds.searchsorted(draws, side="right"), len(row) - 1)
    found = invert_rows(mechanism, np.full(len(draws), point), draws, store)
    # What lies at a bound to the last digits may fall to either side.
    above = bounds.searchsorted(draws).clip(1, len(bounds) - 1)
    nearest = np.minimum(np.abs(draws - bounds[above - 1]), np.abs(draws - bounds[above]))
    at_bound = nearest < 1e-12
    possible = (row[found] > 0) | at_bound
    return int(np.count_nonzero(((found != plain) & ~at_bound) | ~possible))


@EVERY_KIND
@pytest.mark.parametrize("block", [1, 7, 32, 1000])
def test_a_draw_is_the_inverse_of_the_cumulated_row(
    random_space: Space, make: Make, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blockwise, "SMALLEST_BLOCK", block)
    monkeypatch.setattr(blockwise, "SIDE", 64)
    mechanism, store = make(random_space), RowStore(201)
    for point in (0, 3, 77, 190, 199, 200):
        row = mechanism.row(point)
        assert wrong_words(mechanism, row, point) == 0
        assert wrong_words(mechanism, row, point, store) == 0, "kept now"
        assert wrong_words(mechanism, row, point, store) == 0, "kept before"
    assert store.count == 6


def test_twins_with_other_rows_are_caught(random_space: Space) -> None:
    honest = Exponential(space=random_space, epsilon=3.0)
    row = honest.row(3)
    assert wrong_words(Exponential(space=random_space, epsilon=3.01), row, 3) > 0
    assert wrong_words(honest, row, 4) > 0
    cut = row.copy()
    cut[cut < 1e-4] = 0  # a head without its tail
    assert wrong_words(honest, cut, 3) > 0


def test_near_words_of_a_truncated_row_are_looked_for_or_not_with_the_same_outcome(
    random_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = all_points(random_space)
    mechanism = Truncated(space=random_space, epsilon=4.0, gamma=1.5)
    assert not mechanism._few_are_near
    dense = mechanism.block_sums(points, 32)
    # Now it is tried, and points with more than 9 words around them are crowded.
    monkeypatch.setattr(truncated, "MOST_NEAR", 0.045)
    sparse = Truncated(space=random_space, epsilon=4.0, gamma=1.5)
    assert sparse._few_are_near
    assert np.abs(sparse.block_sums(points, 32) / dense - 1).max() < 1e-12
    for point in (0, 50, 199, 200):
        assert wrong_words(sparse, mechanism.row(point), point) == 0


def test_the_first_number_above_is_that_of_a_plain_search() -> None:
    generator = np.random.default_rng(1)
    for width in (1, 2, 3, 31, 32, 33, 100):
        rows = np.cumsum(generator.integers(0, 3, size=(5, width)), axis=1).astype(np.float64)
        rows += 1e-9 * (1 + np.arange(width))
        which = generator.integers(5, size=400)
        reached = generator.uniform(size=400) * rows[which, -1]
        plain = [rows[w].searchsorted(r, side="right") for w, r in zip(which, reached, strict=True)]
        wide = np.hstack([np.full((5, 3), 1e9), rows, np.zeros((5, 2))])
        search = Search(wide, which, slice(3, 3 + width))
        assert search.first_above(reached).tolist() == plain


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


@pytest.mark.parametrize("total", [1.0, 1.0 + 2**-52, 1.5, 12.0, 2.0 - 2**-52])
def test_the_extreme_draws_give_the_first_and_the_last_word_that_can_come(
    small_space: Space, total: float
) -> None:
    rows = np.zeros((13, 12))
    rows[:, 2], rows[:, 9] = 1.0, max(total - 1.0, 2**-52)
    mechanism = given(small_space, rows)
    assert (draw_from_rows(mechanism, np.arange(13), OneDraw(0.0)) == 2).all()
    assert (draw_from_rows(mechanism, np.arange(13), OneDraw(1 - 2**-53)) == 9).all()


@EVERY_KIND
@pytest.mark.parametrize("draw", [0.0, 1e-320, 0.5, 1 - 2**-53])
def test_no_draw_leaves_the_vocabulary(random_space: Space, make: Make, draw: float) -> None:
    outputs = draw_from_rows(make(random_space), all_points(random_space), OneDraw(draw))
    assert ((outputs >= 0) & (outputs < len(random_space))).all()


@pytest.mark.parametrize("epsilon", [1e9, 1e17, 1e300])
def test_no_level_is_too_high(small_space: Space, epsilon: float) -> None:
    points = np.repeat(all_points(small_space), 5)
    outputs = Exponential(space=small_space, epsilon=epsilon).privatize(points, Randomness.secure())
    assert (outputs[:-5] == points[:-5]).all()
    assert (outputs[-5:] == small_space.distances_from(small_space.unknown).argmin()).all()


# --- how it is done must not matter ----------------------------------------------------------


def test_each_row_is_built_once_however_often_its_word_stands_there(
    small_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CELLS", 30)  # two rows of twelve words
    mechanism = given(small_space, np.full((13, 12), 1 / 12))
    points = np.array([5, 12, 5, 0, 3, 5, 12, 9] * 50)
    draw_from_rows(mechanism, points, Randomness.secure())
    assert mechanism.asked == [[0, 3], [5, 9], [12]]


def test_a_row_that_is_kept_is_not_built_again(small_space: Space) -> None:
    mechanism, store = given(small_space, np.full((13, 12), 1 / 12)), RowStore(13)
    draw_from_rows(mechanism, np.array([5, 0, 5]), Randomness.secure(), store)
    draw_from_rows(mechanism, np.array([5, 0, 9]), Randomness.secure(), store)
    draw_from_rows(mechanism, np.array([9, 0]), Randomness.secure(), store)
    assert mechanism.asked == [[0, 5], [9]]


def test_a_block_holds_at_least_one_row(
    small_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CELLS", 1)
    outputs = draw_from_rows(given(small_space, np.eye(13, 12) + 1e-9), np.arange(12), OneDraw(0.5))
    assert (outputs == np.arange(12)).all()


@EVERY_KIND
def test_draws_do_not_depend_on_blocks(
    random_space: Space, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = np.tile(all_points(random_space), 10)
    whole = make(random_space).privatize(points, Randomness.reproducible(4))
    for where, name, value in (
        (blockwise, "SIDE", 40),
        (module, "AT_ONCE", 77),
        (blockwise, "CELLS", 600),
        (blockwise, "SMALLEST_BLOCK", 3),
    ):
        monkeypatch.setattr(where, name, value)
        parts = make(random_space).privatize(points, Randomness.reproducible(4))
        assert (parts == whole).all(), name


@EVERY_KIND
def test_draws_do_not_depend_on_what_was_drawn_before(random_space: Space, make: Make) -> None:
    points = np.random.default_rng(5).integers(201, size=3000)
    fresh = make(random_space).privatize(points, Randomness.reproducible(4))
    used = make(random_space)
    for start in range(0, 150, 7):
        used.privatize(np.arange(start, start + 9), Randomness.secure())
    assert (used.privatize(points, Randomness.reproducible(4)) == fresh).all()


def test_what_a_word_becomes_does_not_depend_on_its_neighbors(small_space: Space) -> None:
    exponential = Exponential(space=small_space, epsilon=1)
    one = exponential.privatize(np.array([3, 3, 3, 3]), Randomness.reproducible(4))
    two = exponential.privatize(np.array([3, 12, 0, 3]), Randomness.reproducible(4))
    assert one[[0, 3]].tolist() == two[[0, 3]].tolist()


def test_equal_words_get_draws_of_their_own(small_space: Space) -> None:
    exponential = Exponential(space=small_space, epsilon=0.5)
    outputs = exponential.privatize(np.zeros(200, np.intp), Randomness.secure())
    assert len(set(outputs.tolist())) > 3


def test_no_points_give_no_words(small_space: Space) -> None:
    exponential = Exponential(space=small_space, epsilon=1)
    assert len(exponential.privatize(np.empty(0, np.intp), Randomness.secure())) == 0
    nothing = given(small_space, np.full((13, 12), 1 / 12))
    assert len(draw_from_rows(nothing, np.empty(0, np.intp), Randomness.secure())) == 0


def test_columns_are_drawn_from_rows_of_any_width() -> None:
    rows = np.cumsum([[1.0, 0.0, 1.0], [0.0, 5.0, 0.0]], axis=1)
    found = draw_columns(lambda some: rows[some], 3, np.array([0, 1, 0, 1]), OneDraw(0.75))
    assert found.tolist() == [2, 1, 2, 1]


# --- the law of the draws themselves ----------------------------------------------------------

DRAWS = 2**53  # a uniform number is one of so many
LAWS = pytest.mark.parametrize(
    "make",
    [
        lambda space: Exponential(space=space, epsilon=2.0),
        lambda space: Exponential(space=space, epsilon=40.0),
        lambda space: SanitizePlus(space=space, epsilon=40.0),
        lambda space: Truncated(space=space, epsilon=4.0, gamma=1.5),
        lambda space: HyperbolicRows(space=space, epsilon=8.0),
    ],
)


@pytest.fixture(scope="module")
def sixty() -> Space:
    vectors = np.random.default_rng(17).normal(size=(60, 4)).astype(np.float32)
    return Space("random", [f"w{number}" for number in range(60)], vectors)


def drawn_law(mechanism: RowMechanism, grid: int = DRAWS) -> NDArray[np.float64]:
    """The chance of every word for every point, counted over all draws there are.

    A larger number never becomes an earlier word, so it is enough to find where each word begins.
    """
    words, points = len(mechanism.space), all_points(mechanism.space)
    point, word = (one.ravel() for one in np.meshgrid(points, np.arange(words), indexing="ij"))
    low, high = np.zeros(len(point), dtype=np.int64), np.full(len(point), grid, dtype=np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        tried = np.minimum(middle, grid - 1)
        reached = (invert_rows(mechanism, point, tried / grid) >= word) | (middle == grid)
        high, low = np.where(reached, middle, high), np.where(reached, low, middle + 1)
    begins = np.hstack([low.reshape(len(points), words), np.full((len(points), 1), grid)])
    counted: NDArray[np.float64] = np.diff(begins, axis=1) / grid
    return counted


def rows_of(mechanism: RowMechanism) -> NDArray[np.float64]:
    return np.exp(mechanism.log_rows(all_points(mechanism.space)))


def variation(law: NDArray[np.float64], rows: NDArray[np.float64]) -> float:
    """The largest total variation between what is drawn for a point and its row."""
    return float(np.abs(law - rows).sum(axis=1).max()) / 2


def stated_variation(mechanism: RowMechanism) -> float:
    return 2 * len(mechanism.space) / DRAWS


@LAWS
def test_draws_differ_from_the_row_by_no_more_than_is_said(
    sixty: Space, make: Callable[[Space], RowMechanism]
) -> None:
    mechanism = make(sixty)
    law = drawn_law(mechanism)
    assert (law.sum(axis=1) == 1).all()
    assert variation(law, rows_of(mechanism)) <= stated_variation(mechanism)


def test_the_twin_that_draws_with_32_bits_is_caught(sixty: Space) -> None:
    mechanism = Exponential(space=sixty, epsilon=2.0)
    coarse = drawn_law(mechanism, 2**32)
    assert variation(coarse, rows_of(mechanism)) > stated_variation(mechanism)


def test_what_holds_of_the_draws_has_the_delta_that_is_said(sixty: Space) -> None:
    mechanism = Exponential(space=sixty, epsilon=12.0)
    law = drawn_law(mechanism)
    never_for_one = False
    for point in range(len(sixty) + 1):
        bounds = 12.0 * euclidean(sixty, point)[:, None]
        # The event that shows most: all words that are likelier than the bound allows.
        excess = np.maximum(law[point] - np.exp(bounds) * law, 0.0).sum(axis=1)
        assert (excess <= (1 + np.exp(bounds[:, 0])) * stated_variation(mechanism)).all()
        never_for_one |= bool(((law == 0) & (law[point] > 0)).any())
    # Without a delta it would be false: some output comes from one word and never from another.
    assert never_for_one


def test_the_figures_in_the_text_are_these() -> None:
    tau = 2 * 60_000 / DRAWS
    assert 1.3e-11 < tau < 1.4e-11
    deltas = [(1 + math.exp(bound)) * tau for bound in (10, 20, 25)]
    assert 2.9e-7 < deltas[0] < 3e-7
    assert 0.006 < deltas[1] < 0.007
    assert 0.9 < deltas[2] < 1
