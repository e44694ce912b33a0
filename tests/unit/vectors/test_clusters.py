"""The approximate search: nearly always right, never told the original, total."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.core.errors import UnknownName
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import Laplace
from sfumato.vectors.clusters import ClusteredSearch
from sfumato.vectors.load import default_space
from sfumato.vectors.space import Space


@pytest.mark.parametrize(("epsilon", "share"), [(0.01, 0.7), (5.0, 0.98), (12.0, 0.98)])
def test_it_agrees_with_the_exact_search_where_the_output_is_not_mere_noise(
    epsilon: float, share: float
) -> None:
    exact = Laplace(space=default_space(), epsilon=epsilon)
    quick = Laplace(space=replace(default_space(), search_kind="approximate"), epsilon=epsilon)
    points = np.arange(0, 60_000, 60, dtype=np.intp)
    same = exact.privatize(points, Randomness.reproducible(1)) == quick.privatize(
        points, Randomness.reproducible(1)
    )
    assert same.mean() > share


def test_a_twin_that_reads_too_little_agrees_less() -> None:
    space = default_space()
    noisy = space.at(np.arange(0, 60_000, 60, dtype=np.intp)) + Laplace(
        space=space, epsilon=5.0
    ).noise(1000, Randomness.reproducible(1))
    exact = space.search.nearest(noisy)
    assert (ClusteredSearch(space.vectors, reach=0.0).nearest(noisy) == exact).mean() < 0.9


@pytest.mark.parametrize("words", [2, 3, 12, 65])
def test_small_and_repeated_vectors_are_no_trouble(words: int) -> None:
    vectors = np.zeros((words, 2), dtype=np.float32)
    vectors[0] = 1.0
    search = ClusteredSearch(vectors)
    found = search.nearest(np.array([[5.0, 5.0], [-5.0, -5.0], [0.0, 0.0]]))
    assert found[0] == 0
    assert (found[1:] > 0).all()


def test_an_unknown_kind_of_search_is_guessed() -> None:
    with pytest.raises(UnknownName, match="did you mean 'approximate'"):
        Space("x", ["a", "b"], np.eye(2, dtype=np.float32), "aproximate")
