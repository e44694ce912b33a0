"""Edits of a text: which stretches were replaced, and by what.

A file format encodes a text in its own way (quoted, escaped), and the encoding can reveal the
original: by an escape that is kept only where nothing changed, or by quotation marks that only the
old word needed. So a format is told all replaced places, whether or not their text has changed, and
its encoding depends on those places and the replacements alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Edit(NamedTuple):
    """Characters ``start`` to ``end`` of the old text, and their replacement."""

    start: int
    end: int
    replacement: str


@dataclass(frozen=True, slots=True)
class Edited:
    """A text after some edits, which are in reading order and do not overlap."""

    text: str
    edits: tuple[Edit, ...] = ()

    @classmethod
    def of(cls, original: str, edits: Iterable[Edit]) -> Edited:
        """Apply edits.

        >>> Edited.of("Room 12", [Edit(5, 7, "nine")]).text
        'Room nine'
        """
        kept = tuple(edits)
        return cls(splice(original, kept), kept)

    def __repr__(self) -> str:
        # Text that was not replaced is here in the clear: keep it out of logs.
        return f"Edited({len(self.edits)} edits)"


def splice(text: str, edits: Iterable[Edit]) -> str:
    """The text with the edits made and every other character as it was."""
    pieces: list[str] = []
    reached = 0
    for start, end, replacement in edits:
        pieces += (text[reached:start], replacement)
        reached = end
    pieces.append(text[reached:])
    return "".join(pieces)
