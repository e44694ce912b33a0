"""Pieces of words, learned from a table of words and how often each occurs.

The most frequent pair of neighboring pieces is joined, again and again (byte-pair encoding). The
trainers of the tokenizers library count the words of texts themselves and take no counts, so texts
would have to be made up that repeat every word; here counts are used as they are, and may be
fractions. Of equally frequent pairs the first in the order of the alphabet is joined, so the same
counts give the same pieces.

Nothing here is private: counts that are a release stay one, whatever is computed from them.

Reference
    Sennrich, Haddow and Birch 2016, "Neural machine translation of rare words with subword units".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import pairwise

Pair = tuple[str, str]
Join = Callable[[str, str], str]


def learn_pairs(
    words: Mapping[tuple[str, ...], float], wanted: int, join: Join = str.__add__
) -> list[Pair]:
    """The pairs to join, in this order, until there are ``wanted`` new pieces or nothing is left.

    ``words`` has the first pieces of each word, and how often the word occurs; ``join`` makes one
    piece of two.

    >>> learn_pairs({("h", "a", "t"): 5, ("c", "a", "t"): 3, ("h", "a", "m"): 1}, wanted=2)
    [('a', 't'), ('h', 'at')]
    """
    state = _State([list(word) for word in words], list(words.values()))
    learned: list[Pair] = []
    made: set[str] = set()
    while len(made) < wanted:
        pair = state.most_frequent()
        if pair is None:
            break
        piece = join(*pair)
        made.add(piece)
        learned.append(pair)
        state.join(pair, piece)
    return learned


@dataclass
class _State:
    """All words in their present pieces, and how often each pair occurs in them."""

    words: list[list[str]]
    counts: Sequence[float]
    pairs: dict[Pair, float] = field(default_factory=lambda: defaultdict(float))
    places: dict[Pair, set[int]] = field(default_factory=lambda: defaultdict(set))
    heap: list[tuple[float, Pair]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for number, word in enumerate(self.words):
            for pair in pairwise(word):
                self.pairs[pair] += self.counts[number]
                self.places[pair].add(number)
        self.heap = [(-count, pair) for pair, count in self.pairs.items()]
        heapify(self.heap)

    def most_frequent(self) -> Pair | None:
        while self.heap:
            count, pair = heappop(self.heap)
            # Whenever a count changes, a new entry is made; old ones are skipped here.
            if self.pairs.get(pair) == -count:
                return pair
        return None

    def join(self, pair: Pair, piece: str) -> None:
        changed: set[Pair] = set()
        for number in sorted(self.places.pop(pair)):
            word, count = self.words[number], self.counts[number]
            before = list(pairwise(word))
            word = self.words[number] = _joined(word, pair, piece)
            after = list(pairwise(word))
            for one in before:
                self.pairs[one] -= count
            for one in after:
                self.pairs[one] += count
                self.places[one].add(number)
            for one in set(before) - set(after):
                self.places[one].discard(number)
            changed.update(before, after)
        del self.pairs[pair]
        self.places.pop(pair, None)
        for one in changed - {pair}:
            if self.places[one]:
                heappush(self.heap, (-self.pairs[one], one))
            else:
                del self.pairs[one], self.places[one]


def _joined(word: list[str], pair: Pair, piece: str) -> list[str]:
    joined: list[str] = []
    place = 0
    while place < len(word):
        if place + 1 < len(word) and (word[place], word[place + 1]) == pair:
            joined.append(piece)
            place += 2
        else:
            joined.append(word[place])
            place += 1
    return joined
