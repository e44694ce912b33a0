"""How similar two texts are in meaning, and how far replaced words are from their originals.

``sentence_similarity`` is the cosine of two sentence vectors. It is rarely near 0: encoders give
even unrelated texts of one kind a cosine of 0.5 to 0.99. So it comes with a *floor*, the mean over
random pairs of a reconstruction and a reference that do not belong together, and ``rescaled``
between that floor and 1: (cosine − floor) / (1 − floor) is 1 for equal texts and 0 for texts that
are no nearer to their own references than to others, such as random words. The floor is resampled
together with the cosine, so the interval includes its error.

``semantic_distance`` is the mean Euclidean distance between the vectors of a word and of its
replacement, where a word that stayed counts as 0. It is also given as a share of the distance
between two random words, so that 1 means "no nearer than any word".

Care
    A cosine holds for its encoder only. Vectors averaged from a language model that was never
    trained for this make a poor encoder, which shows in a high floor. A distance is about the
    public vectors, not about meaning itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats
from sfumato.core.checks import extra
from sfumato.core.errors import BadInput
from sfumato.core.pretrained import read_network
from sfumato.core.randomness import Randomness
from sfumato.results.measured import DIFFERENCE, Measured, Range
from sfumato.statistics.ranking import derangement
from sfumato.statistics.shares import bootstrap_mean, bootstrap_sums
from sfumato.vectors.space import Space

Encoder = Callable[[Sequence[str]], Floats]
"""A function from texts to vectors, one row each."""

COSINE: Range = DIFFERENCE
# Texts whose strangers are this near to a cosine of 1 cannot be told apart.
ALIKE = 1e-9
PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class Similarity:
    """The mean cosine of texts that belong together, and of texts that do not.

    ``rescaled`` is 0 at the floor and 1 for equal texts; None if the floor itself is 1, because all
    texts are alike.
    """

    cosine: Measured
    floor: Measured
    rescaled: Measured | None


def sentence_similarity(
    reconstructions: Sequence[str],
    references: Sequence[str],
    encoder: Encoder,
    randomness: Randomness,
) -> Similarity:
    """The mean cosine and its floor; the cosine with an empty text is 0."""
    if len(reconstructions) != len(references):
        raise BadInput(
            f"{len(reconstructions)} reconstructions do not belong to {len(references)} references"
        )
    if len(references) < 2:
        raise BadInput(
            "at least two texts are needed, to compare texts that do not belong together"
        )
    first = _unit(encoder(reconstructions), reconstructions)
    second = _unit(encoder(references), references)
    strangers = derangement(len(references), randomness.stream(0))
    own = (first * second).sum(axis=1)
    others = (first * second[strangers]).sum(axis=1)
    return Similarity(
        bootstrap_mean("cosine", own, randomness.stream(1), COSINE),
        bootstrap_mean("cosine of strangers", others, randomness.stream(2), COSINE),
        _rescale(own, others, randomness.stream(3)),
    )


def _rescale(own: Floats, others: Floats, randomness: Randomness) -> Measured | None:
    if 1 - float(others.mean()) <= ALIKE:
        return None
    sums = np.stack([own, others, np.ones(len(own))], axis=1)

    def rescaled(totals: Floats) -> Floats:
        # A resample of texts that are all alike has no floor below 1: nothing is known then.
        room = totals[:, 2] - totals[:, 1]
        gained = totals[:, 0] - totals[:, 1]
        return np.where(room > ALIKE, gained / np.maximum(room, ALIKE), 0.0)

    return bootstrap_sums("rescaled cosine", sums, rescaled, randomness, (None, 1.0))


def mean_pooled(folder: Path) -> Encoder:
    """An encoder from the folder of a transformer: the mean of its last hidden states."""
    extra("transformers", needed_for="a sentence encoder", extra="train")
    from sfumato.core.pretrained import quiet
    from sfumato.models.encoder import pool_states
    from sfumato.models.tokenizer import load_tokenizer

    with quiet():
        network, _ = read_network("AutoModel", folder, "a transformer")
        tokenizer = load_tokenizer(folder)
    network = network.eval()
    limit = int(getattr(network.config, "max_position_embeddings", None) or 512)

    def encoded(texts: Sequence[str]) -> Floats:
        rows = [tokens[:limit].tolist() for tokens in tokenizer.encode_many(list(texts))]
        return pool_states(network, rows, tokenizer.padding)

    return encoded


def _unit(vectors: Floats, texts: Sequence[str]) -> Floats:
    given = np.asarray(vectors, dtype=np.float64)
    if given.ndim != 2 or len(given) != len(texts):
        raise BadInput(f"the encoder gave an array of shape {given.shape} for {len(texts)} texts")
    if not np.isfinite(given).all():
        raise BadInput("the encoder gave a value that is not finite")
    lengths = np.linalg.norm(given, axis=1, keepdims=True)
    unit: Floats = given / np.where(lengths > 0, lengths, 1.0)
    unit[[not text.strip() for text in texts]] = 0.0
    return unit


@dataclass(frozen=True, slots=True)
class SemanticDistance:
    """A mean distance, absolute and relative to random pairs of words."""

    mean: float
    relative: float


def semantic_distance(
    originals: NDArray[np.intp], replacements: NDArray[np.intp], space: Space, typical: float
) -> SemanticDistance:
    """The distance of known originals to their replacements; see ``random_pairs_distance``."""
    mean = _mean_distance(space, originals, replacements)
    return SemanticDistance(mean, mean / typical if typical else 0.0)


def random_pairs_distance(space: Space, randomness: Randomness) -> float:
    """The mean distance between two random words of the public vocabulary."""
    first = randomness.integers(len(space), PAIRS).astype(np.intp)
    second = randomness.integers(len(space), PAIRS).astype(np.intp)
    return _mean_distance(space, first, second)


def _mean_distance(space: Space, first: NDArray[np.intp], second: NDArray[np.intp]) -> float:
    steps = space.at(first) - space.at(second)
    return float(np.sqrt(np.einsum("nd,nd->n", steps, steps)).mean())
