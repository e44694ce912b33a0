"""Words with their places, so that whatever is not replaced comes back as it was.

Boundaries are those of Unicode Standard Annex 29. A segment is a word when it holds something a
reader could read: a letter, a number, a character of unknown or private meaning, or a mark that
stands alone. Punctuation, symbols (emoji among them), white space and controls are not words.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import regex


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text by their character offsets.

    >>> list(Words.of("Call 555-1234, Zoë! 👩‍👧"))
    ['Call', '555', '1234', 'Zoë']
    """

    text: str
    starts: array[int]
    ends: array[int]

    @classmethod
    def of(cls, text: str) -> Words:
        """Segment a text."""
        starts, ends = array("q"), array("q")
        for match in _word().finditer(text):
            starts.append(match.start())
            ends.append(match.end())
        return cls(text, starts, ends)

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: int) -> str:
        return self.text[self.starts[index] : self.ends[index]]

    def __repr__(self) -> str:
        return f"Words({len(self)} words)"

    def replaced(self, indices: list[int], replacements: list[str]) -> str:
        """The text with some words (in increasing order) replaced, all else as it was."""
        pieces: list[str] = []
        reached = 0
        for index, replacement in zip(indices, replacements, strict=True):
            pieces.append(self.text[reached : self.starts[index]])
            pieces.append(replacement)
            reached = self.ends[index]
        pieces.append(self.text[reached:])
        return "".join(pieces)


@cache
def _word() -> regex.Pattern[str]:
    # Under the WORD flag \b and \B are UAX #29's boundary and its absence, so (?:\B.)*+ runs to the
    # end of a segment. A mark has nothing to lean on only where a text or line begins; there the
    # module joins it to whatever follows, so it is joined here to something readable or nothing.
    readable = r"[\p{L}\p{N}\p{Alphabetic}\p{Co}\p{Cn}]"
    whole = rf"(?:(?!{readable}).\B)*+{readable}(?:\B.)*+"
    marks = rf"\p{{M}}[\p{{M}}\p{{Cf}}]*+(?:\B{readable}(?:\B.)*+)?"
    return regex.compile(rf"\b(?:{marks}|{whole})", regex.WORD | regex.V1 | regex.DOTALL)
