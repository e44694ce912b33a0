"""The words that are measured: frequent public ones, or those a policy selects in a corpus.

Why it matters
    Looking at public words costs no privacy. What is measured on the words of a private text
    reveals something about that text: it is for its owner only, and choosing a level by it would be
    a release that no guarantee covers.

Memory
    A word is kept as its point, so memory grows with the vocabulary and not with the corpus. Words
    outside the vocabulary share one point, can never be an output, and are counted by occurrence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Points
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.policies.policy import Policy, find_in
from sfumato.text.document import Document
from sfumato.text.words import Words
from sfumato.vectors.space import Space

FREQUENT = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class Population:
    """Distinct known words, how often each occurs, and how often an unknown word does."""

    space: Space
    points: Points
    counts: NDArray[np.int64]
    unknown: int = 0
    private: bool = False

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        # The points may be words of a private text.
        return f"Population({len(self)} words)"

    @property
    def occurrences(self) -> int:
        """How many words were counted, including unknown ones."""
        return int(self.counts.sum()) + self.unknown

    def some(self, count: int, randomness: Randomness) -> Points:
        """At most ``count`` different words, all equally likely."""
        if count >= len(self):
            return self.points
        return self.points[randomness.choose(len(self), count)]

    def running_words(self, count: int, randomness: Randomness) -> Points:
        """At most ``count`` known words by occurrence: frequent words are drawn more often."""
        total = int(self.counts.sum())
        if count >= total:
            return self.points.repeat(self.counts)
        places = randomness.choose(total, count)
        return self.points[self.counts.cumsum().searchsorted(places, side="right")]


def frequent_words(space: Space) -> Population:
    """The first words of a public space; nothing private is used."""
    size = min(FREQUENT, len(space))
    return Population(space, np.arange(size, dtype=np.intp), np.ones(size, dtype=np.int64))


def select_words(documents: Iterable[Document], policy: Policy, space: Space) -> Population:
    """The distinct words that a policy selects in documents."""
    seen = np.zeros(len(space) + 1, dtype=np.int64)
    documents_read = 0
    for document, spans in find_in(policy, documents):
        documents_read += 1
        words = Words.of(document.text)
        chosen = spans.select(words)
        np.add.at(seen, space.points(words[index] for index in chosen), 1)
    if not documents_read:
        raise BadInput("the corpus holds no document, so there is no word to measure")
    return _count(space, seen, policy)


def alone_selected(policy: Policy, space: Space) -> Population:
    """The words of the vocabulary that a policy selects when they stand alone.

    A word list or a pattern may be private, so the result counts as private.
    """
    documents = (Document(word) for word in space.words)
    return select_words(documents, policy, space)


def _count(space: Space, seen: NDArray[np.int64], policy: Policy) -> Population:
    points = np.flatnonzero(seen[:-1]).astype(np.intp)
    unknown = int(seen[-1])
    if not len(points) and unknown:
        raise BadInput(
            f"all {unknown:,} words that the policy {policy.name!r} selects are outside the "
            f"vocabulary of {space.name}: they never stay unchanged, so there is nothing to "
            "measure"
        )
    if not len(points):
        raise BadInput(
            f"the policy {policy.name!r} selects no word, so there is nothing to measure"
        )
    return Population(space, points, seen[points], unknown, private=True)
