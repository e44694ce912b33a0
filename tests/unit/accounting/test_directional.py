"""Levels of directional noise against exact divergences, integrated in one dimension."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy import integrate, special

from sfumato.accounting import directional
from sfumato.accounting.directional import (
    directional_epsilon,
    match_kappa,
    most_guessed,
    pure_epsilon,
)
from sfumato.accounting.events import SampledGaussian
from sfumato.accounting.gaussian import gaussian_epsilon
from sfumato.attacks.gradients.candidates import proven
from sfumato.core.errors import InvalidArgument


@cache
def partition(dimension: int, kappa: float) -> float:
    """f(κ) = ln E exp(κU), from its series, whose terms are all positive."""
    if kappa == 0:
        return 0.0
    count = np.arange(1, int(60 + 2 * kappa))
    logs = (
        2 * count * math.log(kappa / 2)
        - special.gammaln(count + 1)
        - special.gammaln(count + dimension / 2)
        + special.gammaln(dimension / 2)
    )
    return float(np.logaddexp(0.0, special.logsumexp(logs)))


def divergence(dimension: int, order: float, first: np.ndarray, second: np.ndarray) -> float:
    """D_α of two members of the family."""
    mixed = order * first + (1 - order) * second
    logs = [partition(dimension, float(np.linalg.norm(one))) for one in (mixed, first, second)]
    return (logs[0] - order * logs[1] - (1 - order) * logs[2]) / (order - 1)


PAIRS = [
    ((1.0, 0.0), (-1.0, 0.0)),
    ((1.0, 0.0), (0.0, 1.0)),
    ((1.0, 0.0), (0.0, 0.0)),
    ((0.0, 0.0), (1.0, 0.0)),
    ((1.0, 0.0), (0.99, 0.0)),
    ((0.3, 0.0), (0.8, 0.6)),
    ((0.5, 0.0), (1.0, 0.0)),
]


@pytest.mark.parametrize("dimension", [2, 3, 10, 200])
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_renyi_divergences_are_at_most_those_of_a_gaussian(
    dimension: int, first: tuple[float, float], second: tuple[float, float]
) -> None:
    nearest = 0.0
    for kappa in (0.01, 0.5, 3.0, 20.0, 200.0):
        one, other = kappa * np.array(first), kappa * np.array(second)
        for order in (1.01, 1.5, 2.0, 8.0, 64.0):
            bound = order * float((one - other) @ (one - other)) / (2 * dimension)
            exact = divergence(dimension, order, one, other)
            assert exact <= bound * (1 + 1e-7) + 1e-12
            nearest = max(nearest, exact / bound)
    assert nearest > 0.9  # a twin, κ²/4d in the place of κ²/2d, would be exceeded


def true_delta(dimension: int, kappa: float, epsilon: float, *, opposite: bool) -> float:
    """The hockey-stick divergence of a draw from its opposite, or from a uniform one."""
    whole = partition(dimension, kappa)
    norm = special.gammaln(dimension / 2) - special.gammaln((dimension - 1) / 2)

    def excess(at: float, one: float, other: float) -> float:
        base = (dimension - 3) / 2 * math.log1p(-at * at) if dimension != 3 else 0.0
        weight = math.exp(base + norm) / math.sqrt(math.pi)
        ones = math.exp(one * kappa * at - whole) if one else 1.0
        others = math.exp(other * kappa * at - whole) if other else 1.0
        return weight * max(0.0, ones - math.exp(epsilon) * others)

    sides = [(1, -1)] if opposite else [(1, 0), (0, 1)]
    return max(
        float(integrate.quad(excess, -1 + 1e-12, 1 - 1e-12, args=side, limit=400)[0])
        for side in sides
    )


@pytest.mark.parametrize("accountant", ["pld", "rdp", "pure"])
@pytest.mark.parametrize("opposite", [False, True])
@pytest.mark.parametrize(("dimension", "kappa"), [(3, 1.0), (50, 4.0), (400, 10.0), (2000, 20.0)])
def test_the_level_holds_at_its_delta(
    dimension: int, kappa: float, opposite: bool, accountant: str
) -> None:
    delta = 1e-4
    event = SampledGaussian(noise_multiplier=math.sqrt(dimension) / kappa)
    neighbors = "replacement" if opposite else "add-or-remove"
    level = directional_epsilon(
        [event], dimension=dimension, delta=delta, neighbors=neighbors, accountant=accountant
    )
    assert true_delta(dimension, kappa, level, opposite=opposite) <= delta
    if accountant == "pld" and dimension >= 50:
        # A twin that charges a replaced record like a missing one, or half of a missing one.
        assert true_delta(dimension, kappa, level / 2, opposite=opposite) > delta


def test_the_coupling_is_nearly_that_of_a_gaussian_and_never_better() -> None:
    dimension, kappa = 592_130, 1000.0
    event = SampledGaussian(noise_multiplier=math.sqrt(dimension) / kappa)
    level = directional_epsilon([event], dimension=dimension, delta=1e-5, neighbors="replacement")
    gaussian = gaussian_epsilon(2 * kappa / math.sqrt(dimension), 1e-5)
    assert gaussian < level < 1.02 * gaussian
    assert pure_epsilon([event], dimension=dimension) == pytest.approx(2000)


def test_several_epochs_cost_more_than_one() -> None:
    events = [SampledGaussian(noise_multiplier=1.0, count=count) for count in (1, 4)]
    for accountant in ("pld", "rdp", "pure"):
        one, four = (
            directional_epsilon([event], dimension=10_000, delta=1e-5, accountant=accountant)
            for event in events
        )
        assert four > 1.5 * one
    # The published claim, 2κ whatever the number of epochs, would be the same for both.
    assert pure_epsilon([events[1]], dimension=10_000) == 4 * pure_epsilon(
        [events[0]], dimension=10_000
    )


def test_without_noise_nothing_is_proven_and_sampling_is_refused() -> None:
    nothing = SampledGaussian(noise_multiplier=0.0)
    assert directional_epsilon([nothing], dimension=10, delta=1e-5) == math.inf
    assert pure_epsilon([nothing], dimension=10) == math.inf
    with pytest.raises(InvalidArgument, match="how many there were"):
        directional_epsilon(
            [SampledGaussian(noise_multiplier=1.0, rate=0.5)], dimension=10, delta=1e-5
        )


def test_few_dimensions_have_no_coupling() -> None:
    event = SampledGaussian(noise_multiplier=1.0)
    assert directional._coupled([event], 20, 1e-5, 5.0) == math.inf
    assert directional._coupled([event], 20_000, 1e-5, 5.0) < 5.0


def test_a_matched_concentration_has_the_cosine_of_gaussian_noise() -> None:
    for dimension, sigma in ((1000, 0.05), (1000, 2.0), (100_000, 0.3)):
        kappa = match_kappa(sigma, dimension)
        cosine = kappa / (dimension / 2 + math.hypot(dimension / 2, kappa))  # nearly A_d(κ)
        noisy = 1 / math.sqrt(1 + dimension * sigma**2)  # nearly that of a noisy unit vector
        assert cosine == pytest.approx(noisy, rel=0.01)


def in_a_cap(share: float, kappa: float, dimension: int) -> float:
    """How much of the draws lies in a cap that has this share of the sphere."""
    power = (dimension - 3) / 2
    density = lambda one, rate: (1 - one * one) ** power * math.exp(rate * (one - 1))  # noqa: E731
    root = math.sqrt(special.betaincinv(0.5, (dimension - 1) / 2, abs(1 - 2 * share)))
    edge = root if share < 0.5 else -root
    part, whole = (
        integrate.quad(density, low, 1.0, args=(kappa,), epsabs=0, limit=200)[0]
        for low in (edge, -1.0)
    )
    return float(part / whole)


@pytest.mark.parametrize("dimension", [3, 5, 40, 400])
@pytest.mark.parametrize("candidates", [4, 64])
def test_guesses_among_candidates_are_bounded_by_caps(dimension: int, candidates: int) -> None:
    higher = 0
    for sigma in (0.2, 0.5, 1.0, 3.0):
        kappa = match_kappa(sigma, dimension)
        exact = in_a_cap(1 / candidates, kappa, dimension)
        assert most_guessed(1 / candidates, kappa, dimension) == pytest.approx(exact, rel=1e-5)
        higher += exact > proven(candidates, sigma)
    # Sabotage: what is proven for the Gaussian noise that matches is less than a cap holds.
    assert higher or candidates > dimension


def test_in_many_dimensions_caps_hold_what_gaussian_noise_allows() -> None:
    for sigma, candidates in ((0.3, 16), (1.0, 64), (5.0, 10**4)):
        cap = most_guessed(1 / candidates, match_kappa(sigma, 10**8), 10**8)
        assert cap == pytest.approx(proven(candidates, sigma), rel=1e-3)
