"""The noise on vectors, against the laws that their levels are proven for."""

from __future__ import annotations

import numpy as np
from scipy import stats

from sfumato.core.randomness import Randomness
from sfumato.representations import (
    BinaryVectors,
    GaussianVectors,
    LaplaceVectors,
    PerDimension,
    ProjectedVectors,
)
from statistical.budget import fits_law, fits_share, has_no_drift, rejects

CHECK = "representations: noise"
DRAWS, SIZE = 1500, 5
HERE = np.linspace(-1.0, 2.0, SIZE)


def test_laplace_vectors_have_gamma_lengths_and_no_direction() -> None:
    law = LaplaceVectors(size=SIZE, epsilon=3)
    noise = law.release(np.tile(HERE, (DRAWS, 1)), Randomness.reproducible(1))
    noise = noise - law.prepare(HERE[None])
    lengths = np.linalg.norm(noise, axis=1)
    wanted, twin = stats.gamma(SIZE, scale=2 / 3), stats.gamma(SIZE, scale=1 / 3)
    drift = has_no_drift(noise / lengths[:, None])
    assert not rejects(CHECK, "laplace", [fits_law(lengths, wanted), drift])
    assert rejects(CHECK, "laplace", [fits_law(lengths, twin)])


def test_gaussian_vectors_have_normal_coordinates() -> None:
    law = GaussianVectors(size=SIZE, epsilon=3, delta=1e-5)
    noise = law.release(np.tile(HERE, (DRAWS, 1)), Randomness.reproducible(2))
    noise = (noise - law.prepare(HERE[None])).ravel()
    assert not rejects(CHECK, "gaussian", [fits_law(noise, stats.norm(scale=law.sigma))])
    assert rejects(CHECK, "gaussian", [fits_law(noise, stats.norm(scale=law.sigma / 2))])


def test_each_dimension_has_laplace_noise_for_all_of_them() -> None:
    law = PerDimension(size=SIZE, epsilon=3, bound="normalize")
    noise = law.release(np.tile(HERE, (DRAWS, 1)), Randomness.reproducible(3))
    noise = (noise - law.prepare(HERE[None])).ravel()
    assert not rejects(CHECK, "per-dimension", [fits_law(noise, stats.laplace(scale=law.scale))])
    # As published, for one dimension alone.
    assert rejects(CHECK, "per-dimension", [fits_law(noise, stats.laplace(scale=2 / 3))])


def test_projected_vectors_have_the_noise_of_few_dimensions() -> None:
    law = ProjectedVectors(size=SIZE, epsilon=3, dimensions=2)
    noise = law.release(np.tile(HERE, (DRAWS, 1)), Randomness.reproducible(4))
    lengths = np.linalg.norm(noise - law.prepare(HERE[None]), axis=1)
    assert not rejects(CHECK, "projected", [fits_law(lengths, stats.gamma(2, scale=2 / 3))])
    assert rejects(CHECK, "projected", [fits_law(lengths, stats.gamma(SIZE, scale=2 / 3))])


def test_bits_are_flipped_as_often_as_stated() -> None:
    law = BinaryVectors(size=SIZE, epsilon=3, bits=4)
    code = law.prepare(HERE[None])
    drawn = law.release(np.tile(HERE, (DRAWS, 1)), Randomness.reproducible(5)) != code
    counts = drawn.sum(axis=0).tolist()
    stated, twin = law.flip_chance, 1 / (1 + np.exp(3.0))
    assert not rejects(CHECK, "binary", [fits_share(one, DRAWS, stated) for one in counts])
    # As if each bit had the level of all.
    assert rejects(CHECK, "binary", [fits_share(one, DRAWS, twin) for one in counts])
