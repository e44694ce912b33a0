"""The attacker's prior: the probability of each word, or of each word given the one before.

===========  ===========================================================================
``uniform``  every word of the vocabulary equally likely
``unigram``  by a public corpus, if one is given; else by the order of the public vectors,
             the most frequent word first (Zipf's law with Mandelbrot's shift)
``bigram``   each word given the one before it, from a public corpus (Witten–Bell: a word
             that was followed by many different ones tells less about the next)
===========  ===========================================================================

Nothing here is taken from the text under attack. A prior that fits the text better makes a better
attacker, so a figure holds for its prior and is no bound for others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.core.arrays import Floats, Points
from sfumato.core.checks import one_of
from sfumato.core.errors import InvalidArgument
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.text.words import Words
from sfumato.vectors.space import Space

PRIORS = ("bigram", "uniform", "unigram")
# Mandelbrot's shift: with it the law fits the most frequent words of English, too.
SHIFT = 2.7
# The count of a word that does not occur in the corpus.
UNSEEN = 0.5
_SENTENCE_ENDS = frozenset(".!?\n")


@dataclass(frozen=True, eq=False)
class Bigrams:
    """Probabilities of a word given the one before, on top of the prior of single words.

    P[w | v] = ``weights`` of the pair (v, w) + ``rest`` of v times the prior of w. Words are
    numbered by their index in the prior's ``points``.
    """

    before: Points
    after: Points
    weights: Floats
    rest: Floats

    def ahead(self, now: Floats, prior: Floats) -> Floats:
        """From weights of a word to weights of the next."""
        moved = np.bincount(self.after, now[self.before] * self.weights, minlength=len(now))
        found: Floats = moved + float(now @ self.rest) * prior
        return found

    def among(self, kept: Points) -> Bigrams:
        """The same for a subset of the words, renumbered."""
        place = np.full(len(self.rest), -1, dtype=np.intp)
        place[kept] = np.arange(len(kept))
        before, after = place[self.before], place[self.after]
        both = (before >= 0) & (after >= 0)
        return Bigrams(before[both], after[both], self.weights[both], self.rest[kept])

    def back(self, following: Floats, prior: Floats) -> Floats:
        """From weights of a word to weights of the one before."""
        moved = np.bincount(
            self.before, following[self.after] * self.weights, minlength=len(following)
        )
        found: Floats = moved + float(following @ prior) * self.rest
        return found


@dataclass(frozen=True, eq=False)
class Prior:
    """Possible original points, in any order, and their probabilities."""

    points: Points
    shares: Floats
    said: str
    bigrams: Bigrams | None = None

    def likeliest(self, count: int) -> Points:
        """The best guesses without having seen anything."""
        return self.points[np.argsort(-self.shares, kind="stable")[:count]]

    @cached_property
    def even(self) -> bool:
        """Whether no word is likelier than another."""
        return bool(self.shares.max() == self.shares.min())

    def among(self, count: int, seen: Points) -> Prior:
        """The same for fewer candidates: the first ``count``, and all words that were seen.

        A word that was output is always a good candidate, however rare it is.
        """
        kept = np.flatnonzero((np.arange(len(self.points)) < count) | np.isin(self.points, seen))
        if len(kept) == len(self.points):
            return self
        said = f"{self.said} (the {count:,} most frequent and those that were seen)"
        bigrams = None if self.bigrams is None else self.bigrams.among(kept)
        return Prior(self.points[kept], self.shares[kept] / self.shares[kept].sum(), said, bigrams)


def prior_of(
    name: str, space: Space, possible: Points, corpus: Iterable[Document] | None = None
) -> Prior:
    """The prior called ``name`` over some points of a space."""
    one_of("prior", name, PRIORS)
    if name == "bigram" and corpus is None:
        raise InvalidArgument(
            "prior='bigram' needs a public corpus to learn from: `settings={'corpus': FILE}`"
        )
    if name == "uniform":
        shares = np.full(len(possible), 1 / len(possible))
        return Prior(possible, shares, f"each of {len(possible):,} words alike")
    if corpus is None:
        shares = 1 / (np.arange(len(possible)) + 1 + SHIFT)
        said = f"{len(possible):,} words by their order in {space.name} (Zipf)"
        return Prior(possible, shares / shares.sum(), said)
    return _learn(name, space, possible, corpus)


def selectable(possible: Points, space: Space, policy: Policy) -> Points:
    """The points whose words a policy selects when they stand alone.

    The policy is public: an attacker who knows that only numbers were privatized expects numbers.
    """
    found = [len(policy.find(Document(space.words[point]))) > 0 for point in possible.tolist()]
    if not any(found):
        raise InvalidArgument(
            "the policy selects no word of the vocabulary when it stands alone, because it uses "
            "the words around: `settings={'selectable': 'no'}`"
        )
    return possible[found]


def sentence_ends(gap: str) -> bool:
    """Whether a gap between two words holds the end of a sentence or line."""
    return not _SENTENCE_ENDS.isdisjoint(gap)


def _learn(name: str, space: Space, possible: Points, corpus: Iterable[Document]) -> Prior:
    place = np.full(len(space) + 1, -1, dtype=np.intp)
    place[possible] = np.arange(len(possible))
    counts = np.zeros(len(possible))
    pairs: dict[tuple[int, int], int] = {}
    for document in corpus:
        words = Words.of(document.text)
        numbers = place[space.points(words)]
        np.add.at(counts, numbers[numbers >= 0], 1)
        if name == "bigram":
            _count_pairs(words, numbers.tolist(), pairs)
    shares = counts + UNSEEN
    said = f"{len(possible):,} words by their number in a public corpus of {int(counts.sum()):,}"
    if name == "unigram":
        return Prior(possible, shares / shares.sum(), said)
    said += f", each given the word before it ({len(pairs):,} pairs)"
    return Prior(possible, shares / shares.sum(), said, _bigrams(pairs, len(possible)))


def _count_pairs(words: Words, numbers: list[int], pairs: dict[tuple[int, int], int]) -> None:
    for index in range(1, len(numbers)):
        pair = numbers[index - 1], numbers[index]
        gap = words.text[words.ends[index - 1] : words.starts[index]]
        if min(pair) >= 0 and not sentence_ends(gap):
            pairs[pair] = pairs.get(pair, 0) + 1


def _bigrams(pairs: dict[tuple[int, int], int], size: int) -> Bigrams:
    listed = np.array(list(pairs), dtype=np.intp).reshape(-1, 2)
    counts = np.array(list(pairs.values()), dtype=np.float64)
    before, after = listed[:, 0], listed[:, 1]
    total = np.bincount(before, counts, minlength=size)
    kinds = np.bincount(before, minlength=size)
    whole = np.maximum(total + kinds, 1)
    rest = np.where(total > 0, kinds / whole, 1.0)
    return Bigrams(before, after, counts / whole[before], rest)
