"""Curves of staying: they rise, can be inverted, and are refused where they do not hold."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.build import build_mechanism, word_mechanisms
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.metrics.deniability import DrawEffort
from sfumato.metrics.staying_curves import (
    curve_of,
    level_for,
    measure_curve,
    shipped_curves,
    staying,
)
from sfumato.vectors.load import default_space
from sfumato.vectors.space import Space

NAMES = sorted(word_mechanisms())
# A word stays in its group of twenty by luck; and most frequent words are not sensitive.
LEAST = {"custom": 0.051, "sanitize-plus": 0.71}
MOST = {"sanitize-plus": 0.69}


def test_every_word_mechanism_has_a_curve() -> None:
    assert sorted(shipped_curves()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_curve_rises_from_nearly_never_to_nearly_always(name: str) -> None:
    curve = curve_of(name)
    assert curve.median[0] <= LEAST.get(name, 0.01)
    assert curve.median[-1] >= MOST.get(name, 0.99)
    for column in (curve.epsilon, curve.low, curve.median, curve.high):
        assert len(column) == len(curve.sure) == len(curve.epsilon)
        assert all(np.diff(column) >= 0)
    assert all(np.diff(curve.epsilon) > 0)
    assert all(a <= b <= c for a, b, c in zip(curve.low, curve.median, curve.high, strict=True))
    levels = np.geomspace(curve.epsilon[0] / 3, 45, 200)
    medians = [staying(name, level).median for level in levels.tolist()]
    assert all(np.diff(medians) >= 0)


@pytest.mark.parametrize("name", [one for one in NAMES if one != "sanitize-plus"])
def test_the_inverse_is_one(name: str) -> None:
    low, high = curve_of(name).range
    for chance in np.linspace(low, high, 30).tolist()[1:-1]:
        assert curve_of(name).at(level_for(name, chance)).median == pytest.approx(chance, abs=1e-9)
    assert level_for(name, 0.2) < level_for(name, 0.8)


def test_a_twin_with_straight_lines_between_chances_is_no_inverse() -> None:
    curve = curve_of("exponential")
    chance = 0.1
    wrong = float(np.interp(chance, curve.median, curve.epsilon))
    assert abs(curve.at(wrong).median - chance) > 1e-3


def test_what_has_no_curve_is_refused_with_a_way_out() -> None:
    with pytest.raises(InvalidArgument, match=r"no curve.*sfumato\.suggest"):
        staying("redact", 5)
    with pytest.raises(UnknownName):
        staying("laplase", 5)
    other = replace(default_space(), words=default_space().words[:100],
                    vectors=default_space().vectors[:100])  # fmt: skip
    with pytest.raises(InvalidArgument, match=r"no curve of staying over.*sfumato\.suggest"):
        level_for("laplace", 0.3, space=other)
    with pytest.raises(InvalidArgument, match=r"other settings.*sfumato\.suggest"):
        staying("vickrey", 5, settings={"t": 0.2})
    assert staying("vickrey", 5, settings={"t": 0.5}) == staying("vickrey", 5)
    with pytest.raises(InvalidArgument, match="by noise"):
        staying("hyperbolic", 60)
    with pytest.raises(InvalidArgument, match="ranges from 0"):
        level_for("sanitize-plus", 0.3)
    for chance in (0, 1, -1, 2):
        with pytest.raises(InvalidArgument, match="chance"):
            level_for("laplace", chance)
    with pytest.raises(InvalidArgument, match="epsilon"):
        staying("laplace", 0)


def made(space: Space, name: str, epsilon: float) -> PointMechanism:
    return build_mechanism(name, space=space, epsilon=epsilon)


def test_a_curve_is_measured_on_any_space(small_space: Space) -> None:
    grid = [0.5, 2.0, 8.0, 32.0]
    for name, draws in (("exponential", 0), ("laplace", 30)):
        curve = measure_curve(
            name,
            partial(made, small_space, name),
            grid,
            np.arange(12),
            DrawEffort(draws=30),
            Randomness.reproducible(4),
        )
        assert (curve.draws, curve.words, curve.epsilon) == (draws, 12, tuple(grid))
        assert curve.median[0] < curve.median[-1]
        assert all(np.diff(curve.median) >= 0)
    exact = [
        float(np.median([mechanism.row(x)[x] for x in range(12)]))  # type: ignore[attr-defined]
        for mechanism in (
            build_mechanism("exponential", space=small_space, epsilon=level) for level in grid
        )
    ]
    curve = measure_curve(
        "exponential",
        partial(made, small_space, "exponential"),
        grid,
        np.arange(12),
        DrawEffort(),
        Randomness.reproducible(4),
    )
    assert curve.median == pytest.approx(exact, abs=1e-5)
