"""Releases: equal ones count together, several sums over one sample are one release."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.accounting.events import SampledGaussian, jointly, merge
from sfumato.core.errors import InvalidArgument


def test_equal_releases_count_together_and_different_ones_apart() -> None:
    events = [
        SampledGaussian(noise_multiplier=1.0, rate=0.5, count=2),
        SampledGaussian(noise_multiplier=1.0, rate=0.25),
        SampledGaussian(noise_multiplier=1.0, rate=0.5, count=3),
    ]
    assert merge(events) == (
        SampledGaussian(noise_multiplier=1.0, rate=0.5, count=5),
        SampledGaussian(noise_multiplier=1.0, rate=0.25, count=1),
    )
    assert merge([]) == ()


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=6))
def test_sums_over_one_sample_move_the_mean_by_the_root_of_the_squares(noise: list[float]) -> None:
    moved = math.fsum(1 / one**2 for one in noise)
    assert 1 / jointly(*noise) ** 2 == pytest.approx(moved, rel=1e-9)
    assert jointly(*noise) <= min(noise) * (1 + 1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        {"noise_multiplier": -1.0},
        {"noise_multiplier": math.nan},
        {"noise_multiplier": math.inf},
        {"noise_multiplier": 1e-31},
        {"noise_multiplier": 1e31},
        {"noise_multiplier": 1.0, "rate": 0.0},
        {"noise_multiplier": 1.0, "rate": 1.1},
        {"noise_multiplier": 1.0, "count": 0},
    ],
    ids=str,
)
def test_impossible_releases_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidArgument, match=list(wrong)[-1]):
        SampledGaussian(**wrong)  # type: ignore[arg-type]
