"""Noise on vectors: how far apart bounded vectors can be, and what that proves, exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from sfumato.accounting.gaussian import gaussian_delta
from sfumato.audits.representations import extreme_rows, vector_subject
from sfumato.audits.verify import Effort, refute
from sfumato.core.arrays import Floats
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.laplace import laplace_noise
from sfumato.representations import (
    BinaryVectors,
    GaussianVectors,
    LaplaceVectors,
    PerDimension,
    ProjectedVectors,
    VectorMechanism,
    build_representation,
)
from statistical.budget import level

SIZE = 6
EVERY: dict[str, VectorMechanism] = {
    "laplace": LaplaceVectors(size=SIZE, epsilon=3),
    "laplace, clip": LaplaceVectors(size=SIZE, epsilon=3, bound="clip", clip_norm=2.5),
    "gaussian": GaussianVectors(size=SIZE, epsilon=3, delta=1e-4),
    "gaussian, clip": GaussianVectors(size=SIZE, epsilon=3, delta=1e-4, bound="clip"),
    "per-dimension": PerDimension(size=SIZE, epsilon=3),
    "per-dimension, normalize": PerDimension(size=SIZE, epsilon=3, bound="normalize"),
    "per-dimension, box": PerDimension(size=SIZE, epsilon=3, bound="box", clip_norm=0.3),
    "projected": ProjectedVectors(size=SIZE, epsilon=3, dimensions=2),
    "projected, gaussian": ProjectedVectors(size=SIZE, epsilon=3, delta=1e-4, dimensions=2),
    "binary": BinaryVectors(size=SIZE, epsilon=3, bits=3),
}
PURE = [name for name, one in EVERY.items() if not one.guarantee().delta]


def hostile_rows(count: int = 300) -> Floats:
    """Rows of all lengths and directions, some of which are no numbers."""
    generator = np.random.default_rng(3)
    rows = generator.standard_normal((count, SIZE))
    rows *= 10.0 ** generator.uniform(-320, 307, size=(count, 1))
    rows[:SIZE] = np.eye(SIZE) * 1e300
    rows[SIZE] = np.inf
    return np.vstack([rows, -rows, extreme_rows(SIZE)])


def widest(mechanism: VectorMechanism, prepared: Floats) -> float:
    """The largest distance between any two rows, by trying all of them."""
    return max(
        float(mechanism.apart(prepared, np.tile(one, (len(prepared), 1))).max()) for one in prepared
    )


@pytest.mark.parametrize("name", EVERY)
def test_the_sensitivity_is_reached_and_never_exceeded(name: str) -> None:
    mechanism = EVERY[name]
    prepared = mechanism.prepare(hostile_rows())
    assert np.isfinite(prepared).all()
    assert mechanism.sensitivity * (1 - 1e-6) <= widest(mechanism, prepared)
    assert widest(mechanism, prepared) <= mechanism.sensitivity


@pytest.mark.parametrize("name", EVERY)
def test_rows_of_few_bits_are_no_farther_apart(name: str) -> None:
    """An encoder may give float16 or float32, in which a row is rounded by more than a hair."""
    mechanism = EVERY[name]
    rows = np.random.default_rng(5).standard_normal((400, SIZE))
    for kind in ("f2", "f4"):
        few: Any = rows.astype(kind)
        prepared = mechanism.prepare(np.vstack([few, -few]))
        assert prepared.dtype == np.float64
        assert mechanism.apart(prepared[:400], prepared[400:]).max() <= mechanism.sensitivity


def test_twin_without_a_bound_vectors_are_farther_apart() -> None:
    rows = np.vstack([3 * np.eye(SIZE), -3 * np.eye(SIZE)])
    for name in ("laplace", "gaussian", "per-dimension"):
        assert widest(EVERY[name], rows) > 2 * EVERY[name].sensitivity


def test_twin_bounded_before_projecting_vectors_are_farther_apart() -> None:
    """A random projection keeps lengths on average, and not each of them."""
    projected = ProjectedVectors(size=SIZE, epsilon=3, dimensions=2)
    along = projected.projection / np.linalg.norm(projected.projection, axis=1, keepdims=True)
    unit = np.vstack([along, -along])
    before = unit @ projected.projection.T
    assert widest(projected, before) > 1.7 * projected.sensitivity
    assert widest(projected, projected.prepare(unit)) <= projected.sensitivity


@pytest.mark.parametrize("name", PURE)
def test_no_output_is_likelier_by_more_than_the_level(name: str) -> None:
    """Densities, or chances of bits, at many places, for all pairs of extreme vectors."""
    mechanism = EVERY[name]
    prepared = mechanism.prepare(hostile_rows(40))
    near = mechanism.release(hostile_rows(40), Randomness.reproducible(1))
    far = near if name == "binary" else np.vstack([near, 1e3 * prepared])
    logs = mechanism.log_likelihoods(far, prepared)
    loss = float((logs.max(axis=1) - logs.min(axis=1)).max())
    assert 0.98 * 3 <= loss <= 3 + 1e-6
    # The twin draws half the noise for the same claim.
    halved = replace(mechanism, epsilon=6.0)  # type: ignore[type-var]
    logs = halved.log_likelihoods(far, prepared)
    assert (logs.max(axis=1) - logs.min(axis=1)).max() > 3.5


@pytest.mark.parametrize("name", ["gaussian", "projected, gaussian"])
def test_gaussian_noise_has_the_delta_that_is_stated(name: str) -> None:
    proven = EVERY[name].level
    assert proven is not None
    assert proven.shift is not None
    found = gaussian_delta(proven.shift, 3.0)
    assert 0.99e-4 < found <= 1e-4
    # The twin takes 1 for the distance of unit vectors, which is 2.
    assert gaussian_delta(2 * proven.shift, 3.0) > 1e-3


def test_likelihoods_are_those_of_the_noise() -> None:
    """Against the density, or the mass, written out for one pair at a time."""
    generator = np.random.default_rng(2)
    seen, clear = generator.standard_normal((4, SIZE)), generator.standard_normal((5, SIZE))
    for name, distance in (
        ("laplace", lambda y, x: -1.5 * np.linalg.norm(y - x)),
        ("per-dimension", lambda y, x: -1.5 * np.abs(y - x).sum()),
        ("gaussian", lambda y, x: -((y - x) ** 2).sum() / (2 * EVERY["gaussian"].sigma ** 2)),  # type: ignore[attr-defined]
    ):
        wanted = [[distance(y, x) for x in clear] for y in seen]
        assert np.allclose(EVERY[name].log_likelihoods(seen, clear), wanted)
    binary = BinaryVectors(size=SIZE, epsilon=3, bits=3)
    codes = np.array([[1.0, 1.0, -1.0], [-1.0, -1.0, -1.0]])
    flips = binary.log_likelihoods(codes[:1], codes)[0]
    assert np.allclose(flips - flips[0], [0.0, -2.0])


def test_rows_have_no_influence_on_each_other() -> None:
    rows = hostile_rows(20)
    for mechanism in EVERY.values():
        alone = np.vstack([mechanism.prepare(rows[n : n + 1]) for n in range(len(rows))])
        assert np.allclose(mechanism.prepare(rows), alone, atol=1e-12)
        assert mechanism.release(rows, Randomness.reproducible(1)).shape == (
            len(rows),
            mechanism.outputs,
        )


@dataclass(frozen=True, kw_only=True)
class ScaledByItself(LaplaceVectors):
    """A twin: noise in proportion to the vector's own length, after which nothing is bounded."""

    def release(self, rows: Floats, randomness: Randomness) -> Floats:
        known = np.nan_to_num(rows)
        lengths = np.linalg.norm(known, axis=1, keepdims=True)
        noise = laplace_noise(self.size, self.rate, len(rows), randomness)
        found: Floats = known + lengths * noise
        return found


