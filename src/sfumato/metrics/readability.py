"""How a text reads: by counting words and syllables, and to a public language model.

Three simple figures are counted; none of them understands a sentence:

- ``ease``: Flesch's reading ease, 206.835 − 1.015·(words per sentence) − 84.6·(syllables per word).
  Higher is easier, 60 to 70 is plain English. Made for English.
- ``variety``: different words among all words (type–token ratio). It falls with the length of a
  text: compare texts of one length, such as a text with its privatized form.
- ``familiar``: the share of neighboring words that also stand next to each other in a public
  corpus. Word-by-word replacement breaks pairs first, so this falls where grammar breaks.

``Coherence`` compares the perplexity of the originals and of the privatized documents under a
language model. Their ratio says by what factor the text became harder to predict (1: not at all).
The two have different tokens, so they are means over different numbers of tokens. The interval of
the ratio resamples documents, each together with its privatized form.

Syllables
    A run of vowels (a, e, i, o, u, y) counts as one; a silent e at the end does not count (except
    after l with a consonant before it, as in "table"); every word has one at least. Words without a
    Latin letter, such as numbers, count as one. The rule errs for some words in both directions.

Care
    The language model must be public: one that was trained on the originals would predict them
    better for another reason. Fluent is not faithful: a model may find a wrong word perfectly
    natural. Measured on private text, the figures are a release of their own.

Reference
    Flesch 1948, "A new readability yardstick".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.results.measured import POSITIVE, Measured, Predicted
from sfumato.statistics.prediction import perplexity
from sfumato.statistics.shares import bootstrap_sums
from sfumato.text.words import Words

_VOWELS = re.compile(r"[aeiouy]+")
_SENTENCE_END = re.compile(r"[.!?]+(?=\s|$)|\n+")


@dataclass(frozen=True, slots=True)
class Readability:
    """The three figures, and the numbers of words and pairs; ``familiar`` needs a public corpus."""

    ease: float
    variety: float
    familiar: float | None
    words: int
    pairs: int


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of neighboring words that occur in a public corpus."""

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
    """The counts of one text; ``familiar`` is the number of known pairs."""

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
    """The number of different words divided by the number of words."""
    different = frozenset[str]().union(*(one.different for one in counts))
    return len(different) / sum(one.words for one in counts)


def syllables(word: str) -> int:
    """The approximate number of syllables of an English word.

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
    """The number of sentences that contain a word."""
    return max(1, sum(len(Words.of(piece)) > 0 for piece in _SENTENCE_END.split(text)))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    words = Words.of(text)
    for index in range(1, len(words)):
        gap = text[words.ends[index - 1] : words.starts[index]]
        # Words of two sentences are not neighbors.
        if not _SENTENCE_END.search(gap):
            yield words[index - 1].casefold(), words[index].casefold()


@dataclass(frozen=True, slots=True)
class Coherence:
    """Perplexity before and after, and their ratio."""

    before: Measured
    after: Measured
    ratio: Measured


def measure_coherence(
    before: Sequence[Predicted], after: Sequence[Predicted], randomness: Randomness
) -> Coherence:
    """Compare a model's predictions on documents and on their privatized form."""
    if len(before) != len(after):
        raise BadInput(
            f"{len(before)} documents before and {len(after)} after: they must be the same ones"
        )
    first = perplexity(before, randomness.stream(0))
    second = perplexity(after, randomness.stream(1))
    return Coherence(first, second, _ratio(before, after, randomness.stream(2)))


def _ratio(
    before: Sequence[Predicted], after: Sequence[Predicted], randomness: Randomness
) -> Measured:
    sums = np.array(
        [
            [one.losses.sum(), len(one.losses), other.losses.sum(), len(other.losses)]
            for one, other in zip(before, after, strict=True)
        ]
    )
    # A document without a token on one side has no ratio.
    sums = sums[(sums[:, 1] > 0) & (sums[:, 3] > 0)]
    if not len(sums):
        raise BadInput("no document has a token both before and after")
    return bootstrap_sums("perplexity ratio", sums, _growth, randomness, POSITIVE)


def _growth(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    logs = sums[:, 2] / sums[:, 3] - sums[:, 0] / sums[:, 1]
    return np.array([math.exp(min(one, 700.0)) for one in logs])
