"""The best of a random number of private trials, charged as a whole.

A search draws K by a public law (``accounting.trials``), makes K independent trials of the same
randomized algorithm Q on the private data, and releases the best outcome and nothing else: neither
K nor any other outcome. An outcome is all that a trial gives (settings that it drew, model, score),
and *best* is by a fixed order of outcomes.

Guarantee
    Let m = E[K], δ_Q(ε) the delta of one trial at level ε, and D(λ) its Rényi divergence of order
    λ, both for the worse of two neighbors. If K is truncated negative binomial with shape η and γ,
    and r is a number with δ_Q(r) ≤ (e^r − 1)·γ/(1 − γ), then the search is

    1. (ε + (1 + η)·r, m·δ_Q(ε))-DP for every ε, and
    2. of Rényi divergence D(λ) + (1 + η)·r + ln(m)/(λ − 1) at most, for every λ > 1.

    One such r is (1 − 1/κ)·D(κ) + ln(1/γ)/κ for any κ ≥ 1: with it, 2 is theorem 2 of the paper.
    If K is Poisson with mean μ, and δ_Q(ln(1 + 1/(λ − 1))) ≤ d, then the search is

    3. of Rényi divergence D(λ) + μ·d + ln(μ)/(λ − 1) at most (theorem 6 of the paper).

Why it holds
    Let P, P' be the laws of an outcome for two neighbors, f(x) = E[x^K], and let outcomes be in
    order, ties broken by a coin that belongs to the outcome. The best is at most y if all are:
    A(≤ y) = f(P(≤ y)). So dA(y) = f'(q)·dP(y) with q = P(≤ y), where a single outcome of positive
    probability stands for the interval of all q between P(< y) and P(≤ y); likewise A' with q'.

    - *f' ≤ m*, because it increases and f'(1) = m.
    - *f'(q)/f'(q') ≤ e^{(1+η)r}.* f'(q) = m·(γ/p)^{1+η} with p = γ + (1 − γ)(1 − q), so the ratio
      is (p'/p)^{1+η}. With S the event "worse than y is not enough", of probability 1 − q:
      p' − e^r·p = (1 − γ)(P'(S) − e^r·P(S)) − γ(e^r − 1) ≤ (1 − γ)·δ_Q(r) − γ(e^r − 1) ≤ 0. (The
      same S for both: its probability is 1 − q and 1 − q' for one and the same event, randomized
      within an outcome of positive probability.)
    - *1.* For any event, A − e^{ε+(1+η)r}·A' is at most ∫ [f'(q)dP − e^{ε+(1+η)r}·f'(q')dP']₊ ≤
      ∫ f'(q)·[dP − e^ε dP']₊ ≤ m·δ_Q(ε).
    - *2.* Σ A^λ A'^{1−λ} = ∫ f'(q)·(f'(q)/f'(q'))^{λ−1}·dP^λ dP'^{1−λ} ≤ m·e^{(1+η)r(λ−1)}·
      e^{(λ−1)D(λ)}. (Within an outcome of positive probability, u^λ v^{1−λ} is convex in u and v
      together, so the mean over the interval can only be smaller.)
    - *r from a divergence.* P'(S)^κ P(S)^{1−κ} ≤ e^{(κ−1)D(κ)}, also of the event that has p and
      p' as its probabilities, so p'/p ≤ e^{(1−1/κ)D(κ)}·p^{−1/κ}, and p ≥ γ.
    - *3.* f'(q)^λ f'(q')^{1−λ} = μ·exp(μ((λ−1)(1−q') − λ(1−q))), and 1 − q' ≤ (1 + 1/(λ−1))(1 − q)
      + d, so the exponent is at most μ(λ−1)d.

    Trials that draw their settings θ from a public law are one algorithm Q, whose outcome has θ in
    it: δ_Q(ε) is the mean over θ of δ_θ(ε), hence at most the largest. So levels and r are the
    largest of any θ, each by its own proof.

Care
    Everything hangs on K: it must be drawn before any trial, whatever the trials show, and never be
    told. Given K = k, the best of k trials may cost k times as much. All K trials must be made.
    That the search ran for long shows that K was large. An end that depends on outcomes ("stop when
    one is good enough") is another algorithm, without this guarantee.
    A trial that fails because of the data is an outcome, too: the worst.

Reference
    Liu and Talwar 2019, "Private selection from private candidates"; Papernot and Steinke 2022,
    "Hyperparameter tuning with Rényi differential privacy"; 1 is Koskela, Redberg and Wang 2024,
    "Privacy profiles for private selection", in its form for these laws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from sfumato.accounting.accountants import (
    Spent,
    compute_spending,
    renyi_divergences,
    whole_orders,
)
from sfumato.accounting.events import SampledGaussian
from sfumato.accounting.trials import TrialCount
from sfumato.core.checks import between, one_of
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from sfumato.core.arrays import Floats

# Those that know what sampling gains, and the delta of any level.
SEARCH_ACCOUNTANTS = ("pld", "rdp")
_HALVINGS = 50
_UP = 1 + 1e-12

Releases = tuple[SampledGaussian, ...]
"""What one trial releases."""


@dataclass(frozen=True)
class BestOfTrials:
    """What a search costs whose trials release one of ``candidates``, by settings that they draw.

    >>> trials = TrialCount(mean=8.0, shape=1.0)
    >>> one = (SampledGaussian(noise_multiplier=2.0),)
    >>> search = BestOfTrials(trials, (one,))
    >>> single = compute_spending(one).epsilon(1e-5)
    >>> single < search.epsilon(1e-5) < 8 * single
    True
    """

    trials: TrialCount
    candidates: tuple[Releases, ...]
    accountant: str = "pld"

    def __post_init__(self) -> None:
        one_of("accountant", self.accountant, SEARCH_ACCOUNTANTS)
        if not self.candidates:
            raise InvalidArgument("a search needs at least one setting to try")

    def epsilon(self, delta: float) -> float:
        """The level of the whole search at this delta; infinite if there is no guarantee."""
        if between("delta", delta, 0.0, 1.0) == 0.0:
            return math.inf
        if self.trials.poisson:
            return _poisson_level(self, delta)
        each = delta / self.trials.charged_mean
        found = [self._parts(events, each) for events in self.candidates]
        levels, ratios = zip(*found, strict=True)
        return float(max(levels) + (1 + self.trials.shape) * max(ratios))

    def _parts(self, events: Releases, delta: float) -> tuple[float, float]:
        """The level of one trial at ``delta``, and r."""
        return _level_and_ratio(events, delta, self.trials, self.accountant)


@lru_cache(maxsize=4096)
def _level_and_ratio(
    events: Releases, delta: float, trials: TrialCount, accountant: str
) -> tuple[float, float]:
    spent = compute_spending(events, accountant)
    level = spent.epsilon(delta)
    if math.isinf(level):
        return level, level
    ratio = ratio_level(spent, trials)
    if accountant == "rdp":
        orders = whole_orders()
        ratio = min(ratio, renyi_ratio_level(trials, orders, renyi_divergences(events, orders)))
    return level, ratio


def ratio_level(spent: Spent, trials: TrialCount) -> float:
    """The smallest r with δ(r) ≤ (e^r − 1)·γ/(1 − γ), rounded up.

    >>> nothing = compute_spending([])
    >>> ratio_level(nothing, TrialCount(mean=8.0)) < 1e-9
    True
    """
    gamma = trials.gamma
    low, high = 0.0, -math.log(gamma) * _UP  # there the right side is 1 or more
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if spent.delta(middle) <= math.expm1(middle) * gamma / (1 - gamma):
            high = middle
        else:
            low = middle
    return high * _UP


def renyi_ratio_level(
    trials: TrialCount, orders: Sequence[float], divergences: Sequence[float] | Floats
) -> float:
    """The smallest r that a divergence proves: (1 − 1/κ)·D(κ) + ln(1/γ)/κ; at κ = 1, ln(1/γ)."""
    log = -math.log(trials.gamma)
    found = ((1 - 1 / k) * float(d) + log / k for k, d in zip(orders, divergences, strict=True))
    return min(log, *found) * _UP


def selected_divergences(
    trials: TrialCount,
    orders: Sequence[float],
    divergences: Sequence[float] | Floats,
    deltas: Sequence[float] = (),
) -> list[float]:
    """Bounds on the divergences of a search, by those of one trial: theorems 2 and 6 of the paper.

    For a Poisson law ``deltas`` are those of one trial at the levels ln(1 + 1/(λ − 1)).
    """
    pairs = list(zip(orders, divergences, strict=True))
    log = math.log(trials.charged_mean)
    if trials.poisson:
        return [
            float(d) + trials.mean * at + log / (k - 1)
            for (k, d), at in zip(pairs, deltas, strict=True)
        ]
    ratio = (1 + trials.shape) * renyi_ratio_level(trials, orders, divergences)
    return [float(d) + ratio + log / (k - 1) if k > 1 else math.inf for k, d in pairs]


def poisson_level(order: float) -> float:
    """ln(1 + 1/(λ − 1)), the level at which a Poisson law needs one trial's delta."""
    return math.log1p(1 / (order - 1))


def _poisson_level(search: BestOfTrials, delta: float) -> float:
    """The best order; at each, divergence and delta are the largest of any candidate."""
    import numpy as np

    orders = whole_orders()
    every = [renyi_divergences(events, orders) for events in search.candidates]
    spent = [compute_spending(events, search.accountant) for events in search.candidates]
    largest = np.max(every, axis=0)
    if not np.isfinite(largest).any():
        return math.inf
    deltas = [max(one.delta(poisson_level(order)) for one in spent) for order in orders]
    bounds = selected_divergences(search.trials, orders, largest, deltas)
    levels = [
        bound + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)
        for bound, order in zip(bounds, orders, strict=True)
    ]
    return max(0.0, min(levels)) * _UP
