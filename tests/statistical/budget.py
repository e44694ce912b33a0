"""The false-alarm budget of the whole suite, and the tests that spend it.

A statistical check rejects an honest mechanism with some small probability. Over the whole suite
that probability is at most ``TOTAL``, taken over the choice of seeds. It is split over the checks
declared in ``CHECKS``; within a check equally over its cases, and within a case equally over the
p-values looked at (Bonferroni). A check that is not declared here cannot be run.

Seeds are fixed, so each verdict is the same on every run: nothing is ever retried until green.
Every p-value is exact or an upper bound; none rests on a limit theorem.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

TOTAL = 1e-6

DIMENSIONS = (1, 2, 3, 50, 300)


class UndeclaredCheck(LookupError):
    """A check, or a case of it, that has no share of the budget."""


@dataclass(frozen=True)
class Check:
    """A share of the budget and the cases among which it is divided."""

    share: float
    cases: tuple[str, ...]


_IN_EACH_DIMENSION = tuple(f"d={dimension}" for dimension in DIMENSIONS)

CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "noise: radius": Check(7e-8, _IN_EACH_DIMENSION),
        "noise: direction": Check(9e-8, _IN_EACH_DIMENSION),
        "noise: hyperbolic length": Check(1e-8, ("n=2", "n=3", "n=50")),
        "noise: radius given direction": Check(7e-8, _IN_EACH_DIMENSION),
        "rows: on a line": Check(7e-8, ("epsilon=0.5", "epsilon=2", "epsilon=8")),
        "rows: in a plane": Check(1e-7, ("epsilon=0.5", "epsilon=4")),
        "metric DP: in three dimensions": Check(9.8e-8, ("epsilon=1", "epsilon=6")),
        "canary: survival": Check(7e-8, ("small space", "embedded space")),
        "randomness: streams": Check(1e-7, ("secure", "reproducible", "sibling streams")),
        "rows: drawn from": Check(5e-8, ("exponential", "truncated", "custom", "sanitize-plus")),
        "noise: whitened": Check(5e-8, ("lambda=0", "lambda=0.5", "lambda=1")),
        "rows: after other noise": Check(
            9e-8, ("mahalanobis", "projected to a line", "turned", "binary", "hyperbolic")
        ),
        "audits: true claims": Check(
            8e-9,
            (
                "known laws",
                "catalog",
                "repaired exhibits",
                "held-out",
                "command line",
                "company",
                "company, held-out",
                "120 words",
            ),
        ),
        "sampling: Poisson": Check(2e-9, ("small batches", "large batches")),
        "deniability: from draws": Check(1e-9, ("keep", "intervals", "outputs", "median")),
        "training: noise": Check(1e-9, ("one batch", "micro-batches", "no batch", "count")),
        "audits: training": Check(5e-10, ("one step, everybody in it", "two steps on samples")),
        "audits: blind guesses": Check(1e-8, ("coins",)),
        "membership: nothing to find": Check(
            2e-8, ("signals", "secrets", "without the model", "intervals")
        ),
        "exposure: null law": Check(2e-8, ("untrained", "another canary", "ties", "sampled")),
        "attacks: token inference": Check(
            1e-8, ("exponential", "sanitize-plus", "nearest", "counted rows", "control")
        ),
        "training: states": Check(1e-8, ("noise", "attack")),
        "calibration: intervals": Check(
            5e-9, ("rising", "falling", "logarithmic", "utility", "noise")
        ),
        "surrogates: uniform": Check(
            4e-9, ("given names", "family names", "towns", "phones", "under keys")
        ),
        "values: noise": Check(4e-9, ("rate 1/10", "rate 7/3", "rate of a float")),
        "values: drawn from rows": Check(
            4e-9, ("date", "date, each", "number", "number, relative", "place")
        ),
        "values: true claims": Check(
            4e-9, ("date", "date, each", "number", "number, relative", "place", "place, noise")
        ),
        "directional noise: sums": Check(2e-9, ("seven dimensions",)),
        "directional noise: cosines": Check(2e-9, ("kappa=0.3", "kappa=9")),
        "intervals: coverage": Check(
            5e-9,
            (
                "shares of seeds",
                "two seeds",
                "ten models",
                "same texts",
                "bits of seeds",
                "wilson",
                "few documents",
                "ratios",
                "auc",
                "bits of secrets",
            ),
        ),
        "clusters: coverage": Check(
            2e-9,
            (
                "secrets differ",
                "seeds differ",
                "nothing differs",
                "few secrets",
                "power",
                "rare leaks",
                "two secrets",
                "half leak",
                "documents",
            ),
        ),
        "attacks: stretches": Check(2e-9, ("surrogate", "redact", "control", "matching")),
        "classes: coverage": Check(1e-9, ("accuracy", "matthews", "f1, macro", "f1, yes")),
        "rewriting: draws": Check(
            2e-9, ("weights", "large masses", "sentences", "no weight", "tokens")
        ),
        "attacks: rewritten": Check(2e-9, ("no weight", "large weight")),
        "rewriting: true claims": Check(1e-9, ("sentences", "temperature")),
        "rewriting: whole documents": Check(
            1e-9, ("masked, law", "masked, claim", "latent, law", "latent, claim")
        ),
        "histograms: words that one contributor has": Check(
            1e-9, ("plain", "by length", "some are shared")
        ),
        "histograms: true claims": Check(1e-9, ("plain", "by length", "some are shared")),
        "synthesis: noise": Check(1e-9, ("counts", "rounds")),
        "synthesis: tokens": Check(1e-9, ("drawn from the law",)),
        "rewriting: one candidate": Check(1e-9, ("draws", "true claims")),
        "word view: draws": Check(4e-10, ("stays", "guesses", "intervals")),
        "staying curves": Check(1e-10, ("exponential", "laplace")),
        "representations: noise": Check(
            2e-10,
            ("laplace", "gaussian", "per-dimension", "projected", "binary", "true claims"),
        ),
        "representations: attacks": Check(
            1e-10, ("noise alone", "bound, laplace", "bound, gaussian", "bound, binary")
        ),
        "attacks: attributes": Check(1e-10, ("authors", "properties", "labels")),
        "processes: as one": Check(1e-10, ("coins", "noise")),
        "forms: learned": Check(1e-10, ("counts", "alone", "true claims", "fills")),
        # The rest, 2e-9, is kept for checks to come.
    }
)


def level(check: str, case: str) -> float:
    """The probability with which one case of a check may raise a false alarm."""
    declared = CHECKS.get(check)
    if declared is None or case not in declared.cases:
        raise UndeclaredCheck(f"{check} ({case}) has no share of the false-alarm budget")
    return declared.share / len(declared.cases)


def rejects(check: str, case: str, p_values: Iterable[float]) -> bool:
    """Whether the evidence in all p-values of a case together is too strong for chance."""
    values = [float(value) for value in p_values]
    if not values or not all(0.0 <= value <= 1.0 for value in values):
        raise ValueError("a verdict needs p-values, each between 0 and 1")
    return min(values) <= level(check, case) / len(values)


def fits_law(sample: NDArray[np.float64], law: stats.rv_continuous) -> float:
    """Exact p-value of the Kolmogorov–Smirnov test against a continuous law."""
    return float(stats.kstest(sample, law.cdf, method="exact").pvalue)


def fits_share(hits: int, draws: int, share: float) -> float:
    """Two-sided p-value of ``hits`` among ``draws`` when each has probability ``share``.

    Twice the smaller tail: an upper bound, and a hundred times quicker than to look for all numbers
    that are as unlikely.
    """
    as_few = float(special.bdtr(hits, draws, share))
    return min(1.0, 2 * min(as_few, at_most(hits, draws, share)))


def at_most(hits: int, draws: int, share: float) -> float:
    """Exact p-value of so many ``hits``, or more, when each has probability ``share`` at most."""
    return float(special.bdtrc(hits - 1, draws, share)) if hits else 1.0


def has_no_drift(directions: NDArray[np.float64]) -> float:
    """Upper bound on the chance of a resultant as long as this, for unit vectors of mean zero.

    P[|Σu| >= t] <= 2·exp(−t²/2n) holds in any dimension for every n (Pinelis 1994, theorem 3.5),
    so this is conservative where the usual χ² form of Rayleigh's test is only a limit.
    """
    resultant = float(np.linalg.norm(directions.sum(axis=0)))
    return min(1.0, 2.0 * math.exp(-(resultant**2) / (2 * len(directions))))


def lower_bounds(
    hits: NDArray[np.int64], draws: NDArray[np.int64], alpha: float
) -> NDArray[np.float64]:
    """Clopper–Pearson: the probability is smaller with a chance of at most ``alpha``."""
    bounds = stats.beta.ppf(alpha, hits, draws - hits + 1)
    return np.where(hits == 0, 0.0, bounds)


def upper_bounds(
    hits: NDArray[np.int64], draws: NDArray[np.int64], alpha: float
) -> NDArray[np.float64]:
    """Clopper–Pearson: the probability is larger with a chance of at most ``alpha``."""
    bounds = stats.beta.isf(alpha, hits + 1, draws - hits)
    return np.where(hits == draws, 1.0, bounds)
