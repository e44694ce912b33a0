"""Squared distances to the last digits, each the same whatever stands around it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.vectors import distances as module
from sfumato.vectors.distances import extend, product, squared_distances

Numbers = NDArray[np.float64]


def naive(here: Numbers, there: Numbers) -> Numbers:
    return np.asarray(np.square(here[:, None] - there[None]).sum(axis=2))


def some(count: int, dimension: int, seed: int) -> Numbers:
    return np.random.default_rng(seed).normal(size=(count, dimension))


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 40), (40, 3), (333, 70), (17, 2000)])
@pytest.mark.parametrize("dimension", [1, 5, 50])
def test_squares_are_those_of_the_differences(rows: int, columns: int, dimension: int) -> None:
    here, there, origin = some(rows, dimension, 1), some(columns, dimension, 2), np.ones(dimension)
    found = squared_distances(extend(here, origin), extend(there, origin))
    assert found == pytest.approx(naive(here, there), rel=1e-12)


@pytest.mark.parametrize("cells", [7, 1 << 22])
def test_near_duplicates_keep_their_digits(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CELLS", cells)
    here = 500.0 + 1e-6 * some(40, 5, 3)
    table = extend(here, np.zeros(5))
    found = squared_distances(table, table)
    assert (np.diag(found) == 0.0).all()
    assert found == pytest.approx(naive(here, here), rel=1e-12)


def test_twin_that_trusts_the_product_loses_the_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLOSE", -1.0)
    here = 500.0 + 1e-6 * some(40, 5, 3)
    table = extend(here, np.zeros(5))
    assert np.abs(squared_distances(table, table) - naive(here, here)).max() > 1e-11


@pytest.mark.parametrize("columns", [1, 4, 32, 33, 96, 250, 1092, 2048])
@pytest.mark.parametrize("dimension", [3, 52, 302])
def test_a_number_of_a_product_does_not_depend_on_the_rows_around_it(
    columns: int, dimension: int
) -> None:
    left, right = some(700, dimension, 4), some(columns, dimension, 5)
    whole = product(left, right)
    assert np.abs(whole - left @ right.T).max() < 1e-12
    for start, end in ((0, 1), (1, 3), (5, 21), (100, 133), (300, 700)):
        assert (product(left[start:end], right) == whole[start:end]).all()


def test_nothing_gives_nothing() -> None:
    assert product(some(0, 4, 1), some(9, 4, 2)).shape == (0, 9)
