"""How well a classifier tells the classes of documents apart that it has not seen.

Figures
    ``accuracy``, ``matthews`` (the correlation between what is true and what is said), ``f1,
    macro`` and ``f1, CLASS``, with intervals over documents; where authors are known, the documents
    of an author count together (``statistics.classification``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from sfumato.core.randomness import Randomness
from sfumato.results.row import HIGHER, UTILITY
from sfumato.statistics.classification import ACCURACY, F1, MATTHEWS, Classified, measure_classes
from sfumato.studies.measures.measure import MODEL, MeasureReading, Specimen


@dataclass(frozen=True, kw_only=True)
class ClassificationMeasure:
    """Let a classifier tell the classes of documents, whose label is the class."""

    name: ClassVar[str] = "classification"
    of: ClassVar[str] = MODEL
    role: ClassVar[str] = UTILITY
    better: ClassVar[Mapping[str, str]] = {ACCURACY: HIGHER, MATTHEWS: HIGHER, F1: HIGHER}

    def measure(self, specimen: Specimen, randomness: Randomness) -> MeasureReading:
        """Accuracy, Matthews correlation and F1."""
        said = [one for one in specimen.each(self._classify) if one is not None]
        if not said:
            return MeasureReading(details={"none": "no document has text"})
        classes = said[0][1]
        figures = measure_classes([one for one, _ in said], classes, randomness)
        return MeasureReading(figures=figures, chance={MATTHEWS: 0.0})

    def _classify(self, specimen: Specimen) -> list[tuple[Classified, tuple[str, ...]] | None]:
        from sfumato.training.evaluation import classify

        model = specimen.loaded("classifier")
        found = classify(model, specimen.documents).documents
        return [None if one is None else (one, model.classes) for one in found]
