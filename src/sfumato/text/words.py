"""Words with their positions, so that everything that is not replaced stays as it was.

Boundaries are those of Unicode Standard Annex 29. A segment is a word when it holds something a
reader could read: a letter, a number, a character of unknown or private meaning, or a mark that
begins a line. Punctuation, symbols (emoji among them), white space and controls are not words. (An
emoji that a zero-width joiner ties to a letter stays outside the word: it is not readable.)
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import regex

from sfumato.text.edits import Edit, Edited


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
        for match in _pattern(text).finditer(text):
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

    def replaced(self, indices: Iterable[int], replacements: Iterable[str]) -> Edited:
        """The text with some words (in increasing order) replaced, all else as it was."""
        return Edited.of(
            self.text,
            (
                Edit(self.starts[index], self.ends[index], replacement)
                for index, replacement in zip(indices, replacements, strict=True)
            ),
        )


def _pattern(text: str) -> re.Pattern[str] | regex.Pattern[str]:
    # Testing whether a text is ASCII costs nothing, and most texts are.
    return _ascii() if text.isascii() else _unicode()


@cache
def _ascii() -> re.Pattern[str]:
    # No group is possessive: in Python 3.11.2 a possessive group that fails half-way keeps what it
    # has matched, and "12," would be a word. Nothing comes after the groups, so there is no
    # backtracking.
    run = r"[A-Za-z]++(?:[:.'](?=[A-Za-z]))?|[0-9]++(?:[,;.'](?=[0-9]))?"
    return re.compile(rf"_*+(?:{run})(?:{run}|_++)*")


@cache
def _unicode() -> regex.Pattern[str]:
    """The rules WB4 to WB13b as one pattern, every repetition possessive and so linear.

    The module's own word boundary (its WORD flag) is not used: it breaks at an apostrophe before a
    vowel and joins a mark at the start of a line to whatever follows.
    """
    letter, hebrew = _class("ALetter", "Hebrew_Letter"), _class("Hebrew_Letter")
    number, katakana, low_line = _class("Numeric"), _class("Katakana"), _class("ExtendNumLet")
    attached = _class("Extend", "Format", "ZWJ")  # WB4: these belong to the character before them
    tail = attached + "*+"
    quote, double = _class("Single_Quote"), _class("Double_Quote")
    in_letters = _class("MidLetter", "MidNumLet", "Single_Quote")
    in_numbers = _class("MidNum", "MidNumLet", "Single_Quote")
    after_hebrew = rf"(?<={hebrew}{attached}*)"
    letters = (
        rf"(?:{letter}++{tail})++(?:{in_letters}{tail}(?={letter})"
        rf"|(?={double}){after_hebrew}{double}{tail}(?={hebrew}))?+"
    )
    numbers = rf"(?:{number}++{tail})++(?:{in_numbers}{tail}(?={number}))?+"
    run = rf"(?:(?:{letters}|{numbers})++|(?:{katakana}{tail})++)"
    joined = rf"(?:{low_line}{tail})"
    chain = (
        rf"{joined}*+{run}(?:{joined}++{run})*+"
        rf"(?:{joined}++|(?={quote}){after_hebrew}{quote}{tail})?+"
    )
    alone = rf"[\p{{L}}\p{{N}}\p{{Alphabetic}}\p{{Co}}\p{{Cn}}]{tail}"
    line_start = r"(?:(?<=[\r\n\v\f\x85\u2028\u2029])|\A)"
    marks = rf"{line_start}(?:(?!\p{{M}}){attached})*+\p{{M}}{tail}"
    return regex.compile(rf"{chain}|{marks}|{alone}", regex.V1)


def _class(*names: str) -> str:
    return "[" + "".join(rf"\p{{WB={name}}}" for name in names) + "]"
