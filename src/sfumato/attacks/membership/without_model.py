"""The control without a model: can members and others be told apart by their words alone?

If they can, because they come from different months or sources, then an attack on the model may
score well without any leak: it tells the sources apart. So a classifier that has never seen the
model (hashed words and pairs of words, and how long the text is) is fitted on four fifths of the
texts and asked about the rest, five times. Its AUC must be one half.

Care
    Scores of different folds come from different classifiers, and pooled they would rank below one
    half by chance; so pairs are compared within a fold only. With as many members in each fold the
    expectation is then exactly one half if the labels are exchangeable.

Reference
    Duan et al. 2024, "Do membership inference attacks work on large language models?"; Das et al.
    2024, "Blind baselines beat membership inference attacks for foundation models".
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.membership.logistic import fit_logistic
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.results.measured import CONFIDENCE, Measured
from sfumato.statistics.ranking import group_auc
from sfumato.text.words import Words

METRIC = "auc without the model"
BUCKETS = 4096
FOLDS = 5
# With fewer of a side two folds: of one or two texts a fold shows nothing.
FEW = 25
# More texts of a side would not sharpen the verdict much.
MOST = 2000


def auc_without_model(
    members: Sequence[str], others: Sequence[str], randomness: Randomness
) -> Measured | None:
    """The AUC of a classifier that sees the texts only; None with fewer than two of a side."""
    folds = fold_scores(members, others, randomness)
    if not folds:
        return None
    found = group_auc(METRIC, folds, randomness)
    # Resampling within folds shows too little: what makes texts of one fold look like members of
    # another does the same the other way round, so each pair of folds errs together. Without a
    # difference the variance is twice that of independent folds (Mann and Whitney 1947 for each).
    spread = math.sqrt(2 * sum((len(a) + len(b) + 1) / (12 * len(a) * len(b)) for a, b in folds))
    half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * spread / len(folds)
    low, high = found.low or 0.0, 1.0 if found.high is None else found.high
    ends = max(0.0, min(low, found.value - half)), min(1.0, max(high, found.value + half))
    return Measured(METRIC, found.value, *ends, found.n)


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
    """Counts of hashed words and pairs, damped, each row of length 1."""
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
    """A fold for each, as many in each as possible, in random order."""
    order = np.argsort(randomness.uniform(count))
    dealt = np.empty(count, dtype=np.intp)
    dealt[order] = np.arange(count) % folds
    return dealt
