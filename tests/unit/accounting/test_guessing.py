"""How often a guess is right at most, against the best guess for small mechanisms."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from sfumato.accounting.guessing import Level, most_guessed, most_named, most_separated
from sfumato.core.errors import InvalidArgument


def best_guess(rows: np.ndarray, shares: np.ndarray) -> float:
    """How often the likeliest value is right, for a table of chances of outputs by value."""
    return float((rows * shares[:, None]).max(axis=0).sum())


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.2, 0.8], [0.6, 0.3, 0.1], [0.25] * 4])
def test_no_pure_mechanism_is_guessed_more_often(epsilon: float, shares: list[float]) -> None:
    """Outputs are corners: every output has one of two chances for each value, up to a factor."""
    level, weights = Level(epsilon), np.array(shares)
    bound = most_guessed(level, shares)
    best = 0.0
    corners = np.array(list(product([1.0, math.exp(epsilon)], repeat=len(shares)))).T
    generator = np.random.default_rng(1)
    for _ in range(300):
        rows = corners * generator.exponential(size=corners.shape[1]) ** 3
        rows = rows / rows.sum(axis=1, keepdims=True)
        # Scaled rows are ε-DP only if their ratios are.
        loss = np.log(rows.max(axis=0) / rows.min(axis=0)).max()
        if loss <= epsilon:
            best = max(best, best_guess(rows, weights))
    answer = np.full((len(shares), len(shares)), 1.0)
    np.fill_diagonal(answer, math.exp(epsilon))
    answer /= answer.sum(axis=1, keepdims=True)
    best = max(best, best_guess(answer, weights))
    assert best <= bound + 1e-12
    if len(set(shares)) == 1:
        assert best == pytest.approx(bound)  # randomized response is the best there is
        twin = most_guessed(Level(epsilon / 2), shares)
        assert best > twin


def test_gaussian_noise_is_bounded_by_its_whole_trade_off() -> None:
    shift, count = 1.5, 8
    places = np.eye(count) * shift / math.sqrt(2)  # any two are as far apart as the shift
    values = np.arange(4000) % count
    noisy = places[values] + np.random.default_rng(4).standard_normal((4000, count))
    right = float((noisy.argmax(axis=1) == values).mean())
    bound = most_guessed(Level(20.0, 1e-9, shift), [1 / count] * count)
    assert right < bound < 0.75
    assert bound < most_guessed(Level(20.0, 1e-9), [1 / count] * count)
    assert most_separated(Level(20.0, 1e-9, shift)) == pytest.approx(
        stats.norm.cdf(shift / math.sqrt(2)), abs=1e-6
    )


def test_a_delta_lets_a_ranking_do_better_and_never_more_than_proven() -> None:
    """The mechanism that reaches the trade-off: a bit by randomized response, told with δ."""
    epsilon, delta = 1.0, 0.2
    share = math.exp(epsilon) / (1 + math.exp(epsilon))
    first = np.array([delta, (1 - delta) * share, (1 - delta) * (1 - share), 0.0])
    second = first[::-1]
    # Outputs stand in the order of their likelihood ratio.
    above = sum(first[i] * second[j] for i in range(4) for j in range(4) if i < j)
    area = float(above + (first * second).sum() / 2)
    assert area == pytest.approx(most_separated(Level(epsilon, delta)))
    assert area > most_separated(Level(epsilon))


def test_words_that_are_there_together_are_bounded_one_by_one() -> None:
    assert most_named(Level(0.0), [0.9, 0.8, 0.1]) == pytest.approx(0.9)
    assert most_named(Level(math.inf), [0.5, 0.5]) == 1.0
    with pytest.raises(InvalidArgument, match="add up to 1"):
        most_guessed(Level(1.0), [0.5, 0.1])
