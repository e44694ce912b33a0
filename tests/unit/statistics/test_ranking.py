"""Ranking: equal to brute force and to scikit-learn, ties included; nothing for nothing."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score, roc_curve

from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.results.measured import RESAMPLES
from sfumato.statistics import ranking
from sfumato.statistics.intervals import lower_limit
from sfumato.statistics.ranking import (
    accuracy_at_median,
    advantage,
    advantage_of,
    auc,
    best_threshold,
    group_auc,
    hits_at,
    measure_auc,
    roc_points,
)

SCORES = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=12).map(np.array)


def brute_force(members: Floats, others: Floats) -> float:
    pairs = [(a > b) + 0.5 * (a == b) for a, b in product(members, others)]
    return float(np.mean(pairs))


@given(SCORES, SCORES)
def test_auc_is_that_of_all_pairs_and_of_scikit_learn(members: Floats, others: Floats) -> None:
    labels = [1] * len(members) + [0] * len(others)
    known = roc_auc_score(labels, np.concatenate([members, others]))
    assert auc(members, others) == pytest.approx(brute_force(members, others))
    assert auc(members, others) == pytest.approx(known)
    assert auc(members, others) == pytest.approx(1 - auc(-members, -others))


@given(SCORES, SCORES)
def test_resampling_is_the_auc_of_samples(members: Floats, others: Floats) -> None:
    """The counting form against the plain one, with the same draws."""
    counted = ranking._resample(members, others, Randomness.reproducible(1))
    assert len(counted) == RESAMPLES
    drawn = Randomness.reproducible(1)
    rounds = min(RESAMPLES, ranking.CELLS)
    high = members[drawn.integers(len(members), rounds * len(members)).reshape(rounds, -1)]
    low = others[drawn.integers(len(others), rounds * len(others)).reshape(rounds, -1)]
    for place in range(0, rounds, 97):
        assert counted[place] == pytest.approx(brute_force(high[place], low[place]))


def test_blocks_of_resamples_make_no_difference_in_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    members, others = rng.normal(0.5, 1, 80), rng.normal(0, 1, 60)
    whole = measure_auc("auc", members, others, Randomness.reproducible(2))
    monkeypatch.setattr(ranking, "CELLS", 1000)
    parts = measure_auc("auc", members, others, Randomness.reproducible(3))
    assert whole.value == parts.value
    assert whole.low == pytest.approx(parts.low, abs=0.02)
    assert whole.high == pytest.approx(parts.high, abs=0.02)
    assert whole.n == 140


def test_the_interval_is_about_that_of_theory() -> None:
    """Against the known variance of the Mann–Whitney statistic where nothing differs."""
    rng = np.random.default_rng(4)
    members, others = rng.normal(size=200), rng.normal(size=300)
    found = measure_auc("auc", members, others, Randomness.reproducible(1))
    theory = 2 * 1.96 * np.sqrt((200 + 300 + 1) / (12 * 200 * 300))
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low == pytest.approx(theory, rel=0.15)


def test_a_clean_separation_is_no_certainty() -> None:
    """The bootstrap alone would say [1, 1] of five texts."""
    members, others = np.arange(5.0) + 10, np.arange(8.0)
    found = measure_auc("auc", members, others, Randomness.secure())
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(lower_limit(5, 5, 0.025))
    reverse = measure_auc("auc", others, members, Randomness.secure())
    assert (reverse.value, reverse.low) == (0.0, 0.0)
    assert reverse.high == pytest.approx(1 - lower_limit(5, 5, 0.025))


def test_groups_are_compared_within_themselves() -> None:
    """A shift between groups changes nothing."""
    rng = np.random.default_rng(5)
    first, second = (rng.normal(1, 1, 30), rng.normal(0, 1, 30)), (np.ones(4), np.zeros(4))
    shifted = (second[0] + 100, second[1] + 100)
    one = group_auc("auc", [first, second], Randomness.reproducible(1))
    other = group_auc("auc", [first, shifted], Randomness.reproducible(1))
    assert one == other
    assert one.value == pytest.approx((auc(*first) + 1) / 2)
    with pytest.raises(InvalidArgument, match="at least one group"):
        group_auc("auc", [], Randomness.secure())


@given(SCORES, SCORES)
def test_the_best_threshold_is_the_best(members: Floats, others: Floats) -> None:
    def gain(cut: float) -> float:
        return float((members > cut).mean() - (others > cut).mean())

    cuts = [-np.inf, *np.concatenate([members, others]).tolist()]
    assert gain(best_threshold(members, others)) == pytest.approx(max(map(gain, cuts)))


def test_a_threshold_between_neighboring_numbers_keeps_them_apart() -> None:
    low = 1.0
    high = float(np.nextafter(low, 2))
    cut = best_threshold(np.array([high]), np.array([low]))
    assert low <= cut < high


def test_advantage_is_measured_on_texts_that_did_not_choose_the_threshold() -> None:
    """Chosen and measured on the same scores, noise has an advantage."""
    rng = np.random.default_rng(6)
    honest, cheating, halves = [], [], Randomness.reproducible(6)
    for _ in range(200):
        members, others = rng.normal(size=20), rng.normal(size=20)
        honest.append(advantage("advantage", members, others, halves).value)
        cut = best_threshold(members, others)
        cheating.append(advantage_of("twin", members > cut, others > cut).value)
    assert abs(np.mean(honest)) < 0.06
    assert np.mean(cheating) > 0.15


def test_advantage_of_a_clean_separation_is_one_with_room_for_doubt() -> None:
    found = advantage("advantage", np.arange(50.0, 70.0), np.arange(20.0), Randomness.secure())
    assert (found.value, found.high, found.n) == (1.0, 1.0, 20)
    assert found.low is not None
    assert 0.2 < found.low < 0.7


def test_accuracy_is_that_of_the_upper_half() -> None:
    rng = np.random.default_rng(7)
    members, others = rng.normal(1, 1, 500), rng.normal(0, 1, 500)
    found = accuracy_at_median("accuracy", members, others)
    middle = np.median(np.concatenate([members, others]))
    right = (members > middle).sum() + (others <= middle).sum()
    assert found.value == pytest.approx(right / 1000)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high


def test_accuracy_can_be_perfect_with_few_members() -> None:
    assert accuracy_at_median("accuracy", np.arange(90.0, 93.0), np.arange(60.0)).value == 1.0


def test_accuracy_of_scores_that_all_tie_is_chance() -> None:
    assert accuracy_at_median("accuracy", np.ones(7), np.ones(3)).value == 0.5


def test_hits_are_counted_at_the_rate_and_ties_do_not_help() -> None:
    others = np.arange(1000.0)
    members = np.array([998.5, 989.5, 500.0, 999.0])
    assert hits_at("tpr", members, others, 0.01).value == 0.75
    assert hits_at("tpr", members, others, 0.001).value == 0.5
    assert hits_at("tpr", np.array([989.0]), others, 0.01).value == 0.0
    falling, rising, _ = roc_curve([1] * 4 + [0] * 1000, np.concatenate([members, others]))
    assert max(rising[falling <= 0.01]) == 0.75
    assert max(rising[falling <= 0.001]) == 0.5


def test_a_rate_that_the_others_cannot_show_is_refused() -> None:
    others = np.arange(99.0)
    with pytest.raises(InvalidArgument, match="give at least 100 others"):
        hits_at("tpr", others, others, 0.01)
    assert hits_at("tpr", others, np.arange(100.0), 0.01).low == 0.0
    with pytest.raises(InvalidArgument, match="to 1"):
        hits_at("tpr", others, others, 1.0)


@given(SCORES, SCORES)
def test_the_curve_holds_the_area(members: Floats, others: Floats) -> None:
    points = np.array(roc_points(members, others))
    assert points[0].tolist() == [0.0, 0.0]
    assert points[-1].tolist() == [1.0, 1.0]
    assert (np.diff(points, axis=0) >= 0).all()
    area = float(np.trapezoid(points[:, 1], points[:, 0]))
    assert area == pytest.approx(auc(members, others))


def test_a_long_curve_is_thinned_where_it_is_dull() -> None:
    rng = np.random.default_rng(8)
    points = roc_points(rng.normal(1, 1, 5000), rng.normal(0, 1, 5000))
    assert len(points) <= 200
    assert points[0] == (0.0, 0.0)
    assert points[-1] == (1.0, 1.0)
    assert sum(fpr < 0.01 for fpr, _ in points) > 20


@pytest.mark.parametrize("bad", [np.array([]), np.array([1.0, np.nan])])
def test_nothing_and_no_number_are_refused(bad: Floats) -> None:
    for members, others in ((bad, np.ones(3)), (np.ones(3), bad)):
        with pytest.raises(BadInput, match=r"both are needed|not a number"):
            auc(members, others)
    with pytest.raises(BadInput, match="two members"):
        advantage("advantage", np.ones(1), np.ones(5), Randomness.secure())
    with pytest.raises(BadInput, match="at least one"):
        advantage_of("advantage", np.zeros(0, np.bool_), np.zeros(1, np.bool_))
