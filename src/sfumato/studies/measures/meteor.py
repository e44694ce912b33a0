"""METEOR of each privatized document against its original: words, stems and synonyms in common.

Figures
    ``meteor``: the mean over documents, between 0 and 1.

Care
    Synonyms come from WordNet, which is data that no package includes. Without it there is no
    score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.core.randomness import Randomness
from sfumato.metrics.reconstruction import meteor
from sfumato.results.measured import SHARE
from sfumato.results.row import HIGHER, UTILITY
from sfumato.statistics.shares import bootstrap_mean
from sfumato.studies.measures.measure import TEXT, MeasureReading, Specimen


@dataclass(frozen=True, kw_only=True)
class MeteorMeasure:
    """Score each document against its original. It has no settings."""

    name: ClassVar[str] = "meteor"
    of: ClassVar[str] = TEXT
    role: ClassVar[str] = UTILITY
    better: ClassVar[Mapping[str, str]] = {"meteor": HIGHER}

    def measure(self, specimen: Specimen, randomness: Randomness) -> MeasureReading:
        """The mean over documents."""
        scores = np.array(specimen.each(self._score))
        return MeasureReading(figures=[bootstrap_mean("meteor", scores, randomness, SHARE)])

    def _score(self, specimen: Specimen) -> list[float]:
        return [meteor(after, before) for before, after in specimen.pairs()]
