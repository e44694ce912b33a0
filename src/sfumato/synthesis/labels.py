"""Labels of private records: which there can be is public, and which one a record has is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sfumato.core.errors import BadInput
from sfumato.text.document import Document


def count_labels(documents: Sequence[Document], classes: Sequence[str]) -> Counter[str]:
    """Records by label; a label that is not among the public ones is named by its place only."""
    counts: Counter[str] = Counter()
    for number, document in enumerate(documents, start=1):
        label = document.labels[0] if classes and document.labels else ""
        if classes and label not in classes:
            raise BadInput(
                f"{document.place or f'record {number}'} has a label that is not among the public "
                f"ones, {', '.join(classes)}; name it in `classes=...`, or leave the record out"
            )
        counts[label] += 1
    return counts


def label_places(documents: Sequence[Document], classes: Sequence[str]) -> list[int]:
    """The place of each record's label among the public ones; 0 where there are none."""
    places = {name: place for place, name in enumerate(classes)}
    return [places[one.labels[0]] if classes else 0 for one in documents]
