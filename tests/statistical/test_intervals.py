"""Every kind of interval holds as often as it says, in its range; sabotaged ones do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest

from sfumato.core.randomness import Randomness
from sfumato.results.measured import ANYTHING, POSITIVE, SHARE, Ends, Range, leaves
from sfumato.statistics import intervals, ranking, shares
from sfumato.statistics.clusters import over_clusters
from sfumato.statistics.intervals import clopper_pearson, wilson
from sfumato.statistics.ranking import measure_auc
from sfumato.statistics.seeds import SeedFigure, over_seeds
from sfumato.statistics.shares import bootstrap_mean, bootstrap_sums
from statistical import budget

CHECK = "intervals: coverage"
REPEATS = 600
BITS = (0.0, 20.0)
Combine = Callable[[list[SeedFigure], Range], Ends]
Trial = Callable[[np.random.Generator, Combine], tuple[float, Ends]]


def normal(figures: list[SeedFigure], within: Range) -> Ends:
    """Sabotage: two standard errors around the mean, wherever that leads."""
    values = np.array([one.value for one in figures])
    half = 1.96 * values.std(ddof=1) / math.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def pooled_student(figures: list[SeedFigure], within: Range) -> Ends:
    """Sabotage, as it once was: Student's factor also widens what each seed found by itself."""
    own = float(np.mean([((one.high or 0) - (one.low or 0)) / 3.92 for one in figures]))
    spread = float(np.std([one.value for one in figures], ddof=1))
    half = intervals.student(0.95, len(figures) - 1) * math.sqrt(
        max(0.0, own**2 - spread**2) + spread**2 / len(figures)
    )
    mean = float(np.mean([one.value for one in figures]))
    return mean - half, mean + half


def only_seeds(figures: list[SeedFigure], within: Range) -> Ends:
    """Sabotage: what all seeds have in common is forgotten."""
    return over_seeds([SeedFigure(value=one.value) for one in figures], within)


def seed_of(hits: int, trials: int) -> SeedFigure:
    low, high = clopper_pearson(hits, trials)
    return SeedFigure(value=hits / trials, low=low, high=high)


def shares_of_seeds(generator: np.random.Generator, combine: Combine) -> tuple[float, Ends]:
    """Rare hits that vary over three seeds, each counted on texts of its own."""
    truth = generator.beta(0.6, 11.4, size=3)
    figures = [seed_of(int(generator.binomial(60, one)), 60) for one in truth]
    return 0.05, combine(figures, SHARE)


def two_seeds(generator: np.random.Generator, combine: Combine) -> tuple[float, Ends]:
    values = 3.0 + generator.standard_normal(2)
    return 3.0, combine([SeedFigure(value=float(one)) for one in values], ANYTHING)


def same_texts(generator: np.random.Generator, combine: Combine) -> tuple[float, Ends]:
    """Three seeds that look at the same texts: their own error does not average out."""
    hits = int(generator.binomial(80, 0.3))
    figures = [
        seed_of(min(80, max(0, hits + int(generator.integers(-1, 2)))), 80) for _ in range(3)
    ]
    return 0.3, combine(figures, SHARE)


def bits_of_seeds(generator: np.random.Generator, combine: Combine) -> tuple[float, Ends]:
    """Exposure near chance: exponential bits of twelve secrets for each of three seeds."""
    figures = []
    for _ in range(3):
        values = generator.exponential(1 / math.log(2), 12)
        low, high = over_clusters(values[None], BITS)
        figures.append(SeedFigure(value=float(values.mean()), low=low, high=high))
    return 1 / math.log(2), combine(figures, BITS)


def ten_models(generator: np.random.Generator, combine: Combine) -> tuple[float, Ends]:
    """Ten models that differ as much as the texts which all of them look at are off."""
    shared = generator.standard_normal()
    values = shared + generator.standard_normal(10)
    figures = [
        SeedFigure(value=float(one), low=float(one) - 1.96, high=float(one) + 1.96)
        for one in values
    ]
    return 0.0, combine(figures, ANYTHING)


