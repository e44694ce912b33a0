"""What every recognizer can do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from sfumato.corpora.spans import Span
from sfumato.policies.pii.reading import Reading


class Recognizer(Protocol):
    """Finds one kind of personal data.

    Every span names its rule and gives a reason; neither may hold any of the text.
    """

    @property
    def label(self) -> str:
        """The label of all its spans."""
        ...

    def find(self, reading: Reading) -> Iterator[Span]:
        """The stretches of this kind, in any order; they may overlap."""
        ...
