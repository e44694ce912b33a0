"""Counting what was privatized, with memory that does not grow with the corpus.

Where words are replaced one by one, everything counted here can be seen in the output, given the
policy's decisions, which count as public. Where whole stretches are replaced, the output shows
``places`` and their types, which count as public, and not how many words stood there; no file says
more than that. How many words
were unknown or came out unchanged depends on the private words and is counted nowhere, except that
words kept because they are unknown stand in the output anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sfumato.mechanisms.selective import Privatized
from sfumato.releases.columns import Columns


@dataclass
class Tally:
    """Documents and words so far; ``per_document`` maps a number of words to documents.

    ``by_payment`` counts records by what became of them where their authors pay; those that were
    withheld are counted there and nowhere else. ``drawn`` counts documents by what was replaced in
    them under each part of the guarantee, while they are in memory; no file holds it.
    """

    documents: int = 0
    words: int = 0
    uncovered: int = 0
    per_document: Counter[int] = field(default_factory=Counter)
    places: int = 0
    types: Counter[str] = field(default_factory=Counter)
    columns: Columns = field(default_factory=Columns)
    by_payment: Counter[str] = field(default_factory=Counter)
    drawn: Counter[tuple[int, ...]] = field(default_factory=Counter, compare=False)

    @classmethod
    def of(cls, privatized: Iterable[Privatized], together: Iterable[int] | None = None) -> Tally:
        """Count some documents; ``together`` says how many texts each of them is made of."""
        tally = cls()
        remaining = iter(privatized)
        texts = list(remaining) if together is None else None
        groups = (
            [[one] for one in texts]
            if texts is not None
            else [[next(remaining) for _ in range(count)] for count in together or ()]
        )
        for group in groups:
            tally.documents += 1
            tally.words += sum(one.words for one in group)
            tally.uncovered += sum(one.uncovered for one in group)
            tally.per_document[sum(one.selected for one in group)] += 1
            tally.places += sum(one.places for one in group)
            for one in group:
                tally.types.update(one.types)
            tally.drawn[_together([one.drawn for one in group])] += 1
        return tally

    def add(self, other: Tally) -> None:
        """Count further documents."""
        self.documents += other.documents
        self.words += other.words
        self.uncovered += other.uncovered
        self.per_document.update(other.per_document)
        self.places += other.places
        self.types.update(other.types)
        self.columns.add(other.columns)
        self.by_payment.update(other.by_payment)
        self.drawn.update(other.drawn)

    def of_places(self) -> Tally:
        """What may be written where whole stretches are replaced: nothing about words."""
        return Tally(
            documents=self.documents,
            uncovered=self.uncovered,
            places=self.places,
            types=self.types,
            columns=self.columns,
            by_payment=self.by_payment,
        )

    @property
    def selected(self) -> int:
        """How many words were privatized."""
        return sum(words * documents for words, documents in self.per_document.items())

    @property
    def median(self) -> int:
        """Privatized words in the median document (the lower one of two)."""
        below = 0
        for words in sorted(self.per_document):
            below += self.per_document[words]
            if 2 * below >= self.documents:
                return words
        return 0

    @property
    def largest(self) -> int:
        """Privatized words in the document that has most of them."""
        return max(self.per_document, default=0)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "documents": self.documents,
            "words": self.words,
            "uncovered": self.uncovered,
            "places": self.places,
            "types": dict(sorted(self.types.items())),
            "per_document": {str(words): n for words, n in sorted(self.per_document.items())},
            "columns": self.columns.as_dict(),
        } | ({"by_payment": dict(sorted(self.by_payment.items()))} if self.by_payment else {})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Tally:
        """The inverse of ``as_dict``."""
        per_document = {int(words): n for words, n in values["per_document"].items()}
        counts = [values[name] for name in ("documents", "words", "uncovered", "places")]
        types = {str(label): n for label, n in values["types"].items()}
        by_payment = {str(what): n for what, n in values.get("by_payment", {}).items()}
        numbers = (
            *counts, *per_document, *per_document.values(), *types.values(), *by_payment.values(),
        )  # fmt: skip
        if any(type(n) is not int or n < 0 for n in numbers):
            raise ValueError("a count must be a whole number, 0 or more")
        documents, words, uncovered, places = counts
        columns = Columns.from_dict(values["columns"])
        return cls(
            documents,
            words,
            uncovered,
            Counter(per_document),
            places,
            Counter(types),
            columns,
            Counter(by_payment),
        )


def _together(each: list[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sum(counts) for counts in zip(*each, strict=True))
