"""How much noise a histogram of words needs, and how many contributors a word needs to be shown.

Guarantee
    Every contributor (a document, or an author) gives at most k different words. Each word that
    anybody gave is counted, with the contributor's weight; independent Gaussian noise of standard
    deviation σ is added to every count, and words whose noisy count is below τ are dropped. What
    is left is (ε, δ)-DP for two corpora of which one lacks one contributor, with exactly

        δ(ε) = max over (t, j) of max{ p + (1 − p)·δ_G(ε − ln(1 − p); μ), δ_G(ε + ln(1 − p); μ) },
        p = 1 − Φ((τ − w)/σ)^j,   μ = w·√(t − j)/σ,

    for a contributor who gives t words, j of which nobody else gave; w is the weight of a word and
    δ_G(ε; μ) the delta of a Gaussian release whose mean moves by μ standard deviations.

Why it holds
    Let P be the output with the contributor and Q the one without. The words of all others are
    chosen without looking at this contributor, so they are the same for both; take them as fixed,
    and the contributor's words, too (if these are drawn, P is a mixture while Q stays the same, and
    the divergence of a mixture is at most that of its worst part). Without the contributor the j
    words do not exist, and no output of Q contains them. With the contributor, each is shown with
    probability 1 − Φ((τ − w)/σ), independently, so with probability p some of them are, and
    otherwise nothing shows of them. Hence P = p·A + (1 − p)·G₁ and Q = G₀, where A has no output in
    common with Q, and G₁ and G₀ are the noisy counts of the other words: the contributor moves
    t − j of them by w each. So for any set S of outputs, P(S) − e^ε·Q(S) is at most
    p + (1 − p)·[G₁(S) − e^(ε − ln(1 − p))·G₀(S)], and Q(S) − e^ε·P(S) at most
    G₀(S) − e^(ε + ln(1 − p))·G₁(S). Both suprema are deltas of Gaussians. To drop words below τ,
    and everything that is computed from what is left, is post-processing. It is exact, for counts
    of other words can be so large that none of them is ever dropped.

    *Plain* weights are w = 1, so that all k words together move the counts by √k. More words of
    others only make μ larger, so t = k is the worst case, and j = 0 … k are compared. Weights *by
    length* are w = 1/√t: whoever gives few words moves each count further, and all of them together
    by 1. Then all t ≤ k and j ≤ t are compared.

    *Several histograms*, of which each may be chosen by the results of those before (the n-grams of
    every length): within one, the pair (p, μ) with the largest p and the largest μ gives rise to
    every other (whoever sees A knows P and can draw the rest of it; Gaussians lose shift when noise
    is added). So it dominates, dominating pairs multiply under adaptive composition (Zhu, Dong and
    Wang 2022, theorem 10), and the product is again such a pair, with 1 − p = Π(1 − pᵢ) and
    μ² = Σ μᵢ². This bound is not exact: it charges j = t and j = 0 at once.

    *Public words.* If the words are those of a public list, each of them gets noise whether anybody
    gave it or not. Then no word exists because of a contributor, and nothing needs to be dropped.

Care
    A threshold for one word, used for k of them, is wrong: 1 − Φ(x) must be replaced by
    1 − Φ(x)^k, which is k times as large. (1 − δ)^(1/k) is 1 in floating point for small δ, and a
    threshold computed from it is infinite; here everything is computed from the tail of Φ.
    For neighbors by replacement, one contributor is removed and another added: the level is 2ε at
    δ·(1 + e^ε).

Reference
    Korolova, Kenthapadi, Mishra and Ntoulas 2009 for thresholds; Gopi et al. 2020, "Differentially
    private set union", for weights; Hoory et al. 2021 and Ponomareva et al. 2022 for tokenizers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sfumato.accounting.gaussian import gaussian_delta
from sfumato.accounting.solving import least, round_up
from sfumato.core.checks import at_least, one_of, positive
from sfumato.core.errors import InvalidArgument

WEIGHTS = ("plain", "by-length")

# Why such a histogram has no divergence.
SHOWN_ALONE = (
    "a word that one unit alone has is shown with a small probability, and then the unit is known "
    "for certain: no divergence is finite"
)

# The most words of a contributor. By length, pairs of numbers up to this are compared.
MOST_WORDS = {"plain": 100_000, "by-length": 300}

# Tails of Φ are computed down to this with all their digits.
SMALLEST_DELTA = 1e-30


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """How much a contributor may give: at most ``words`` different words, with these weights."""

    words: int = 60
    weights: str = "plain"

    def __post_init__(self) -> None:
        one_of("weights", self.weights, WEIGHTS)
        at_least("words", self.words, 1, MOST_WORDS[self.weights])

    def weight(self, given: int) -> float:
        """What each word of a contributor who gives so many adds to its count."""
        return 1.0 if self.weights == "plain" else 1 / math.sqrt(given)

    @property
    def length(self) -> float:
        """How far a contributor moves all counts together at most."""
        return math.sqrt(self.words) if self.weights == "plain" else 1.0

    def cases(self) -> Iterator[tuple[int, int]]:
        """Words given, and how many of them nobody else gave: all that can be the worst case."""
        for given in (self.words,) if self.weights == "plain" else range(1, self.words + 1):
            for alone in range(given + 1):
                yield given, alone


@dataclass(frozen=True, kw_only=True)
class Noise:
    """The noise of a histogram: its standard deviation, and the threshold, if there is one.

    ``count`` is how many histograms of the same noise are released one after the other.
    """

    deviation: float
    threshold: float | None
    contribution: Contribution
    epsilon: float
    delta: float
    count: int = 1

    @property
    def multiplier(self) -> float:
        """The standard deviation of the noise over what a contributor can move, of all together."""
        return self.deviation / (self.contribution.length * math.sqrt(self.count))

    @property
    def shown_alone(self) -> float:
        """The largest probability that a word which only one contributor gave is shown."""
        if self.threshold is None:
            return 0.0
        return -math.expm1(self.count * _log_hidden(self.contribution, self))

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "deviation": self.deviation,
            "threshold": self.threshold,
            "words": self.contribution.words,
            "weights": self.contribution.weights,
            "epsilon": self.epsilon,
            "delta": self.delta,
            **({"histograms": self.count} if self.count > 1 else {}),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Noise:
        """The inverse of ``as_dict``."""
        given = dict(values)
        contribution = Contribution(words=given.pop("words"), weights=given.pop("weights"))
        return cls(contribution=contribution, count=given.pop("histograms", 1), **given)


def histogram_delta(
    epsilon: float, contribution: Contribution, deviation: float, threshold: float | None
) -> float:
    """The exact delta of one histogram at a level; no threshold is for public words.

    >>> round(histogram_delta(4, Contribution(words=60), 9.25, 52.1) / 1e-6, 2)
    0.99
    """
    return max(
        _case_delta(epsilon, contribution, deviation, threshold or 0.0, case)
        for case in contribution.cases()
        if threshold is not None or not case[1]
    )


def _case_delta(
    epsilon: float,
    contribution: Contribution,
    deviation: float,
    threshold: float,
    case: tuple[int, int],
) -> float:
    given, alone = case
    weight = contribution.weight(given)
    hidden = alone * _log_below((threshold - weight) / deviation) if alone else 0.0
    return pair_delta(epsilon, hidden, weight * math.sqrt(given - alone) / deviation)


def pair_delta(epsilon: float, log_hidden: float, shift: float) -> float:
    """The delta of a release that betrays one of two neighbors with probability p, else a Gaussian.

    ``log_hidden`` is ln(1 − p), and ``shift`` how far the neighbors' means are apart.
    """
    shown = -math.expm1(log_hidden)
    return max(
        shown + (1 - shown) * _gaussian_delta(shift, epsilon - log_hidden),
        _gaussian_delta(shift, epsilon + log_hidden),
    )


@lru_cache(maxsize=256)
def solve_noise(epsilon: float, delta: float, contribution: Contribution) -> Noise:
    """The noise and the threshold of one histogram at a level.

    The noise may use all of delta, and so may the threshold: a contributor who shares all words has
    no part in one, and who shares none has no part in the other. Whoever shares some is compared,
    too, and the threshold is raised if that case is the worst.

    >>> found = solve_noise(4.0, 1e-6, Contribution(words=60))
    >>> round(found.deviation, 3), round(found.threshold, 1)
    (9.245, 52.1)
    """
    deviation = _deviation(epsilon, delta, contribution)

    def worst_of(cases: Iterable[tuple[int, int]], threshold: float) -> tuple[float, Any]:
        found = (
            (_case_delta(epsilon, contribution, deviation, threshold, one), one) for one in cases
        )
        return max(found)

    # The threshold is solved for few cases, then all are compared, and the worst joins the few.
    looked_at = {(contribution.words, contribution.words)}
    while True:
        threshold = _threshold(
            lambda place: worst_of(looked_at, place)[0], delta, deviation, contribution
        )
        worst, case = worst_of((one for one in contribution.cases() if one[1]), threshold)
        if worst <= delta:
            break
        looked_at.add(case)
    return Noise(
        deviation=deviation,
        threshold=threshold,
        contribution=contribution,
        epsilon=epsilon,
        delta=delta,
    )


def solve_public(epsilon: float, delta: float, contribution: Contribution) -> Noise:
    """The noise of one histogram over a public list of words, of which none is dropped."""
    return Noise(
        deviation=_deviation(epsilon, delta, contribution),
        threshold=None,
        contribution=contribution,
        epsilon=epsilon,
        delta=delta,
    )


@lru_cache(maxsize=256)
def solve_levels(epsilon: float, delta: float, contribution: Contribution, count: int) -> Noise:
    """Noise and threshold of ``count`` histograms, each chosen by those before: the same for all.

    Half of delta is for the noise, and the threshold uses what is left of it.
    """
    if at_least("count", count, 1) == 1:
        return solve_noise(epsilon, delta, contribution)
    deviation = _deviation(epsilon, delta / 2, contribution, count)

    def noise(threshold: float) -> Noise:
        return Noise(
            deviation=deviation,
            threshold=threshold,
            contribution=contribution,
            epsilon=epsilon,
            delta=delta,
            count=count,
        )

    def falling(threshold: float) -> float:
        return levels_delta(epsilon, noise(threshold))

    return noise(_threshold(falling, delta, deviation, contribution))


def levels_delta(epsilon: float, noise: Noise) -> float:
    """A delta of several histograms together, at a level."""
    hidden = noise.count * _log_hidden(noise.contribution, noise)
    return pair_delta(epsilon, hidden, 1 / noise.multiplier)


def _deviation(epsilon: float, delta: float, contribution: Contribution, count: int = 1) -> float:
    positive("epsilon", epsilon)
    if not SMALLEST_DELTA <= delta < 1:
        raise InvalidArgument(f"delta={delta} must lie between {SMALLEST_DELTA:g} and 1")
    multiplier = least(lambda noise: gaussian_delta(1 / noise, epsilon), delta, guess=1.0)
    if not 0 < multiplier < math.inf:
        raise InvalidArgument(f"epsilon={epsilon:g} is out of reach; choose one nearer to 1")
    return round_up(multiplier * contribution.length * math.sqrt(count))


def _threshold(
    falling: Callable[[float], float], delta: float, deviation: float, contribution: Contribution
) -> float:
    # The threshold counts from the weight of a word, which may be as large as 1.
    guess = 1 + deviation * deviations_needed(delta, contribution.words)
    found = least(falling, delta, guess)
    if math.isinf(found):
        raise InvalidArgument(f"delta={delta:g} is out of reach; choose a larger one")
    return round_up(found)


def deviations_needed(delta: float, words: int) -> float:
    """The least x with 1 − Φ(x)^words ≤ δ, from the tail of Φ.

    >>> round(deviations_needed(1e-6, 60), 2)
    5.52
    """
    wanted = -math.expm1(math.log1p(-delta) / words)
    return least(lambda x: math.erfc(x / math.sqrt(2)) / 2, wanted, guess=5.0, close=1e-12)


def _log_hidden(contribution: Contribution, noise: Noise) -> float:
    """The logarithm of 1 − p, in the worst case, where nobody else gave any of the words."""
    threshold = noise.threshold or 0.0
    givers = (
        (contribution.words,)
        if contribution.weights == "plain"
        else range(1, contribution.words + 1)
    )
    return min(
        given * _log_below((threshold - contribution.weight(given)) / noise.deviation)
        for given in givers
    )


def _log_below(place: float) -> float:
    """The logarithm of Φ(x), accurate where Φ(x) is nearly 1 and where it is nearly 0."""
    if place > 0:
        return math.log1p(-math.erfc(place / math.sqrt(2)) / 2)
    below = math.erfc(-place / math.sqrt(2)) / 2
    return math.log(below) if below else -math.inf


def _gaussian_delta(shift: float, epsilon: float) -> float:
    """δ_G at any level: below 0 by δ(ε) = 1 − e^ε + e^ε·δ(−ε), Gaussians being symmetric."""
    if epsilon == math.inf:
        return 0.0
    if epsilon < 0:
        scale = math.exp(epsilon)
        return 1 - scale + scale * _gaussian_delta(shift, -epsilon)
    return gaussian_delta(shift, epsilon) if shift else 0.0
