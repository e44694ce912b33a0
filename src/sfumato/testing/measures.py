"""A measure: its figures, and what it leaves alone."""

from __future__ import annotations

import json
from dataclasses import is_dataclass

from sfumato.core.randomness import Randomness
from sfumato.results.row import ROLES
from sfumato.studies.measures.measure import (
    MECHANISM,
    MODEL,
    TEXT,
    VECTORS,
    Measure,
    Specimen,
    take,
)
from sfumato.testing.holding import NOTE, SECRET, hold
from sfumato.text.document import Document


def check_measure(measure: Measure, specimen: Specimen | None = None) -> None:
    """A measure, on a specimen that it looks at; one of a text is given a few notes by default.

    It must say of every figure which way is better, draw from nothing but the randomness that it
    is given, leave the specimen as it was, and write no text into its details.
    """
    who = type(measure).__name__
    hold(is_dataclass(measure), f"{who} must be a dataclass: its fields are its settings")
    hold(bool(measure.name), f"{who} needs a name")
    hold(
        measure.of in (TEXT, MODEL, MECHANISM, VECTORS),
        f"{who}.of must be 'text', 'model', 'mechanism' or 'vectors'",
    )
    hold(measure.role in ROLES, f"{who}.role must be one of {', '.join(ROLES)}")
    if specimen is None:
        hold(measure.of == TEXT, f"{who} looks at a {measure.of}: give a specimen to look at")
        before = [Document(f"{NOTE} {number} has the code {SECRET}") for number in range(4)]
        after = [Document(f"{NOTE} {number} has the code tulip") for number in range(4)]
        specimen = Specimen(documents=after, originals=before)
    seen = tuple(specimen.documents)
    first, second = (take(measure, specimen, Randomness.reproducible(1)) for _ in range(2))
    hold(
        bool(first.rows) or bool(first.details.get("none")),
        f"{who} gives no figure, and does not say why in details['none']",
    )
    hold(
        first.rows == second.rows,
        f"{who} must give the same figures with the same randomness: draw from it alone",
    )
    hold(tuple(specimen.documents) == seen, f"{who} must leave the documents as they were")
    written = json.dumps(first.as_dict(), ensure_ascii=False)
    for document in (*specimen.documents, *(specimen.originals or ())):
        hold(document.text not in written, f"{who} writes a private text into its figures")
