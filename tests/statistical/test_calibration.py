"""Intervals of levels and utility hold as often as they say, and narrower ones do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from sfumato.calibration.equal_leakage import HALF_THE_ERROR, utility_at
from sfumato.calibration.fitness import FIT, Anchors, fitness_of
from sfumato.calibration.inverse import invert
from statistical import budget
from unit.calibration.sweeps import LEVELS, Noise, curve, logistic, sweep

CHECK = "calibration: intervals"
TRUE = 6.3
# Half as wide, an interval misses more than a fifth: 400 are enough, and so are 100 of what the
# twin always calls fit.
REPEATS = 400
FITS = 100
SHAPES: dict[str, tuple[Callable[[float], float], bool]] = {
    "rising": (logistic, True),
    "falling": (lambda level: 6 - logistic(level), False),
    "logarithmic": (lambda level: 2 * math.log(level), True),
}
# Seeds shift whole curves: the least favorable case for an interval.
NOISE = Noise(0.05, 0.5)


@cache
def intervals(shape: str) -> list[tuple[float, float, float] | None]:
    """Answers with their limits, as logarithms; the honest test and its twin look at the same."""
    generator = np.random.default_rng(11)
    curve_of_shape, rising = SHAPES[shape]
    answers: list[tuple[float, float, float] | None] = []
    for _ in range(REPEATS):
        found = invert(
            curve(sweep(curve_of_shape, LEVELS, 4, NOISE, generator)), curve_of_shape(TRUE),
            rising=rising,
        )  # fmt: skip
        if found.low is None or found.high is None or found.level is None:
            answers.append(None)
            continue
        low = -math.inf if found.open_low else math.log(found.low)
        high = math.inf if found.open_high else math.log(found.high)
        answers.append((low, math.log(found.level), high))
    return answers


def missed(shape: str, width: float) -> int:
    """How many intervals, scaled about the answer on the axis, miss the true level."""
    return sum(
        found is None or not scaled(found, width)[0] <= math.log(TRUE) <= scaled(found, width)[1]
        for found in intervals(shape)
    )


def scaled(found: tuple[float, float, float], width: float) -> tuple[float, float]:
    low, middle, high = found
    return middle - width * (middle - low), middle + width * (high - middle)


@pytest.mark.parametrize("shape", list(SHAPES))
def test_a_level_lies_in_its_interval_as_often_as_it_says(shape: str) -> None:
    misses = missed(shape, 1.0)
    p = budget.at_most(misses, REPEATS, 0.05)
    assert not budget.rejects(CHECK, shape, [p]), misses


@pytest.mark.parametrize("shape", list(SHAPES))
def test_intervals_of_half_the_width_are_caught(shape: str) -> None:
    misses = missed(shape, 0.5)
    p = budget.at_most(misses, REPEATS, 0.05)
    assert budget.rejects(CHECK, shape, [p]), misses


@cache
def utilities() -> list[tuple[float, float, float]]:
    """Utility with its limits, wherever both can be said."""
    generator = np.random.default_rng(12)
    answers = []
    for _ in range(REPEATS):
        leaking = curve(sweep(logistic, LEVELS, 4, NOISE, generator))
        use = curve(sweep(lambda level: 30 - 0.2 * math.log(level), LEVELS, 4, NOISE, generator))
        found = invert(leaking, logistic(TRUE), rising=True, confidence=HALF_THE_ERROR)
        value, is_open = utility_at(use, found, leaking)
        if value is not None and value.low is not None and value.high is not None and not is_open:
            answers.append((value.low, value.value, value.high))
    return answers


def utility_misses(width: float) -> int:
    true = 30 - 0.2 * math.log(TRUE)
    limits = (scaled(found, width) for found in utilities())
    return sum(not low <= true <= high for low, high in limits)


def test_utility_lies_in_its_interval_as_often_as_it_says() -> None:
    misses = utility_misses(1.0)
    assert not budget.rejects(CHECK, "utility", [budget.at_most(misses, REPEATS, 0.05)]), misses


def test_an_interval_of_utility_of_a_third_of_the_width_is_caught() -> None:
    # It has to hold for the level and for utility, and is wide: half of it would still do.
    misses = utility_misses(1 / 3)
    assert budget.rejects(CHECK, "utility", [budget.at_most(misses, REPEATS, 0.05)]), misses


def called_fit(*, sorted_first: bool) -> int:
    """How often noise without any trend is called fit."""
    generator = np.random.default_rng(13)
    fit = 0
    for _ in range(FITS):
        rows = sweep(lambda _: 1.0, LEVELS, 3, NOISE, generator)
        if sorted_first:
            # Sabotage: figures in order, as if somebody had sorted them before the test.
            values = sorted(one.value or 0.0 for one in rows)
            ordered = sorted(rows, key=lambda one: one.level or 0.0)
            rows = [replace(one, value=value) for one, value in zip(ordered, values, strict=True)]
        found = fitness_of(curve(rows), None, Anchors())
        fit += found.verdict == FIT
    return fit


def test_noise_is_rarely_called_fit() -> None:
    fit = called_fit(sorted_first=False)
    assert not budget.rejects(CHECK, "noise", [budget.at_most(fit, FITS, 0.05)]), fit


def test_figures_that_were_sorted_beforehand_are_caught() -> None:
    fit = called_fit(sorted_first=True)
    assert budget.rejects(CHECK, "noise", [budget.at_most(fit, FITS, 0.05)]), fit
