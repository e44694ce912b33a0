"""How often a record can be rebuilt at most, given what is proven about the release.

Guarantee
    Somebody knows everything but one record, and about that record a prior: without the release
    their best guess counts as right, by whatever measure, with probability at most ``prior``. With
    the release they are right with probability at most ``most_rebuilt(level_at, prior)``.

Why it holds
    Let S be the event that their guess is right. If the record is left out of the corpus, the
    release does not depend on it, so P(S) <= prior, averaged over the prior. For every level and
    its delta, P(S) with the record is at most e^ε times P(S) without it, plus δ: for every value of
    the record, hence on average. The smallest such bound over all pairs (ε, δ) is taken.

Care
    The bound is for one guess about one record. It says nothing about what many records have in
    common, which a model is meant to learn.

Reference
    Balle, Cherubin and Hayes 2022, "Reconstructing training data with informed adversaries"; Hayes,
    Mahloujifar and Balle 2023, "Bounding training data reconstruction in DP-SGD". For Gaussian
    noise without sampling the bound is Φ(Φ⁻¹(prior) + μ), which ``most_rebuilt`` reaches.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sfumato.core.checks import between
from sfumato.core.errors import InvalidArgument

# How often a secret is guessed anyway, for tables.
PRIORS = (1e-2, 1e-4, 1e-6)
# Where deltas are tried: powers of ten below 1, and finer around the best of them.
_SMALLEST, _FINER = 12, 5
_LARGEST = 700.0


def most_rebuilt(level_at: Callable[[float], float], prior: float) -> float:
    """The largest probability of a right guess; ``level_at`` gives a level for a delta.

    >>> most_rebuilt(lambda delta: 0.0, 0.01)  # a release that does not depend on the record
    0.01
    >>> most_rebuilt(lambda delta: math.inf, 0.01)
    1.0
    """
    if not 0 < between("prior", prior, 0.0, 1.0) < 1:
        raise InvalidArgument(f"prior={prior} must lie strictly between 0 and 1")

    def bound(power: float) -> float:
        delta = 10.0**power
        level = level_at(delta)
        return delta + prior * math.exp(level) if level < _LARGEST else math.inf

    if level_at(0.0) == 0.0:
        return prior
    best = min(range(-_SMALLEST, 0), key=bound)
    finer = (best + step / _FINER for step in range(1 - _FINER, _FINER))
    return min(1.0, *map(bound, finer))
