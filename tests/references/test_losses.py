"""Losses on a grid: those of dp-accounting, and never below the curve of the release."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from numpy.typing import NDArray
from scipy import integrate, stats

from sfumato.accounting import losses

LEVELS = (0.0, 0.05, 0.3, 1.0, 2.5, 6.0, 15.0)
SETTINGS = [
    (noise, rate, interval)
    for noise in (0.3, 1.5, 60.0)
    for rate in (1e-6, 0.004, 0.3, 0.999, 1.0)
    for interval in (0.02,)
]
# Of a difference of two probabilities, each exact to the last digit or two.
ROUNDING = 4e-15


@pytest.mark.parametrize(("noise", "rate", "interval"), SETTINGS)
def test_the_grid_is_that_of_the_library(noise: float, rate: float, interval: float) -> None:
    ours = losses.lay_out(privacy_loss_distribution, noise, rate, interval)
    theirs = privacy_loss_distribution.from_gaussian_mechanism(
        noise, value_discretization_interval=interval, sampling_prob=rate
    )
    for level in LEVELS:
        found = ours.get_delta_for_epsilon(level)
        assert found == pytest.approx(theirs.get_delta_for_epsilon(level), abs=ROUNDING, rel=1e-9)


def integral(noise: float, rate: float, level: float, removed: bool) -> float:
    """δ of one release, as the integral over all places where one density is the larger one."""

    def excess(place: float) -> float:
        plain = float(stats.norm.pdf(place, 0, noise))
        mixture = (1 - rate) * plain + rate * float(stats.norm.pdf(place, -1, noise))
        first, second = (mixture, plain) if removed else (plain, mixture)
        return max(0.0, first - math.exp(level) * second)

    # Where the integrand begins or ends: there the mixture is e^±ε times the plain density.
    share = 1 + math.expm1(level if removed else -level) / rate
    edges = [-0.5 - noise**2 * math.log(share)] if share > 0 else []
    reach = 12 * noise + 1
    inside = [edge for edge in edges if -reach < edge < reach]
    return float(integrate.quad(excess, -reach, reach, points=inside, limit=200)[0])


PAIRS = [(0.7, 0.2), (1.0, 0.5), (3.0, 0.05), (1.0, 1.0)]


def shortfall(noise: float, rate: float) -> float:
    """By how much a grid is below the curve of the release at most, at levels beside its points."""
    grid = losses.lay_out(privacy_loss_distribution, noise, rate, 0.02)
    worst = max(
        max(integral(noise, rate, level, side) for side in (True, False))
        - grid.get_delta_for_epsilon(level)
        for level in (0.0, 0.111, 0.37, 0.777, 1.303)
    )
    return float(worst)


@pytest.mark.parametrize(("noise", "rate"), PAIRS)
def test_the_grid_is_nowhere_below_the_curve(noise: float, rate: float) -> None:
    assert shortfall(noise, rate) <= 1e-9


@pytest.mark.parametrize(("noise", "rate"), PAIRS[:3])
def test_a_threshold_in_the_wrong_place_is_caught(
    noise: float, rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = losses._without_sampling

    def as_if_never_sampled(levels: NDArray[np.float64], _: float) -> NDArray[np.float64]:
        return right(levels, 1.0)

    monkeypatch.setattr(losses, "_without_sampling", as_if_never_sampled)
    assert shortfall(noise, rate) > 1e-7


def test_far_levels_and_hardly_any_sampling_give_numbers() -> None:
    levels = np.array([-800.0, -1e-12, 0.0, 1e-12, 800.0])
    for rate in (1e-300, 1e-17, 1e-9, 0.5, 1 - 1e-16, 1.0):
        for curve in (losses.when_removed, losses.when_added):
            with np.errstate(all="ignore"):
                deltas = curve(levels, 1.0, rate)
            assert np.isfinite(deltas).all()
            assert ((deltas >= 0) & (deltas <= 1)).all()
            assert (np.diff(deltas) <= 1e-15).all()
