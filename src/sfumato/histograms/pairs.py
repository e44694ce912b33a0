"""Words that stand in the same documents: noisy counts of words, then of pairs of them.

Guarantee
    All words and pairs together, with their noisy counts, are (ε, δ)-DP for two corpora of which
    one lacks one contributor, its place left empty.

Why it holds
    As in ``histograms.ngrams``: words are one histogram, pairs another one, whose candidates are
    decided by the words that came through. A contributor gives at most k different items to each,
    chosen from the contributor's own documents alone: which pairs a document has depends on the
    document, on what was released, and on public lists. ``thresholds`` (*several histograms*)
    accounts for both as a whole.

Care
    A pair is two different words of one document, in alphabetical order. A document of many words
    has very many pairs, of which k are drawn; so k should be larger here than for words alone. Of a
    document only the first ``MOST_WORDS`` different candidates are paired.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from sfumato.core.progress import progress
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.histograms.counts import NoisyCounts, Tally, words_of_contributors
from sfumato.histograms.thresholds import Noise
from sfumato.histograms.words import CHOICE, NOISE, Budget
from sfumato.text.document import Document
from sfumato.text.words import Words

SCOPE = "the words, pairs of words and topics, and their counts"
MOST_WORDS = 200
_HISTOGRAMS = 2


@dataclass(frozen=True, eq=False)
class WordPairs:
    """Words, pairs of them (separated by a space), and what is proven of both together."""

    words: NoisyCounts
    pairs: NoisyCounts
    guarantee: Guarantee


def count_pairs(
    documents: Sequence[Document],
    budget: Budget,
    randomness: Randomness,
    without: Collection[str] = (),
    *,
    before: Callable[[Noise], None] | None = None,
) -> WordPairs:
    """How many contributors have each word, and each pair of words in a document, with noise.

    ``without`` is a public list of words that are not counted. This is one release: calling it
    again on the same documents is another one. ``before`` is called when nothing is left to do but
    to draw the noise, which is the same for both.
    """
    levels: list[NoisyCounts] = []
    left_out = frozenset(without)
    total = _HISTOGRAMS * len(documents)
    with progress("counting words and pairs", total, unit_is_bytes=False) as advance:
        for number in range(_HISTOGRAMS):
            known = frozenset(levels[0].counts) if levels else None
            cut = _Cut(left_out, known)
            tally, drawn = Tally(budget.contribution), randomness.stream(number)
            chosen = drawn.stream(CHOICE)
            for items in words_of_contributors(documents, budget.unit, cut):
                tally.add(items, chosen)
                advance(number * len(documents) + tally.contributors)
            noise = budget.solve(tally.contributors, levels=_HISTOGRAMS)
            if before is not None and not levels:
                before(noise)
            levels.append(tally.release(noise, drawn.stream(NOISE)))
    words, pairs = levels
    return WordPairs(words, pairs, budget.promise(noise, randomness, SCOPE))


@dataclass(frozen=True)
class _Cut:
    """The words of a text, or the pairs of those that came through."""

    left_out: frozenset[str]
    known: frozenset[str] | None

    def __call__(self, text: str) -> Iterator[str]:
        words = dict.fromkeys(word.lower() for word in Words.of(text))
        if self.known is None:
            yield from (one for one in words if one.isalpha() and one not in self.left_out)
            return
        found = sorted(islice((one for one in words if one in self.known), MOST_WORDS))
        for first, second in combinations(found, 2):
            yield f"{first} {second}"
