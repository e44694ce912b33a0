"""N_w and S_w: against the exact ones where those are known, and against brute force."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from pairs import all_points
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.rows import RowMechanism
from sfumato.metrics import deniability as module
from sfumato.metrics.deniability import (
    DrawEffort,
    effective_outputs,
    keep_probabilities,
    measure_deniability,
    most_shown,
    outputs_at_least,
    typical_keep_probability,
)
from sfumato.vectors.load import default_space
from sfumato.vectors.space import Space


def smallest_set(row: NDArray[np.float64], eta: float) -> int:
    """By going through all sets of outputs, smallest first."""
    for size in range(1, len(row) + 1):
        best = max(math.fsum(chosen) for chosen in combinations(row.tolist(), size))
        if best >= 1 - eta - 1e-12:
            return size
    raise AssertionError("all outputs together hold everything")


def test_two_words_on_a_line_stay_with_the_probability_of_the_half_line() -> None:
    # In one dimension the noise is Laplace(1/ε); the border lies at half the distance.
    space = Space("line", ["left", "right"], np.array([[0.0], [2.0]], dtype=np.float32))
    mechanism = Laplace(space=space, epsilon=1.0)
    exact = 1 - math.exp(-1.0) / 2
    found = keep_probabilities(mechanism, ["left", "LEFT"], 20_000, Randomness.reproducible(1))
    assert set(found) == {"left", "LEFT"}
    for estimate in found.values():
        # Four standard errors: the seed is fixed, so this either always passes or never does.
        assert abs(estimate.value - exact) < 4 * math.sqrt(exact * (1 - exact) / 20_000)
        assert estimate.low < estimate.value < estimate.high


def test_a_word_outside_the_vocabulary_never_stays(small_space: Space) -> None:
    mechanism = Laplace(space=small_space, epsilon=50.0)
    found = keep_probabilities(mechanism, ["canary"], 100, Randomness.reproducible(1))
    assert found["canary"].value == 0.0


@pytest.mark.parametrize(
    ("epsilon", "low", "high"), [(3, 0.0, 0.06), (5, 0.06, 0.2), (8, 0.4, 0.65)]
)
def test_the_embedded_space_keeps_words_as_its_documentation_says(
    epsilon: float, low: float, high: float
) -> None:
    mechanism = Laplace(space=default_space(), epsilon=epsilon)
    kept = typical_keep_probability(mechanism, Randomness.reproducible(5), words=100, draws=20)
    assert low <= kept.value <= high


def test_a_mechanism_with_rows_answers_exactly(small_space: Space) -> None:
    mechanism = Exponential(space=small_space, epsilon=4.0)
    found = keep_probabilities(mechanism, ["paris", "canary"], 10, Randomness.reproducible(1))
    exact = float(mechanism.row(small_space.point_of("paris"))[0])
    assert found["paris"].value == found["paris"].low == found["paris"].high == exact
    assert found["canary"].value == 0.0


@pytest.mark.parametrize("name", ["exponential", "truncated", "custom", "sanitize-plus"])
@pytest.mark.parametrize("epsilon", [0.1, 2.0, 30.0])
@pytest.mark.parametrize("eta", [0.05, 0.1, 0.5])
def test_both_are_exact_from_rows(
    small_space: Space, name: str, epsilon: float, eta: float
) -> None:
    mechanism = build_mechanism(name, space=small_space, epsilon=epsilon)
    assert isinstance(mechanism, RowMechanism)
    points = all_points(small_space)[:-1]
    found = measure_deniability(mechanism, points, DrawEffort(eta=eta), Randomness.secure())
    assert found.exact
    for point in points.tolist():
        row = mechanism.row(point)
        assert found.keep[point] == pytest.approx(row[point], rel=1e-12)
        assert found.low[point] == found.keep[point] == found.high[point]
        assert found.outputs[point] == smallest_set(row, eta)


def test_rows_in_blocks_are_the_rows_together(
    random_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = Exponential(space=random_space, epsilon=3.0)
    points = all_points(random_space)[:-1]
    together = measure_deniability(mechanism, points, DrawEffort(), Randomness.secure())
    monkeypatch.setattr(module, "CELLS", 7 * len(random_space))
    heard: list[int] = []
    apart = measure_deniability(mechanism, points, DrawEffort(), Randomness.secure(), heard.append)
    assert apart.keep == pytest.approx(together.keep, rel=1e-12)
    assert (apart.outputs == together.outputs).all()
    assert (sum(heard), max(heard)) == (len(points), 7)


def test_a_sum_that_misses_its_mark_by_rounding_has_reached_it() -> None:
    # 0.7 + 0.2 is smaller than 0.9 in float64, and equal to it on paper.
    assert 0.7 + 0.2 < 0.9
    assert effective_outputs(np.array([[0.7, 0.2, 0.1]]), 0.1).tolist() == [2]
    assert effective_outputs(np.array([[0.25] * 4]), 0.25).tolist() == [3]


def test_the_lower_bound_takes_words_until_they_hold_the_lower_quantile() -> None:
    drawn = np.array([0] * 60 + [1] * 25 + [2] * 10 + [3, 4, 5, 6, 7])
    # Of 100 draws with chance 0.9 fewer than 85 occur with at most 5 %: two words hold those.
    assert binom.cdf(84, 100, 0.9) <= 0.05 < binom.cdf(85, 100, 0.9)
    assert outputs_at_least(drawn, 0.1) == 2
    # Taken at face value, 90 of 100 draws need a third word: too many for a lower bound.
    assert np.searchsorted(np.array([60, 85, 95]), 90) + 1 == 3


def test_draws_that_all_differ_show_the_most_they_can() -> None:
    assert outputs_at_least(np.arange(150), 0.1) == most_shown(150, 0.1)
    assert outputs_at_least(np.zeros(150, np.intp), 0.1) == 1
    assert outputs_at_least(np.zeros(1, np.intp), 0.5) == most_shown(1, 0.5) == 1


def test_draws_are_new_for_every_word(small_space: Space) -> None:
    # Twins at one place have one law; with the same draws they would have one estimate.
    vectors = np.repeat(small_space.vectors[:1], 2, axis=0)
    twins = Space("twins", ["a", "b"], vectors + np.array([[0.0], [0.5]], dtype=np.float32))
    mechanism = Laplace(space=twins, epsilon=1.0)
    points = np.array([0, 0, 1, 1])
    found = measure_deniability(
        mechanism, points, DrawEffort(draws=2000), Randomness.reproducible(3)
    )
    assert len(set(found.keep.tolist())) > 2
    assert not found.exact


def test_the_same_seed_gives_the_same_figures(small_space: Space) -> None:
    mechanism = Laplace(space=small_space, epsilon=3.0)
    points = all_points(small_space)[:-1]
    first, second = (
        measure_deniability(mechanism, points, DrawEffort(draws=50), Randomness.reproducible(9))
        for _ in range(2)
    )
    assert (first.keep == second.keep).all()
    assert (first.outputs == second.outputs).all()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"eta": 0.0}, "eta=0.0"),
        ({"eta": 1.0}, "eta=1.0"),
        ({"eta": math.nan}, "eta=nan"),
        ({"draws": 0}, "draws=0"),
    ],
)
def test_an_effort_that_makes_no_sense_is_refused(
    settings: dict[str, float], complaint: str
) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        DrawEffort(**settings)  # type: ignore[arg-type]
