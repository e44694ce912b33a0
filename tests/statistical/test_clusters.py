"""Intervals over seeds and secrets, or over documents, hold as often as they say.

Half-hearted ones do not: those that take seeds for granted, that resample only what was seen, or
that count words instead of documents.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sfumato.core.arrays import Floats
from sfumato.results.measured import Ends
from sfumato.statistics.clusters import over_clusters
from sfumato.statistics.intervals import clopper_pearson
from sfumato.statistics.shares import clustered_share
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


BITS = (0.0, 13.3)
CHANCE = 1 / np.log(2)
# Seeds, secrets, the share of secrets that leak everything.
LEAKS = {"rare leaks": (3, 12, 0.05), "two secrets": (2, 2, 0.3), "half leak": (1, 20, 0.5)}


def within_range(values: Floats) -> Ends:
    return over_clusters(values, BITS)


def only_what_was_seen(values: Floats) -> Ends:
    """Sabotaged: the range plays no part."""
    return over_clusters(values)


def leaks_missed(case: str, combine: Combine) -> int:
    """Secrets give away what chance gives or, a few of them, everything, whichever seed it is."""
    seeds, secrets, share = LEAKS[case]
    generator = np.random.default_rng(11)
    missed = 0
    for _ in range(REPEATS):
        little = generator.exponential(CHANCE, (seeds, secrets)).clip(0, BITS[1])
        values = np.where(generator.random(secrets) < share, BITS[1], little)
        low, high = combine(values)
        # The mean of an exponential number that is cut at the end of the range.
        of_little = CHANCE * (1 - np.exp(-BITS[1] / CHANCE))
        truth = share * BITS[1] + (1 - share) * of_little
        missed += low is None or high is None or not low <= truth <= high
    return missed


@pytest.mark.parametrize("case", LEAKS)
def test_secrets_that_leak_rarely_are_reckoned_with(case: str) -> None:
    assert not budget.rejects(CHECK, case, [p_value(leaks_missed(case, within_range))])


@pytest.mark.parametrize("case", ["rare leaks", "two secrets"])
def test_resampling_what_was_seen_is_caught(case: str) -> None:
    assert budget.rejects(CHECK, case, [p_value(leaks_missed(case, only_what_was_seen))])


def test_two_secrets_leave_most_of_the_range_open() -> None:
    low, high = over_clusters(np.array([[1.2, 1.3], [1.25, 1.3]]), BITS)
    assert low is not None
    assert high is not None
    assert high - low > 0.7 * BITS[1]


# Documents, how often a word is hit, how much the words of a document agree, and its length.
SHARES = list(product((2, 5, 30), (0.02, 0.3, 0.98), (0.0, 0.9, 1.0), ("same", "mixed")))
FEW_REPEATS = 40
Share = Callable[[NDArray[np.bool_], NDArray[np.int64]], Ends]


def over_documents(hits: NDArray[np.bool_], documents: NDArray[np.int64]) -> Ends:
    found = clustered_share("hit", hits, documents)
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def over_words(hits: NDArray[np.bool_], documents: NDArray[np.int64]) -> Ends:
    """Sabotaged: every word counts as one more document."""
    return clopper_pearson(int(hits.sum()), len(documents))


def estimated(hits: NDArray[np.bool_], documents: NDArray[np.int64]) -> Ends:
    """Sabotaged, as it once was: how much documents differ is believed from two of them."""
    share, sizes = float(hits.mean()), np.bincount(documents)
    away = np.bincount(documents, weights=hits) - share * sizes
    spread = len(sizes) / (len(sizes) - 1) * np.square(away).sum() / len(hits) ** 2
    worth = len(hits) if spread == 0 else min(len(hits), share * (1 - share) / spread)
    found = round(share * worth)
    return clopper_pearson(min(found, int(worth)), int(worth))


def shares_missed(combine: Share) -> list[float]:
    """p-values, one for each kind of corpus."""
    generator = np.random.default_rng(12)
    found = []
    for count, rate, agree, lengths in SHARES:
        missed = 0
        for _ in range(FEW_REPEATS):
            sizes = (
                np.full(count, 20) if lengths == "same" else generator.choice([3, 20, 80], count)
            )
            documents = np.repeat(np.arange(count), sizes)
            # Some documents are hit as a whole or not at all, the words of others by themselves.
            whole = np.where(generator.random(count) < rate, 1.0, 0.0)
            rates = np.where(generator.random(count) < agree, whole, rate)
            low, high = combine(generator.random(len(documents)) < rates[documents], documents)
            missed += low is None or high is None or not low <= rate <= high
        found.append(float(stats.binom.sf(missed - 1, FEW_REPEATS, 0.05)))
    return found


def test_shares_over_documents_lie_in_their_intervals() -> None:
    assert not budget.rejects(CHECK, "documents", shares_missed(over_documents))


@pytest.mark.parametrize("sabotaged", [over_words, estimated])
def test_shares_over_words_are_caught(sabotaged: Share) -> None:
    assert budget.rejects(CHECK, "documents", shares_missed(sabotaged))


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
