"""Bounds on telling members from others: reached by randomized response, exceeded by none."""

from __future__ import annotations

import itertools
import math

import pytest

from sfumato.accounting.membership import most_advantage, most_hits, most_ordered
from sfumato.core.errors import InvalidArgument

LEVELS = [(0.0, 0.0), (0.5, 0.0), (2.0, 0.01), (8.0, 1e-5), (math.inf, 0.0)]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_randomized_response_reaches_hits_and_advantage(epsilon: float) -> None:
    """It says whether a text is there, and the truth with probability e^ε/(1 + e^ε)."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    hits, alarms = truth, 1 - truth
    assert most_hits(epsilon, 0.0, alarms) == pytest.approx(hits)
    assert most_advantage(epsilon, 0.0) == pytest.approx(hits - alarms)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_a_mechanism_over_two_texts_reaches_the_order(epsilon: float) -> None:
    """It names one of two texts; by fair coins they are there or not."""
    rare = math.exp(-epsilon) / 2
    names_first = {(1, 0): 1 - rare, (0, 0): 0.5, (1, 1): 0.5, (0, 1): rare}
    grown = math.exp(epsilon) * (1 + 1e-12)
    for one, other in itertools.permutations(names_first, 2):
        if sum(a != b for a, b in zip(one, other, strict=True)) == 1:
            assert names_first[one] <= grown * names_first[other]
            assert 1 - names_first[one] <= grown * (1 - names_first[other])
    assert most_ordered(epsilon, 0.0) == pytest.approx(names_first[1, 0])
    # The bound for two runs of their own would be wrong here.
    assert names_first[1, 0] > 1 / (1 + math.exp(-epsilon))


@pytest.mark.parametrize(("epsilon", "delta"), LEVELS)
def test_the_advantage_is_the_largest_that_hits_and_false_alarms_allow(
    epsilon: float, delta: float
) -> None:
    rates = [10 ** (-step / 500) for step in range(3001)]
    found = max(most_hits(epsilon, delta, one) - one for one in rates)
    assert found == pytest.approx(most_advantage(epsilon, delta), abs=4e-3)


def test_bounds_stay_shares_and_levels_are_checked() -> None:
    for epsilon, delta in [*LEVELS, (0.0, 1.0), (1e6, 0.5)]:
        assert 0.5 <= most_ordered(epsilon, delta) <= 1
        assert 0 <= most_advantage(epsilon, delta) <= 1
        assert all(rate <= most_hits(epsilon, delta, rate) <= 1 for rate in (0.0, 0.01, 1.0))
    for wrong in ((-1.0, 0.0), (1.0, 2.0)):
        with pytest.raises(InvalidArgument):
            most_advantage(*wrong)
