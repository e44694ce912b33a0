"""The level at which the median word stays with a given probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.metrics.deniability import DrawEffort, measure_deniability
from sfumato.metrics.levels import find_level
from sfumato.metrics.population import frequent_words
from sfumato.metrics.protection import Watched
from sfumato.vectors.space import Space


def watched(space: Space) -> Watched:
    return Watched.of(frequent_words(space), 1000, Randomness.reproducible(1))


def level(name: str, space: Space, **settings: object) -> Callable[[float], PointMechanism]:
    return lambda epsilon: build_mechanism(name, space=space, epsilon=epsilon, settings=settings)


@pytest.mark.parametrize("name", ["exponential", "truncated"])
@pytest.mark.parametrize("keep", [0.05, 0.3, 0.8])
def test_rows_hit_the_target(random_space: Space, name: str, keep: float) -> None:
    found = find_level(
        level(name, random_space), keep, watched(random_space), DrawEffort(), Randomness.secure()
    )
    mechanism = build_mechanism(name, space=random_space, epsilon=found.epsilon)
    points = np.arange(len(random_space))
    exact = measure_deniability(mechanism, points, DrawEffort(), Randomness.secure()).keep
    assert abs(np.median(exact) - keep) <= 1e-3
    assert found.protection.median.value == pytest.approx(np.median(exact), rel=1e-9)
    assert not found.missed


@pytest.mark.parametrize("name", ["laplace", "mahalanobis", "projected", "vickrey", "binary"])
def test_draws_come_near_the_target(random_space: Space, name: str) -> None:
    some = watched(random_space)
    found = find_level(
        level(name, random_space), 0.4, some, DrawEffort(draws=400), Randomness.reproducible(5)
    )
    assert found.protection.draws == 400
    assert abs(found.protection.median.value - 0.4) < 0.05
    assert found.protection.median.low <= found.protection.median.value
    assert found.protection.median.value <= found.protection.median.high


def test_more_kept_needs_a_higher_level(random_space: Space) -> None:
    epsilons = [
        find_level(
            level("exponential", random_space),
            keep,
            watched(random_space),
            DrawEffort(),
            Randomness.secure(),
        ).epsilon
        for keep in (0.1, 0.2, 0.4, 0.8)
    ]
    assert epsilons == sorted(epsilons)
    assert len(set(epsilons)) == 4


def test_with_the_same_numbers_laplace_keeps_more_word_by_word(random_space: Space) -> None:
    # What the search rests on: noise only shrinks, and cells are convex, so no draw comes back.
    # (Between near-duplicates rounding decides; they are left out.)
    points = np.arange(5, 190)
    before = np.zeros(len(points))
    for epsilon in (0.5, 1.0, 1.1, 3.0, 10.0, 40.0):
        mechanism = Laplace(space=random_space, epsilon=epsilon)
        kept = measure_deniability(
            mechanism, points, DrawEffort(draws=60), Randomness.reproducible(3)
        ).keep
        assert (kept >= before).all()
        before = kept


def test_the_same_seed_suggests_the_same(random_space: Space) -> None:
    first, second, other = (
        find_level(
            level("laplace", random_space),
            0.3,
            watched(random_space),
            DrawEffort(draws=100),
            Randomness.reproducible(seed),
        )
        for seed in (1, 1, 2)
    )
    assert first.epsilon == second.epsilon
    assert first.protection.median == second.protection.median
    assert other.epsilon != first.epsilon


def test_a_target_below_one_word_in_all_is_out_of_reach(small_space: Space) -> None:
    # Twelve words: even pure noise gives back the word one time in twelve.
    with pytest.raises(InvalidArgument, match=r"0\.05: for epsilon from .* to 1e\+06.* 0\.08"):
        find_level(
            level("exponential", small_space),
            0.05,
            watched(small_space),
            DrawEffort(),
            Randomness.secure(),
        )


def test_codes_that_words_share_keep_few_of_them(random_space: Space) -> None:
    # With two bits there are four codes, and only the first word of each is ever an output.
    with pytest.raises(InvalidArgument, match=r"ranges from 0\.0000 to 0\.0000"):
        find_level(
            level("binary", random_space, bits=2),
            0.3,
            watched(random_space),
            DrawEffort(draws=50),
            Randomness.secure(),
        )


@dataclass(frozen=True)
class From:
    """The exponential mechanism, but refusing levels below a threshold, as some mechanisms do."""

    threshold: float
    space: Space

    def __call__(self, epsilon: float) -> Exponential:
        if epsilon < self.threshold:
            raise InvalidArgument(f"epsilon={epsilon} must be at least {self.threshold}")
        return Exponential(space=self.space, epsilon=epsilon)


def test_a_mechanism_may_refuse_low_levels(random_space: Space) -> None:
    run = partial(find_level, watched=watched(random_space), effort=DrawEffort())
    free = run(level("exponential", random_space), 0.5, randomness=Randomness.secure())
    bound = run(From(free.epsilon * 0.98, random_space), 0.5, randomness=Randomness.secure())
    assert bound.epsilon == pytest.approx(free.epsilon, rel=1e-3)
    with pytest.raises(InvalidArgument, match=f"from {free.epsilon * 1.1:.3g}"):
        run(From(free.epsilon * 1.1, random_space), 0.5, randomness=Randomness.secure())


def test_a_mechanism_that_refuses_every_level_says_why(random_space: Space) -> None:
    run = partial(find_level, keep=0.3, watched=watched(random_space), effort=DrawEffort())
    with pytest.raises(InvalidArgument, match="must be at least 1000000000"):
        run(From(1e9, random_space), randomness=Randomness.secure())
    with pytest.raises(UnknownName, match="unknown setting"):
        run(level("laplace", random_space, lambd=1), randomness=Randomness.secure())


@dataclass(frozen=True)
class Jumping:
    """Keeps nothing below level 5 and everything from there on: no level has the median asked."""

    space: Space
    epsilon: float

    def guarantee(self) -> object:
        raise AssertionError("not asked for")

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        del randomness
        return points if self.epsilon >= 5 else (points + 1) % len(self.space)


def test_a_median_that_jumps_over_the_target_is_admitted(random_space: Space) -> None:
    def jumping(epsilon: float) -> PointMechanism:
        return Jumping(random_space, epsilon)  # type: ignore[return-value]

    found = find_level(
        jumping, 0.3, watched(random_space), DrawEffort(draws=20), Randomness.secure()
    )
    assert found.epsilon == pytest.approx(5, rel=0.05)
    assert found.missed


@pytest.mark.parametrize("keep", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_a_keep_that_is_no_inner_probability_is_refused(random_space: Space, keep: float) -> None:
    with pytest.raises(InvalidArgument, match="keep="):
        find_level(
            level("laplace", random_space),
            keep,
            watched(random_space),
            DrawEffort(),
            Randomness.secure(),
        )


def test_a_rare_target_gets_more_draws(random_space: Space) -> None:
    found = find_level(
        level("laplace", random_space),
        0.02,
        Watched(np.arange(30), np.arange(5)),
        DrawEffort(draws=20),
        Randomness.reproducible(1),
    )
    assert found.protection.draws == 400
