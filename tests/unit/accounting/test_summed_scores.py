"""The level of a draw by summed scores against all corners, and against searches."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from sfumato.accounting.bounded_range import exact_level
from sfumato.accounting.summed_scores import (
    LARGEST_WINDOW,
    change_level,
    whole_level,
    widest_part,
)
from sfumato.core.arrays import Floats
from sfumato.core.errors import InvalidArgument


def largest_loss(first: Floats, second: Floats) -> float:
    """Over all outcomes (columns), for each pair of rows of scores."""
    logs = [one - np.log(np.exp(one).sum(axis=-1, keepdims=True)) for one in (first, second)]
    return float((logs[0] - logs[1]).max())


@pytest.mark.parametrize(("width", "parts", "outcomes"), [
    (0.3, 1, 2), (1.5, 2, 3), (0.7, 3, 3), (2.5, 2, 2), (1.1, 4, 2),
])  # fmt: skip
def test_all_corners_reach_the_level_and_none_exceeds_it(
    width: float, parts: int, outcomes: int
) -> None:
    rest = [width * one for one in range(parts)]
    worst = 0.0
    for common in product(rest, repeat=outcomes):
        for u in product((0.0, width), repeat=outcomes):
            for v in product((0.0, width), repeat=outcomes):
                base = np.array(common)
                worst = max(worst, largest_loss(base + np.array(u), base + np.array(v)))
    level = change_level(width, parts, outcomes)
    assert worst <= level
    assert worst == pytest.approx(level, rel=1e-12)
    # The twin forgets that what all else adds weighs, too.
    if parts > 1 and outcomes > 2:
        assert worst > exact_level(width, outcomes) * (1 + 1e-6)
    whole = max(
        largest_loss(np.array(one), np.array(other))
        for one in product((0.0, width * parts), repeat=outcomes)
        for other in product((0.0, width * parts), repeat=outcomes)
    )
    assert whole <= whole_level(width, parts, outcomes)
    assert whole == pytest.approx(whole_level(width, parts, outcomes), rel=1e-12)


def test_scores_that_change_by_one_step_stay_within_the_level() -> None:
    """All functions with whole values between 0 and 2 that differ by 1 at most."""
    steps, outcomes, width = 2, 3, 0.8
    rows = np.array(list(product(range(steps + 1), repeat=outcomes)))
    worst = max(
        largest_loss(width * one, width * other)
        for one in rows
        for other in rows[np.abs(rows - one).max(axis=1) <= 1]
    )
    level = change_level(width, steps, outcomes)
    assert worst == pytest.approx(level, rel=1e-12)
    assert worst <= level
    assert worst > change_level(width / 2, steps, outcomes)


def test_a_search_among_sums_of_any_numbers_stays_within_the_level() -> None:
    generator = np.random.default_rng(2)
    width, parts, outcomes, level = 1.3, 4, 5, change_level(1.3, 4, 5)
    for _ in range(20):
        sums = generator.uniform(0, width, (2, parts, outcomes))
        sums[1, 1:] = sums[0, 1:]
        reached = -math.inf
        for step in np.geomspace(1.0, 0.02, 80):
            other = np.clip(sums + step * generator.normal(size=sums.shape), 0, width)
            other[1, 1:] = other[0, 1:]
            found = largest_loss(other[0].sum(axis=0), other[1].sum(axis=0))
            if found > reached:
                sums, reached = other, found
        assert reached <= level


def test_it_is_between_one_part_and_twice_its_range() -> None:
    for width in (1e-9, 0.1, 2.0, 20.0):
        alone = change_level(width, 1, 50)
        assert alone == pytest.approx(exact_level(width, 50), rel=1e-12)
        many = change_level(width, 12, 50)
        assert alone <= many <= 2 * width * (1 + 1e-13) + 1e-11
        assert many <= whole_level(width, 12, 50) <= 12 * many
    assert change_level(0.0, 3, 9) == change_level(2.0, 0, 9) == whole_level(0.0, 3, 9) == 0.0
    assert math.isfinite(whole_level(LARGEST_WINDOW / 12, 12, 10**6))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 5.0, 40.0])
def test_the_widest_part_is_the_inverse(epsilon: float, whole: bool) -> None:
    level = whole_level if whole else change_level
    width = widest_part(epsilon, 12, 1850, whole=whole)
    assert level(width, 12, 1850) <= epsilon < level(width * (1 + 1e-6) + 1e-9, 12, 1850)


def test_what_cannot_be_computed_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="no numbers any more"):
        change_level(60.0, 12, 9)
    with pytest.raises(InvalidArgument, match="no numbers any more"):
        change_level(-1.0, 12, 9)
    with pytest.raises(InvalidArgument, match="outcomes"):
        change_level(1.0, 12, 1)
    with pytest.raises(InvalidArgument, match="more than one draw"):
        widest_part(700.0, 12, 9)
