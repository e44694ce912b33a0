"""Protection of many words: the sample, its tail, and isolated words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.laplace import Laplace
from sfumato.metrics import protection
from sfumato.metrics.deniability import DrawEffort, measure_deniability
from sfumato.metrics.population import frequent_words
from sfumato.metrics.protection import (
    LISTED,
    Watched,
    measure_protection,
    most_isolated,
    nearest_neighbor,
    surroundings,
)
from sfumato.vectors.load import default_space
from sfumato.vectors.space import Space


@dataclass(frozen=True)
class Constant:
    """Stays with the same chance whatever the word: nobody is exposed more than others."""

    space: Space
    chance: float

    def guarantee(self) -> Guarantee:
        return Laplace(space=self.space, epsilon=1).guarantee()

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        stays = randomness.uniform(len(points)) < self.chance
        return np.where(stays, points, (points + 1) % len(self.space))


def watched(space: Space, words: int = 1000) -> Watched:
    return Watched.of(frequent_words(space), words, Randomness.reproducible(1))


def test_quantiles_and_the_list_come_from_exact_rows(random_space: Space) -> None:
    mechanism = Exponential(space=random_space, epsilon=6.0)
    found = measure_protection(mechanism, watched(random_space), DrawEffort(), Randomness.secure())
    exact = np.array([mechanism.row(point)[point] for point in range(len(random_space))])
    assert found.exact
    assert found.words == 200
    assert found.keep.median == pytest.approx(np.median(exact), rel=1e-9)
    assert found.keep.low == pytest.approx(np.quantile(exact, 0.1), rel=1e-9)
    assert found.keep.high == pytest.approx(np.quantile(exact, 0.9), rel=1e-9)
    assert found.above_half == pytest.approx((exact > 0.5).mean())
    assert found.above_nine_tenths == pytest.approx((exact > 0.9).mean())
    assert found.worst_keep == pytest.approx(exact.max(), rel=1e-9)
    worst = np.argsort(-exact)[:LISTED]
    assert {one.word for one in found.exposed} == {random_space.words[point] for point in worst}
    kept = [one.keep.value for one in found.exposed]
    assert kept == sorted(kept, reverse=True)
    for one in found.exposed:
        away = np.sort(random_space.distances_from(random_space.point_of(one.word)))
        assert one.neighbor.distance == pytest.approx(away[1], rel=1e-6)


def test_the_tail_is_found_though_the_sample_misses_it(small_space: Space) -> None:
    # A sample of two of twelve words, in which "quark" is not: it is looked for all the same.
    some = Watched(np.array([0, 1]), watched(small_space).suspects)
    mechanism = Exponential(space=small_space, epsilon=4.0)
    found = measure_protection(mechanism, some, DrawEffort(), Randomness.secure())
    assert found.words == 2
    assert found.exposed[0].word == "quark"
    assert found.worst_keep > 5 * found.keep.median


def test_listed_words_are_measured_again(small_space: Space) -> None:
    # All words have the same chance, so whoever leads in the first draws had luck. Measured anew,
    # the ten do not lie above the chance; listed by their first draws, they all would.
    vectors = np.random.default_rng(1).normal(size=(2000, 2)).astype(np.float32)
    space = Space("many", [f"w{number}" for number in range(2000)], vectors)
    mechanism = Constant(space, 0.3)
    found = measure_protection(
        mechanism, watched(space, 2000), DrawEffort(draws=50), Randomness.reproducible(2)
    )
    again = np.array([one.keep.value for one in found.exposed])
    assert len(again) == LISTED
    # Ten times fifty fresh draws: 0.3 with a standard error of 0.02.
    assert 0.2 < again.mean() < 0.4
    assert found.exposed[0].keep.draws == 50


def test_the_twin_that_lists_first_draws_would_be_caught(small_space: Space) -> None:
    draws = Randomness.reproducible(2).uniform(2000 * 50).reshape(2000, 50) < 0.3
    assert np.sort(draws.mean(axis=1))[-LISTED:].mean() > 0.45


def test_a_word_that_is_sampled_and_suspected_is_measured_once(small_space: Space) -> None:
    heard: list[int] = []
    some = watched(small_space)
    mechanism = Exponential(space=small_space, epsilon=4.0)
    measure_protection(mechanism, some, DrawEffort(), Randomness.secure(), heard.append)
    assert sum(heard) == len(some) == len(small_space)


def test_at_least_one_word_is_wanted(small_space: Space) -> None:
    with pytest.raises(InvalidArgument, match="words=0"):
        watched(small_space, 0)


def test_private_words_do_not_show_in_logs(small_space: Space) -> None:
    mechanism = Exponential(space=small_space, epsilon=4.0)
    found = measure_protection(mechanism, watched(small_space), DrawEffort(), Randomness.secure())
    for one in (found, found.exposed[0], watched(small_space)):
        assert "quark" not in repr(one)


def test_the_word_far_from_all_comes_first(small_space: Space) -> None:
    points = np.arange(len(small_space))
    first = most_isolated(small_space, points, 3)
    assert small_space.words[first[0]] == "quark"
    assert len(first) == 3
    assert small_space.words[most_isolated(small_space, points, 99)[-1]] == "paris"


def test_surroundings_are_mean_distances_to_the_nearest(random_space: Space) -> None:
    points = np.array([0, 7, 190, 199])
    for point, found in zip(points, surroundings(random_space, points), strict=True):
        others = np.delete(random_space.distances_from(int(point)), point)
        nearest = np.sort(others)[: protection.NEIGHBORS]
        assert found == pytest.approx(nearest.mean(), rel=1e-4)


def test_blocks_change_nothing(random_space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.arange(len(random_space))
    together = surroundings(random_space, points)
    monkeypatch.setattr(protection, "BLOCK", 7)
    assert surroundings(random_space, points) == pytest.approx(together, rel=1e-12)


def test_two_words_are_enough() -> None:
    space = Space("two", ["a", "b"], np.array([[0.0], [3.0]], dtype=np.float32))
    assert surroundings(space, np.array([0, 1])).tolist() == [3.0, 3.0]
    neighbor = nearest_neighbor(space, 0)
    assert (neighbor.word, neighbor.distance) == ("b", 3.0)


def test_a_twin_at_the_same_place_is_a_neighbor_at_distance_zero(random_space: Space) -> None:
    neighbor = nearest_neighbor(random_space, 190)
    assert (neighbor.word, neighbor.distance) == ("w0", 0.0)


def test_the_isolated_words_of_the_embedded_space_stay_longest() -> None:
    # What the search for suspects is for: they stay far longer than words drawn at random.
    space = default_space()
    population = frequent_words(space)
    suspects = most_isolated(space, population.points, 10)
    typical = population.some(40, Randomness.reproducible(1))
    mechanism = Exponential(space=space, epsilon=3.3)
    kept, usual = (
        measure_deniability(mechanism, points, DrawEffort(), Randomness.secure()).keep
        for points in (suspects, typical)
    )
    assert kept.min() > 0.9
    assert np.median(usual) < 0.5
