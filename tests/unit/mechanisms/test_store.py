"""The store of rows: bounded, never shared, and without influence on what is drawn."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pairs import all_points
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.mechanisms import draws, row_store
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.row_store import VARIABLE, RowStore, limit
from sfumato.mechanisms.truncated import Truncated
from sfumato.vectors.space import Space


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores that other tests left behind take no room here."""
    gc.collect()
    monkeypatch.setattr(row_store._Stores, "alive", type(row_store._Stores.alive)())
    monkeypatch.delenv(VARIABLE, raising=False)


def test_rows_are_kept_as_far_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_store, "LIMIT", 100)  # three rows of four numbers
    kept = RowStore(10)
    kept.keep(np.array([7, 2]), np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]]))
    kept.keep(np.array([2, 5, 9]), np.arange(12.0).reshape(3, 4))
    assert kept.places.tolist() == [-1, -1, 1, -1, -1, 2, -1, 0, -1, -1]
    assert kept.rows[kept.places[2]].tolist() == [5, 6, 7, 8], "the first row of a point stays"
    assert kept.rows[kept.places[5]].tolist() == [4, 5, 6, 7]
    assert kept.taken == 96


def test_all_stores_together_keep_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_store, "LIMIT", 100)
    one, two = RowStore(10), RowStore(10)
    one.keep(np.array([1, 2]), np.ones((2, 4)))
    two.keep(np.array([1, 2]), np.ones((2, 4)))
    assert (one.count, two.count) == (2, 1)
    del one
    gc.collect()
    two.keep(np.array([3, 4, 5]), np.ones((3, 4)))
    assert two.count == 3, "a store that is gone leaves its room"


def test_a_lower_limit_later_on_is_kept_to(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = RowStore(10)
    kept.keep(np.array([1]), np.ones((1, 4)))
    monkeypatch.setattr(row_store, "LIMIT", 10)
    kept.keep(np.array([2]), np.ones((1, 4)))
    assert kept.count == 1


@pytest.mark.parametrize(("given", "expected"), [("0", 0), ("3", 3 << 20), ("2048", 2 << 30)])
def test_the_limit_is_set_in_megabytes(
    given: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert limit() == 1 << 30
    monkeypatch.setenv(VARIABLE, given)
    assert limit() == expected


@pytest.mark.parametrize("given", ["", "much", "-1", "1.5", "1GB"])
def test_a_limit_that_is_none_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, given)
    with pytest.raises(InvalidArgument, match="whole number of megabytes"):
        limit()


@pytest.mark.parametrize("rows", [0, 1, 50, 200, 201])
def test_what_is_drawn_does_not_depend_on_what_is_kept(
    random_space: Space, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = np.random.default_rng(1).integers(201, size=5000)
    free = Exponential(space=random_space, epsilon=1.0)
    drawn = free.privatize(points, Randomness.reproducible(2))
    again = free.privatize(points, Randomness.reproducible(2))
    assert free._kept.count == 201
    width = free._kept.rows.shape[1]
    del free
    gc.collect()
    monkeypatch.setattr(row_store, "LIMIT", rows * width * 8)
    monkeypatch.setattr(draws, "SIDE", 64)
    tight = Exponential(space=random_space, epsilon=1.0)
    first = tight.privatize(points, Randomness.reproducible(2))
    second = tight.privatize(points, Randomness.reproducible(2))
    assert tight._kept.count == rows
    for other in (again, first, second):
        assert (other == drawn).all()


def test_twin_that_shares_rows_between_levels_is_caught(random_space: Space) -> None:
    points = np.random.default_rng(1).integers(201, size=5000)
    one, two = (Exponential(space=random_space, epsilon=level) for level in (1.0, 4.0))
    honest = two.privatize(points, Randomness.reproducible(2))
    one.privatize(points, Randomness.reproducible(2))
    assert one._kept is not two._kept
    shared = draws.draw_from_rows(two, points, Randomness.reproducible(2), one._kept)
    assert (shared != honest).any()


def test_mechanisms_keep_rows_of_their_own(random_space: Space) -> None:
    points = all_points(random_space)
    mechanisms = [
        Exponential(space=random_space, epsilon=1.0),
        Exponential(space=random_space, epsilon=1.0),
        Exponential(space=random_space, epsilon=2.0),
        Truncated(space=random_space, epsilon=1.0, gamma=1.0),
    ]
    for mechanism in mechanisms:
        mechanism.privatize(points, Randomness.secure())
    kept = [mechanism._kept.rows[mechanism._kept.places[points]] for mechanism in mechanisms]
    assert (kept[0] == kept[1]).all()
    assert not np.shares_memory(kept[0], kept[1])
    assert (kept[0] != kept[2]).any()
    assert (kept[0] != kept[3]).any()


def test_threads_draw_what_one_thread_draws(random_space: Space) -> None:
    generator = np.random.default_rng(3)
    texts = [generator.integers(201, size=300) for _ in range(40)]
    alone = Exponential(space=random_space, epsilon=1.0)
    expected = [alone.privatize(text, Randomness.reproducible(n)) for n, text in enumerate(texts)]
    shared = Exponential(space=random_space, epsilon=1.0)
    with ThreadPoolExecutor(8) as pool:
        drawn = pool.map(
            lambda item: shared.privatize(item[1], Randomness.reproducible(item[0])),
            enumerate(texts),
        )
        assert all((one == two).all() for one, two in zip(drawn, expected, strict=True))
    places = shared._kept.places[shared._kept.places >= 0]
    assert sorted(places.tolist()) == list(range(shared._kept.count))
