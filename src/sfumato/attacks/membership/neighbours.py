"""Texts that differ from a candidate in one word: how probable is *this* wording among its like?

A model finds a member more probable than the texts around it; a text that is merely easy has easy
neighbours. The signal is the mean loss of the neighbours less that of the text.

Neighbours come from the embedded public vectors: at words spread evenly over the text, one word is
replaced by its nearest, second nearest, … in the space, spelled with capitals like the original. So
the same text has the same neighbours each time, and their scores are found in the cache. A text
without a known word has no neighbours, and a neutral score.

Care
    Neighbours are as private as the text. They are held in memory and scored like it.

Reference
    Mattern et al. 2023, "Membership inference attacks against language models via neighbourhood
    comparison"; there the words come from a masked language model (``masked_neighbours``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.membership.candidates import spread
from sfumato.attacks.membership.evidence import Evidence, Values
from sfumato.core.errors import InvalidArgument
from sfumato.corpora.words import Words
from sfumato.vectors.space import Space

# Replacements for one word; beyond them words are not much alike.
NEAREST = 16
WORDS_AT_ONCE = 256


def neighbourhood(evidence: Evidence) -> Values:
    """The mean loss of a text's neighbours less its own."""
    if evidence.around is None:
        raise InvalidArgument("this signal needs the losses of neighbours")
    return evidence.around - evidence.losses


def from_vectors(texts: Sequence[str], space: Space, count: int) -> list[list[str]]:
    """At most ``count`` neighbours of each text."""
    segmented = [Words.of(text) for text in texts]
    places = [_known(words, space, count) for words in segmented]
    wanted = {words[place] for words, some in zip(segmented, places, strict=True) for place in some}
    nearest = _replacements(sorted(wanted), space)
    found = []
    for words, some in zip(segmented, places, strict=True):
        pairs = (
            (place, nearest[words[place]][rank])
            for rank in range(NEAREST)
            for place in some
            if rank < len(nearest[words[place]])
        )
        chosen = [pair for pair, _ in zip(pairs, range(count), strict=False)]
        found.append([words.replaced([place], [word]).text for place, word in chosen])
    return found


def spelled_like(word: str, original: str) -> str:
    """With capitals where the original has them.

    >>> spelled_like("madrid", "Paris"), spelled_like("nato", "UN"), spelled_like("cat", "dog")
    ('Madrid', 'NATO', 'cat')
    """
    if original.isupper() and len(original) > 1:
        return word.upper()
    return word.capitalize() if original[:1].isupper() else word


def _known(words: Words, space: Space, count: int) -> list[int]:
    known = [place for place, word in enumerate(words) if space.point_of(word) != space.unknown]
    return spread(known, count)


def _replacements(words: Sequence[str], space: Space) -> dict[str, list[str]]:
    points = space.points(words)
    found: dict[str, list[str]] = {}
    for start in range(0, len(words), WORDS_AT_ONCE):
        some = points[start : start + WORDS_AT_ONCE]
        for word, row in zip(words[start:], _nearest(space, some), strict=False):
            others = (space.words[place] for place in row)
            different = [other for other in others if other.casefold() != word.casefold()]
            found[word] = [spelled_like(other, word) for other in different[:NEAREST]]
    return found


def _nearest(space: Space, points: NDArray[np.intp]) -> list[list[int]]:
    """The nearest words of each point, itself among them."""
    here = space.at(points).astype(np.float32)
    scores = here @ space.vectors.T - np.square(space.vectors).sum(axis=1) / 2
    most = min(NEAREST + 2, len(space))
    found = np.argpartition(-scores, most - 1, axis=1)[:, :most]
    order = np.argsort(-np.take_along_axis(scores, found, axis=1), axis=1, kind="stable")
    return [[int(place) for place in row] for row in np.take_along_axis(found, order, axis=1)]
