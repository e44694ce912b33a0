"""The metric DP inequality of the Laplace mechanism, for all pairs of inputs and all outputs.

On a line and in a plane the probabilities are exact: the inequality is asserted for them, and the
mechanism must draw with them. In three dimensions it is put to the test by sampling, with bounds
on all probabilities that hold together. The point of unknown words is an input like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import Laplace, laplace_noise
from sfumato.vectors.space import Space
from statistical import budget
from statistical.rows import Gamma, exact_rows, worst_excess

Points = NDArray[np.float64]
Counts = NDArray[np.int64]
Draw = Callable[[NDArray[np.intp], Randomness], NDArray[np.intp]]

LINE = Space(
    "line",
    ["zero", "almost", "one", "two", "five", "far"],
    np.array([[0.0], [0.0625], [1.0], [2.5], [5.0], [9.0]], dtype=np.float32),
)
PLANE = Space(
    "plane",
    ["middle", "east", "west", "north", "south", "pair", "far"],
    np.array(
        [[0, 0], [0.25, 0], [-0.25, 0.03125], [0, 0.25], [0.03125, -0.25], [1.5, 1], [-2, -3]],
        dtype=np.float32,
    ),
)


def inputs_of(space: Space) -> Points:
    """Every word's point and, last, the point of all unknown words."""
    return space.at(np.arange(len(space) + 1))


def counted(space: Space, draw: Draw, draws: int, seed: int) -> Counts:
    """How often each output came, per input; one column more for 'left as it was'."""
    counts = np.empty((len(space) + 1, len(space) + 1), dtype=np.int64)
    for point in range(len(space) + 1):
        source = Randomness.reproducible(seed).stream(point)
        outputs = draw(np.full(draws, point), source)
        counts[point] = np.bincount(outputs, minlength=len(space) + 1)
    return counts


# --- twins -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Twin:
    """Noise plus nearest word, with one thing done wrong."""

    space: Space
    epsilon: float

    def noise(self, count: int, source: Randomness) -> Points:
        return laplace_noise(self.space.dimension, self.epsilon, count, source)

    def scores(self, points: NDArray[np.intp], source: Randomness) -> Points:
        noisy = self.space.at(points) + self.noise(len(points), source)
        return np.asarray(np.square(noisy[:, None] - self.space.vectors[None]).sum(axis=2))

    def privatize(self, points: NDArray[np.intp], source: Randomness) -> NDArray[np.intp]:
        return np.asarray(self.scores(points, source).argmin(axis=1))


class HalfTheNoise(Twin):
    """What is added is half as long as the claim needs."""

    def noise(self, count: int, source: Randomness) -> Points:
        return super().noise(count, source) / 2


class ShortOfOneDegree(Twin):
    """Length from Gamma(d − 1): right on average to within 1/d, wrong near the word."""

    def noise(self, count: int, source: Randomness) -> Points:
        noise = super().noise(count, source)
        lengths = source.gamma(self.space.dimension - 1, 1 / self.epsilon, count)
        return np.asarray(noise * (lengths / np.linalg.norm(noise, axis=1))[:, None])


class NeverTheOriginal(Twin):
    """The search leaves the original word out, so that it is always replaced."""

    def privatize(self, points: NDArray[np.intp], source: Randomness) -> NDArray[np.intp]:
        scores = self.scores(points, source)
        known = points < self.space.unknown
        scores[np.flatnonzero(known), points[known]] = np.inf
        return np.asarray(scores.argmin(axis=1))


class UnknownKept(Twin):
    """Words outside the vocabulary pass as they are, and the claim does not say so."""

    def privatize(self, points: NDArray[np.intp], source: Randomness) -> NDArray[np.intp]:
        outputs = super().privatize(points, source)
        return np.where(points == self.space.unknown, self.space.unknown, outputs)


class NearestByOneCoordinate(Twin):
    """The law of the noise is right, the search is not the one that is claimed."""

    def scores(self, points: NDArray[np.intp], source: Randomness) -> Points:
        noisy = self.space.at(points) + self.noise(len(points), source)
        return np.asarray(np.abs(noisy[:, None] - self.space.vectors[None]).max(axis=2))


# --- exact, on a line and in a plane ---------------------------------------------------------


@cache
def rows_of(space: Space, epsilon: float, shape: float | None = None) -> Points:
    law = Gamma(shape or space.dimension, scale=1 / epsilon)
    return exact_rows(space.vectors.astype(np.float64), inputs_of(space), law)


def disagrees(counts: Counts, rows: Points, check: str, case: str) -> bool:
    """Whether counted outputs are too far from their exact probabilities."""
    expected = np.column_stack([rows, np.zeros(len(rows))])
    p_values = [
        budget.fits_share(int(hits), int(row.sum()), min(1.0, float(share)))
        for row, shares in zip(counts, expected, strict=True)
        for hits, share in zip(row, shares, strict=True)
    ]
    return budget.rejects(check, case, p_values)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 8.0])
