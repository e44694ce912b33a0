"""LiRA: how probable the target's loss is for models with the text, and without it.

The statistic is φ = ln(p / (1 − p)) of the likelihood p of a token, which is close to normal over
models that differ in their training texts. Offline the score is how many deviations φ of the target
lies above the mean of models that have not seen the text; online it is the logarithm of the ratio
of two normal densities, for models with the text and without it.

Care
    A deviation takes many models to estimate. With fewer than 64 models it is shared: the variances
    of all texts are averaged, each around the mean of its own text. A single model has no variance;
    then the deviation is 1, which changes no order.

Reference
    Carlini et al. 2022, "Membership inference attacks from first principles".
"""

from __future__ import annotations

import numpy as np

from sfumato.attacks.membership.evidence import Evidence, Values
from sfumato.attacks.membership.reference_signals import mean_known

# From so many models on, each text has a deviation of its own.
MANY_MODELS = 64
# ln p of a text that is all but certain, and the least deviation: below is rounding.
SMALLEST_LOSS = 1e-6
LEAST_DEVIATION = 1e-6


def offline(evidence: Evidence) -> Values:
    """φ of the target in deviations above the mean of the models without the text."""
    mean, deviation = moments(statistic(evidence.outsiders.outside))
    return (statistic(evidence.losses) - mean) / deviation


def online(evidence: Evidence) -> Values:
    """The log-ratio of the densities of φ for models with the text and without it."""
    shadows, own = evidence.insiders, statistic(evidence.losses)
    found = statistic(shadows.losses)
    with_it = moments(np.where(shadows.inside, found, np.nan))
    without = moments(np.where(shadows.inside, np.nan, found))
    return _log_density(own, *with_it) - _log_density(own, *without)


def statistic(losses: Values) -> Values:
    """ln(p / (1 − p)) for p = exp(−loss).

    >>> np.round(statistic(np.array([np.log(2.0), 20.0])), 6).tolist()
    [0.0, -20.0]
    """
    floored = np.maximum(losses, SMALLEST_LOSS)
    # ln p − ln(1 − p), in a form that neither overflows nor loses digits.
    return -floored - np.log(-np.expm1(-floored))


def moments(values: Values) -> tuple[Values, Values]:
    """Mean and deviation of each column's numbers; the deviation is shared by few rows."""
    mean = mean_known(values)
    counts = (~np.isnan(values)).sum(axis=0)
    squares = np.where(np.isnan(values), 0.0, np.square(values - mean)).sum(axis=0)
    if len(values) >= MANY_MODELS and counts[counts > 0].min(initial=len(values)) > 1:
        variance = squares / np.maximum(1, counts - 1)
    else:
        freedom = np.maximum(counts - 1, 0).sum()
        variance = np.full(len(mean), squares.sum() / freedom if freedom else 1.0)
    return mean, np.maximum(np.sqrt(variance), LEAST_DEVIATION)


def _log_density(value: Values, mean: Values, deviation: Values) -> Values:
    return -np.log(deviation) - np.square((value - mean) / deviation) / 2