@dataclass(frozen=True, kw_only=True)
class NormalizedAfterwards(LaplaceVectors):
    """No twin, though it looks like one: scaling what is noisy already is post-processing."""

    def release(self, rows: Floats, randomness: Randomness) -> Floats:
        noisy = super().release(rows, randomness)
        found: Floats = noisy / np.linalg.norm(noisy, axis=1, keepdims=True)
        return found


@dataclass(frozen=True, kw_only=True)
class Unbounded(LaplaceVectors):
    """A twin: the noise of unit vectors, on vectors of any length."""

    def prepare(self, rows: Floats) -> Floats:
        return np.nan_to_num(rows) / 100


def test_verify_refutes_the_twins_and_nothing_else() -> None:
    confidence = 1 - level("representations: noise", "true claims") / 2

    def refuted(mechanism: VectorMechanism) -> bool:
        return refute(
            vector_subject(mechanism),
            confidence=confidence,
            effort=Effort(draws=2000),
            randomness=Randomness.reproducible(5),
        ).refuted

    assert refuted(ScaledByItself(size=2, epsilon=2))
    assert refuted(Unbounded(size=2, epsilon=2))
    assert not refuted(NormalizedAfterwards(size=2, epsilon=2))
    assert not refuted(LaplaceVectors(size=2, epsilon=2))


def test_by_distance_a_level_needs_no_bound() -> None:
    by_distance = LaplaceVectors(size=SIZE, epsilon=2, metric=True, bound="none")
    assert by_distance.level is None
    assert by_distance.guarantee().notion is Notion.METRIC_DP
    rows = np.random.default_rng(1).standard_normal((30, SIZE)) * 5
    logs = by_distance.log_likelihoods(100 * rows, rows)
    gaps = np.abs(logs[:, :, None] - logs[:, None, :]).max(axis=0)
    distances = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    assert (gaps <= 2 * distances + 1e-6).all()
    bounded = LaplaceVectors(size=SIZE, epsilon=2, metric=True)
    assert bounded.level is not None
    assert bounded.level.epsilon == 4.0


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("laplace", {"bound": "none"}, "any distance apart"),
        ("laplace", {"clip_norm": 0}, "clip_norm"),
        ("laplace", {"clip_norm": 1e300}, "clip_norm"),
        ("laplace", {"epsilon": -1.0}, "epsilon"),
        ("laplace", {"bound": "box"}, "normalize"),
        ("gaussian", {}, "without a delta"),
        ("gaussian", {"delta": 1.0}, "smaller than 1"),
        ("laplace", {"delta": 1e-6}, "is pure and has no delta"),
        ("projected", {"dimensions": 9}, "at most 6"),
        ("binary", {"bits": 0}, "bits"),
        ("per-dimension", {"bound": "sphere"}, "l1"),
    ],
)
def test_settings_that_prove_nothing_are_refused(
    name: str, settings: dict[str, object], said: str
) -> None:
    own = dict(settings)
    epsilon, delta = own.pop("epsilon", 1.0), own.pop("delta", 0.0)
    with pytest.raises(InvalidArgument, match=said):
        build_representation(name, size=SIZE, epsilon=epsilon, delta=delta, settings=own)  # type: ignore[arg-type]


def test_vectors_of_another_size_are_refused() -> None:
    for mechanism in EVERY.values():
        with pytest.raises(InvalidArgument, match="vectors of 6 numbers"):
            mechanism.prepare(np.zeros((2, 5)))
