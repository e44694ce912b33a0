"""How well a tagger finds labeled spans in documents that it has not seen.

Figures
    ``precision``, ``recall`` and ``f1`` of all types together and of each (``f1, PERSON``), exact
    to the character, with intervals over documents; where authors are known, the documents of an
    author count together (``statistics.entities``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from sfumato.core.randomness import Randomness
from sfumato.results.row import HIGHER, UTILITY
from sfumato.statistics.entities import F1, PRECISION, RECALL, Tagged, measure_entities
from sfumato.studies.measures.measure import MODEL, MeasureReading, Specimen


@dataclass(frozen=True, kw_only=True)
class EntitiesMeasure:
    """Let a tagger find spans, and compare them with those that came with the documents."""

    name: ClassVar[str] = "entities"
    of: ClassVar[str] = MODEL
    role: ClassVar[str] = UTILITY
    better: ClassVar[Mapping[str, str]] = {PRECISION: HIGHER, RECALL: HIGHER, F1: HIGHER}
    reads_spans: ClassVar[bool] = True

    def measure(self, specimen: Specimen, randomness: Randomness) -> MeasureReading:
        """Precision, recall and F1."""
        said = specimen.each(self._tag)
        if not any(one.truth or one.said for one, _ in said):
            return MeasureReading(details={"none": "no document has a labeled span"})
        types = said[0][1]
        figures = measure_entities([one for one, _ in said], types, randomness)
        return MeasureReading(figures=figures)

    def _tag(self, specimen: Specimen) -> list[tuple[Tagged, tuple[str, ...]]]:
        from sfumato.text.tagging import types_of
        from sfumato.training.evaluation import tag

        model = specimen.loaded("tagger")
        types = types_of(model.tags)
        return [(one, types) for one in tag(model, specimen.documents)]
