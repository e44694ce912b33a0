"""The groups of documents that are looked at apart: authors, dialects, countries, any field."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.corpora.documents import Document
from sfumato.studies.computing.corpus import NOBODY


def groups_of(documents: Sequence[Document]) -> dict[str, list[int]]:
    """Which documents belong to each group, the largest group first.

    >>> two = [Document("a", labels=("GB",)), Document("b", labels=("US",))]
    >>> groups_of([*two, Document("c", labels=("US",))])
    {'US': [1, 2], 'GB': [0]}
    """
    found: dict[str, list[int]] = {}
    for place, document in enumerate(documents):
        for label in document.labels[:1]:
            found.setdefault(label, []).append(place)
    found.pop(NOBODY, None)
    return dict(sorted(found.items(), key=lambda one: (-len(one[1]), one[0])))
