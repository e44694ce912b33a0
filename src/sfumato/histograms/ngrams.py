"""Frequent n-grams of private documents, length by length.

Guarantee
    All n-grams of all lengths 1 … N together, with their noisy counts, are (ε, δ)-DP for two
    corpora of which one lacks one contributor, its place left empty.

Why it holds
    The n-grams of each length are one histogram: every contributor gives at most k different ones,
    drawn from the contributor's own documents, and what is below the threshold is dropped. Which
    n-grams are candidates is decided by what was released before: both n-grams of length n − 1 in
    it must have come through. So the histograms are an adaptive composition, which ``thresholds``
    (*several histograms*) accounts for as a whole. Each length gets the same noise, √N times that
    of a single histogram at half of delta, and the same threshold.

Care
    Candidates save contributions, not noise: an n-gram that holds a rare word cannot come through,
    so a contributor does not waste one of k places on it. With N = 1 these are the statistics of a
    bag of words: how many contributors use each word.

Reference
    Kim, Gopi, Kulkarni and Yekhanin 2021, "Differentially private n-gram extraction". Theirs also
    adds noise to a share of the candidates that nobody gave; here none is shown that nobody gave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sfumato.core.checks import at_least
from sfumato.core.progress import progress
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.histograms.counts import NoisyCounts, Tally, words_of_contributors
from sfumato.histograms.thresholds import Noise
from sfumato.histograms.words import CHOICE, NOISE, Budget
from sfumato.text.document import Document
from sfumato.text.words import Words

LONGEST = 20
SCOPE = "the n-grams and their counts"


@dataclass(frozen=True, eq=False)
class Ngrams:
    """The n-grams that came through, a histogram for each length, and what is proven of them all.

    The words of an n-gram are separated by spaces.
    """

    levels: tuple[NoisyCounts, ...]
    guarantee: Guarantee

    def __len__(self) -> int:
        return sum(len(level) for level in self.levels)


def count_ngrams(
    documents: Sequence[Document],
    longest: int,
    budget: Budget,
    randomness: Randomness,
    *,
    before: Callable[[Noise], None] | None = None,
) -> Ngrams:
    """How many contributors have each n-gram of up to ``longest`` words, with noise.

    This is one release: calling it again on the same documents is another one. ``before`` is called
    when nothing is left to do but to draw the noise, which is the same for all lengths.
    """
    at_least("n", longest, 1, LONGEST)
    levels: list[NoisyCounts] = []
    with progress("counting n-grams", longest * len(documents), unit_is_bytes=False) as advance:
        for length in range(1, longest + 1):
            cut = _Cut(length, frozenset(levels[-1].counts) if levels else frozenset())
            tally, drawn = Tally(budget.contribution), randomness.stream(length)
            chosen = drawn.stream(CHOICE)
            for words in words_of_contributors(documents, budget.unit, cut):
                tally.add(words, chosen)
                advance((length - 1) * len(documents) + tally.contributors)
            noise = budget.solve(tally.contributors, levels=longest)
            if before is not None and not levels:
                before(noise)
            levels.append(tally.release(noise, drawn.stream(NOISE)))
    return Ngrams(tuple(levels), budget.promise(noise, randomness, SCOPE))


@dataclass(frozen=True)
class _Cut:
    """The n-grams of a text that can come through, by what came through of the length before."""

    length: int
    before: frozenset[str]

    def __call__(self, text: str) -> Iterator[str]:
        words = [word.lower() for word in Words.of(text)]
        for start in range(len(words) - self.length + 1):
            ngram = words[start : start + self.length]
            if self.length == 1 or (
                " ".join(ngram[:-1]) in self.before and " ".join(ngram[1:]) in self.before
            ):
                yield " ".join(ngram)
