"""The closed form of one Gaussian release, against scipy and far beyond exp's reach."""

from __future__ import annotations

import math

import pytest
from scipy import special

from sfumato.accounting.gaussian import gaussian_delta, gaussian_epsilon
from sfumato.core.errors import InvalidArgument


def delta_in_logarithms(shift: float, epsilon: float) -> float:
    near = special.log_ndtr(shift / 2 - epsilon / shift)
    far = epsilon + special.log_ndtr(-shift / 2 - epsilon / shift)
    return float(difference_of_exponentials(near, far))


def difference_of_exponentials(first: float, second: float) -> float:
    return -math.exp(first) * math.expm1(second - first)


@pytest.mark.parametrize("shift", [0.01, 0.3, 1.0, 4.0, 14.1, 49.0, 200.0])
@pytest.mark.parametrize("delta", [1e-2, 8e-5, 1e-9])
def test_the_level_is_where_delta_is_met(shift: float, delta: float) -> None:
    level = gaussian_epsilon(shift, delta)
    if level == 0:
        assert delta_in_logarithms(shift, 0.0) <= delta
        return
    assert delta_in_logarithms(shift, level) <= delta * (1 + 1e-9)
    assert delta_in_logarithms(shift, level * (1 - 1e-4)) > delta


@pytest.mark.parametrize("shift", [0.05, 1.0, 9.0, 50.0])
def test_delta_agrees_with_logarithms(shift: float) -> None:
    for deviations in (-2, 0, 1, 3, 5):
        level = max(0.0, shift * (shift / 2 + deviations))
        wanted = delta_in_logarithms(shift, level)
        assert gaussian_delta(shift, level) == pytest.approx(wanted, rel=1e-6, abs=1e-15)


def test_the_ends() -> None:
    assert gaussian_epsilon(math.inf, 1e-5) == math.inf
    assert gaussian_epsilon(1e-9, 1e-5) == 0.0
    with pytest.raises(InvalidArgument, match="delta"):
        gaussian_epsilon(1.0, 0.0)
