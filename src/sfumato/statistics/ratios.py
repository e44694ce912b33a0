"""How many times one share is another, with an interval that holds for any number of hits.

Why it holds
    Each share lies within its exact limits (Clopper and Pearson) with probability 1 − α/2, so both
    do with 1 − α, however they depend on each other; and then their ratio lies between the least
    first over the largest second and the largest first over the least second. Where the second
    share has no hits there is no upper end: only a least ratio can be stated. This is wider than
    intervals that rely on many hits, which are wrong where they matter here, at a few hits or none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import between, positive
from sfumato.core.errors import BadInput
from sfumato.results.measured import CONFIDENCE, POSITIVE, Measured
from sfumato.statistics.intervals import clopper_pearson


@dataclass(frozen=True)
class Ratio:
    """The ratio of two shares; ``value`` and ``high`` are None if the second has no hits."""

    value: float | None
    low: float
    high: float | None
    hits: tuple[int, int]
    trials: tuple[int, int]

    def measured(self, metric: str) -> Measured | None:
        """As a figure, if it has both ends."""
        if self.value is None or self.high is None:
            return None
        return Measured(metric, self.value, self.low, self.high, min(self.trials), POSITIVE)

    def said(self) -> str:
        """In a few characters.

        >>> ratio_of_shares(np.ones(40, bool), np.zeros(40, bool)).said()
        'at least 8.6'
        >>> ratio_of_shares(np.ones(40, bool), np.arange(40) < 20).said()
        '2 (1.31–3.15)'
        """
        if self.value is None or self.high is None:
            return "at least " + f"{self.low:.2g}" if self.hits[0] else "both none"
        return f"{self.value:.3g} ({self.low:.3g}–{self.high:.3g})"

    def sentence(self, who: str, other: str) -> str:
        """For a note: who reproduces how many, and how often the other does."""
        share = f"{who} {self.hits[0]:,} of {self.trials[0]:,} exactly, "
        beside = f"{other} {self.hits[1]:,} of {self.trials[1]:,}"
        if not self.hits[0]:
            return f"{share}{beside}."
        return f"{share}{beside}: {self.said()} times as often (95 %)."


def ratio_of_shares(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> Ratio:
    """How many times the share of hits in the first is that in the second."""
    if not len(first) or not len(second):
        raise BadInput("there is nothing to compare the shares of")
    confidence = 1 - (1 - CONFIDENCE) / 2
    hits, trials = (int(first.sum()), int(second.sum())), (len(first), len(second))
    (least, most), (few, many) = (
        clopper_pearson(hit, all_, confidence) for hit, all_ in zip(hits, trials, strict=True)
    )
    value = float(first.mean() / second.mean()) if hits[1] else None
    return Ratio(value, least / many, most / few if few > 0 else None, hits, trials)


def trials_to_show(times: float, share: float) -> int:
    """The fewest cases in which a share could be shown to be so many times one without any hits.

    Of both, as many cases are tried; the first has its share of hits exactly, the second none.

    >>> trials_to_show(15, 0.02), trials_to_show(366, 0.02)
    (4300, 85000)
    """
    between("share", positive("share", share), 0.0, 1.0)
    trials = 1
    while _shown(trials, share) < positive("times", times):
        trials *= 2
    step = trials // 2
    while step > trials // 100:  # to two digits or so
        if _shown(trials - step, share) >= times:
            trials -= step
        step //= 2
    return round(trials, 1 - len(str(trials)) + 1)


def _shown(trials: int, share: float) -> float:
    hits = np.arange(trials) < round(share * trials)
    return ratio_of_shares(hits, np.zeros(trials, dtype=np.bool_)).low
