"""Plausible deniability of a word: N_w = P[M(w) = w], and S_w, how many words it may become.

S_w is the size of the smallest set of outputs that holds 1 − η of the probability. Both are exact
where a mechanism knows its probabilities (rows). Otherwise they are estimated by drawing: N_w with
an interval, S_w as a lower bound. They depend only on the word and on public vectors, so computing
them costs no privacy; *publishing* them for the words of a private text would reveal those words.

Why the lower bound holds
    Let A be a smallest set with probability at least 1 − η; it has S_w words and does not depend on
    the draws. The number of n draws that fall into A is binomial with probability at least 1 − η,
    so with the stated confidence it is at least q, the lower quantile of that binomial
    distribution. The S_w most frequent words hold at least as many draws as A. So S_w is at least
    the number of words, from the most frequent on, that are needed to hold q draws. The bound can
    be far too small: n draws never show more than n words.

Reference
    Feyisetan et al. 2020, Section 4 (plausible deniability statistics).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import at_least, number
from sfumato.core.errors import InvalidArgument
from sfumato.core.progress import Advance
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rows import CELLS, RowMechanism
from sfumato.metrics.population import FREQUENT
from sfumato.statistics.intervals import clopper_pearson
from sfumato.statistics.shares import binomial_below

CONFIDENCE = 0.95
# Tolerance for rounding in sums of probabilities.
ROUNDING = 1e-12
# Words drawn in one call when there are no rows.
WORDS_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share with its 95 % interval; ``draws`` is 0 if it is exact."""

    value: float
    low: float
    high: float
    draws: int


@dataclass(frozen=True, kw_only=True)
class DrawEffort:
    """The η of S_w, and the number of draws per word where there are no rows."""

    eta: float = 0.1
    draws: int = 150

    def __post_init__(self) -> None:
        at_least("draws", self.draws, 1)
        if not 0 < number("eta", self.eta) < 1:
            raise InvalidArgument(f"eta={self.eta} must lie between 0 and 1, both excluded")


@dataclass(frozen=True, eq=False)
class Deniability:
    """N_w with its interval and S_w, word by word; ``draws`` is 0 where they are exact."""

    keep: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    outputs: NDArray[np.int64]
    draws: int

    @property
    def exact(self) -> bool:
        """Whether the figures are exact, and not estimates."""
        return self.draws == 0

    def estimate(self, place: int) -> Estimate:
        """N_w of one word."""
        return Estimate(
            float(self.keep[place]), float(self.low[place]), float(self.high[place]), self.draws
        )


def measure_deniability(
    mechanism: PointMechanism,
    points: NDArray[np.intp],
    effort: DrawEffort,
    randomness: Randomness,
    done: Advance = lambda _: None,
) -> Deniability:
    """N_w and S_w for each point of a known word; ``done`` is called with numbers of words."""
    if isinstance(mechanism, RowMechanism):
        return _from_rows(mechanism, points, effort.eta, done)
    return _from_draws(mechanism, points, effort, randomness, done)


def _from_rows(
    mechanism: RowMechanism, points: NDArray[np.intp], eta: float, done: Advance
) -> Deniability:
    keep, outputs = np.empty(len(points)), np.empty(len(points), dtype=np.int64)
    size = max(1, CELLS // len(mechanism.space))
    for start in range(0, len(points), size):
        block = points[start : start + size]
        rows = np.exp(mechanism.log_rows(block))
        keep[start : start + size] = rows[np.arange(len(block)), block]
        outputs[start : start + size] = effective_outputs(rows, eta)
        done(len(block))
    return Deniability(keep, keep, keep, outputs, 0)


def effective_outputs(rows: NDArray[np.float64], eta: float) -> NDArray[np.int64]:
    """S_w for each row of probabilities; the rows are sorted in place.

    >>> effective_outputs(np.array([[0.5, 0.3, 0.15, 0.05], [0.0, 1.0, 0.0, 0.0]]), 0.1).tolist()
    [3, 1]
    """
    rows.sort(axis=1)
    held = np.cumsum(rows[:, ::-1], axis=1)
    missing = held < (1 - eta) - ROUNDING
    counts: NDArray[np.int64] = np.minimum(missing.sum(axis=1) + 1, rows.shape[1])
    return counts


def _from_draws(
    mechanism: PointMechanism,
    points: NDArray[np.intp],
    effort: DrawEffort,
    randomness: Randomness,
    done: Advance,
) -> Deniability:
    stayed, outputs = np.empty(len(points), dtype=np.int64), np.empty(len(points), dtype=np.int64)
    for start in range(0, len(points), WORDS_AT_ONCE):
        block = points[start : start + WORDS_AT_ONCE]
        drawn = mechanism.privatize(block.repeat(effort.draws), randomness)
        drawn = drawn.reshape(len(block), effort.draws)
        stayed[start : start + WORDS_AT_ONCE] = (drawn == block[:, None]).sum(axis=1)
        outputs[start : start + WORDS_AT_ONCE] = [
            outputs_at_least(row, effort.eta) for row in drawn
        ]
        done(len(block))
    bounds = {count: interval(count, effort.draws) for count in np.unique(stayed).tolist()}
    low, high = (np.array([bounds[count][end] for count in stayed.tolist()]) for end in (0, 1))
    return Deniability(stayed / effort.draws, low, high, outputs, effort.draws)


def outputs_at_least(drawn: NDArray[np.intp], eta: float, confidence: float = CONFIDENCE) -> int:
    """A lower bound on S_w, with the stated confidence."""
    counts = np.sort(np.unique(drawn, return_counts=True)[1])[::-1]
    return int(np.searchsorted(counts.cumsum(), most_shown(len(drawn), eta, confidence)) + 1)


def most_shown(draws: int, eta: float, confidence: float = CONFIDENCE) -> int:
    """The largest lower bound on S_w that so many draws can give, if all of them differ."""
    return max(1, binomial_below(draws, 1 - eta, 1 - confidence))


def interval(stayed: int, draws: int) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval, valid for every share and number of draws."""
    return clopper_pearson(stayed, draws, CONFIDENCE)


def keep_probabilities(
    mechanism: PointMechanism, words: Sequence[str], draws: int, randomness: Randomness
) -> dict[str, Estimate]:
    """N_w for each distinct word; a word outside the vocabulary can never be an output."""
    at_least("draws", draws, 1)
    space = mechanism.space
    estimates: dict[str, Estimate] = {}
    for word in dict.fromkeys(words):
        point = space.point_of(word)
        if isinstance(mechanism, RowMechanism):
            exact = 0.0 if point == space.unknown else float(mechanism.row(point)[point])
            estimates[word] = Estimate(exact, exact, exact, 0)
            continue
        outputs = mechanism.privatize(np.full(draws, point, dtype=np.intp), randomness)
        stayed = int((outputs == point).sum())
        estimates[word] = Estimate(stayed / draws, *interval(stayed, draws), draws)
    return estimates


def typical_keep_probability(
    mechanism: PointMechanism, randomness: Randomness, *, words: int = 300, draws: int = 40
) -> Estimate:
    """The mean of N_w over a random sample of the frequent public words.

    It shows what a level means in a space, without looking at private text.
    """
    size = min(FREQUENT, len(mechanism.space))
    sample = randomness.choose(size, min(words, size)).astype(np.intp)
    points = np.repeat(sample, draws)
    stayed = int((mechanism.privatize(points, randomness) == points).sum())
    return Estimate(stayed / len(points), *interval(stayed, len(points)), len(points))
