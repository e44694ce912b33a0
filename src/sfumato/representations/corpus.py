"""A file of noisy vectors, and what is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.core.arrays import Floats
from sfumato.core.display import as_html
from sfumato.guarantees.guarantee import Guarantee
from sfumato.guarantees.wording import at_most
from sfumato.releases.release import NOT_FOR_RELEASE
from sfumato.representations.files import read_stored


@dataclass(frozen=True, repr=False)
class EmbeddedCorpus:
    """Noisy vectors on disk; ``summary`` is what stands in ``side``, beside them."""

    path: Path
    side: Path
    guarantee: Guarantee
    summary: Mapping[str, Any] = field(compare=False)
    already_finished: bool = False

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return int(self.summary["counts"]["documents"])

    def vectors(self) -> Floats:
        """A row for each document, read from the file."""
        return read_stored(self.path).vectors

    @property
    def lines(self) -> list[str]:
        """What there is to tell, for people."""
        settings = self.summary["settings"]
        each = f"{settings['numbers']} numbers for each {self.guarantee.unit}"
        count = self.documents
        found = [
            f"{count:,} document{'s' * (count != 1)} in {self.path}: {each}, by "
            f"{settings['encoder']}, with {settings['representation']} noise",
            *self.guarantee.summary(),
            f"Exactly: {self.guarantee.sentence()}",
            self.summary["proportion"],
        ]
        return [*found, NOT_FOR_RELEASE] if settings["reproducible"] else found

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}({str(self.path)!r})", *self.lines])

    def _repr_html_(self) -> str:
        shown = {
            "file": self.path,
            "documents": f"{self.documents:,}",
            "noise": self.summary["settings"]["representation"],
            "ε": at_most(self.guarantee.epsilon),
            "δ": at_most(self.guarantee.delta) if self.guarantee.delta else "0",
            "may be released": "yes" if self.guarantee.for_release else "no",
        }
        notes = [self.guarantee.sentence(), self.summary["proportion"]]
        return as_html("Noisy vectors", tuple(shown), [tuple(shown.values())], notes)
