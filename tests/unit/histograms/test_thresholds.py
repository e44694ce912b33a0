"""Noise and threshold of a histogram: exact by enumeration, and wrong in each known wrong way."""

from __future__ import annotations

import math
from typing import Any

import pytest
from scipy import optimize, special, stats

from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.histograms.thresholds import (
    Contribution,
    Noise,
    deviations_needed,
    histogram_delta,
    levels_delta,
    pair_delta,
    solve_levels,
    solve_noise,
    solve_public,
)

EPSILON, DELTA, WORDS = 4.0, 1e-6, 60
PLAIN = Contribution(words=WORDS)
BY_LENGTH = Contribution(words=WORDS, weights="by-length")


def test_the_published_case() -> None:
    found = solve_noise(EPSILON, DELTA, PLAIN)
    assert round(found.deviation, 2) <= 9.25
    assert found.deviation == pytest.approx(9.25, abs=0.01)
    assert found.threshold == pytest.approx(52.1, abs=0.05)
    # The worst case is at an end, so that both may use the whole of delta.
    ends = {
        alone: case_by_scipy(EPSILON, found.deviation, found.threshold, 1.0, WORDS, alone)
        for alone in range(WORDS + 1)
    }
    assert set(sorted(ends, key=ends.__getitem__)[-2:]) == {0, WORDS}
    assert max(ends.values()) <= DELTA


def case_by_scipy(
    epsilon: float, deviation: float, threshold: float | None, weight: float, given: int, alone: int
) -> float:
    """The same in other words: the larger of two suprema, each found by search."""
    shown = 0.0
    if alone:
        assert threshold is not None
        shown = -math.expm1(alone * special.log_ndtr((threshold - weight) / deviation))
    shift = weight * math.sqrt(given - alone) / deviation

    def best(sign: float) -> float:
        def lost(place: float) -> float:
            if sign > 0:
                value = (1 - shown) * special.ndtr(shift - place)
                return -float(value - math.exp(epsilon) * special.ndtr(-place))
            value = special.ndtr(place)
            return -float(value - math.exp(epsilon) * (1 - shown) * special.ndtr(place - shift))

        found = optimize.minimize_scalar(lost, bounds=(-40, 40), method="bounded",
                                         options={"xatol": 1e-10})  # fmt: skip
        return max(0.0, -float(found.fun))

    return max(shown + best(+1.0), best(-1.0))


@pytest.mark.parametrize("contribution", [
    Contribution(words=7), Contribution(words=7, weights="by-length"), Contribution(words=1),
])  # fmt: skip
@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-2), (1.0, 1e-3), (3.0, 1e-2)])
def test_delta_is_the_largest_over_all_contributors(
    contribution: Contribution, epsilon: float, delta: float
) -> None:
    noise = solve_noise(epsilon, delta, contribution)
    exact = histogram_delta(epsilon, contribution, noise.deviation, noise.threshold)
    every = [
        case_by_scipy(
            epsilon, noise.deviation, noise.threshold, contribution.weight(given), given, alone
        )
        for given in range(1, contribution.words + 1)
        for alone in range(given + 1)
    ]
    assert exact == pytest.approx(max(every), rel=1e-6)
    assert exact <= delta
    # Neither noise nor threshold is larger than needed.
    less = histogram_delta(epsilon, contribution, noise.deviation, 0.995 * (noise.threshold or 0))
    assert less > delta
    assert histogram_delta(epsilon, contribution, 0.995 * noise.deviation, 1e9) > delta


@pytest.mark.parametrize("contribution", [PLAIN, BY_LENGTH], ids=["plain", "by length"])
@pytest.mark.parametrize("level", [(0.05, 1e-3), (1.0, 1e-6), (4.0, 1e-13), (16.0, 1e-6)])
def test_every_level_is_kept_and_used(
    contribution: Contribution, level: tuple[float, float]
) -> None:
    epsilon, delta = level
    noise = solve_noise(epsilon, delta, contribution)
    exact = histogram_delta(epsilon, contribution, noise.deviation, noise.threshold)
    assert 0.999 * delta < exact <= delta


