"""How much of its original a rewritten document keeps: its own words, and what it is about.

Figures
    ``source words kept``: the share of a document's own words (those that are not among the 200
    most frequent public ones) that stand in its new text. ``cosine``: that of the sentence vectors
    of both, by the encoder in a folder or by public word vectors. Its floor, the cosine of texts
    that do not belong together, is the figure's chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead
from sfumato.metrics.rewriting import KEPT, measure_remains, read_encoder
from sfumato.results.row import HIGHER, UTILITY
from sfumato.studies.measures.measure import TEXT, MeasureReading, Specimen


@dataclass(frozen=True, kw_only=True)
class RewritingMeasure:
    """Compare each document with its new text; ``encoder`` is the folder of an encoder."""

    encoder: FileToRead = ""

    name: ClassVar[str] = "rewriting"
    of: ClassVar[str] = TEXT
    role: ClassVar[str] = UTILITY
    better: ClassVar[Mapping[str, str]] = {KEPT: HIGHER, "cosine": HIGHER}

    def measure(self, specimen: Specimen, randomness: Randomness) -> MeasureReading:
        """Own words kept, and the cosine with its floor."""
        pairs = specimen.pairs()
        found = measure_remains(
            [before for before, _ in pairs],
            [after for _, after in pairs],
            read_encoder(self.encoder),
            randomness,
        )
        near = found.similarity
        if near is None:
            return MeasureReading(figures=[found.kept])
        floor = near.floor.value
        return MeasureReading(
            figures=[found.kept, near.cosine],
            chance={"cosine": floor},
            details={"floor_of_cosine": floor},
        )
