"""Levels of directional noise: draws from von Mises–Fisher distributions around unit vectors.

A use of a record releases a point x of the unit sphere in d dimensions with density proportional to
exp(⟨θ, x⟩), where θ = κ·μ for a record whose gradient has the direction μ, and θ = 0, a uniform
point, for an empty place or a gradient of zero. Directions in doubt are shortened, so ‖θ‖ <= κ. The
noise multiplier of a use is z = √d/κ: the one with which Gaussian noise on unit vectors costs the
same.

Guarantee
    ``directional_epsilon`` is a level at ``delta`` for all uses together, each of which may depend
    on the results of those before it, for a record whose place is left empty (``add-or-remove``) or
    filled with another record (``replacement``).

Why it holds
    These densities are an exponential family with log-partition F(θ) = f(‖θ‖), where f(s) =
    ln E e^{sU} for a coordinate U of a uniform point. Its derivative A_d(s) = f'(s) is the mean
    cosine, I_{d/2}(s)/I_{d/2−1}(s), which grows because f is convex. The recurrence of the Bessel
    functions gives s/A_d(s) = d + s·A_{d+2}(s). So A_d(s)/s falls, from 1/d on. The second
    derivative of F is A_d(s)/s across θ and A_d'(s) <= A_d(s)/s along it: nowhere above 1/d. Hence
    G(θ) = F(θ) − ‖θ‖²/2d is concave.

    - *Rényi divergences.* Densities of an exponential family have D_α(θ‖θ') = [F(αθ + (1−α)θ') −
      αF(θ) − (1−α)F(θ')]/(α−1). For α > 1, θ lies between θ' and αθ + (1−α)θ', so concavity of G
      makes the bracket at most α(α−1)‖θ−θ'‖²/2d, and D_α <= α‖θ−θ'‖²/2d: that of Gaussian noise of
      variance d around θ. With ‖θ−θ'‖ <= κ for an empty place, and 2κ for a replacement, this is a
      Gaussian release with noise multiplier z, or z/2, for every accountant that uses Rényi
      divergences alone.
    - *Coupling.* A use is, up to a small total variation, a randomized function of a Gaussian
      release with a multiplier a little below z; ``_coupled`` has the proof.
    - *Pure.* Log densities of θ and θ' differ by ⟨θ−θ', x⟩ − F(θ) + F(θ'): by at most 2κ if both
      have the same length, and by at most κ + f(κ) against a uniform point; f(κ) is at most κ and
      at most κ²/2d. Uses add up.

    Each of the three is a proof, so the smallest level holds.

Care
    A level that is proven by Rényi divergences or by the coupling needs delta > 0. The published
    claim for this mechanism is the pure level of one use, 2κ, also for several epochs, which is no
    proof: an epoch uses every record again.

Reference
    Weggenmann and Kerschbaum 2021, "Differential privacy for directional data"; Faustini et al.
    2023 for its use in training. The bound on Rényi divergences is proven above; Biswas et al. 2025
    (arXiv 2502.04045) may have it, too, and was not read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.accounting.accountants import compute_spending
from sfumato.accounting.events import SampledGaussian
from sfumato.accounting.gaussian import gaussian_delta
from sfumato.accounting.solving import least
from sfumato.core.checks import at_least, one_of
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from sfumato.core.arrays import Floats

NEIGHBORS = ("add-or-remove", "replacement")
# The part of delta that the coupling to a Gaussian may take.
_COUPLING = 1e-3
_LARGEST = 700.0  # exp overflows above it
# Angles at which a density is added up, this many standard deviations to either side.
_ANGLES, _AWAY = 40_001, 40.0


def directional_epsilon(
    events: Sequence[SampledGaussian],
    *,
    dimension: int,
    delta: float,
    neighbors: str = "add-or-remove",
    accountant: str = "pld",
) -> float:
    """A level at ``delta`` of all uses of a record, whose multipliers are √dimension/κ.

    The accountant ``rdp`` uses Rényi divergences, ``pure`` adds up the levels of the uses, and
    ``pld`` takes the best of all proofs.
    """
    at_least("dimension", dimension, 2)
    one_of("neighbors", neighbors, NEIGHBORS)
    if any(event.rate != 1.0 for event in events):
        raise InvalidArgument(
            "directional noise is not accounted for under sampling: the length of a sum of draws "
            "shows how many there were"
        )
    if any(event.noise_multiplier == 0.0 for event in events):
        return math.inf
    if accountant == "pure":
        return pure_epsilon(events, dimension=dimension, neighbors=neighbors)
    factor = 0.5 if neighbors == "replacement" else 1.0
    scaled = [
        SampledGaussian(noise_multiplier=factor * one.noise_multiplier, count=one.count)
        for one in events
    ]
    by_divergence = compute_spending(scaled, "rdp").epsilon(delta)
    if accountant == "rdp":
        return by_divergence
    pure = pure_epsilon(events, dimension=dimension, neighbors=neighbors)
    return min(by_divergence, pure, _coupled(scaled, dimension, delta, by_divergence))


def pure_epsilon(
    events: Sequence[SampledGaussian], *, dimension: int, neighbors: str = "replacement"
) -> float:
    """The level that holds with delta = 0, as uses add up.

    >>> event = SampledGaussian(noise_multiplier=0.1, count=3)  # κ = 100
    >>> round(pure_epsilon([event], dimension=100), 9)
    600.0
    """
    total = 0.0
    for event in events:
        if event.noise_multiplier == 0.0:
            return math.inf
        kappa = math.sqrt(dimension) / event.noise_multiplier
        partition = min(kappa, kappa * kappa / (2 * dimension))
        total += event.count * (2 * kappa if neighbors == "replacement" else kappa + partition)
    return total


def _coupled(
    events: Sequence[SampledGaussian], dimension: int, delta: float, guess: float
) -> float:
    """The level of Gaussian releases of which the uses are randomized functions, nearly.

    Let X be Brownian motion with drift θ/κ, that is X_t = tθ/κ + W_t, and T the time at which ‖X‖
    first is κ. By Girsanov's theorem X_T has the density exp(⟨θ/κ, X_T⟩ − ‖θ/κ‖²T/2) of
    the motion without drift, under which T and X_T are independent; so X_T/κ has a density
    proportional to exp(⟨θ, x⟩): it is a use. On the other hand X_t at a fixed time t is a Gaussian
    release of θ/κ: X_t/t has the mean θ/κ and the variance 1/t in every coordinate. Given X_t, the
    way there is a Brownian bridge, which does not depend on θ. So draw the bridge and give out the
    place where it first reaches the sphere: that is X_T/κ whenever T <= t. And P(T > t) <=
    P(‖X_t‖ < κ) <= P(χ²_d < κ²/t), since a mean other than zero only makes ‖X_t‖ larger, which is
    at most δ₀ for κ²/t = d − 2√(d·ln 1/δ₀) (Laurent and Massart 2000, lemma 1).

    So a use is within total variation δ₀ of a function of a Gaussian release with the multiplier
    z' = z·√(1 − 2√(ln(1/δ₀)/d)), and n uses within n·δ₀. If the releases have the curve δ(ε), the
    uses have δ(ε) + (1 + e^ε)·n·δ₀.
    """
    count = sum(event.count for event in events)
    if not 0.0 < delta < 1.0 or not guess < _LARGEST:
        return math.inf
    # ``guess`` is a level that holds, so larger ones need not be looked at.
    each = _COUPLING * delta / (count * (1 + math.exp(guess)))
    shrunk = 1 - 2 * math.sqrt(-math.log(each) / dimension)
    if shrunk <= 0.0:
        return math.inf
    shift = math.sqrt(math.fsum(e.count / e.noise_multiplier**2 for e in events) / shrunk)
    rest = delta - (1 + math.exp(guess)) * count * each
    found = least(lambda level: gaussian_delta(shift, level), rest, guess)
    return found if found <= guess else math.inf


def match_kappa(sigma: float, dimension: int) -> float:
    """The concentration whose draws are as far from their direction as Gaussian noise puts them.

    Noise of standard deviation σ in every coordinate, on a unit vector, and κ = √(d + 1/σ²)/σ.
    """
    return math.sqrt(dimension + 1 / sigma**2) / sigma


def match_sigma(kappa: float, dimension: int) -> float:
    """The Gaussian noise on a unit vector to which a concentration is matched.

    >>> round(match_sigma(match_kappa(0.25, 1000), 1000), 12)
    0.25
    """
    return math.sqrt((dimension + math.hypot(dimension, 2 * kappa)) / 2) / kappa


def most_guessed(prior: float, kappa: float, dimension: int) -> float:
    """How often a guess is right at most after one use, if without it that is ``prior``.

    An empty place is a uniform point. A guess that is right at a share of the sphere is right most
    often if that share is a cap around the record's direction, where the density is largest (Neyman
    and Pearson). What a cap holds is concave in its share, so it is a bound on averages as well,
    and on whatever is computed from the use, such as a sum with other draws.

    >>> share = most_guessed(0.25, 2.0, 3)  # (e^κ − e^{κt})/(e^κ − e^{−κ}) for t = 1 − 2/4
    >>> round(share, 6) == round((math.exp(2) - math.exp(1)) / (math.exp(2) - math.exp(-2)), 6)
    True
    """
    import numpy as np

    angles, shares = _within_angles(0.0, dimension)
    cap = np.interp(prior, shares, angles)
    angles, shares = _within_angles(kappa, dimension)
    return float(np.interp(cap, angles, shares))


def _within_angles(kappa: float, dimension: int) -> tuple[Floats, Floats]:
    """Angles to a direction, and how much of its distribution lies within each of them.

    The density of an angle is proportional to sin^{d−2}·exp(κ·cos).
    """
    import numpy as np

    others = dimension - 2
    root = others + math.hypot(others, 2 * kappa)
    mode = math.acos(2 * kappa / root) if root else 0.0
    bend = kappa * math.cos(mode) + (others / math.sin(mode) ** 2 if others else 0.0)
    reach = _AWAY / math.sqrt(bend) if bend else math.pi
    angles: Floats = np.linspace(max(0.0, mode - reach), min(math.pi, mode + reach), _ANGLES)
    logs = kappa * (np.cos(angles) - math.cos(mode))
    if others:
        with np.errstate(divide="ignore"):
            logs = logs + others * (np.log(np.sin(angles)) - math.log(math.sin(mode)))
    density = np.exp(logs)
    below = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return angles, below / below[-1]