@pytest.mark.parametrize("space", [LINE, PLANE], ids=["line", "plane"])
def test_no_pair_exceeds_the_claim_exactly(space: Space, epsilon: float) -> None:
    rows = rows_of(space, epsilon)
    assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    assert worst_excess(rows, inputs_of(space), epsilon) <= 1e-7


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_on_a_line_the_claim_is_tight(epsilon: float) -> None:
    # A level any smaller would be false: the check above has no slack to hide an error in.
    inputs = inputs_of(LINE)
    assert worst_excess(rows_of(LINE, epsilon), inputs, 0.999 * epsilon) > 1e-5


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("space", [LINE, PLANE], ids=["line", "plane"])
def test_exact_twin_with_half_the_noise_exceeds_the_claim(space: Space, epsilon: float) -> None:
    assert worst_excess(rows_of(space, 2 * epsilon), inputs_of(space), epsilon) > 1e-3


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_exact_twin_with_the_wrong_degree_exceeds_the_claim(epsilon: float) -> None:
    assert worst_excess(rows_of(PLANE, epsilon, shape=1), inputs_of(PLANE), epsilon) > 1e-3


@pytest.mark.parametrize("space", [LINE, PLANE], ids=["line", "plane"])
def test_two_words_at_one_place_are_told_apart_by_nothing(space: Space) -> None:
    rows = rows_of(space, 2.0)
    again = exact_rows(
        space.vectors.astype(np.float64),
        inputs_of(space)[[0, 0]],
        Gamma(space.dimension, scale=0.5),
    )
    assert (again[0] == again[1]).all()
    assert again[0] == pytest.approx(rows[0], abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_on_a_line_the_mechanism_draws_with_the_exact_probabilities(epsilon: float) -> None:
    rows, case = rows_of(LINE, epsilon), f"epsilon={epsilon:g}"
    honest = counted(LINE, Laplace(space=LINE, epsilon=epsilon).privatize, 20_000, seed=1)
    assert not disagrees(honest, rows, "rows: on a line", case)
    for twin in (HalfTheNoise, NeverTheOriginal, UnknownKept):
        counts = counted(LINE, twin(LINE, epsilon).privatize, 20_000, seed=2)
        assert disagrees(counts, rows, "rows: on a line", case), twin.__name__


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_in_a_plane_the_mechanism_draws_with_the_exact_probabilities(epsilon: float) -> None:
    rows, case = rows_of(PLANE, epsilon), f"epsilon={epsilon:g}"
    honest = counted(PLANE, Laplace(space=PLANE, epsilon=epsilon).privatize, 40_000, seed=3)
    assert not disagrees(honest, rows, "rows: in a plane", case)
    off_the_line = (ShortOfOneDegree, NearestByOneCoordinate)
    for twin in (HalfTheNoise, NeverTheOriginal, UnknownKept, *off_the_line):
        counts = counted(PLANE, twin(PLANE, epsilon).privatize, 40_000, seed=4)
        assert disagrees(counts, rows, "rows: in a plane", case), twin.__name__


# --- by sampling, in three dimensions --------------------------------------------------------


def refuted(counts: Counts, space: Space, epsilon: float) -> bool:
    """Whether some pair and output prove that the claimed level is exceeded."""
    alpha = budget.level("metric DP: in three dimensions", f"epsilon={epsilon:g}")
    draws = np.broadcast_to(counts.sum(axis=1)[:, None], counts.shape)
    # A lower and an upper bound for every probability: all of them hold at once.
    each = alpha / (2 * counts.size)
    low = budget.lower_bounds(counts, draws, each)
    high = budget.upper_bounds(counts, draws, each)
    inputs = inputs_of(space)
    distance = np.linalg.norm(inputs[:, None] - inputs[None], axis=2)
    allowed = np.exp(epsilon * distance)[:, :, None] * high[None, :, :]
    return bool((low[:, None, :] > allowed).any())


@pytest.mark.parametrize("epsilon", [1.0, 6.0])
def test_in_three_dimensions_no_pair_refutes_the_claim(small_space: Space, epsilon: float) -> None:
    laplace = Laplace(space=small_space, epsilon=epsilon)
    assert not refuted(counted(small_space, laplace.privatize, 40_000, 5), small_space, epsilon)


@pytest.mark.parametrize(
    ("twin", "epsilon"),
    [
        (HalfTheNoise, 1.0),
        (HalfTheNoise, 6.0),
        (NeverTheOriginal, 1.0),
        (NeverTheOriginal, 6.0),
        (UnknownKept, 1.0),
        (ShortOfOneDegree, 6.0),
    ],
)
def test_sampled_twins_are_refuted(
    small_space: Space, twin: Callable[[Space, float], Twin], epsilon: float
) -> None:
    # Left out: unknown words kept at a level so high that they may legally be told apart, and
    # the wrong degree at a level so low that it changes next to nothing.
    counts = counted(small_space, twin(small_space, epsilon).privatize, 40_000, 6)
    assert refuted(counts, small_space, epsilon)


def test_a_correct_mechanism_written_differently_is_not_refuted(small_space: Space) -> None:
    # The twins fail for what was changed in them, not for how they are written.
    counts = counted(small_space, Twin(small_space, 6.0).privatize, 40_000, 7)
    assert not refuted(counts, small_space, 6.0)
