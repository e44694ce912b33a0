"""The colors can be told apart, also by people who see fewer of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.charts.chart import COLORS, FAINT_INK, INK, PAPER

# Vienot, Brettel and Mollon 1999, for linear RGB: what red-blind and green-blind people see.
SIGHTS = {
    "all cones": np.eye(3),
    "red-blind": np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]]),
    "green-blind": np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]),
}


def linear(color: str) -> NDArray[np.float64]:
    channels = np.array([int(color[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def luminance(color: str) -> float:
    return float(linear(color) @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("sight", SIGHTS)
def test_no_two_colors_look_alike(sight: str) -> None:
    seen = {color: SIGHTS[sight] @ linear(color) for color in COLORS}
    for first, second in combinations(COLORS, 2):
        assert np.linalg.norm(seen[first] - seen[second]) > 0.08, (first, second)


def test_red_and_green_of_a_traffic_light_would_be_caught() -> None:
    red, green = (SIGHTS["green-blind"] @ linear(color) for color in ("#cc3311", "#5f7a11"))
    assert np.linalg.norm(red - green) < 0.08


def test_text_can_be_read() -> None:
    assert contrast(INK, PAPER) > 7
    assert contrast(FAINT_INK, PAPER) > 4.5
