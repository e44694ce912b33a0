"""Vectors of sentences from public word vectors alone: weighted means, for installs without torch.

A word counts the less the more frequent it is in public text: with rank r it has the weight
a/(a + p), p ≈ 1/(11.6·(r + 1)) being its share by Zipf's law and a = 0.001. Words outside the
vocabulary count nothing. The mean has no meaning by itself: all texts of a language share most of
it, so whoever compares such vectors takes a public mean from them first.

Reference
    Arora, Liang and Ma 2017, "A simple but tough-to-beat baseline for sentence embeddings".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.core.arrays import Floats, Points
from sfumato.text.words import Words
from sfumato.vectors.space import Space

_RARE = 1e-3


def mean_vectors(texts: Sequence[str], space: Space) -> Floats:
    """One row for each text: the weighted mean of its known words, 0 where there are none.

    >>> from sfumato.vectors.load import default_space
    >>> near, far = mean_vectors(["the red wine", "a white wine"], default_space())
    >>> near.shape
    (50,)
    """
    found = np.zeros((len(texts), space.dimension))
    for place, text in enumerate(texts):
        points = space.points(Words.of(text))
        # Each word once, with its count: a text may be far longer than the vocabulary.
        known, counts = np.unique(points[points != space.unknown], return_counts=True)
        if len(known):
            weights = counts * _weights(_shares(known, space))
            found[place] = weights @ space.at(known) / weights.sum()
    return found


def public_mean(space: Space) -> Floats:
    """What such vectors have in common, by public word frequencies alone.

    It is the weighted mean of all words, each as often as Zipf's law says.
    """
    points = np.arange(len(space))
    shares = _shares(points, space)
    weights = _weights(shares) * shares
    found: Floats = weights @ space.vectors.astype(np.float64) / weights.sum()
    return found


def _shares(points: Points, space: Space) -> Floats:
    """How frequent words are; they stand in the order of their frequency."""
    spread = math.log(len(space)) + 0.5772
    found: Floats = 1 / (spread * (points + 1))
    return found


def _weights(shares: Floats) -> Floats:
    found: Floats = _RARE / (_RARE + shares)
    return found


def unit_rows(vectors: Floats) -> Floats:
    """Each row at length 1; a row of zeros stays one.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = vectors / np.where(lengths > 0, lengths, 1.0)
    return unit
