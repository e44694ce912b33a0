"""How well a classifier tells the classes of documents apart that it has not seen.

Figures
    ``accuracy``, ``matthews`` (the correlation between what is true and what is said), ``f1,
    macro`` and ``f1, CLASS``, with intervals over documents; where authors are known, the documents
    of an author count together (``statistics.classification``). Of classes in a tree also
    ``accuracy, level 1`` and so on, and ``precision``, ``recall`` and ``f1, hierarchical``
    (``statistics.class_tree``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from sfumato.core.randomness import Randomness
from sfumato.results.row import HIGHER, UTILITY
from sfumato.statistics.class_tree import ClassTree, measure_tree
from sfumato.statistics.classification import ACCURACY, F1, MATTHEWS, Classified, measure_classes
from sfumato.studies.measures.measure import MODEL, MeasureReading, Specimen

_Said = tuple[Classified, tuple[str, ...], ClassTree | None]


@dataclass(frozen=True, kw_only=True)
class ClassificationMeasure:
    """Let a classifier tell the classes of documents, whose label is the class."""

    name: ClassVar[str] = "classification"
    of: ClassVar[str] = MODEL
    role: ClassVar[str] = UTILITY
    better: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (ACCURACY, MATTHEWS, F1, "precision", "recall"), HIGHER
    )

    def measure(self, specimen: Specimen, randomness: Randomness) -> MeasureReading:
        """Accuracy, Matthews correlation and F1."""
        said = [one for one in specimen.each(self._classify) if one is not None]
        if not said:
            return MeasureReading(details={"none": "no document has text"})
        classes, tree = said[0][1:]
        documents = [one for one, _, _ in said]
        figures = measure_classes(documents, classes, randomness)
        if tree is not None:
            figures += measure_tree(documents, tree, randomness)
        return MeasureReading(figures=figures, chance={MATTHEWS: 0.0})

    def _classify(self, specimen: Specimen) -> list[_Said | None]:
        from sfumato.training.evaluation import classify

        model = specimen.loaded("classifier")
        found = classify(model, specimen.documents).documents
        return [None if one is None else (one, model.classes, model.tree) for one in found]
