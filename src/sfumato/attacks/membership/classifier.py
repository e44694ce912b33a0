"""The control without a model: can members and others be told apart by their words alone?

If they can, because they come from different months or sources, an attack on the model may score
well without any leak: it tells the sources apart. So a classifier that never sees the model is
trained on four fifths of the texts and tested on the rest, five times. Its features are hashed
words, hashed pairs of words and the length of the text. Its AUC must be one half.

The classifier is a logistic regression with a penalty on the squared weights, fitted by accelerated
gradient steps. Nothing in it is random and nothing is tuned: the step length follows from the rows,
so the result is the same on every machine up to rounding.

Care
    Scores of different folds come from different classifiers, and pooled they would rank below one
    half by chance. So pairs are compared within a fold only. With equally many members in each fold
    the expectation is exactly one half if the labels are exchangeable.

Reference
    Duan et al. 2024, "Do membership inference attacks work on large language models?"; Das et al.
    2024, "Blind baselines beat membership inference attacks for foundation models"; Nesterov 1983
    and Beck and Teboulle 2009, "A fast iterative shrinkage-thresholding algorithm", for the fit.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.results.measured import CONFIDENCE, SHARE, Measured
from sfumato.statistics.ranking import group_auc
from sfumato.text.words import Words

ROUNDS = 300
METRIC = "auc without the model"
BUCKETS = 4096
FOLDS = 5
# With fewer texts on a side, two folds: a fold with one or two texts shows nothing.
FEW = 25
# More texts on a side would hardly narrow the interval.
MOST = 2000


@dataclass(frozen=True, eq=False)
class Logistic:
    """Weights and an intercept; ``score`` is the logarithm of the odds."""

    weights: NDArray[np.floating]
    intercept: float

    def score(self, rows: NDArray[np.floating]) -> NDArray[np.float64]:
        """Higher means the class labeled True."""
        return np.asarray(rows @ self.weights, np.float64) + self.intercept


def fit_logistic(
    rows: NDArray[np.floating], labels: NDArray[np.bool_], penalty: float = 1e-3
) -> Logistic:
    """The classifier that minimizes the mean loss plus ``penalty``·|w|²/2."""
    count = len(rows)
    # The second derivative of the mean loss is at most a quarter of the rows' mean squared length,
    # with the intercept counted as a column of ones.
    step = 1.0 / ((float(np.vdot(rows, rows)) / count + 1.0) / 4 + penalty)
    signs = np.where(labels, 1.0, -1.0)
    weights = np.zeros(rows.shape[1], dtype=rows.dtype)
    ahead, intercept, ahead_intercept, momentum = weights, 0.0, 0.0, 1.0
    for _ in range(ROUNDS):
        margins = signs * (rows @ ahead + ahead_intercept)
        pull = -signs / (1.0 + np.exp(np.clip(margins, -500, 500))) / count
        slope = rows.T @ pull.astype(rows.dtype) + penalty * ahead
        new, new_intercept = ahead - step * slope, ahead_intercept - step * float(pull.sum())
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        push = (momentum - 1) / following
        ahead = (new + push * (new - weights)).astype(rows.dtype)
        ahead_intercept = new_intercept + push * (new_intercept - intercept)
        weights, intercept, momentum = new.astype(rows.dtype), new_intercept, following
    return Logistic(weights, float(intercept))


def auc_without_model(
    members: Sequence[str], others: Sequence[str], randomness: Randomness
) -> Measured | None:
    """The AUC of a classifier that sees only the texts; None with fewer than two on a side."""
    folds = fold_scores(members, others, randomness)
    if not folds:
        return None
    found = group_auc(METRIC, folds, randomness)
    # Resampling within folds underestimates the variance: each text is tested in one fold and
    # trained on in the others, so the errors of folds are correlated. If there is no difference,
    # the variance is twice that of independent folds (Mann and Whitney 1947 for each).
    spread = math.sqrt(2 * sum((len(a) + len(b) + 1) / (12 * len(a) * len(b)) for a, b in folds))
    half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * spread / len(folds)
    low, high = found.low or 0.0, 1.0 if found.high is None else found.high
    ends = max(0.0, min(low, found.value - half)), min(1.0, max(high, found.value + half))
    return Measured(METRIC, found.value, *ends, found.n, SHARE)


def fold_scores(
    members: Sequence[str], others: Sequence[str], randomness: Randomness
) -> list[tuple[Floats, Floats]]:
    """For each fold the scores of its members and others, by a classifier fitted on the rest."""
    sides = [_some(side, randomness) for side in (members, others)]
    fewest = min(len(side) for side in sides)
    folds = min(FOLDS if fewest >= FEW else 2, fewest)
    if folds < 2:
        return []
    rows = [hash_words(side) for side in sides]
    parts = [_dealt(len(side), folds, randomness) for side in sides]
    groups = []
    for fold in range(folds):
        learned = [rows[side][parts[side] != fold] for side in (0, 1)]
        labels = np.repeat([True, False], [len(one) for one in learned])
        classifier = fit_logistic(np.concatenate(learned), labels)
        asked = [classifier.score(rows[side][parts[side] == fold]) for side in (0, 1)]
        groups.append((asked[0], asked[1]))
    return groups


def hash_words(texts: Sequence[str]) -> NDArray[np.float32]:
    """Logarithmic counts of hashed words and pairs, each row scaled to length 1."""
    rows = np.zeros((len(texts), BUCKETS), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        for feature, count in Counter(_features(text)).items():
            row[zlib.crc32(feature.encode()) % BUCKETS] += math.log1p(count)
    # Every text has a length, so no row is empty.
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def _features(text: str) -> Iterator[str]:
    words = [word.casefold() for word in Words.of(text)]
    yield from words
    yield from (" ".join(pair) for pair in pairwise(words))
    yield f"length:{len(text).bit_length()}"


def _some(texts: Sequence[str], randomness: Randomness) -> list[str]:
    if len(texts) <= MOST:
        return list(texts)
    return [texts[place] for place in randomness.choose(len(texts), MOST).tolist()]


def _dealt(count: int, folds: int, randomness: Randomness) -> NDArray[np.intp]:
    """A random fold for each text, all folds of nearly equal size."""
    order = np.argsort(randomness.uniform(count))
    dealt = np.empty(count, dtype=np.intp)
    dealt[order] = np.arange(count) % folds
    return dealt
