"""Mechanisms side by side, on a space small enough to know the answers."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import catalog
from sfumato.core.errors import UnknownName
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.build import word_mechanisms
from sfumato.metrics.comparison import Bench, at_keep, at_levels
from sfumato.metrics.population import frequent_words
from sfumato.metrics.protection import Watched
from sfumato.metrics.similarity import random_pairs_distance
from sfumato.vectors.space import Space


def bench(space: Space) -> Bench:
    randomness = Randomness.reproducible(1)
    points = np.arange(len(space)).repeat(5)
    return Bench(
        frequent_words(space), points, random_pairs_distance(space, randomness), randomness
    )


def test_every_mechanism_of_the_catalog_is_measured_or_refused_with_a_reason(
    random_space: Space,
) -> None:
    names = list(catalog.entries("mechanisms"))
    found = at_levels(bench(random_space), names, [2.0, 8.0])
    measured = {row.mechanism for row in found.rows}
    refused = {one.mechanism for one in found.skipped}
    assert measured | refused == set(names)
    assert {"laplace", "exponential", "binary"} <= measured <= set(word_mechanisms())
    assert {"selective", "redact", "pseudonym", "levels"} <= refused
    assert all(one.reason for one in found.skipped)
    by_name = [(row.mechanism, row.epsilon) for row in found.rows]
    assert by_name == sorted(by_name)
    for row in found.rows:
        assert 0 <= row.kept.low <= row.kept.value <= row.kept.high <= 1
        assert row.kept.draws == 1000
        assert row.words_per_second > 0
        assert row.seconds_to_build >= 0
        assert row.suggestion is None


def test_more_is_kept_and_less_far_at_a_higher_level(random_space: Space) -> None:
    found = at_levels(bench(random_space), ["laplace", "exponential"], [0.5, 4.0, 1e5])
    for name in ("laplace", "exponential"):
        rows = [row for row in found.rows if row.mechanism == name]
        kept = [row.kept.value for row in rows]
        away = [row.distance.mean for row in rows]
        assert kept == sorted(kept)
        assert away == sorted(away, reverse=True)
        # Only words at one place, which none can tell apart, are exchanged at so high a level.
        assert rows[-1].distance.relative < 1e-3


def test_at_a_low_level_the_exponential_mechanism_goes_as_far_as_a_random_word(
    random_space: Space,
) -> None:
    (row,) = at_levels(bench(random_space), ["exponential"], [1e-6]).rows
    assert row.distance.relative == pytest.approx(1, abs=0.05)


def test_the_kept_share_is_that_of_the_rows(random_space: Space) -> None:
    from sfumato.mechanisms.exponential import Exponential

    (row,) = at_levels(bench(random_space), ["exponential"], [6.0]).rows
    mechanism = Exponential(space=random_space, epsilon=6.0)
    exact = np.mean([mechanism.row(point)[point] for point in range(len(random_space))])
    assert row.kept.low <= exact <= row.kept.high


def test_a_mechanism_that_refuses_a_level_is_listed_with_it(random_space: Space) -> None:
    found = at_levels(bench(random_space), ["laplace", "exponential"], [1e-20, 1.0])
    assert {(one.mechanism, one.epsilon) for one in found.skipped} == {
        ("laplace", 1e-20),
        ("exponential", 1e-20),
    }
    assert all("epsilon=1e-20 must" in one.reason for one in found.skipped)
    assert [row.epsilon for row in found.rows] == [1.0, 1.0]


def test_at_equal_keep_each_has_a_level_of_its_own(random_space: Space) -> None:
    watched = Watched.of(frequent_words(random_space), 200, Randomness.reproducible(1))
    heard: list[int] = []
    names = ["vickrey", "exponential", "laplace", "redact"]
    found = at_keep(bench(random_space), names, 0.4, watched, heard.append)
    assert {row.mechanism for row in found.rows} == {"vickrey", "exponential", "laplace"}
    assert len({row.epsilon for row in found.rows}) == 3
    assert len(heard) == 4
    away = [row.distance.mean for row in found.rows]
    assert away == sorted(away)
    for row in found.rows:
        assert row.suggestion is not None
        assert abs(row.suggestion.protection.median.value - 0.4) < 0.06
    assert [one.mechanism for one in found.skipped] == ["redact"]


def test_an_unknown_name_is_guessed(random_space: Space) -> None:
    with pytest.raises(UnknownName, match="did you mean 'laplace'"):
        at_levels(bench(random_space), ["laplase"], [1.0])
