"""Lower bounds on epsilon from how well an attacker tells two worlds apart.

Guarantee
    Each bound holds with probability at least ``confidence``: if the mechanism is
    (ε, δ)-differentially private, the bound exceeds ε with probability at most 1 − confidence,
    whatever the attack. ``gaussian_bound`` also assumes that the trade-off between the attacker's
    two errors is that of a Gaussian mechanism, and says so.

Why it holds
    Under (ε, δ)-DP every event has TPR <= e^ε·FPR + δ and TNR <= e^ε·FNR + δ. Both rates are
    bounded by Clopper and Pearson, each one-sided at half of 1 − confidence; both inequalities use
    the same two limits. For one run, the number of right guesses about m fair coins is
    stochastically below a Binomial, up to a term in δ (Steinke et al. 2023, theorem 5.2).

Care
    The attacker's threshold must be fixed before the counts are looked at. A bound near zero does
    not say that nothing leaks, only that this attack did not show it. The number of guesses limits
    the largest bound (about 3.3 for 100 perfect guesses of each kind at a confidence of 0.95).

Reference
    Jagielski, Ullman and Oprea 2020, "Auditing differentially private machine learning"; Steinke,
    Nasr and Jagielski 2023, "Privacy auditing with one (1) training run"; Nasr et al. 2023, "Tight
    auditing of differentially private machine learning".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.gaussian import gaussian_delta
from sfumato.core.checks import at_least, between
from sfumato.core.errors import InvalidArgument
from sfumato.guarantees.bound import EmpiricalBound
from sfumato.statistics.intervals import lower_limit, upper_limit

# No number of guesses that fits into memory can show more.
LARGEST_EPSILON = 60.0
PRECISION = 1e-6


@dataclass(frozen=True, kw_only=True)
class Guesses:
    """How often an attacker said "member" of members and of others, by a fixed threshold.

    >>> two_run_bound(Guesses(members=100, found=100, others=100, accused=0)).epsilon > 3.28
    True
    """

    members: int
    found: int
    others: int
    accused: int

    def __post_init__(self) -> None:
        for name, part, whole in (
            ("found", self.found, self.members),
            ("accused", self.accused, self.others),
        ):
            if at_least(name, part, 0) > at_least("members and others", whole, 1):
                raise InvalidArgument(f"{name}={part} must not exceed the {whole} that were tried")

    def limits(self, confidence: float) -> tuple[float, float]:
        """A lower limit on the true-positive rate and an upper one on the false-positive rate."""
        if not 0 < confidence < 1:
            raise InvalidArgument(f"confidence={confidence} must lie between 0 and 1")
        alpha = (1 - confidence) / 2
        return (
            lower_limit(self.found, self.members, alpha),
            upper_limit(self.accused, self.others, alpha),
        )


def two_run_bound(
    guesses: Guesses, *, delta: float = 0.0, confidence: float = 0.95
) -> EmpiricalBound:
    """The bound ε >= ln((TPR − δ)/FPR), or the same with the worlds exchanged."""
    between("delta", delta, 0.0, 1.0)
    found, accused = guesses.limits(confidence)
    return EmpiricalBound(
        epsilon=max(0.0, _ratio(found - delta, accused), _ratio(1 - accused - delta, 1 - found)),
        compared="two worlds, with and without a record",
        delta=delta,
        confidence=confidence,
        samples=guesses.members + guesses.others,
    )


def gaussian_bound(
    guesses: Guesses, *, delta: float, confidence: float = 0.95
) -> tuple[float, EmpiricalBound]:
    """The smallest μ of a Gaussian trade-off that fits the guesses, and its ε at ``delta``."""
    found, accused = guesses.limits(confidence)
    normal = NormalDist()
    mu = 0.0
    if 0 < found < 1 and 0 < accused < 1:
        mu = max(0.0, normal.inv_cdf(1 - accused) - normal.inv_cdf(1 - found))
    bound = EmpiricalBound(
        epsilon=gaussian_epsilon(mu, delta),
        compared="two worlds, with and without a record, assuming a Gaussian trade-off",
        delta=delta,
        confidence=confidence,
        samples=guesses.members + guesses.others,
    )
    return mu, bound


def one_run_bound(
    *, coins: int, guesses: int, right: int, delta: float = 0.0, confidence: float = 0.95
) -> EmpiricalBound:
    """The bound from one training run, with ``coins`` records in or out by fair coins.

    >>> bound = one_run_bound(coins=100, guesses=100, right=100)
    >>> round(bound.epsilon, 3)
    3.493
    """
    if not at_least("right", right, 0) <= at_least("guesses", guesses, 1) <= coins:
        raise InvalidArgument("right must not exceed guesses, nor guesses exceed coins")
    between("delta", delta, 0.0, 1.0)
    alpha = 1 - confidence

    def impossible(epsilon: float) -> bool:
        return _chance_of(right, guesses, epsilon, coins * delta) < alpha

    low, high = 0.0, LARGEST_EPSILON
    if not impossible(0.0):
        high = 0.0
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if impossible(middle) else (low, middle)
    return EmpiricalBound(
        epsilon=low,
        compared="one run, records in or out by fair coins",
        delta=delta,
        confidence=confidence,
        samples=coins,
    )


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The ε of a Gaussian trade-off with shift ``mu`` at ``delta`` (Balle and Wang 2018).

    >>> round(gaussian_epsilon(2.909, 1e-5), 1)
    16.0
    """
    between("delta", delta, 0.0, 1.0)
    if mu == 0 or gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(mu, high) > delta and high < 1e6:
        high *= 2
    while high - low > PRECISION * max(1.0, high):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(mu, middle) > delta else (low, middle)
    return low


def _ratio(likelier: float, rarer: float) -> float:
    if likelier <= 0:
        return -math.inf
    return math.inf if rarer <= 0 else math.log(likelier / rarer)


def _chance_of(right: int, guesses: int, epsilon: float, slack: float) -> float:
    """An upper bound on the probability of so many right guesses under ε; ``slack`` is m·δ."""
    chances = _binomial(guesses, 1 / (1 + math.exp(-epsilon)))
    tail = float(chances[right:].sum())
    if slack == 0 or right == 0:
        return tail
    # P[v > Bin >= v − i] for i = 1 … v.
    below = np.cumsum(chances[:right][::-1])
    return tail + 2 * slack * float((below / np.arange(1, right + 1)).max())


def _binomial(trials: int, share: float) -> NDArray[np.float64]:
    """The probability of every number of successes."""
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, trials + 1)))])
    successes = np.arange(trials + 1)
    logs = factorials[-1] - factorials - factorials[::-1]
    logs = logs + successes * math.log(share)
    if share < 1:
        logs = logs + (trials - successes) * math.log1p(-share)
    else:
        logs[:-1] = -np.inf
    chances: NDArray[np.float64] = np.exp(logs)
    return chances
