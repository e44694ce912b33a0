"""N_w, S_w and the median from draws, against the exact ones; each check has a sabotaged twin."""

from __future__ import annotations

import numpy as np
from scipy import stats

from sfumato.core.randomness import Randomness
from sfumato.mechanisms.exponential import Exponential
from sfumato.metrics.deniability import (
    DrawEffort,
    effective_outputs,
    measure_deniability,
    outputs_at_least,
)
from sfumato.statistics.shares import median_interval
from sfumato.vectors.space import Space
from statistical.budget import fits_share, rejects
from statistical.hidden_rows import WithoutRows

CHECK = "deniability: from draws"
DRAWS = 4000
REPETITIONS = 400


def keep_p_values(drawn: Exponential, claimed: Exponential) -> list[float]:
    """How well the estimates under one mechanism fit the exact figures of another."""
    points = np.arange(len(claimed.space))
    found = measure_deniability(
        WithoutRows(drawn), points, DrawEffort(draws=DRAWS), Randomness.reproducible(11)
    )
    assert not found.exact
    exact = measure_deniability(claimed, points, DrawEffort(), Randomness.secure()).keep
    stayed = np.round(found.keep * DRAWS).astype(int)
    return [fits_share(int(k), DRAWS, p) for k, p in zip(stayed, exact, strict=True)]


def test_estimates_of_keeping_fit_the_exact_probabilities(small_space: Space) -> None:
    mechanism = Exponential(space=small_space, epsilon=4.0)
    assert not rejects(CHECK, "keep", keep_p_values(mechanism, mechanism))


def test_the_twin_with_a_quarter_more_epsilon_is_caught(small_space: Space) -> None:
    honest = Exponential(space=small_space, epsilon=4.0)
    twin = Exponential(space=small_space, epsilon=5.0)
    assert rejects(CHECK, "keep", keep_p_values(twin, honest))


def test_intervals_hold_the_exact_probability_as_often_as_they_say(small_space: Space) -> None:
    # Clopper and Pearson's holds it in 95 % of all cases at least; 12 words, each drawn often.
    mechanism = Exponential(space=small_space, epsilon=4.0)
    points = np.arange(12).repeat(100)
    found = measure_deniability(
        WithoutRows(mechanism), points, DrawEffort(draws=60), Randomness.reproducible(12)
    )
    exact = measure_deniability(mechanism, points, DrawEffort(), Randomness.secure()).keep
    missed = int(((exact < found.low) | (exact > found.high)).sum())
    assert not rejects(CHECK, "intervals", [float(stats.binom.sf(missed - 1, len(points), 0.05))])
    half = (found.high - found.low) / 4
    narrow = int((np.abs(exact - found.keep) > half).sum())
    assert rejects(CHECK, "intervals", [float(stats.binom.sf(narrow - 1, len(points), 0.05))])


def too_large(confidence: float, eta: float) -> float:
    """P-value of how often the lower bound exceeds S_w, if it may do so in 5 % of all cases."""
    # The three likeliest outputs hold just 1 − eta, which is where the bound is put to the test.
    row = np.array([0.5, 0.3, 0.1, *[0.01] * 10])
    (exact,) = effective_outputs(row[None, :].copy(), eta)
    assert exact == 3
    draws = np.random.default_rng(13).choice(len(row), size=(REPETITIONS, 200), p=row)
    above = sum(outputs_at_least(one, eta, confidence) > exact for one in draws)
    return float(stats.binom.sf(above - 1, REPETITIONS, 0.05))


def test_the_lower_bound_is_rarely_too_large() -> None:
    assert not rejects(CHECK, "outputs", [too_large(0.95, 0.1)])


def test_the_twin_that_takes_the_draws_at_face_value_is_caught() -> None:
    # Without a margin the bound is the median of what may happen: too large in half of the cases.
    assert rejects(CHECK, "outputs", [too_large(0.5, 0.1)])


def outside(confidence: float) -> float:
    """P-value of how often the interval misses the true median, if it may in 5 % of all cases."""
    samples = np.random.default_rng(14).beta(0.5, 2.0, size=(REPETITIONS, 60))
    true = stats.beta(0.5, 2.0).median()
    intervals = [median_interval(sample, confidence) for sample in samples]
    missed = sum(not low <= true <= high for low, high in intervals)
    return float(stats.binom.sf(missed - 1, REPETITIONS, 0.05))


def test_the_interval_holds_the_true_median() -> None:
    assert not rejects(CHECK, "median", [outside(0.95)])


def test_the_twin_with_half_the_confidence_is_caught() -> None:
    assert rejects(CHECK, "median", [outside(0.5)])
