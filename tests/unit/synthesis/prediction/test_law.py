"""One token costs what is claimed, by brute force over few tokens; twins cost more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.arrays import Floats, Integers
from sfumato.core.randomness import Randomness
from sfumato.synthesis.prediction.law import STEPS, AverageLaw

ORDERS = (1.01, 1.5, 2.0, 4.0, 16.0, 64.0)
PROMPTS = 5
Totals = tuple[Integers, Integers]


def law_of(outcomes: int, **other: float) -> AverageLaw:
    made = AverageLaw(tokens=np.arange(outcomes), clip=3.0, prompts=PROMPTS, temperature=2.0)
    return replace(made, **other)  # type: ignore[arg-type]


def logs(law: AverageLaw, total: Integers) -> Floats:
    found = law.logs(total)
    normalized: Floats = found - np.logaddexp.reduce(found)
    return normalized


def divergence(first: Floats, second: Floats, order: float) -> float:
    return float(np.logaddexp.reduce(order * first + (1 - order) * second) / (order - 1))


def scores_of_one(outcomes: int) -> Iterator[Floats]:
    """What a single prompt can say: the best tokens at c, all others far below."""
    for corner in product((0.0, -1e9), repeat=outcomes):
        if max(corner) == 0.0:
            yield np.array(corner)


def honest(law: AverageLaw, one: Floats, others: Integers) -> Totals:
    return others + law.contributions(one), others


def unclipped(law: AverageLaw, one: Floats, others: Integers) -> Totals:
    said = np.rint(np.maximum(one, -5 * law.clip) * (STEPS / law.clip)).astype(np.int64)
    return others + said, others


def over_those_present(law: AverageLaw, one: Floats, others: Integers) -> Totals:
    # Divided by how many there are, not by the public s.
    return others + law.contributions(one), np.rint(others * PROMPTS / (PROMPTS - 1)).astype(int)


def in_two_prompts(law: AverageLaw, one: Floats, others: Integers) -> Totals:
    return others + 2 * law.contributions(one), others


def half_of_them(law: AverageLaw, one: Floats, others: Integers) -> Totals:
    # Charged for s prompts, averaged over s/2.
    return 2 * (others + law.contributions(one)), 2 * others


def worst(pair: Callable[[AverageLaw, Floats, Integers], Totals]) -> float:
    """The largest divergence as a share of what is claimed, ρ·α, in both directions."""
    draws = np.random.default_rng(7)
    found = 0.0
    for outcomes in (2, 3, 4):
        law = law_of(outcomes)
        rho = law.shift**2 / 2
        starts = [np.zeros(outcomes, dtype=np.int64)]
        starts += [
            draws.integers(-4 * STEPS, 4 * STEPS + 1, outcomes) for _ in range(20)
        ]  # what four other prompts can say together
        for one, others in product(scores_of_one(outcomes), starts):
            first, second = (logs(law, total) for total in pair(law, one, others))
            for order in ORDERS:
                both = divergence(first, second, order), divergence(second, first, order)
                found = max(found, max(both) / (order * rho))
    return found


def test_a_token_costs_at_most_what_is_claimed_and_nearly_all_of_it() -> None:
    assert 0.97 <= worst(honest) <= 1 + 1e-9


@pytest.mark.parametrize("twin", [unclipped, over_those_present, in_two_prompts, half_of_them])
def test_twins_cost_more(twin: Callable[[AverageLaw, Floats, Integers], Totals]) -> None:
    assert worst(twin) > 1.5


def test_a_replaced_record_costs_four_times_as_much() -> None:
    def replaced(law: AverageLaw, one: Floats, others: Integers) -> Totals:
        return others + law.contributions(one), others + law.contributions(-1e9 - one)

    assert 3.8 < worst(replaced) <= 4 + 1e-9


def test_the_level_is_twice_the_shift_and_not_that_of_a_window() -> None:
    law = law_of(2)
    others = np.array([-4 * STEPS, 4 * STEPS])
    one = law.contributions(np.array([0.0, -1e9]))
    loss = logs(law, others + one) - logs(law, others)
    # e(R, 2) = R would be exceeded: the first token is unlikely to begin with.
    assert law.shift * 1.5 < loss.max() <= 2 * law.shift


@given(
    st.lists(st.floats(width=32), min_size=3, max_size=3),
    st.floats(1e-3, 50.0),
    st.floats(1e-3, 50.0),
)
def test_whatever_a_model_says_is_cut(scores: list[float], clip: float, heat: float) -> None:
    law = law_of(3, clip=clip, temperature=heat)
    found = law.contributions(np.array(scores))
    assert np.abs(found).max() <= STEPS
    assert found.max() == STEPS
    assert np.isfinite(law.logs(7 * found)).all()


def test_scores_are_recentred_so_their_height_does_not_matter() -> None:
    law = law_of(3)
    low, high = (law.contributions(np.array([1.0, -1.0, -9.0]) + shift) for shift in (-50, 50))
    assert low.tolist() == high.tolist()
    assert low.tolist() == [STEPS, round(STEPS / 3), -STEPS]


def test_no_token_becomes_impossible_and_a_far_one_keeps_its_range() -> None:
    law = law_of(3, temperature=1e-3)
    others = np.array([4 * STEPS, 0, -4 * STEPS])
    for one in scores_of_one(3):
        both = [logs(law, total) for total in honest(law, one, others)]
        assert np.isfinite(both[0]).all()
        ratio = both[0] - both[1]
        assert ratio.max() - ratio.min() <= 2 * law.shift * (1 + 1e-12)
    assert math.exp(law.logs(others)[2]) > 0


def test_a_draw_is_one_of_the_public_tokens() -> None:
    law = replace(law_of(3), tokens=np.array([4, 8, 15]))
    total = law.contributions(np.arange(20.0))
    drawn = {law.draw(total, Randomness.reproducible(seed)) for seed in range(60)}
    assert drawn == {4, 8, 15}
