"""Distances from words to their replacements."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.core.randomness import Randomness
from sfumato.metrics.similarity import random_pairs_distance, semantic_distance
from sfumato.vectors.space import Space


def test_a_word_that_stayed_is_at_distance_zero(small_space: Space) -> None:
    points = np.arange(len(small_space))
    assert semantic_distance(points, points, small_space, 2.0).mean == 0.0


def test_the_mean_is_that_of_distances_one_by_one(random_space: Space) -> None:
    first, second = np.array([0, 5, 9, 30]), np.array([0, 6, 100, 31])
    naive = [random_space.distances_from(int(a))[b] for a, b in zip(first, second, strict=True)]
    found = semantic_distance(first, second, random_space, 2.0)
    assert found.mean == pytest.approx(math.fsum(naive) / 4, rel=1e-6)
    assert found.relative == pytest.approx(found.mean / 2)


def test_random_pairs_are_drawn_from_the_whole_vocabulary(random_space: Space) -> None:
    pairs = [random_space.distances_from(point).mean() for point in range(len(random_space))]
    found = random_pairs_distance(random_space, Randomness.reproducible(1))
    assert found == pytest.approx(np.mean(pairs), rel=0.02)


def test_words_that_share_one_place_have_no_scale() -> None:
    space = Space("one", ["a", "b"], np.zeros((2, 3), dtype=np.float32))
    points = np.array([0, 1])
    assert semantic_distance(points, points[::-1], space, 0.0).relative == 0.0
