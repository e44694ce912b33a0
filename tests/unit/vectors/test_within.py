"""The words within a radius: all of them, at exact distances, however rough the first look is."""

from __future__ import annotations

import numpy as np
import pytest

from pairs import all_points
from sfumato.vectors import distances as module
from sfumato.vectors.distances import Near, words_within
from sfumato.vectors.space import Space


def found(near: Near) -> dict[tuple[int, int], float]:
    pairs = zip(near.places.tolist(), near.words.tolist(), strict=True)
    return dict(zip(pairs, near.distances.tolist(), strict=True))


def naive(space: Space, radius: float) -> dict[tuple[int, int], float]:
    return {
        (point, word): distance
        for point in all_points(space).tolist()
        for word, distance in enumerate(space.distances_from(point).tolist())
        if distance <= radius
    }


@pytest.mark.parametrize("radius", [0.0, 0.125, 0.5, 2.0, 3.7, 100.0])
@pytest.mark.parametrize("width", [7, 2048])
def test_all_words_within_the_radius_are_found_at_their_distances(
    random_space: Space,
    small_space: Space,
    radius: float,
    width: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "WORDS", width)
    for space in (random_space, small_space):
        near = words_within(space, all_points(space), radius, len(space))
        assert not near.crowded.any()
        expected = naive(space, radius)
        # A distance that is the radius to the last digit may be told either way.
        sure = {pair for pair, distance in expected.items() if distance < radius * (1 - 1e-12)}
        assert sure <= set(found(near)) <= set(naive(space, radius * (1 + 1e-12)))
        for pair, distance in found(near).items():
            assert distance == pytest.approx(expected.get(pair, radius), abs=1e-12)


def cluster() -> Space:
    """Words whose distances differ by less than a product in float32 can tell."""
    vectors = np.random.default_rng(3).normal(size=(60, 40)).astype(np.float32)
    vectors[1:30] = vectors[0] + np.float32(1e-4) * vectors[30:59]
    return Space("cluster", [f"w{number}" for number in range(60)], vectors)


def test_what_float32_cannot_tell_is_measured_again() -> None:
    space = cluster()
    radius = float(np.median(space.distances_from(0)[1:30]))
    assert set(found(words_within(space, np.arange(60), radius, 60))) == {
        pair for pair in naive(space, radius) if pair[0] < 60
    }


def test_twin_without_a_margin_misses_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MARGIN", 0.0)
    space = cluster()
    radius = float(np.median(space.distances_from(0)[1:30]))
    assert len(found(words_within(space, np.arange(60), radius, 60))) < sum(
        pair[0] < 60 for pair in naive(space, radius)
    )


def test_a_point_with_too_many_words_around_it_is_said_to_be_crowded(small_space: Space) -> None:
    near = words_within(small_space, all_points(small_space), 0.3, 3)
    counts = [sum(pair[0] == point for pair in naive(small_space, 0.3)) for point in range(13)]
    assert near.crowded.tolist() == [count > 3 for count in counts]
    assert not near.crowded[near.places].any()
    assert len(near.places) == sum(count for count in counts if count <= 3)
