"""From scores to bits: ranks, samples, fitted laws, means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sfumato.attacks.exposure import ranks
from sfumato.attacks.exposure.figures import mean_interval
from sfumato.attacks.exposure.ranks import NoLaw, SkewNormal, fit_skew_normal


def test_the_likeliest_has_rank_one_and_the_unlikeliest_the_last() -> None:
    scores = np.array([3.0, 1.0, 2.0, 5.0])
    assert ranks.at_least_as_likely(scores, scores).tolist() == [3, 1, 2, 4]
    assert ranks.exact(np.array([1, 4]), 4).tolist() == [2.0, 0.0]


def test_ties_count_against_the_attacker() -> None:
    scores = np.array([1.0, 1.0, 1.0, 2.0])
    assert ranks.at_least_as_likely(scores, scores).tolist() == [3, 3, 3, 4]


def test_impossible_candidates_tie_with_each_other() -> None:
    scores = np.array([1.0, np.inf, np.inf])
    assert ranks.at_least_as_likely(scores, scores).tolist() == [1, 3, 3]


def test_a_sample_cannot_show_more_than_its_size() -> None:
    assert ranks.exposure_by_sample(np.array([0]), 1023)[0] == 10.0
    assert ranks.exposure_by_sample(np.array([1023]), 1023)[0] == 0.0


def test_the_interval_of_a_sample_is_that_of_its_share() -> None:
    low, high = ranks.sample_interval(5, 1000, 20.0)
    share = stats.binomtest(5, 1000).proportion_ci(0.95, method="exact")
    assert low == pytest.approx(-math.log2(share.high))
    assert high == pytest.approx(-math.log2(share.low))
    assert ranks.sample_interval(0, 1000, 20.0)[1] == 20.0
    assert ranks.sample_interval(1000, 1000, 20.0)[0] == 0.0


@pytest.mark.parametrize("places", [2, 10, 1000])
def test_the_mean_by_chance_is_that_of_all_ranks(places: int) -> None:
    every = np.log2(places) - np.log2(np.arange(1, places + 1))
    assert ranks.mean_by_chance(places) == pytest.approx(float(every.mean()))


def test_the_interval_of_a_mean_is_students() -> None:
    values = np.array([1.0, 4.0, 2.5, 7.0])
    expected = stats.t.interval(0.95, 3, loc=values.mean(), scale=stats.sem(values))
    assert mean_interval(values, (None, None)) == pytest.approx(expected)
    assert mean_interval(values, (0.0, 7.5)) == pytest.approx((0.0, 7.5))
    assert mean_interval(values[:1], (0.0, None)) == (None, None)
    assert mean_interval(np.full(5, 13.3), (0.0, None)) == (None, None)


@pytest.mark.parametrize("place", [-40.0, -9.0, -4.0, -1.0, 0.0, 2.0])
def test_without_skew_the_law_is_normal(place: float) -> None:
    """Also where the chance is far too small for a difference of numbers near one."""
    law = SkewNormal(0.0, 10.0, 3.0, fit=1.0)
    exposure = law.exposures(np.array([10.0 + 3.0 * place]))[0]
    assert exposure == pytest.approx(-stats.norm.logcdf(place) / math.log(2), rel=1e-9)


@pytest.mark.parametrize("shape", [-6.0, -1.0, 2.0, 15.0])
def test_tails_of_a_skewed_law_are_integrals_of_its_density(shape: float) -> None:
    law = SkewNormal(shape, 0.0, 1.0, fit=1.0)
    for place in (-0.3, -1.5, -4.0, -12.0):
        # On a grid that is fine where the density falls, in logarithms.
        steps = np.linspace(0, 60 / (abs(place) * (1 + max(shape, 0) ** 2) + 1), 400_001)
        logs = stats.norm.logpdf(place - steps) + stats.norm.logcdf(shape * (place - steps))
        top = logs.max()
        area = float(np.trapezoid(np.exp(logs - top), steps))
        expected = -(math.log(2) + top + math.log(area)) / math.log(2)
        assert law.exposures(np.array([place]))[0] == pytest.approx(expected, rel=1e-3)


def test_a_skew_normal_sample_is_fitted_and_passes_its_test() -> None:
    sample = stats.skewnorm(4.0, 20.0, 5.0).rvs(4000, random_state=np.random.default_rng(2))
    law = fit_skew_normal(sample)
    assert law.fit > ranks.DOUBTFUL
    assert (law.location, law.scale) == pytest.approx((20.0, 5.0), rel=0.05)
    at = np.array([19.0, 22.0, 30.0])
    truth = -np.log2(stats.skewnorm(4.0, 20.0, 5.0).cdf(at))
    assert law.exposures(at) == pytest.approx(truth, abs=0.6)


def test_scores_of_another_shape_fail_the_test() -> None:
    random = np.random.default_rng(3)
    two_heaps = np.concatenate([random.normal(0, 1, 2000), random.normal(12, 1, 2000)])
    random.shuffle(two_heaps)
    assert fit_skew_normal(two_heaps).fit < ranks.DOUBTFUL


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (np.zeros(50), "too few"),
        (np.zeros(500), "equally likely"),
        (np.append(np.arange(499.0), np.inf), "some candidates probability 0"),
    ],
)
def test_no_law_is_made_up(scores: np.ndarray[tuple[int], np.dtype[np.float64]], said: str) -> None:
    with pytest.raises(NoLaw, match=said):
        fit_skew_normal(scores)


def test_chance_in_a_space_beyond_all_numbers() -> None:
    assert ranks.mean_by_chance(10**400) == pytest.approx(ranks.mean_by_chance(10**12), abs=1e-6)
