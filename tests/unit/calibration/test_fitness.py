"""What is fit for calibration, what is not, and what cannot be told."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from sfumato.calibration.curves import LevelEstimate
from sfumato.calibration.fitness import (
    CANNOT_TELL,
    FIT,
    FLAT,
    NOT_MONOTONE,
    REVERSED,
    UNFIT,
    Anchors,
    Fitness,
    fitness_of,
    trend,
)
from unit.calibration.sweeps import LEVELS, Noise, curve, logistic, row, sweep


def judged(
    shape: Callable[[float], float],
    *,
    seeds: int = 3,
    noise: Noise | None = None,
    levels: tuple[float, ...] = LEVELS,
    use: Callable[[float], float] | None = None,
    anchors: Anchors | None = None,
) -> Fitness:
    generator = np.random.default_rng(5)
    rows = sweep(shape, levels, seeds, noise or Noise(0.3, 0.3), generator)
    utility = None if use is None else curve(sweep(use, levels, seeds, Noise(0.1), generator))
    return fitness_of(curve(rows), utility, anchors or Anchors())


def step(level: float) -> float:
    return 0.0 if level < 6 else 5.0


@pytest.mark.parametrize("shape", [logistic, math.log, math.sqrt, step])
@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_a_monotone_curve_is_fit(shape: Callable[[float], float], seeds: int) -> None:
    found = judged(shape, seeds=seeds)
    assert (found.verdict, found.rising) == (FIT, True)
    falling = judged(lambda level: -shape(level), seeds=seeds)
    assert (falling.verdict, falling.rising) == (FIT, False)


@pytest.mark.parametrize(
    "shape",
    [
        lambda level: 4 * math.sin(math.log(level)),
        lambda level: abs(math.log(level) - 1.4),
        lambda level: 5.0 if level == 4 else math.log(level),
    ],
)
def test_a_curve_that_turns_back_is_unfit(shape: Callable[[float], float]) -> None:
    found = judged(shape)
    assert (found.verdict, found.finding) == (UNFIT, NOT_MONOTONE)
    assert found.reversal_share is not None
    assert found.reversal_share > 0.1


def test_noise_without_a_trend_is_unfit() -> None:
    found = judged(lambda _: 2.0)
    assert (found.verdict, found.finding) == (UNFIT, FLAT)
    constant = judged(lambda _: 2.0, noise=Noise())
    assert (constant.verdict, constant.finding) == (UNFIT, FLAT)


def test_leakage_that_grows_with_the_noise_is_unfit() -> None:
    # Membership inference by neighbors on BERT and CoLA: the AUC grew with sigma.
    sigma = (0.014, 0.043, 0.092, 0.14, 0.278, 0.615, 1.91)
    found = judged(lambda s: 55 + 3 * math.log(s / 0.01), levels=sigma, use=lambda s: -10 * s)
    assert (found.verdict, found.finding) == (UNFIT, REVERSED)
    assert found.direction_by == "utility"


@pytest.mark.parametrize("sign", [1, -1])
def test_utility_says_which_end_is_weak(sign: int) -> None:
    found = judged(lambda x: sign * logistic(x), use=lambda x: sign * math.log(x))
    assert (found.verdict, found.rising) == (FIT, sign > 0)
    assert found.direction_by == "utility"


def test_utility_without_a_trend_leaves_the_direction_to_leakage() -> None:
    found = judged(lambda x: -logistic(x), use=lambda _: 1.0)
    assert (found.verdict, found.rising, found.direction_by) == (FIT, False, "leakage")


def test_anchors_in_the_wrong_order_make_an_attack_unfit() -> None:
    low = LevelEstimate(value=0.3, low=0.2, high=0.4, n=3)
    high = LevelEstimate(value=0.6, low=0.5, high=0.7, n=3)
    assert judged(logistic, anchors=Anchors(no_privacy=low, random_output=high)).finding == REVERSED
    assert judged(logistic, anchors=Anchors(no_privacy=high, random_output=low)).verdict == FIT
    unsure = LevelEstimate(value=0.3, low=0.0, high=0.6, n=3)
    close = Anchors(no_privacy=unsure, random_output=high)
    assert judged(logistic, anchors=close).verdict == FIT


@pytest.mark.parametrize(
    ("levels", "seeds"), [((1.0,), 5), ((1.0, 2.0), 5), ((1.0, 2.0, 4.0), 1), (LEVELS[:4], 1)]
)
def test_too_little_is_not_judged(levels: tuple[float, ...], seeds: int) -> None:
    found = judged(logistic, levels=levels, seeds=seeds, noise=Noise(0.01))
    assert found.verdict == CANNOT_TELL


def test_a_step_back_of_unknown_noise_is_not_judged() -> None:
    # One seed, no intervals: nobody knows whether the step back is noise.
    values = [1.0, 2.0, 3.0, 2.2, 4.0, 5.0, 6.0]
    rows = [row(2.0**place, value) for place, value in enumerate(values)]
    found = fitness_of(curve(rows), None, Anchors())
    assert (found.verdict, found.reversal_p) == (CANNOT_TELL, None)
    straight = [row(2.0**place, value) for place, value in enumerate(sorted(values))]
    assert fitness_of(curve(straight), None, Anchors()).verdict == FIT


def test_published_membership_figures_are_unfit_and_reconstruction_is_fit() -> None:
    """Faustini et al. 2024: table 1 (GPT-2, CoLA, privacy leakage) and table 4 (LAMP, ROUGE-L)."""
    sigmas = (0.024, 0.066, 0.112, 0.173, 0.347, 0.747, 3.06)
    membership = (0.0154, 0.0077, 0.0058, 0.0077, 0.0077, 0.0058, 0.0039)
    lamp_sigmas = (0.014, 0.043, 0.092, 0.140, 0.278, 0.615, 1.91)
    lamp = (0.5105, 0.3988, 0.1435, 0.0482, 0.0030, 0.0013, 0.0016)
    verdicts = []
    for levels, values in ((sigmas, membership), (lamp_sigmas, lamp)):
        rows = [row(level, value) for level, value in zip(levels, values, strict=True)]
        found = fitness_of(curve(rows), None, Anchors())
        verdicts.append((found.verdict, found.rising))
    # One run each and no intervals: the erratic one cannot be called fit.
    assert verdicts == [(CANNOT_TELL, False), (FIT, False)]


def test_the_seeds_of_one_level_only_are_shuffled_together() -> None:
    rows = [row(2.0**place, place + 0.1 * seed, 10 * place + seed)
            for place in range(4) for seed in range(2)]  # fmt: skip
    found = trend(curve(rows).points)
    assert found.rising
    assert found.rising_p < 0.01
    assert found.smallest_p == pytest.approx(2**4 / math.factorial(8))


def test_a_trend_is_tested_exactly_where_all_orders_can_be_counted() -> None:
    rows = [row(2.0**place, float(place)) for place in range(5)]
    found = trend(curve(rows).points)
    assert found.smallest_p == pytest.approx(1 / 120)
    assert found.rising_p == pytest.approx(1 / 120, abs=0.006)
    assert found.either_p == pytest.approx(2 / 120, abs=0.009)
    assert found.falling_p == 1.0
