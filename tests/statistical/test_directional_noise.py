"""The law of sums of von Mises–Fisher draws: equal to that of independent draws, one by one.

The naive way draws a Gaussian vector for every record and turns it; the sum is compared by exact
two-sample Kolmogorov–Smirnov tests of its length, its products with the directions and with the
difference of two close ones, and of what is left outside of their span.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

from sfumato.core.randomness import Randomness
from sfumato.training.clipping import vmf
from sfumato.training.clipping.vmf import DirectionSum, draw_cosines
from statistical import budget

Floats = NDArray[np.float64]
DIMENSION, SUMS = 7, 2000
KAPPAS = np.array([9.0, 4.0, 4.0, 0.0])


@cache
def directions() -> Floats:
    """Two directions at an angle, one close to the second, and one that does not exist."""
    made = np.random.default_rng(3).normal(size=(4, DIMENSION))
    made[2] = made[1] + 0.02 * made[2]
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    made[3] = 0.0
    return made


def combined(seed: int) -> Floats:
    """Sums as the release draws them."""
    mu, source = directions(), Randomness.reproducible(seed)
    gram, found = mu @ mu.T, np.empty((SUMS, DIMENSION))
    for number in range(SUMS):
        stream = source.stream(number)
        drawn = DirectionSum.drawn(DIMENSION, gram, KAPPAS, stream.stream(0))
        vector = stream.stream(1).normal(1, DIMENSION)[0]
        coefficients, scale = drawn.coefficients(mu @ vector, float(vector @ vector))
        found[number] = coefficients @ mu + scale * vector
    return found


def one_by_one(seed: int) -> Floats:
    """Sums of separate draws, from their definition."""
    draw = np.random.default_rng(seed)
    total = np.zeros((SUMS, DIMENSION))
    for mu, kappa in zip(directions(), KAPPAS, strict=True):
        noise = draw.normal(size=(SUMS, DIMENSION))
        if kappa == 0:
            total += noise / np.linalg.norm(noise, axis=1, keepdims=True)
            continue
        grid, law = cosine_law(kappa)
        cosine = np.interp(draw.random(SUMS), law, grid)
        across = noise - (noise @ mu)[:, None] * mu
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        total += cosine[:, None] * mu + np.sqrt(1 - cosine**2)[:, None] * across
    return total


@cache
def cosine_law(kappa: float) -> tuple[Floats, Floats]:
    """The distribution of the cosine, by integrating its density on a fine grid."""
    grid = np.linspace(-1, 1, 20_001)
    density = (1 - grid**2) ** ((DIMENSION - 3) / 2) * np.exp(kappa * (grid - 1))
    law = integrate.cumulative_trapezoid(density, grid, initial=0.0)
    return grid, law / law[-1]


def evidence(found: Floats, expected: Floats) -> list[float]:
    mu = directions()
    basis = np.linalg.qr(mu[:3].T)[0]
    views: list[Callable[[Floats], Floats]] = [
        lambda sums: np.linalg.norm(sums, axis=1),
        lambda sums: np.linalg.norm(sums - sums @ basis @ basis.T, axis=1),
        lambda sums: sums @ mu[0],
        lambda sums: sums @ mu[1],
        lambda sums: sums @ (mu[1] - mu[2]),
        lambda sums: sums[:, 0],
    ]
    return [
        float(stats.ks_2samp(view(found), view(expected), method="exact").pvalue) for view in views
    ]


def test_the_sum_has_the_law_of_separate_draws() -> None:
    seen = evidence(combined(5), one_by_one(6))
    assert not budget.rejects("directional noise: sums", "seven dimensions", seen)


TWINS = {
    "no walk": ("_walk", lambda _dimension, steps, _stream: float(np.sqrt((steps**2).sum()))),
    "lengths of others": (
        "_lengths",
        lambda across, left: np.sqrt((across**2).sum(1) + left)[::-1].copy(),
    ),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_sum_that_is_put_together_wrongly_is_found_out(
    monkeypatch: pytest.MonkeyPatch, twin: str
) -> None:
    name, wrong = TWINS[twin]
    monkeypatch.setattr(vmf, name, wrong)
    seen = evidence(combined(5), one_by_one(6))
    assert budget.rejects("directional noise: sums", "seven dimensions", seen), seen


def lengths_of_single_draws() -> list[float]:
    """How long draws are that are alone in their sum: all of them 1."""
    found = []
    for mu, kappa in zip(directions(), KAPPAS, strict=True):
        for seed in range(20):
            source = Randomness.reproducible(seed)
            gram = np.array([[mu @ mu]])
            drawn = DirectionSum.drawn(DIMENSION, gram, np.array([kappa]), source.stream(0))
            vector = source.stream(1).normal(1, DIMENSION)[0]
            coefficients, scale = drawn.coefficients(
                np.array([mu @ vector]), float(vector @ vector)
            )
            found.append(float(np.linalg.norm(coefficients[0] * mu + scale * vector)))
    return found


def test_a_single_draw_lies_on_the_sphere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lengths_of_single_draws() == pytest.approx([1.0] * 80, abs=1e-12)
    # A twin without the projection onto what is orthogonal to the direction.
    monkeypatch.setattr(vmf, "_orthogonal", lambda drawn, _coordinates: drawn)
    assert max(abs(one - 1.0) for one in lengths_of_single_draws()) > 0.1


@pytest.mark.parametrize("kappa", [0.3, 9.0])
def test_cosines_follow_their_density(kappa: float) -> None:
    drawn = draw_cosines(DIMENSION, np.full(SUMS, kappa), Randomness.reproducible(11))
    grid, law = cosine_law(kappa)

    def p_value(sample: Floats) -> float:
        return float(stats.kstest(sample, lambda at: np.interp(at, grid, law)).pvalue)

    assert not budget.rejects("directional noise: cosines", f"kappa={kappa:g}", [p_value(drawn)])
    # A twin with a concentration that is a third larger.
    twin = draw_cosines(DIMENSION, np.full(SUMS, 4 * kappa / 3), Randomness.reproducible(11))
    if kappa > 1:
        assert budget.rejects("directional noise: cosines", f"kappa={kappa:g}", [p_value(twin)])
