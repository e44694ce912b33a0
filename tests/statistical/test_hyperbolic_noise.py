"""The length of a hyperbolic step has the density e^(−εr)·sinh^(n−1) r, whose integral is computed.

The law is integrated numerically from the density and not taken from the Beta law by which it is
drawn, so a mistake in the derivation would be found here.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, interpolate

from sfumato.core.randomness import Randomness
from sfumato.mechanisms.hyperbolic import tanh_of_length
from statistical import budget

CHECK = "noise: hyperbolic length"
CASES = pytest.mark.parametrize(("dimension", "epsilon"), [(2, 1.8), (3, 5.0), (50, 58.0)])
DRAWS = 20_000

Numbers = NDArray[np.float64]


def step_lengths(dimension: int, epsilon: float, count: int, randomness: Randomness) -> Numbers:
    """Lengths from their hyperbolic tangents; those at the rim are longer than any here."""
    tangents = tanh_of_length(dimension, epsilon, count, randomness)
    return np.arctanh(np.minimum(tangents, 1 - 1e-16))


class Law:
    """A law on lengths, by its log-density up to a constant."""

    def __init__(self, log_density: Numbers, lengths: Numbers) -> None:
        density = np.exp(log_density - log_density.max())
        mass = integrate.cumulative_simpson(density, x=lengths, initial=0)
        self.lengths, self.shares = lengths, mass / mass[-1]
        self._below = interpolate.PchipInterpolator(lengths, self.shares)

    def cdf(self, values: Numbers) -> Numbers:
        shares: Numbers = self._below(np.minimum(values, self.lengths[-1]))
        return np.clip(shares, 0.0, 1.0)

    def drawn(self, uniform: Numbers) -> Numbers:
        return np.interp(uniform, self.shares, self.lengths)


def lengths_for(epsilon: float, dimension: int) -> Numbers:
    """So far out that what is left has no weight, in steps that Simpson's rule integrates well."""
    return np.linspace(1e-9, 60.0 / (epsilon - dimension + 1), 200_001)


def hyperbolic(epsilon: float, dimension: int) -> Law:
    r = lengths_for(epsilon, dimension)
    return Law(-epsilon * r + (dimension - 1) * np.log(np.sinh(r)), r)


def by_volume_of_the_ball(epsilon: float, dimension: int) -> Law:
    """The twin: the density taken with respect to ordinary volume in the Poincaré ball."""
    r = lengths_for(epsilon, dimension)
    return Law(
        -epsilon * r + (dimension - 1) * np.log(np.tanh(r / 2)) - 2 * np.log(np.cosh(r / 2)), r
    )


def rejected(sample: Numbers, epsilon: float, dimension: int) -> bool:
    p_value = budget.fits_law(sample, hyperbolic(epsilon, dimension))
    return budget.rejects(CHECK, f"n={dimension}", [p_value])


@CASES
def test_steps_have_the_length_that_the_proof_needs(dimension: int, epsilon: float) -> None:
    sample = step_lengths(dimension, epsilon, DRAWS, Randomness.reproducible(11))
    assert not rejected(sample, epsilon, dimension)


@CASES
def test_twins_are_rejected(dimension: int, epsilon: float) -> None:
    sample = step_lengths(dimension, epsilon, DRAWS, Randomness.reproducible(12))
    assert rejected(sample / 2, epsilon, dimension)
    flat = by_volume_of_the_ball(epsilon, dimension).drawn(
        Randomness.reproducible(13).uniform(DRAWS)
    )
    assert rejected(flat, epsilon, dimension)
    # The Beta law with one parameter off by a half.
    assert rejected(
        step_lengths(dimension, epsilon + 1, DRAWS, Randomness.reproducible(14)), epsilon, dimension
    )
