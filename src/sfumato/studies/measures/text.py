"""How much of its original a privatized document keeps: words, and meaning by word vectors.

Figures
    ``word overlap``: the number of words in both texts, divided by the number in either.
    ``similarity``: the cosine of the mean word vectors of a document before and after, rescaled: 1
    is the same text, 0 is no nearer to its own original than to those of other documents, as random
    words are. The floor, the cosine of privatized documents and the originals of others, is
    measured on the same texts and stands in the details. If all documents are alike there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.randomness import Randomness
from sfumato.metrics.reconstruction import jaccard
from sfumato.metrics.similarity import sentence_similarity
from sfumato.results.measured import SHARE
from sfumato.results.row import HIGHER, UTILITY
from sfumato.statistics.shares import bootstrap_mean
from sfumato.studies.measures.measure import TEXT, MeasureReading, Specimen
from sfumato.text.words import Words
from sfumato.vectors.load import default_space
from sfumato.vectors.space import Space


@dataclass(frozen=True, kw_only=True)
class TextMeasure:
    """Compare each document with its privatized version. It has no settings."""

    name: ClassVar[str] = "text"
    of: ClassVar[str] = TEXT
    role: ClassVar[str] = UTILITY
    better: ClassVar[Mapping[str, str]] = {"word overlap": HIGHER, "similarity": HIGHER}

    def measure(self, specimen: Specimen, randomness: Randomness) -> MeasureReading:
        """Word overlap and similarity between each document and its privatized version."""
        pairs = specimen.pairs()
        overlaps = np.array([jaccard(after, before) for before, after in pairs])
        figures = [bootstrap_mean("word overlap", overlaps, randomness, SHARE)]
        if len(pairs) < 2:
            return MeasureReading(figures=figures)
        originals, replaced = [one for one, _ in pairs], [one for _, one in pairs]
        encoder = partial(_mean_vectors, space=default_space())
        near = sentence_similarity(replaced, originals, encoder, randomness)
        if near.rescaled is not None:
            figures.append(replace(near.rescaled, metric="similarity"))
        details = {"cosine": near.cosine.value, "floor_of_cosine": near.floor.value}
        return MeasureReading(figures=figures, chance={"similarity": 0.0}, details=details)


def _mean_vectors(some: Sequence[str], *, space: Space) -> NDArray[np.float64]:
    """The mean vector of a text's known words: a simple encoder, the same for every method."""
    vectors = np.zeros((len(some), space.dimension))
    for place, text in enumerate(some):
        points = space.points(Words.of(text))
        known = points[points != space.unknown]
        if len(known):
            vectors[place] = space.at(known).mean(axis=0)
    return vectors