def spread_taken_off(figures: list[SeedFigure], within: Range) -> Ends:
    """Sabotage, as it once was: all that seeds differ by is taken for their own error."""
    own = float(np.mean([((one.high or 0) - (one.low or 0)) / 2 for one in figures]))
    spread = float(np.std([one.value for one in figures], ddof=1))
    among = intervals.student(0.95, len(figures) - 1) * spread / math.sqrt(len(figures))
    half = math.hypot(math.sqrt(max(0.0, own**2 - (1.96 * spread) ** 2)), among)
    mean = float(np.mean([one.value for one in figures]))
    return mean - half, mean + half


OVER_SEEDS: dict[str, tuple[Trial, Range]] = {
    "ten models": (ten_models, ANYTHING),
    "shares of seeds": (shares_of_seeds, SHARE),
    "two seeds": (two_seeds, ANYTHING),
    "same texts": (same_texts, SHARE),
    "bits of seeds": (bits_of_seeds, BITS),
}


def missed(case: str, combine: Combine, repeats: int = REPEATS) -> tuple[int, int]:
    """How many intervals miss what is true, and how many leave the range."""
    trial, within = OVER_SEEDS[case]
    generator = np.random.default_rng(31)
    misses = strays = 0
    for _ in range(repeats):
        truth, (low, high) = trial(generator, combine)
        # Seeds that agree exactly and say nothing of their error have no interval.
        misses += low is None or high is None or not low <= truth <= high
        strays += any(end is not None and leaves(end, within) for end in (low, high))
    return misses, strays


def too_many(case: str, misses: int) -> bool:
    return budget.rejects(CHECK, case, [budget.at_most(misses, REPEATS, 0.05)])


@pytest.mark.parametrize("case", list(OVER_SEEDS))
def test_a_mean_over_seeds_lies_in_its_interval_and_that_in_its_range(case: str) -> None:
    misses, strays = missed(case, over_seeds)
    assert not too_many(case, misses), misses
    assert strays == 0


@pytest.mark.parametrize(
    ("case", "sabotage"),
    [
        ("shares of seeds", normal),
        ("two seeds", normal),
        ("same texts", only_seeds),
        ("ten models", spread_taken_off),
    ],
)
def test_intervals_over_seeds_that_are_too_narrow_are_caught(case: str, sabotage: Combine) -> None:
    misses, _ = missed(case, sabotage)
    assert too_many(case, misses), misses


def test_normal_intervals_that_leave_the_range_are_caught() -> None:
    assert missed("shares of seeds", normal)[1] > 0
    assert missed("bits of seeds", normal, 100)[1] == 0  # the mean is far from the end here
    assert missed("bits of seeds", pooled_student, 100)[1] > 0


def test_seeds_that_agree_have_the_interval_of_what_each_found() -> None:
    agreeing = [SeedFigure(value=value, low=0.28, high=0.33) for value in (0.3001, 0.3002)]
    low, high = over_seeds(agreeing, SHARE)
    assert low == pytest.approx(0.28, abs=2e-3)
    assert high == pytest.approx(0.33, abs=2e-3)
    wide = pooled_student(agreeing, SHARE)
    assert wide[0] is not None
    assert wide[1] is not None
    assert wide[1] - wide[0] > 0.3  # the twin says ± 0.16


def wilson_misses(interval: Callable[[int, int], Ends]) -> tuple[int, int]:
    generator = np.random.default_rng(32)
    found = [interval(int(generator.binomial(40, 0.04)), 40) for _ in range(REPEATS)]
    inside = sum(
        low is not None and high is not None and low <= 0.04 <= high for low, high in found
    )
    strays = sum(end is not None and leaves(end, SHARE) for ends in found for end in ends)
    return REPEATS - inside, strays


def wald(hits: int, trials: int) -> Ends:
    """Sabotage: the normal interval of a share."""
    share = hits / trials
    half = NormalDist().inv_cdf(0.975) * math.sqrt(share * (1 - share) / trials)
    return share - half, share + half


