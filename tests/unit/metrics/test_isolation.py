"""Isolated words: against distances computed one by one."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.core.randomness import Randomness
from sfumato.mechanisms.exponential import Exponential
from sfumato.metrics import protection
from sfumato.metrics.deniability import DrawEffort, measure_deniability
from sfumato.metrics.population import frequent_words
from sfumato.metrics.protection import most_isolated, nearest_neighbor, surroundings
from sfumato.vectors.load import default_space
from sfumato.vectors.space import Space


def test_the_word_far_from_all_comes_first(small_space: Space) -> None:
    points = np.arange(len(small_space))
    first = most_isolated(small_space, points, 3)
    assert small_space.words[first[0]] == "quark"
    assert len(first) == 3
    assert small_space.words[most_isolated(small_space, points, 99)[-1]] == "paris"


def test_surroundings_are_mean_distances_to_the_nearest(random_space: Space) -> None:
    points = np.array([0, 7, 190, 199])
    for point, found in zip(points, surroundings(random_space, points), strict=True):
        others = np.delete(random_space.distances_from(int(point)), point)
        nearest = np.sort(others)[: protection.NEIGHBORS]
        assert found == pytest.approx(nearest.mean(), rel=1e-4)


def test_blocks_change_nothing(random_space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.arange(len(random_space))
    together = surroundings(random_space, points)
    monkeypatch.setattr(protection, "BLOCK", 7)
    assert surroundings(random_space, points) == pytest.approx(together, rel=1e-12)


def test_two_words_are_enough() -> None:
    space = Space("two", ["a", "b"], np.array([[0.0], [3.0]], dtype=np.float32))
    assert surroundings(space, np.array([0, 1])).tolist() == [3.0, 3.0]
    neighbor = nearest_neighbor(space, 0)
    assert (neighbor.word, neighbor.distance) == ("b", 3.0)


def test_a_twin_at_the_same_place_is_a_neighbor_at_distance_zero(random_space: Space) -> None:
    neighbor = nearest_neighbor(random_space, 190)
    assert (neighbor.word, neighbor.distance) == ("w0", 0.0)


def test_the_isolated_words_of_the_embedded_space_stay_longest() -> None:
    # What the search for suspects is for: they stay far longer than words drawn at random.
    space = default_space()
    population = frequent_words(space)
    suspects = most_isolated(space, population.points, 10)
    typical = population.some(40, Randomness.reproducible(1))
    mechanism = Exponential(space=space, epsilon=3.3)
    kept, usual = (
        measure_deniability(mechanism, points, DrawEffort(), Randomness.secure()).keep
        for points in (suspects, typical)
    )
    assert kept.min() > 0.9
    assert np.median(usual) < 0.5