@pytest.mark.parametrize("contribution", [PLAIN, BY_LENGTH], ids=["plain", "by length"])
def test_twins_each_known_mistake_costs_more_than_delta(contribution: Contribution) -> None:
    noise = solve_noise(EPSILON, DELTA, contribution)
    threshold = noise.threshold or 0.0
    for_one = 1 + noise.deviation * deviations_needed(DELTA, 1)
    more = Contribution(words=WORDS + 1, weights=contribution.weights)
    assert histogram_delta(EPSILON, contribution, noise.deviation / 2, threshold) > 100 * DELTA
    assert histogram_delta(EPSILON, contribution, noise.deviation, for_one) > 1.2 * DELTA
    if contribution.weights == "plain":  # by length, one more word moves the counts no further
        assert histogram_delta(EPSILON, contribution, noise.deviation, for_one) > 10 * DELTA
        assert histogram_delta(EPSILON, more, noise.deviation, threshold) > DELTA
    # A threshold for k words that are given by length is none for words of weight 1.
    assert histogram_delta(EPSILON, contribution, noise.deviation, None) <= DELTA


def test_twin_a_threshold_for_one_word_is_wrong_for_sixty() -> None:
    """With half of delta for each: 3e-5 in place of 5e-7, as measured."""
    deviation = 9.49  # the noise at half of delta
    threshold = 1 + deviation * deviations_needed(DELTA / 2, 1)
    shown = -math.expm1(WORDS * stats.norm.logcdf((threshold - 1) / deviation))
    assert shown == pytest.approx(3e-5, rel=0.01)


def test_a_naive_threshold_is_infinite_where_the_stable_one_is_not() -> None:
    delta, words = 1e-13 / 2, 2000
    assert math.isinf(stats.norm.ppf((1 - delta) ** (1 / words)))
    assert deviations_needed(delta, words) == pytest.approx(8.387, abs=5e-4)
    assert math.isfinite(solve_noise(4.0, 1e-20, PLAIN).threshold or math.inf)


def test_public_words_need_no_threshold_and_the_same_noise() -> None:
    noise = solve_public(EPSILON, DELTA, PLAIN)
    assert noise.threshold is None
    assert noise.shown_alone == 0.0
    assert noise.deviation == solve_noise(EPSILON, DELTA, PLAIN).deviation
    assert histogram_delta(EPSILON, PLAIN, noise.deviation, None) <= DELTA


@pytest.mark.parametrize("contribution", [PLAIN, BY_LENGTH], ids=["plain", "by length"])
def test_several_histograms_cost_more_than_any_fixed_contributor_of_them(
    contribution: Contribution,
) -> None:
    noise = solve_levels(1.0, 1e-5, contribution, 3)
    bound = levels_delta(1.0, noise)
    assert 0.999e-5 < bound <= 1e-5
    threshold = noise.threshold or 0.0
    for shares in ((0, 0, 0), (60, 60, 60), (60, 0, 0), (30, 30, 30), (1, 0, 60), (0, 1, 0)):
        weight = contribution.weight(WORDS)
        hidden = sum(shares) * stats.norm.logcdf((threshold - weight) / noise.deviation)
        moved = weight * math.sqrt(3 * WORDS - sum(shares)) / noise.deviation
        assert pair_delta(1.0, float(hidden), moved) <= bound
    assert solve_levels(1.0, 1e-5, contribution, 1) == solve_noise(1.0, 1e-5, contribution)
    single = solve_noise(1.0, 1e-5, contribution)
    assert levels_delta(1.0, Noise(**vars(single) | {"count": 3})) > 1e-5  # twin: charged once


def test_a_pair_that_is_always_betrayed_has_no_privacy() -> None:
    assert pair_delta(1.0, -math.inf, 0.5) == 1.0
    assert pair_delta(1.0, 0.0, 0.0) == 0.0
    assert 0 < pair_delta(0.1, math.log(0.2), 0.5) < 1


@pytest.mark.parametrize(("given", "message"), [
    ({"words": 0}, "words=0 must be at least 1"),
    ({"words": 301, "weights": "by-length"}, "words=301 must be at most 300"),
    ({"words": 2.5}, "whole number"),
])  # fmt: skip
def test_impossible_contributions_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Contribution(**given)


def test_impossible_levels_are_refused() -> None:
    with pytest.raises(UnknownName, match="by-length"):
        Contribution(weights="by length")
    for epsilon, delta in ((0.0, 1e-6), (-1.0, 1e-6), (1.0, 0.0), (1.0, 1.0), (1.0, 1e-40)):
        with pytest.raises(InvalidArgument):
            solve_noise(epsilon, delta, PLAIN)
