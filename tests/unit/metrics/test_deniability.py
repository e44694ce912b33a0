"""Keep-probabilities: against the exact ones where those are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.core.randomness import Randomness
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.laplace import Laplace
from sfumato.metrics.deniability import keep_probabilities, typical_keep_probability
from sfumato.vectors.embedded import default_space
from sfumato.vectors.space import Space


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
