"""How much of its text a privatized document keeps: words, and meaning as word vectors see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.core.randomness import Randomness
from sfumato.metrics.reconstruction import jaccard
from sfumato.metrics.similarity import sentence_similarity
from sfumato.results.row import HIGHER, Row
from sfumato.statistics.shares import bootstrap_mean
from sfumato.studies.kinds.context import CellResult, Context, Meaning, rows
from sfumato.studies.kinds.corpus import groups_of, texts
from sfumato.text.document import Document
from sfumato.text.words import Words
from sfumato.vectors.load import default_space
from sfumato.vectors.space import Space

FEWEST_IN_GROUP = 3


def compute(context: Context) -> CellResult:
    """Word overlap and similarity between each document and its privatized version."""
    there = texts(context)
    before = there.documents(there.members)
    # Coins stand at the end, and are nobody's text.
    after = there.documents(context.target_path)[: len(before)]
    found = _measure(before, after, context.randomness)
    field = context.cell.settings.get("groups")
    if field:
        for group, places in groups_of(before).items():
            if len(places) >= FEWEST_IN_GROUP:
                own = ([before[place] for place in places], [after[place] for place in places])
                found += _measure(*own, context.randomness, (field, group))
    return CellResult(rows=tuple(found))


def _measure(
    before: Sequence[Document],
    after: Sequence[Document],
    randomness: Randomness,
    group: tuple[str, str] | None = None,
) -> list[Row]:
    originals, replaced = [one.text for one in before], [one.text for one in after]
    overlaps = np.array([jaccard(*pair) for pair in zip(replaced, originals, strict=True)])
    meaning = Meaning(by="text", better=HIGHER)
    found = rows([bootstrap_mean("word overlap", overlaps, randomness)], meaning, group)
    if len(originals) > 1:
        encoder = partial(_mean_vectors, space=default_space())
        near = sentence_similarity(replaced, originals, encoder, randomness)
        named = replace(near.cosine, metric="similarity")
        floor = Meaning(by="text", better=HIGHER, chance={"similarity": near.floor.value})
        found += rows([named], floor, group)
    return found


def _mean_vectors(some: Sequence[str], *, space: Space) -> NDArray[np.float64]:
    """The mean of a text's known words: a simple encoder, and the same for every method."""
    vectors = np.zeros((len(some), space.dimension))
    for place, text in enumerate(some):
        points = space.points(Words.of(text))
        known = points[points != space.unknown]
        if len(known):
            vectors[place] = space.at(known).mean(axis=0)
    return vectors
