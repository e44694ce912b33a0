"""A text as the recognizers read it: made plain, with its runs of digits found once.

Plain means that a character which only looks different is replaced by the ASCII character it
stands for: Arabic-Indic or full-width digits, no-break spaces, Unicode hyphens, full-width
letters. One character always becomes one character, so a place in the plain text is the same
place in the original.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from sfumato.policies.pii.expressions import Expression

INVISIBLE = "\u200b"  # every character without a shape becomes this one
_LOOK_BACK = 60
_LOOK_AHEAD = 30
_FEW = 40
_MOST_RUNS = 8  # nobody writes one number in more pieces
_WIDEST_GAP = 4


@dataclass(frozen=True, slots=True)
class Reading:
    """The plain text and the places of its runs of ASCII digits."""

    text: str
    small: str  # the text in small letters, to ask quickly whether something stands in it
    starts: array[int]
    ends: array[int]

    @classmethod
    def of(cls, text: str) -> Reading:
        """Read a text.

        >>> Reading.of("tel\u00a0٠١٢\u20113").text
        'tel 012-3'
        """
        plain = _plain(text)
        starts, ends = array("q"), array("q")
        for match in _digits().finditer(plain):
            starts.append(match.start())
            ends.append(match.end())
        return cls(plain, plain.lower(), starts, ends)

    def __repr__(self) -> str:
        return f"Reading({len(self.text)} characters)"

    def before(self, place: int, reach: int = _LOOK_BACK) -> str:
        """The characters just before a place: where a context word would stand."""
        return self.text[max(0, place - reach) : place]

    def after(self, place: int, reach: int = _LOOK_AHEAD) -> str:
        """The characters just after a place."""
        return self.text[place : place + reach]

    def mentions(self, pieces: Iterable[str]) -> bool:
        """Whether any of these pieces, in small letters, stands anywhere in the text."""
        return any(piece in self.small for piece in pieces)

    def near(self, start: int, end: int, cue: Expression) -> bool:
        """Whether a context word stands near; only a bounded stretch is looked at."""
        return bool(cue.search(self.before(start)) or cue.search(self.after(end)))

    def stands_alone(self, run: int, gap: int = _WIDEST_GAP) -> bool:
        """Whether the next run of digits is too far away to belong to this one."""
        return run + 1 == len(self.starts) or self.starts[run + 1] - self.ends[run] > gap

    def runs(self, first: int, gap: Expression, most: int) -> Iterator[tuple[int, str]]:
        """Digit runs from run ``first`` on, joined over gaps, as long as ``most`` digits last.

        Gives the index of the last run and all digits so far, shortest first.
        """
        digits, last = "", first
        while self.ends[last] - self.starts[last] + len(digits) <= most:
            digits += self.text[self.starts[last] : self.ends[last]]
            yield last, digits
            if last + 1 in (len(self.starts), first + _MOST_RUNS):
                return
            if self.starts[last + 1] - self.ends[last] > _WIDEST_GAP:
                return
            if not gap.fullmatch(self.text, self.ends[last], self.starts[last + 1]):
                return
            last += 1


def _plain(text: str) -> str:
    if text.isascii():
        return text
    table = {
        ord(character): plain
        for character in set(_beyond_ascii().findall(text))
        if (plain := _counterpart(character)) != character
    }
    if len(table) > _FEW:
        return text.translate(table)
    for code, plain in table.items():  # a few replacements are much faster than one translation
        text = text.replace(chr(code), plain)
    return text


@lru_cache(4096)
def _counterpart(character: str) -> str:
    """The ASCII character that this one stands for, or the character itself."""
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    same = {"Zs": " ", "Pd": "-", "Zl": "\n", "Zp": "\n", "Cf": INVISIBLE}.get(category)
    if same is None:
        same = {"\u2212": "-", "\u2043": "-", "\u3002": ".", "\u2019": "'"}.get(character)
    if same is None:
        same = unicodedata.normalize("NFKC", character)
    return same if len(same) == 1 and (same.isascii() or same == INVISIBLE) else character


@cache
def _beyond_ascii() -> re.Pattern[str]:
    return re.compile(r"[^\x00-\x7f]")


@cache
def _digits() -> re.Pattern[str]:
    return re.compile(r"[0-9]+")


@cache
def cue(*words: str) -> Expression:
    """A pattern that finds any of these words or phrases, whatever their case."""
    return Expression(rf"(?i)(?<![\p{{L}}\p{{N}}])(?:{'|'.join(words)})(?![\p{{L}}])")
