"""The batched mechanism against a naive loop, and our draws against scipy's formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

from sfumato.core.randomness import Randomness
from sfumato.mechanisms import draws as drawing
from sfumato.mechanisms.laplace import Laplace, laplace_noise
from sfumato.vectors.load import default_space
from sfumato.vectors.space import Space


def word_by_word(
    space: Space, points: list[int], noise: NDArray[np.float64]
) -> list[tuple[int, float]]:
    """Nearest word by a plain loop, with how much farther the second nearest is."""
    outputs = []
    for point, shift in zip(points, noise, strict=True):
        start = space.centroid if point == space.unknown else space.vectors[point]
        noisy = [float(a) + float(b) for a, b in zip(start, shift, strict=True)]
        distances = [math.dist(noisy, vector) for vector in space.vectors.tolist()]
        order = sorted(range(len(distances)), key=distances.__getitem__)
        outputs.append((order[0], distances[order[1]] - distances[order[0]]))
    return outputs


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 30.0])
def test_the_mechanism_is_the_naive_loop_with_the_same_noise(
    small_space: Space, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = list(range(len(small_space) + 1)) * 20
    laplace = Laplace(space=small_space, epsilon=epsilon)
    noise = laplace.noise(len(points), Randomness.reproducible(8))
    monkeypatch.setattr(drawing, "BLOCK", len(points))
    outputs = laplace.privatize(np.array(points), Randomness.reproducible(8)).tolist()
    for output, (naive, margin) in zip(
        outputs, word_by_word(small_space, points, noise), strict=True
    ):
        assert output == naive or margin < 1e-5


def test_blocks_use_the_stream_one_after_the_other(
    small_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "BLOCK", 16)
    points = list(range(len(small_space) + 1)) * 5
    laplace, source = Laplace(space=small_space, epsilon=2.0), Randomness.reproducible(9)
    sizes = [16, 16, 16, 16, 1]
    noise = np.concatenate([laplace.noise(size, source) for size in sizes])
    outputs = laplace.privatize(np.array(points), Randomness.reproducible(9)).tolist()
    for output, (naive, margin) in zip(
        outputs, word_by_word(small_space, points, noise), strict=True
    ):
        assert output == naive or margin < 1e-5


def test_the_embedded_space_agrees_with_the_naive_loop() -> None:
    whole = default_space()
    space = Space("head", whole.words[:2000], whole.vectors[:2000])
    points = [0, 17, 1999, space.unknown] * 5
    laplace = Laplace(space=space, epsilon=8.0)
    noise = laplace.noise(len(points), Randomness.reproducible(10))
    outputs = laplace.privatize(np.array(points), Randomness.reproducible(10)).tolist()
    for output, (naive, margin) in zip(outputs, word_by_word(space, points, noise), strict=True):
        assert output == naive or margin < 1e-5


@pytest.mark.parametrize("dimension", [1, 2, 3, 50])
def test_noise_is_a_direction_times_a_gamma_length_from_the_same_stream(dimension: int) -> None:
    noise = laplace_noise(dimension, 4.0, 100, Randomness.reproducible(11))
    source = Randomness.reproducible(11)
    for row, direction, length in zip(
        noise, source.normal(100, dimension), source.gamma(dimension, 0.25, 100), strict=True
    ):
        assert np.linalg.norm(row) == pytest.approx(length)
        assert row * np.linalg.norm(direction) == pytest.approx(direction * length)


@pytest.mark.parametrize("dimension", [1, 2, 3, 50])
def test_gamma_lengths_are_what_the_density_of_the_noise_asks_for(dimension: int) -> None:
    # exp(−ε|z|) over all z with |z| = r has weight r^(d−1)·exp(−εr): normalized, Gamma(d, 1/ε).
    epsilon = 2.5

    def weight(r: float) -> float:
        return math.exp((dimension - 1) * math.log(r) - epsilon * r) if r > 0 else 0.0

    peak = dimension / epsilon
    total = integrate.quad(weight, 0, 20 * peak, points=[peak], limit=200)[0]
    law = stats.gamma(dimension, scale=1 / epsilon)
    for r in (0.2 * peak, peak, 2 * peak):
        assert weight(r) / total == pytest.approx(law.pdf(r), rel=1e-6)
