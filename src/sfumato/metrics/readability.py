"""How a text reads, by counting: Flesch's ease, variety of words, and familiar pairs of words.

Three modest figures, none of which understands a sentence:

- ``ease``: Flesch's reading ease, 206.835 − 1.015·(words per sentence) − 84.6·(syllables per word).
  Higher is easier, 60 to 70 is plain English. Made for English.
- ``variety``: different words among all words (type–token ratio). It falls with the length of a
  text: compare texts of one length, such as a text with its privatized form.
- ``familiar``: the share of neighboring words that also stand next to each other in a public
  corpus. Word-by-word replacement breaks pairs first, so this falls where grammar breaks.

Syllables
    A run of vowels (a, e, i, o, u, y) counts as one; a silent e at the end does not count (except
    after l with a consonant before it, as in "table"); every word has one at least. Words without
    a Latin letter, numbers among them, count as one. The rule errs for some words in both
    directions.

Reference
    Flesch 1948, "A new readability yardstick".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.core.errors import BadInput
from sfumato.text.words import Words

_VOWELS = re.compile(r"[aeiouy]+")
_SENTENCE_END = re.compile(r"[.!?]+(?=\s|$)|\n+")


@dataclass(frozen=True, slots=True)
class Readability:
    """What was counted, and over how many words and pairs; ``familiar`` needs a public corpus."""

    ease: float
    variety: float
    familiar: float | None
    words: int
    pairs: int


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of neighboring words that a public corpus holds."""

    known: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Pairs:
        """From public texts."""
        return cls(frozenset(pair for text in texts for pair in _pairs(text)))


def measure_readability(texts: Iterable[str], public: Pairs | None = None) -> Readability:
    """Count over all texts together.

    >>> familiar = Pairs.of(["On the mat the cat sat."])
    >>> found = measure_readability(["The cat sat on the mat."], familiar)
    >>> round(found.ease, 1), round(found.variety, 3), found.familiar
    (116.1, 0.833, 0.8)
    """
    counts = [count_reading(text, public) for text in texts]
    words, sentences, spoken, pairs, seen = (
        sum(getattr(one, name) for one in counts)
        for name in ("words", "sentences", "syllables", "pairs", "familiar")
    )
    if not words:
        raise BadInput("there is no word to read")
    return Readability(
        ease=float(reading_ease(words, sentences, spoken)),
        variety=variety(counts),
        familiar=seen / pairs if public is not None and pairs else None,
        words=words,
        pairs=pairs,
    )


@dataclass(frozen=True, slots=True, repr=False)
class ReadingCounts:
    """What is counted in one text; ``familiar`` of the pairs are known."""

    words: int
    sentences: int
    syllables: int
    pairs: int
    familiar: int
    different: frozenset[str]


def count_reading(text: str, public: Pairs | None = None) -> ReadingCounts:
    """Count one text."""
    words = [word.casefold() for word in Words.of(text)]
    pairs = list(_pairs(text))
    return ReadingCounts(
        words=len(words),
        sentences=_sentences(text) if words else 0,
        syllables=sum(map(syllables, words)),
        pairs=len(pairs),
        familiar=0 if public is None else sum(pair in public.known for pair in pairs),
        different=frozenset(words),
    )


def reading_ease(words: Any, sentences: Any, spoken: Any) -> Any:
    """Flesch's formula, for numbers or for arrays of them."""
    return 206.835 - 1.015 * words / sentences - 84.6 * spoken / words


def variety(counts: Sequence[ReadingCounts]) -> float:
    """Different words among all words of some texts."""
    different = frozenset[str]().union(*(one.different for one in counts))
    return len(different) / sum(one.words for one in counts)


def syllables(word: str) -> int:
    """About how many syllables an English word has.

    >>> [syllables(word) for word in ("cat", "table", "make", "reading", "the", "1984")]
    [1, 2, 1, 2, 1, 1]
    """
    lowered = word.lower()
    count = len(_VOWELS.findall(lowered))
    silent = re.search(r"[^aeiouyl]e$|[aeiouy]le$", lowered)
    if count > 1 and silent:
        count -= 1
    return max(1, count)


def _sentences(text: str) -> int:
    """Stretches between ends of sentences that hold a word."""
    return max(1, sum(len(Words.of(piece)) > 0 for piece in _SENTENCE_END.split(text)))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    words = Words.of(text)
    for index in range(1, len(words)):
        gap = text[words.ends[index - 1] : words.starts[index]]
        # Across the end of a sentence two words are no neighbors.
        if not _SENTENCE_END.search(gap):
            yield words[index - 1].casefold(), words[index].casefold()
