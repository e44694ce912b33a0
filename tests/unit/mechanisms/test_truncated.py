"""TEM is the exponential mechanism on min(d, γ): exactly, for every pair, and with ⊥ done right."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from pairs import Logs, all_points, all_rows, worst_excess
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.truncated import BETA, Truncated, default_gamma
from sfumato.vectors.space import Space

LEVELS = pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 100.0])
# The whole space spans about 8; a half leaves only near-duplicates, 1e-9 only the word itself.
REACHES = pytest.mark.parametrize("gamma", [1e-9, 0.5, 2.0, 3.0, 1000.0, None])


@LEVELS
@REACHES
def test_no_pair_of_words_exceeds_the_claim(
    random_space: Space, epsilon: float, gamma: float | None
) -> None:
    truncated = Truncated(space=random_space, epsilon=epsilon, gamma=gamma)
    rows = all_rows(truncated)
    assert np.abs(np.exp(rows).sum(axis=1) - 1).max() <= 1e-12
    assert worst_excess(rows, truncated) <= 1e-9


@LEVELS
@REACHES
def test_it_is_the_exponential_mechanism_on_the_truncated_distance(
    random_space: Space, epsilon: float, gamma: float | None
) -> None:
    truncated = Truncated(space=random_space, epsilon=epsilon, gamma=gamma)
    rows = np.exp(all_rows(truncated))
    for point in all_points(random_space).tolist():
        counted = np.minimum(random_space.distances_from(point), truncated.reach)
        weights = np.exp(-0.5 * epsilon * (counted - counted.min()))
        assert np.abs(rows[point] - weights / weights.sum()).max() <= 1e-12


@dataclass(frozen=True)
class WrongBottom:
    """The twin: ⊥ scored with |W|/|L| in place of |W∖L|, all else as it should be."""

    space: Space
    epsilon: float
    gamma: float

    def log_rows(self, *, right: bool) -> Logs:
        rows = []
        for point in all_points(self.space).tolist():
            d = self.space.distances_from(point)
            near = d <= self.gamma
            beyond = int((~near).sum())
            count = beyond if right else len(d) / max(1, int(near.sum()))
            bottom = math.exp(-self.epsilon / 2 * self.gamma) * count if beyond else 0.0
            weights = np.where(near, np.exp(-self.epsilon / 2 * d), bottom / max(1, beyond))
            rows.append(np.log(weights / weights.sum()))
        return np.stack(rows)


@pytest.mark.parametrize("gamma", [2.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_twin_with_the_wrong_count_behind_the_bottom_item_is_caught(
    random_space: Space, epsilon: float, gamma: float
) -> None:
    twin = WrongBottom(random_space, epsilon, gamma)
    claim = Truncated(space=random_space, epsilon=epsilon, gamma=gamma)
    # The twin fails for its count, not for how it is written.
    assert worst_excess(twin.log_rows(right=True), claim) <= 1e-9
    assert worst_excess(twin.log_rows(right=False), claim) > 1e-3


@LEVELS
def test_twin_with_four_times_the_epsilon_is_caught(random_space: Space, epsilon: float) -> None:
    claim = Truncated(space=random_space, epsilon=epsilon, gamma=3.0)
    twin = Truncated(space=random_space, epsilon=4 * epsilon, gamma=3.0)
    assert worst_excess(all_rows(twin), claim) > 1e-6


def test_the_level_does_not_hold_for_a_smaller_gamma(random_space: Space) -> None:
    # The check has no slack: claiming half the reach is refuted.
    rows = all_rows(Truncated(space=random_space, epsilon=10.0, gamma=3.0))
    assert worst_excess(rows, Truncated(space=random_space, epsilon=10.0, gamma=1.0)) > 1e-3


@LEVELS
@pytest.mark.parametrize("gamma", [1000.0, math.inf])
def test_with_nothing_beyond_gamma_it_is_the_exponential_mechanism(
    random_space: Space, epsilon: float, gamma: float
) -> None:
    truncated = Truncated(space=random_space, epsilon=epsilon, gamma=gamma)
    plain = Exponential(space=random_space, epsilon=epsilon)
    assert np.abs(all_rows(truncated) - all_rows(plain)).max() <= 1e-12
    points = np.tile(all_points(random_space), 3)
    assert (
        truncated.privatize(points, Randomness.reproducible(2))
        == plain.privatize(points, Randomness.reproducible(2))
    ).all()


def test_an_unknown_word_far_from_all_others_becomes_any_word_alike(small_space: Space) -> None:
    lonely = Truncated(space=small_space, epsilon=5.0, gamma=1e-3)
    assert lonely.row(small_space.unknown) == pytest.approx(1 / 12, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0])
def test_the_default_gamma_keeps_far_words_rarer_than_beta(
    random_space: Space, epsilon: float
) -> None:
    truncated = Truncated(space=random_space, epsilon=epsilon)
    for word in range(len(random_space)):
        beyond = random_space.distances_from(word) > truncated.reach
        assert truncated.row(word)[beyond].sum() <= BETA


def test_the_default_gamma_is_tight_and_depends_on_public_numbers_only() -> None:
    # One word in the middle of 999 far ones: the bound is reached, so no smaller gamma would do.
    vectors = np.zeros((1000, 1), dtype=np.float32)
    vectors[1:] = 1e6
    space = Space("two places", [f"w{number}" for number in range(1000)], vectors)
    truncated = Truncated(space=space, epsilon=2.0)
    assert truncated.reach == pytest.approx(math.log(0.999 * 999 / 0.001), rel=1e-12)
    assert truncated.reach == default_gamma(2.0, 1000)
    assert truncated.row(0)[1:].sum() == pytest.approx(BETA, rel=1e-9)


def test_the_guarantee_states_how_far_distance_counts(small_space: Space) -> None:
    guarantee = Truncated(space=small_space, epsilon=3, gamma=1.25).guarantee()
    assert guarantee.epsilon == 3.0
    assert guarantee.metric == f"{small_space.metric}, or 1.25 where that is smaller"
    plain = Truncated(space=small_space, epsilon=3, gamma=math.inf).guarantee()
    assert plain == Exponential(space=small_space, epsilon=3).guarantee()


@pytest.mark.parametrize("gamma", [0, -1.0, math.nan, -math.inf, "far", True])
def test_a_gamma_that_is_no_positive_number_is_refused(small_space: Space, gamma: float) -> None:
    with pytest.raises(InvalidArgument, match="gamma="):
        Truncated(space=small_space, epsilon=1, gamma=gamma)


def test_zero_gamma_is_refused_with_the_allowed_range(small_space: Space) -> None:
    with pytest.raises(InvalidArgument, match="gamma=0 must be greater than 0"):
        Truncated(space=small_space, epsilon=1, gamma=0)


def test_a_zero_epsilon_is_refused(small_space: Space) -> None:
    with pytest.raises(InvalidArgument, match="epsilon=0 must be greater than 0"):
        Truncated(space=small_space, epsilon=0)


@pytest.mark.parametrize(("typed", "reach"), [("2.5", 2.5), ("inf", math.inf)])
def test_gamma_is_read_from_the_command_line(small_space: Space, typed: str, reach: float) -> None:
    built = build_mechanism("truncated", space=small_space, epsilon=1.0, settings={"gamma": typed})
    assert isinstance(built, Truncated)
    assert built.reach == reach
