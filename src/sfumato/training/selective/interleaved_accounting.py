"""What interleaved training costs: every private update, every state that is released.

Guarantee
    E epochs of at most K private stretches per record are together one Gaussian release with shift
    μ = (s/σ)·√(E·K·(1 + r)), σ being the noise multiplier of gradients and states alike; s = 1 for
    zero-out neighbors (a record's private part is null in one corpus: gradient 0, state 0), s = 2
    for replacement (its private part is another one); r = 0 if states are reset, 1 if hidden and
    cell state are clipped together, 2 if each has the bound for itself.

Why it holds
    Fix who is in which step: that is public, see below. In an epoch a record adds to at most K sums
    of clipped gradients and has at most K states released; each moves by at most s·C against noise
    of σ·C. All else is computed from what was released and from public text. Releases that may
    depend on those before them compose as Gaussians do: shifts add up in squares.

Why sampling gains nothing
    The public stretches of the very same documents take a plain step, without noise. Whoever sees
    the weights before and after can tell whose public text it was, so a batch is no secret.

As in the paper
    Shi et al. 2022 count Poisson-sampled gradients alone: no state, and a secret batch. That level
    is stated beside ours for comparison; it is not proven, and it does not hold.

Reference
    Dong, Roth and Su 2022, "Gaussian differential privacy" (corollary 3.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.accounting.accountants import compute_spending
from sfumato.accounting.events import SampledGaussian, computable_noise
from sfumato.accounting.gaussian import gaussian_epsilon
from sfumato.accounting.solving import least, round_up
from sfumato.core.checks import at_least, one_of, positive
from sfumato.core.errors import InvalidArgument

# By how much noise multipliers a record's contribution may move between neighbors.
MOVES = {"zero-out": 1.0, "replacement": 2.0}
# How many releases of full weight a state is, beside the gradient of its stretch.
RELEASES = {"reset": 0, "noise": 1, "separate": 2}


@dataclass(frozen=True, kw_only=True)
class Visits:
    """How often a record is used: ``epochs`` times, in up to ``stretches`` private stretches.

    >>> visits = Visits(epochs=50, stretches=1, state="noise")
    >>> round(visits.epsilon(0.5, delta=8e-5)), round(visits.noise_for(4.91, delta=8e-5), 1)
    (275, 8.2)
    """

    epochs: int
    stretches: int
    state: str = "noise"
    neighbors: str = "zero-out"

    def __post_init__(self) -> None:
        at_least("epochs", self.epochs, 0, None)
        at_least("stretches", self.stretches, 1)
        one_of("state", self.state, RELEASES)
        one_of("neighbors", self.neighbors, MOVES)

    @property
    def releases(self) -> int:
        """How many Gaussian releases a record takes part in, at most."""
        return self.epochs * self.stretches * (1 + RELEASES[self.state])

    def shift(self, noise_multiplier: float) -> float:
        """μ of the one Gaussian release that all of them are together."""
        if not self.releases:
            return 0.0
        if not computable_noise("noise_multiplier", noise_multiplier):
            return math.inf
        return MOVES[self.neighbors] / noise_multiplier * math.sqrt(self.releases)

    def epsilon(self, noise_multiplier: float, *, delta: float) -> float:
        """The proven level; infinite without noise."""
        return gaussian_epsilon(self.shift(noise_multiplier), delta)

    def noise_for(self, epsilon: float, *, delta: float) -> float:
        """The least noise multiplier that keeps a level; infinity needs none."""
        if epsilon == math.inf:
            return 0.0
        positive("epsilon", epsilon)
        found = least(
            lambda noise: self.epsilon(noise, delta=delta), epsilon, math.sqrt(self.releases)
        )
        if not 0 < found < math.inf:
            raise InvalidArgument(f"epsilon={epsilon:g} cannot be planned for; take another level")
        return round_up(found)


def paper_epsilon(*, noise_multiplier: float, rate: float, updates: int, delta: float) -> float:
    """The level that the paper would state for these private updates; it is not proven.

    Rényi divergences of Poisson-sampled gradients, as its moments accountant adds them up.
    """
    if not noise_multiplier:
        return math.inf
    event = SampledGaussian(noise_multiplier=noise_multiplier, rate=min(1.0, rate), count=updates)
    return compute_spending([event], "rdp").epsilon(delta)
