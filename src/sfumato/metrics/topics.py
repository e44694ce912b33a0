"""Topics from noisy counts of words and pairs: post-processing, which costs nothing.

The counts say how many documents have each word and each two words (``histograms.pairs``), and
nothing else of the documents is looked at. Words that stand together more often than their own
counts explain are gathered by a non-negative factorization of the matrix of pairs: entry (i, j) is
the noisy number of documents that have both, over the root of the product of the two words' own
counts. A word's weight in a topic is its share of the topic's column.

Care
    No document is said to have a topic: that would be a release about the document. A pair below
    the threshold counts as none, so rare topics do not come out, by design.

Reference
    Vatsalan et al. 2021, "Privacy-preserving topic modeling"; Arora et al. 2013, "A practical
    algorithm for topic modeling with provable guarantees", for topics from co-occurrences.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from sfumato.core.checks import at_least, extra
from sfumato.core.errors import BadInput
from sfumato.histograms.pairs import WordPairs

MOST_TOPICS = 1000
FEWEST_PAIRS = 4
# What is left of a word that belongs to other topics.
LEAST_SHARE = 0.001


@dataclass(frozen=True)
class Topic:
    """Words with their shares of the topic, the largest first."""

    words: tuple[tuple[str, float], ...]


def find_topics(found: WordPairs, topics: int, words: int = 10) -> tuple[Topic, ...]:
    """So many topics, each with its ``words`` weightiest words."""
    extra("sklearn", needed_for="topics", extra="attack")
    from sklearn.decomposition import NMF
    from sklearn.exceptions import ConvergenceWarning

    at_least("topics", topics, 1, MOST_TOPICS)
    at_least("words", words, 1)
    pairs = [(pair.split(" "), count) for pair, count in found.pairs.counts.items()]
    names = sorted({word for both, _ in pairs for word in both})
    if len(pairs) < FEWEST_PAIRS or len(names) < topics:
        raise BadInput(
            f"too few pairs of words came through for {topics:,} topics: {len(pairs):,} pairs of "
            f"{len(names):,} words. Give more documents, a larger epsilon or fewer topics; these "
            "numbers are released, and the levels of further tries add up"
        )
    places = {name: place for place, name in enumerate(names)}
    matrix = np.zeros((len(names), len(names)))
    for (first, second), count in pairs:
        own = found.words.counts[first] * found.words.counts[second]
        weight = max(0.0, count) / math.sqrt(own)
        matrix[places[first], places[second]] = matrix[places[second], places[first]] = weight
    np.fill_diagonal(matrix, matrix.max(axis=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # All of it is a function of the release, so the start may be fixed.
        model = NMF(n_components=topics, init="nndsvda", random_state=0, max_iter=500)
        weights = model.fit_transform(matrix)
    return tuple(_topic(names, column, words) for column in weights.T)


def _topic(names: list[str], column: np.ndarray, words: int) -> Topic:
    total = float(column.sum()) or 1.0
    order = sorted(range(len(names)), key=lambda place: (-column[place], names[place]))
    return Topic(
        tuple(
            (names[place], float(column[place]) / total)
            for place in order[:words]
            if column[place] > LEAST_SHARE * total
        )
    )
