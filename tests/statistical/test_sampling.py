"""Poisson sampling draws every unit by a coin of its own, in every step anew.

What the accountant assumes is checked on many draws: each unit takes part at its rate, the size of
a batch varies as the sum of independent coins does, two units meet as often as chance has it, and
one step knows nothing of the next. Batches of a fixed size, batches from a shuffled order, half
the rate, and coins thrown once for all steps must be told apart from it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sfumato.core.randomness import Randomness
from sfumato.training.sampling import Draw, Poisson, Shuffled
from statistical.budget import fits_share, rejects

CHECK = "sampling: Poisson"
UNITS, STEPS = 60, 3000
SIZES = {"small batches": 3, "large batches": 20}

Members = NDArray[np.bool_]


def members(draw: Draw, batch_size: int) -> Members:
    """Who took part: a row for each step."""
    table = np.zeros((STEPS, UNITS), dtype=bool)
    for step in range(STEPS):
        table[step, draw(step, batch_size)] = True
    return table


def p_values(table: Members, batch_size: int) -> list[float]:
    rate = batch_size / UNITS
    values = [fits_share(int(hits), STEPS, rate) for hits in table.sum(axis=0)]
    # Sizes: how often exactly the expected one, and how often none or at most half of it.
    sizes = table.sum(axis=1)
    law = stats.binom(UNITS, rate)
    exact = int((sizes == batch_size).sum())
    values.append(fits_share(exact, STEPS, float(law.pmf(batch_size))))
    few = int((sizes <= batch_size // 2).sum())
    values.append(fits_share(few, STEPS, float(law.cdf(batch_size // 2))))
    # Units side by side, in pairs that share nobody, and steps one after the other, likewise.
    beside = int((table[:, ::2] & table[:, 1::2]).sum())
    values.append(fits_share(beside, STEPS * UNITS // 2, rate**2))
    after = int((table[::2] & table[1::2]).sum())
    values.append(fits_share(after, STEPS * UNITS // 2, rate**2))
    return values


def poisson() -> Draw:
    return Poisson().drawing(UNITS, Randomness.reproducible(20), {})


def fixed_size() -> Draw:
    randomness = Randomness.reproducible(21)
    return lambda step, size: randomness.stream(step).choose(UNITS, size)


def shuffled() -> Draw:
    randomness = Randomness.reproducible(22)
    return Shuffled().drawing(UNITS, randomness, Shuffled().start(randomness))


def half_the_rate() -> Draw:
    draw = poisson()
    return lambda step, size: draw(step, size // 2)


def every_step_alike() -> Draw:
    draw = poisson()
    return lambda step, size: draw(step // 2, size)


@pytest.mark.parametrize("case", SIZES)
def test_poisson_sampling_is_what_the_accountant_assumes(case: str) -> None:
    size = SIZES[case]
    assert not rejects(CHECK, case, p_values(members(poisson(), size), size))


@pytest.mark.parametrize("case", SIZES)
@pytest.mark.parametrize("twin", [fixed_size, shuffled, half_the_rate, every_step_alike])
def test_other_sampling_is_told_apart(twin: Callable[[], Draw], case: str) -> None:
    size = SIZES[case]
    assert rejects(CHECK, case, p_values(members(twin(), size), size))
