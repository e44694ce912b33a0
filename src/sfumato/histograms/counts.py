"""A private histogram of words: gathered, then released with noise, once.

Guarantee
    What ``Tally.release`` returns is (ε, δ)-DP by ``thresholds``, for two corpora of which one
    lacks one contributor, its place left empty. Everything that is computed from it is covered.

Why it holds
    A contributor's words are chosen from that contributor's documents alone: all different ones, or
    ``words`` of them drawn uniformly if there are more. No word is preferred because others have
    it, so what one contributor gives does not depend on the presence of another. Whoever gives t
    words adds the same weight to each of t counts.

    Noise and counts are whole numbers of *grains*: 1 for plain weights, 2⁻²⁰ for weights by length,
    which are rounded down to grains. A noisy count is the true one plus a Gaussian number that was
    rounded to grains before. As the true one is whole, this is a Gaussian release that was rounded
    afterwards: post-processing. In floating point nothing but the noise is ever rounded, and that
    without looking at a count, so the lowest bits of a noisy count say nothing about the true one.
    A word is shown if its noisy count is at least the threshold in whole grains, plus one half for
    the rounding.

Care
    A tally is private; only a release may leave the process. Releasing a tally twice is two
    releases, so it refuses. Words are cut and counted by public rules alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sfumato.core.errors import BadInput, BudgetExceeded, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.histograms.thresholds import Contribution, Noise

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.text.document import Document

UNITS = ("author", "example")

# Whole numbers that stand for a weight of 1.
_GRAINS = {"plain": 1, "by-length": 2**20}

# Without a threshold, counts below so many standard deviations are mostly noise.
MOSTLY_NOISE = 2.0


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Words with their noisy counts, the largest first: how many contributors gave them, about.

    >>> NoisyCounts({"the": 61.0}, Noise(deviation=9.25, threshold=52.1, epsilon=4.0, delta=1e-6,
    ...     contribution=Contribution(words=60)), contributors=100)
    NoisyCounts(1 word of 100 contributors)
    """

    counts: Mapping[str, float]
    noise: Noise
    contributors: int

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        words = "word" if len(self) == 1 else "words"
        return f"NoisyCounts({len(self):,} {words} of {self.contributors:,} contributors)"


@dataclass
class Tally:
    """The counts of all contributors so far; private."""

    contribution: Contribution
    public: frozenset[str] | None = None
    contributors: int = 0
    released: bool = False
    _grains: dict[str, int] = field(default_factory=dict, repr=False)

    def add(self, words: Iterable[str], randomness: Randomness) -> None:
        """Count one contributor, whose words may repeat."""
        self.contributors += 1
        given = self._choose(list(dict.fromkeys(words)), randomness)
        if given:
            weight = _weight(self.contribution, len(given))
            for word in given:
                self._grains[word] = self._grains.get(word, 0) + weight

    def _choose(self, words: list[str], randomness: Randomness) -> list[str]:
        # Which words are public is known beforehand; which are frequent here is not looked at.
        allowed = words if self.public is None else [one for one in words if one in self.public]
        most = self.contribution.words
        if len(allowed) <= most:
            return allowed
        return [allowed[place] for place in randomness.choose(len(allowed), most)]

    def release(self, noise: Noise, randomness: Randomness) -> NoisyCounts:
        """The words that come through, with noisy counts; once."""
        if noise.contribution != self.contribution:
            raise InvalidArgument("this noise is for contributors who give other numbers of words")
        if (noise.threshold is None) != (self.public is not None):
            raise InvalidArgument("words that are not public need a threshold, and no others do")
        if self.released:
            raise BudgetExceeded("this histogram is released already; a second draw is not paid")
        self.released = True
        # In an order that says nothing about the documents.
        words = sorted(self._grains if self.public is None else self.public)
        unit = _GRAINS[self.contribution.weights]
        drawn = draw_noise(noise.deviation * unit, len(words), randomness)
        least = _least(noise, unit)
        noisy = {
            word: (self._grains.get(word, 0) + added) / unit
            for word, added in zip(words, drawn, strict=True)
            if self._grains.get(word, 0) + added >= least
        }
        ordered = sorted(noisy.items(), key=lambda one: (-one[1], one[0]))
        return NoisyCounts(dict(ordered), noise, self.contributors)


def draw_noise(deviation: float, count: int, randomness: Randomness) -> list[int]:
    """Gaussian numbers, rounded to whole ones."""
    if not count:
        return []
    scaled = randomness.noise(count) * deviation
    rounded: list[int] = [int(one) for one in scaled.round()]
    return rounded


def _least(noise: Noise, unit: int) -> int:
    """The smallest noisy count that is shown, in grains."""
    if noise.threshold is not None:
        # A sum is rounded up to this from one half below it.
        return math.ceil(noise.threshold * unit + 0.5)
    # No privacy depends on this: it keeps words from being taken for frequent that nobody gave.
    return math.ceil(MOSTLY_NOISE * noise.deviation * unit)


def _weight(contribution: Contribution, given: int) -> int:
    """In grains, rounded down; so the squares of all weights sum up to 1 at most, by length."""
    unit = _GRAINS[contribution.weights]
    return unit if contribution.weights == "plain" else math.isqrt(unit * unit // given)


def words_of_contributors(
    documents: Iterable[Document], unit: str, cut: Callable[[str], Iterable[str]]
) -> Iterator[Collection[str]]:
    """The different words of each contributor, in the order of their first appearance."""
    return items_of_contributors(((one, cut(one.text)) for one in documents), unit)


def items_of_contributors(
    given: Iterable[tuple[Document, Iterable[str]]], unit: str
) -> Iterator[Collection[str]]:
    """The different items of each contributor, from documents with the items of each."""
    if unit == "example":
        for _, items in given:
            yield dict.fromkeys(items).keys()
        return
    of_authors: dict[str, dict[str, None]] = {}
    for number, (document, items) in enumerate(given, start=1):
        if document.author is None:
            # As an author of its own, it would count somebody's documents as several authors.
            raise BadInput(
                f"document {number} has no author, but authors are to be protected; name the "
                "field that holds them, or protect examples"
            )
        of_authors.setdefault(document.author, {}).update(dict.fromkeys(items))
    yield from (items.keys() for items in of_authors.values())
