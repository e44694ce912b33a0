"""What noisy vectors are still good for: a task that is learned on them, and who is near whom.

Figures
    ``task accuracy``: the share of documents whose label a ridge regression guesses, which has
    learned from the noisy vectors of other documents and sees a noisy vector. Chance is the share
    of the most frequent label. (The label is what the vectors are meant to tell; what they are not
    meant to tell is measured by ``vector-attributes``.) ``similarity``: the correlation, over pairs
    of documents, between the cosine of their vectors before the noise and their product after it: 1
    where all of it is kept, 0 where nothing is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks.guessed_labels import RowModel, deal_folds, guess_over_folds, share
from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least, extra
from sfumato.core.errors import MissingInput
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead
from sfumato.results.measured import DIFFERENCE, Measured
from sfumato.results.row import HIGHER, UTILITY
from sfumato.statistics.shares import bootstrap_sums
from sfumato.studies.measures.measure import VECTORS, MeasureReading, Specimen

ACCURACY, SIMILARITY = "task accuracy", "similarity"
_SMALL = 1e-300


@dataclass(frozen=True, kw_only=True)
class VectorMeasure:
    """Learn labels from noisy vectors, and compare who is near whom.

    ``folds`` is the number of parts in cross-validation, ``pairs`` how many pairs are compared.
    ``encoder`` is the folder that the vectors are by, if it is not the embedded word vectors.
    """

    folds: int = 5
    pairs: int = 2000
    encoder: FileToRead = ""

    name: ClassVar[str] = "vectors"
    of: ClassVar[str] = VECTORS
    role: ClassVar[str] = UTILITY
    better: ClassVar[Mapping[str, str]] = {ACCURACY: HIGHER, SIMILARITY: HIGHER}

    def __post_init__(self) -> None:
        at_least("folds", self.folds, 2)
        at_least("pairs", self.pairs, 2)

    def measure(self, specimen: Specimen, randomness: Randomness) -> MeasureReading:
        """Accuracy where documents have labels, and similarity."""
        if specimen.released is None or specimen.clear is None or specimen.originals is None:
            raise MissingInput(
                "vectors are compared with their originals: name their file, `originals=IN`"
            )
        figures = [self._similarity(specimen.released, specimen.clear, randomness.stream(0))]
        labels = [one.labels[0] if one.labels else "" for one in specimen.originals]
        counts = Counter(labels)
        kept = [place for place, one in enumerate(labels) if one and counts[one] >= self.folds]
        if len({labels[place] for place in kept}) < 2:
            return MeasureReading(figures=figures, chance={SIMILARITY: 0.0})
        extra("sklearn", needed_for="learning labels from vectors", extra="attack")
        rows, values = list(specimen.released[kept]), [labels[place] for place in kept]
        folds = deal_folds(values, self.folds, randomness.stream(1))
        right = guess_over_folds(ACCURACY, rows, rows, values, folds, RowModel)
        majority = max(Counter(values).values()) / len(values)
        return MeasureReading(
            figures=[share(ACCURACY, right), *figures],
            chance={ACCURACY: majority, SIMILARITY: 0.0},
        )

    def _similarity(self, released: Floats, clear: Floats, randomness: Randomness) -> Measured:
        count = len(released)
        first, second = randomness.integers(count, 2 * self.pairs).reshape(2, -1)
        differ = first != second
        first, second = first[differ], second[differ]
        before = _cosines(clear[first], clear[second])
        after = _cosines(released[first], released[second])
        ones = np.ones(len(before))
        sums = np.stack([ones, before, after, before**2, after**2, before * after], axis=1)
        return bootstrap_sums(SIMILARITY, sums, _correlation, randomness, DIFFERENCE)


def _cosines(first: Floats, second: Floats) -> Floats:
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    found: Floats = (first * second).sum(axis=1) / np.where(lengths > 0, lengths, 1.0)
    return found


def _correlation(totals: Floats) -> Floats:
    n, x, y, xx, yy, xy = totals.T
    spread = (n * xx - x**2).clip(min=0) * (n * yy - y**2).clip(min=0)
    found: Floats = (n * xy - x * y) / np.sqrt(np.maximum(spread, _SMALL))
    return found.clip(-1.0, 1.0)
