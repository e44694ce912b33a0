"""Groups: a partition, the one the rule describes, whatever the blocks and the rounding."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.vectors import groups as module
from sfumato.vectors.groups import groups_of_similar
from sfumato.vectors.space import Space

Vectors = NDArray[np.float32]


def by_the_rule(vectors: Vectors, size: int) -> list[int]:
    """The definition, written out one word at a time."""
    places = vectors.astype(np.float64)
    count = max(1, len(vectors) // size)
    sizes = [len(vectors) // count + (number < len(vectors) % count) for number in range(count)]
    group = [-1] * len(vectors)
    for number, wanted in enumerate(sizes):
        free = [word for word in range(len(vectors)) if group[word] < 0]
        away = {word: float(np.square(places[word] - places[free[0]]).sum()) for word in free}
        for word in sorted(free, key=lambda word: (away[word], word))[:wanted]:
            group[word] = number
    return group


def far_clusters() -> Vectors:
    """Two clusters a thousand apart: in float32 a score cannot tell words of one from another."""
    clusters = np.random.default_rng(3).normal(size=(2, 60, 5)) * 1e-3 + [[[500.0]], [[-500.0]]]
    return clusters.reshape(120, 5).astype(np.float32)


SIZES = pytest.mark.parametrize("size", [2, 3, 7, 20, 99, 100, 101, 1000])


@SIZES
def test_groups_are_those_of_the_rule(random_space: Space, size: int) -> None:
    assert groups_of_similar(random_space.vectors, size).tolist() == by_the_rule(
        random_space.vectors, size
    )


@SIZES
def test_every_word_is_in_one_group_and_no_group_is_smaller_than_asked(
    random_space: Space, size: int
) -> None:
    group = groups_of_similar(random_space.vectors, size)
    sizes = np.bincount(group)
    assert sizes.sum() == len(random_space)
    assert sizes.min() >= min(size, len(random_space))
    assert sizes.max() - sizes.min() <= 1
    assert len(sizes) == max(1, len(random_space) // size)


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1.0, 1e8])
def test_no_scale_and_no_near_tie_changes_the_groups(scale: float) -> None:
    generator = np.random.default_rng(9)
    even = generator.integers(-2, 3, size=(150, 3)).astype(np.float32)  # many equal distances
    for vectors in (even, far_clusters()):
        scaled = (vectors * scale).astype(np.float32)
        assert groups_of_similar(scaled, 6).tolist() == by_the_rule(scaled, 6)


def test_twin_that_trusts_float32_forms_other_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_margins", lambda starts, _: np.zeros(len(starts)))
    vectors = far_clusters()
    assert groups_of_similar(vectors, 6).tolist() != by_the_rule(vectors, 6)


@pytest.mark.parametrize(("starts", "cells"), [(1, 1 << 23), (7, 1 << 23), (128, 1), (128, 999)])
def test_groups_do_not_depend_on_blocks(
    random_space: Space, starts: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = groups_of_similar(random_space.vectors, 6)
    monkeypatch.setattr(module, "STARTS", starts)
    monkeypatch.setattr(module, "CELLS", cells)
    assert (groups_of_similar(random_space.vectors, 6) == whole).all()
