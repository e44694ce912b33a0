"""How deep a public vector lies among the sentences of a document, along public directions.

Guarantee
    The depth of a candidate y is the smallest, over p public directions v, of the number of
    sentences x with ⟨x, v⟩ < ⟨y, v⟩ and the number of those with ⟨x, v⟩ >= ⟨y, v⟩. If one sentence
    of a document becomes another one, is added or is left out, no depth changes by more than 1.
    With k sentences at most, depths lie between 0 and ⌊k/2⌋.

Why it holds
    One sentence is on one side of y along each direction, so each of the two numbers changes by 1
    at most, and so does a minimum of numbers that do. The two numbers add up to the number of
    sentences, so the smaller one is at most half of it.

Care
    Directions must be public: those that suit the text (its own principal components, or the
    vectors of its sentences) change all depths at once when a sentence does. Here they are drawn by
    a generator whose seed is the digest of the public pool, within the first principal components
    of that pool. The fewer components, the deeper candidates lie; in hundreds of dimensions nearly
    all depths are 0, and the output is uniform.

Reference
    Tukey 1975; Cuesta-Albertos and Nieto-Reyes 2008, "The random Tukey depth"; as a score for a
    draw, Meehan, Mrini and Chaudhuri 2022, "Sentence-level privacy for document embeddings".
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.mechanisms.rewriting.pool import Pool


def public_directions(pool: Pool, components: int | None, projections: int) -> Floats:
    """Random directions within the first components of a pool, or anywhere; one per column."""
    size = pool.vectors.shape[1]
    # A statistical generator will do: directions are public. No noise comes from it.
    generator = np.random.default_rng(int(pool.digest, 16))
    if components is None or components >= size:
        return generator.standard_normal((size, projections))
    vectors = pool.vectors.astype(np.float64)
    vectors -= vectors.mean(axis=0)
    _, axes = np.linalg.eigh(vectors.T @ vectors)
    first = axes[:, ::-1][:, :components]
    # An axis has no sign of its own: its largest coordinate gets the plus.
    largest = first[np.abs(first).argmax(axis=0), np.arange(components)]
    first = first * np.where(largest < 0, -1.0, 1.0)
    found: Floats = first @ generator.standard_normal((components, projections))
    return found


def depths(sentences: Floats, candidates: Floats) -> Floats:
    """The depth of every candidate; both are given by their places along the directions.

    >>> depths(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[-1.0], [0.5], [1.5]])).tolist()
    [0.0, 1.0, 2.0]
    """
    found = np.full(len(candidates), len(sentences) // 2)
    for along, places in zip(sentences.T, candidates.T, strict=True):
        below = np.searchsorted(np.sort(along), places, side="left")
        np.minimum(found, np.minimum(below, len(sentences) - below), out=found)
    return found.astype(np.float64)
