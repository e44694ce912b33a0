"""A share over the words of several documents, with an interval that knows about the documents.

Words of one document may succeed and fail together, so that n of them say less than n independent
ones. How much less is measured by how the documents differ (the design effect, taken to be 1 at
least), and the exact interval is computed for that smaller number. Where all words agree, or where
there is one document only, nothing can be measured and the words count as they are.

Reference
    Korn and Graubard 1998, "Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.beta import beta_quantile
from sfumato.core.errors import BadInput
from sfumato.core.intervals import clopper_pearson
from sfumato.metrics.prediction import CONFIDENCE, Measured


def share_of(metric: str, hits: NDArray[np.bool_]) -> Measured:
    """The share of hits among independent cases, with the exact 95 % interval.

    >>> share_of("found", np.array([True, False])).value
    0.5
    """
    if not len(hits):
        raise BadInput(f"there is nothing to measure {metric!r} on")
    low, high = clopper_pearson(int(hits.sum()), len(hits), CONFIDENCE)
    return Measured(metric, float(hits.mean()), low, high, len(hits))


def clustered_share(metric: str, hits: NDArray[np.bool_], clusters: NDArray[np.int64]) -> Measured:
    """The share of hits, each in a cluster, with its 95 % interval.

    >>> whole = clustered_share("all", np.array([True] * 8), np.zeros(8, dtype=np.int64))
    >>> whole.value, round(whole.low or 0, 3), whole.high, whole.n
    (1.0, 0.631, 1.0, 8)
    """
    if not len(hits):
        raise BadInput(f"there is nothing to measure {metric!r} on")
    share = float(hits.mean())
    count = _worth(hits, clusters, share)
    alpha = (1 - CONFIDENCE) / 2
    most, rest = share * count, (1 - share) * count
    low = beta_quantile(alpha, most, rest + 1) if most > 0 else 0.0
    high = 1 - beta_quantile(alpha, rest, most + 1) if rest > 0 else 1.0
    return Measured(metric, share, min(low, share), max(high, share), len(hits))


def _worth(hits: NDArray[np.bool_], clusters: NDArray[np.int64], share: float) -> float:
    """How many independent words these are worth."""
    total = len(hits)
    _, which, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    if len(sizes) < 2 or share in (0.0, 1.0):
        return float(total)
    found = np.bincount(which.reshape(-1), weights=hits.astype(np.float64))
    spread = len(sizes) / (len(sizes) - 1) * np.square(found - share * sizes).sum() / total**2
    return float(total) if spread == 0 else min(float(total), share * (1 - share) / float(spread))
