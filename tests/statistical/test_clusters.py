"""Intervals over seeds and secrets together hold as often as they say; half-hearted ones do not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from sfumato.core.arrays import Floats
from sfumato.results.measured import Ends
from sfumato.statistics.clusters import over_clusters
from sfumato.studies.power import LEAKING, half_width, secrets_for, secrets_to_tell
from statistical import budget

CHECK = "clusters: coverage"
REPEATS = 400
TRUTH = 4.0
# Nominal is 95 %; two seeds that differ a little can cost a point.
HELD = 0.93
Combine = Callable[[Floats], Ends]
# Seeds, secrets; standard deviations of secrets, seeds, and both together.
SETTINGS = {
    "secrets differ": (2, 20, 3.0, 0.3, 1.0),
    "seeds differ": (2, 20, 1.4, 1.0, 1.0),
    "nothing differs": (3, 20, 0.5, 0.0, 1.4),
    "few secrets": (2, 5, 2.0, 0.5, 1.0),
}


def secrets_only(values: Floats) -> Ends:
    """Sabotaged: secrets are resampled, seeds are taken for granted."""
    return over_clusters(values.mean(0, keepdims=True))


def all_alike(values: Floats) -> Ends:
    """Sabotaged: every value of every seed counts as one more secret."""
    return over_clusters(values.reshape(1, -1))


def drawn(generator: np.random.Generator, case: str) -> Floats:
    """Values with mean ``TRUTH``; a few secrets are much larger than the others."""
    seeds, secrets, of_secrets, of_seeds, rest = SETTINGS[case]
    skewed = generator.gamma(4.0, of_secrets / 2.0, (1, secrets)) - 2.0 * of_secrets
    values: Floats = (
        TRUTH
        + skewed
        + generator.normal(0, of_seeds, (seeds, 1))
        + generator.normal(0, rest, (seeds, secrets))
    )
    return values


def misses(case: str, combine: Combine) -> int:
    generator = np.random.default_rng(7)
    missed = 0
    for _ in range(REPEATS):
        low, high = combine(drawn(generator, case))
        assert low is not None
        assert high is not None
        missed += not low <= TRUTH <= high
    return missed


def p_value(missed: int) -> float:
    """How likely so many misses are, or more, if the interval holds often enough."""
    return float(stats.binom.sf(missed - 1, REPEATS, 1 - HELD))


@pytest.mark.parametrize("case", SETTINGS)
def test_intervals_hold(case: str) -> None:
    assert not budget.rejects(CHECK, case, [p_value(misses(case, over_clusters))])


@pytest.mark.parametrize(
    ("case", "sabotaged"),
    [("seeds differ", secrets_only), ("seeds differ", all_alike)],
)
def test_sabotaged_intervals_do_not(case: str, sabotaged: Combine) -> None:
    assert budget.rejects(CHECK, case, [p_value(misses(case, sabotaged))])


def test_the_planned_number_of_secrets_tells_one_bit_from_four() -> None:
    """Welch's test finds the difference in nineteen of twenty draws, and not with a third of it."""
    generator = np.random.default_rng(3)

    def found(secrets: int) -> int:
        little = generator.normal(1.0, 1 / np.log(2), (REPEATS, secrets))
        much = generator.normal(4.0, LEAKING, (REPEATS, secrets))
        tests = stats.ttest_ind(much, little, axis=1, equal_var=False)
        return int((tests.pvalue < 0.05).sum())

    enough = secrets_to_tell(1.0, 4.0)
    lost = stats.binom.sf(REPEATS - found(enough) - 1, REPEATS, 0.07)
    assert not budget.rejects(CHECK, "power", [float(lost)])
    assert budget.rejects(
        CHECK, "power", [float(stats.binom.sf(REPEATS - found(enough // 3) - 1, REPEATS, 0.07))]
    )


def test_the_planned_interval_is_as_wide_as_announced() -> None:
    assert half_width(secrets_for(1.5)) <= 1.5 < half_width(secrets_for(1.5) - 1)
