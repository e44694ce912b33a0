"""Which points and pairs are tested: the delicate ones, and words that stand out in a few draws."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.audits import points as module
from sfumato.audits.events import Pair
from sfumato.audits.points import (
    Glances,
    anchors,
    around,
    batches,
    most_frequent,
    sample_pairs,
    strictness,
    suspects,
    thin,
)
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.custom import Custom
from sfumato.mechanisms.laplace import Laplace
from sfumato.vectors.space import Space
from unit.audits.subjects import OneInTheClear, Twin, words_in_space

FEW = Glances(draws=3000, words=0, reach=8.0)


@pytest.fixture
def source() -> Randomness:
    return Randomness.reproducible(8)


def test_near_duplicates_come_first_and_no_word_twice(
    random_space: Space, source: Randomness
) -> None:
    words = anchors(random_space, source)
    assert len(words) == len(set(words))
    # Words 190 … 194 share the places of 0 … 4, and 195 … 199 lie beside them.
    assert words[0] in {*range(5), *range(190, 200)}
    assert set(words) == set(range(200))


def test_around_a_word_are_those_of_which_the_strictest_claims_are_made(
    random_space: Space, source: Randomness
) -> None:
    mechanism = Laplace(space=random_space, epsilon=1.0)
    found = around(mechanism, 0, 2, source)
    assert found[:3] == [0, 190, 195]
    assert len(found) == 4


def test_where_nothing_is_claimed_nobody_is_chosen(random_space: Space, source: Randomness) -> None:
    custom = Custom(space=random_space, epsilon=1.0, size=10)
    found = around(custom, 7, 5, source)
    assert (custom.groups[found] == custom.groups[7]).all()


def test_batches_hold_the_unknown_point_and_make_enough_pairs(
    random_space: Space, source: Randomness
) -> None:
    mechanism = Laplace(space=random_space, epsilon=1.0)
    found = list(batches(mechanism, 500, 20, source))
    assert all(random_space.unknown in points for points in found)
    assert all(len(points) <= 20 + 6 for points in found)
    assert sum(len(points) * (len(points) - 1) // 2 for points in found) >= 500
    for points in found:
        assert len(set(points.tolist())) == len(points)


def test_batches_end_when_there_is_nothing_left(random_space: Space, source: Randomness) -> None:
    mechanism = Laplace(space=random_space, epsilon=1.0)
    assert len(list(batches(mechanism, 10**9, 20, source))) < 200


def test_all_pairs_of_a_small_space_are_sampled(small_space: Space, source: Randomness) -> None:
    pairs = sample_pairs(Laplace(space=small_space, epsilon=2.0), (), None, source)
    assert len(pairs) == 13 * 12 // 2
    assert [strictness(pair) for pair in pairs] == sorted(strictness(pair) for pair in pairs)
    places = small_space.at(np.array([pairs[5].first, pairs[5].second]))
    assert pairs[5].forward == pytest.approx(2.0 * np.linalg.norm(places[0] - places[1]))


def test_some_pairs_of_a_larger_space_are_sampled(random_space: Space, source: Randomness) -> None:
    pairs = sample_pairs(Laplace(space=random_space, epsilon=2.0), (), None, source)
    assert 40 * 39 // 2 <= len(pairs) < 50 * 49 // 2
    assert any(random_space.unknown in (pair.first, pair.second) for pair in pairs)
    assert pairs[0].forward == 0.0


def test_the_choice_depends_on_the_seed_and_on_nothing_else(random_space: Space) -> None:
    mechanism = Laplace(space=random_space, epsilon=2.0)
    once, again, other = (
        sample_pairs(mechanism, (), None, Randomness.reproducible(seed)) for seed in (1, 1, 2)
    )
    assert once == again
    assert once != other


def test_thinning_keeps_pairs_of_every_strictness() -> None:
    pairs = [Pair(0, n, float(n), float(n)) for n in range(1, 101)]
    kept = [strictness(pair) for pair in thin(pairs, 5)]
    assert kept == sorted(kept)
    assert (kept[0], kept[-1], len(kept)) == (1.0, 100.0, 5)
    assert thin(pairs, 1000) == pairs


def test_thinning_keeps_the_strictest_pair_of_each_suspect() -> None:
    pairs = [Pair(0, n, float(n), float(n)) for n in range(1, 101)]
    kept = thin(pairs, 6, [77, 33])
    assert {77, 33} <= {pair.second for pair in kept}
    assert len(kept) == 6
    assert [strictness(pair) for pair in kept] == sorted(strictness(pair) for pair in kept)
    # Suspects take half of the places at most.
    assert {pair.second for pair in thin(pairs, 4, [77, 33, 55, 44])} >= {1, 100}


def test_suspects_are_looked_around_first(random_space: Space, source: Randomness) -> None:
    mechanism = Laplace(space=random_space, epsilon=2.0)
    pairs = sample_pairs(mechanism, [101, 57], None, source)
    inputs = {number for pair in pairs for number in (pair.first, pair.second)}
    assert {101, 57} <= inputs


def test_more_pairs_are_looked_at_where_more_are_asked_for(
    random_space: Space, source: Randomness
) -> None:
    mechanism = Laplace(space=random_space, epsilon=2.0)
    assert len(sample_pairs(mechanism, (), 5000, source)) >= 5000


def glancing() -> Randomness:
    return Randomness.reproducible(41)


@dataclass(frozen=True)
class Counted(Twin):
    """Counts how often each point was drawn."""

    seen: list[NDArray[np.intp]] = field(default_factory=list)

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        self.seen.append(points.copy())
        return super().privatize(points, randomness)


@pytest.mark.parametrize("word", [0, 33, 119])
def test_a_word_in_the_clear_stands_out(word: int) -> None:
    honest = Laplace(space=words_in_space(120), epsilon=1.0)
    # The words whose nearest is this one stand out as well: what it gives, they do not.
    assert word in suspects(OneInTheClear(honest, honest, word=word), FEW, glancing())[:3]


def test_every_word_is_drawn_a_few_times_and_once_in_each_call() -> None:
    honest = Laplace(space=words_in_space(120), epsilon=1.0)
    counted = Counted(honest, honest)
    suspects(counted, FEW, glancing())
    assert (np.bincount(np.concatenate(counted.seen)) == 3000 // 120).all()
    assert all(len(np.unique(call)) == len(call) for call in counted.seen)


def test_of_a_larger_space_some_words_are_drawn_and_as_many_as_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "ALL_GLANCED", 100)
    monkeypatch.setattr(module, "SOME_GLANCED", 10)
    honest = Laplace(space=words_in_space(120), epsilon=1.0)
    for asked, least, most in ((0, 10, 20), (30, 30, 60), (500, 120, 120)):
        counted = Counted(honest, honest)
        suspects(counted, replace(FEW, words=asked), glancing())
        assert least <= len(np.unique(np.concatenate(counted.seen))) <= most


def test_words_that_draws_could_not_tell_apart_are_no_suspects() -> None:
    honest = Laplace(space=words_in_space(120), epsilon=1.0)
    assert suspects(honest, replace(FEW, reach=-1.0), glancing()) == []


def test_what_is_in_a_row_most_often_is_found() -> None:
    rows = np.array([[5, 5, 1, 1, 5], [2, 9, 9, 2, 9], [4, 3, 2, 1, 0]])
    assert most_frequent(rows).tolist() == [5, 9, 0]
