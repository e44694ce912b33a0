"""How readable a privatized text is, by counting words, sentences and syllables.

Figures
    ``reading ease``: Flesch's score; higher is easier, 60 to 70 is plain English. ``familiar
    pairs``: the share of pairs of neighboring words that also occur in a public ``corpus``, if one
    is given; it falls where grammar breaks. ``change of variety``: how far the share of different
    words is from that of the originals, if they are known. Random words make a text more varied,
    and few words for many make it less varied; neither is better.

Care
    Made for English. Counts say nothing about meaning: compare the figures with those of the two
    anchors of a study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.metrics.readability import Pairs, ReadingCounts, count_reading, reading_ease, variety
from sfumato.results.measured import SHARE, Measured
from sfumato.results.row import HIGHER, LOWER, UTILITY
from sfumato.statistics.shares import bootstrap_sums
from sfumato.studies.measures.measure import TEXT, MeasureReading, Specimen


@dataclass(frozen=True, kw_only=True)
class ReadabilityMeasure:
    """Count words, sentences and syllables; ``corpus`` is a file of public text for pairs."""

    corpus: FileToRead = ""

    name: ClassVar[str] = "readability"
    of: ClassVar[str] = TEXT
    role: ClassVar[str] = UTILITY
    better: ClassVar[Mapping[str, str]] = {
        "reading ease": HIGHER,
        "familiar pairs": HIGHER,
        "change of variety": LOWER,
    }

    def measure(self, specimen: Specimen, randomness: Randomness) -> MeasureReading:
        """Count over all documents together; intervals are over documents."""
        after = specimen.each(self._count)
        if not any(one.words for one in after):
            return MeasureReading(details={"none": "there is no word to read"})
        sums = np.array([[one.words, one.sentences, one.syllables] for one in after], dtype=float)
        ease = lambda totals: reading_ease(*totals.T)  # noqa: E731  # of one row or of many
        figures = [bootstrap_sums("reading ease", sums[sums[:, 0] > 0], ease, randomness)]
        if self.corpus:
            figures += _familiar(after, randomness.stream(0))
        if specimen.originals is not None:
            before = [count_reading(text) for text, _ in specimen.pairs()]
            if any(one.words for one in before):
                change = abs(variety(after) - variety(before))
                words = sum(one.words for one in after)
                figures.append(Measured("change of variety", change, None, None, words, SHARE))
        return MeasureReading(figures=figures)

    def _count(self, specimen: Specimen) -> list[ReadingCounts]:
        public = None
        if self.corpus:
            known = Source.of(Path(self.corpus), Layout()).documents()
            public = Pairs.of(document.text for document in known)
        return [count_reading(document.text, public) for document in specimen.documents]


def _familiar(counts: Sequence[ReadingCounts], randomness: Randomness) -> list[Measured]:
    sums = np.array([[one.familiar, one.pairs] for one in counts if one.pairs], dtype=float)
    if not len(sums):
        return []
    share = lambda totals: totals[:, 0] / totals[:, 1]  # noqa: E731
    return [bootstrap_sums("familiar pairs", sums, share, randomness, SHARE)]