def test_rare_shares_lie_in_wilson_s_interval_and_that_between_0_and_1() -> None:
    misses, strays = wilson_misses(wilson)
    assert not too_many("wilson", misses), misses
    assert strays == 0
    misses, strays = wilson_misses(wald)
    assert too_many("wilson", misses), misses
    assert strays > 0


def documents_missed(count: int) -> int:
    generator, randomness = np.random.default_rng(33), Randomness.reproducible(1)
    misses = 0
    for _ in range(REPEATS):
        found = bootstrap_mean("overlap", generator.beta(2, 3, count), randomness, SHARE)
        assert found.low is not None
        assert found.high is not None
        misses += not found.low <= 0.4 <= found.high
    return misses


def ratios_missed() -> int:
    """Perplexity-like ratios of five documents of different lengths."""
    generator, randomness = np.random.default_rng(34), Randomness.reproducible(2)
    misses = 0
    for _ in range(REPEATS):
        lengths = generator.integers(20, 60, 5).astype(float)
        sums = np.stack([lengths * (2 + 0.5 * generator.standard_normal(5)), lengths], axis=1)
        found = bootstrap_sums(
            "ratio", sums, lambda some: np.exp(some[:, 0] / some[:, 1]), randomness, POSITIVE
        )
        assert found.low is not None
        assert found.high is not None
        misses += not found.low <= math.exp(2) <= found.high
    return misses


def auc_missed() -> int:
    """Ten members and ten others whose true AUC is 0.76."""
    generator, randomness = np.random.default_rng(35), Randomness.reproducible(3)
    truth = NormalDist().cdf(1 / math.sqrt(2))
    misses = 0
    for _ in range(REPEATS):
        members, others = 1 + generator.standard_normal(10), generator.standard_normal(10)
        found = measure_auc("auc", members, others, randomness)
        assert found.low is not None
        assert found.high is not None
        misses += not found.low <= truth <= found.high
    return misses


FEW: dict[str, Callable[[], int]] = {
    "few documents": lambda: documents_missed(6),
    "ratios": ratios_missed,
    "auc": auc_missed,
}


@pytest.mark.parametrize("case", list(FEW))
def test_resampling_few_cases_is_wide_enough(case: str) -> None:
    misses = FEW[case]()
    assert not too_many(case, misses), misses


@pytest.mark.parametrize("case", ["few documents", "ratios"])
def test_plain_percentiles_of_few_cases_are_caught(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sabotage: the ends are cut as if there were many documents."""
    monkeypatch.setattr(shares, "bootstrap_tail", lambda *_: 0.025)
    misses = FEW[case]()
    assert too_many(case, misses), misses


def test_an_auc_with_half_the_width_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "bootstrap_tail", lambda *_: 0.16)
    misses = auc_missed()
    assert too_many("auc", misses), misses


def secrets_missed(quantile: Callable[[float, float], float]) -> tuple[int, int]:
    """Means of the bits of five secrets, each exactly known."""
    generator = np.random.default_rng(36)
    misses = strays = 0
    for _ in range(REPEATS):
        values = np.clip(generator.normal(4, 3, 5), *BITS)
        mean, spread = float(values.mean()), float(values.std(ddof=1))
        half = quantile(0.95, 4) * spread / math.sqrt(5)
        low, high = over_clusters(values[None], BITS)
        if quantile is not intervals.student:
            low, high = mean - half, mean + half
        assert low is not None
        assert high is not None
        misses += not low <= TRUE_BITS <= high
        strays += leaves(low, BITS) or leaves(high, BITS)
    return misses, strays


# The mean of a normal number of 4 bits ± 3, cut at 0.
TRUE_BITS = 4 * NormalDist().cdf(4 / 3) + 3 * NormalDist().pdf(4 / 3)


def test_mean_bits_lie_in_their_interval_and_that_in_its_range() -> None:
    misses, strays = secrets_missed(intervals.student)
    assert not too_many("bits of secrets", misses), misses
    assert strays == 0
    misses, strays = secrets_missed(lambda *_: 1.96)
    assert too_many("bits of secrets", misses), misses
    assert strays > 0
