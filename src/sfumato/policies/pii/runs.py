"""Runs of digits of many documents, with what stands beside each: looked at all at once.

Most recognizers have something to do at few numbers only. Which ones is asked for all numbers of
many documents together, by tables of characters, before any expression is tried. A question may
be answered too often, never too seldom: what lies beyond ASCII counts as every character.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint8]
Flags = NDArray[np.bool_]

BEYOND = 128  # every letter beyond ASCII
SIGN = 129  # every other character beyond ASCII
FAR = 1 << 40  # where no other run of digits follows
MOST = 8  # runs; nobody writes one number in more pieces
PADDING = 4  # line breaks around each document: no look beside a number reaches further
_ZERO, _NINE = ord("0"), ord("9")

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
CAPITALS = LETTERS[:26]
SMALL = LETTERS[26:]
DIGITS = "0123456789"


def among(codes: Codes, characters: str) -> Flags:
    """Which of these are one of some characters, or lie beyond ASCII."""
    flags: Flags = _table(characters)[codes]
    return flags


def surely(codes: Codes, characters: str) -> Flags:
    """Which of these are one of some characters; nothing beyond ASCII is."""
    flags: Flags = _sure_table(characters)[codes]
    return flags


def is_letter(codes: Codes) -> Flags:
    """Which of these are letters, of whatever script."""
    flags: Flags = _letter_table()[codes]
    return flags


@cache
def _table(characters: str) -> Flags:
    table = _sure_table(characters).copy()
    table[[BEYOND, SIGN]] = True
    return table


@cache
def _sure_table(characters: str) -> Flags:
    table = np.zeros(256, dtype=np.bool_)
    table[[ord(character) for character in characters if ord(character) < BEYOND]] = True
    return table


@cache
def _letter_table() -> Flags:
    table = _sure_table(LETTERS).copy()
    table[BEYOND] = True
    return table


class Runs:
    """All runs of digits; ``first`` has the number of the first run of each document."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.codes = _codes(texts)
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        self.offsets = np.cumsum(lengths + PADDING) - lengths
        self.limits = self.offsets + lengths
        digit = ((self.codes >= _ZERO) & (self.codes <= _NINE)).view(np.int8)
        turns = np.flatnonzero(digit[1:] != digit[:-1]) + 1
        self.starts, self.ends = turns[::2], turns[1::2]
        self.first = np.searchsorted(self.starts, np.append(self.offsets, len(self.codes)))

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """How many digits each run has."""
        return self.ends - self.starts

    @cached_property
    def documents(self) -> NDArray[np.int64]:
        """The document of each run."""
        return np.repeat(np.arange(len(self.offsets)), np.diff(self.first))

    @cached_property
    def gaps(self) -> NDArray[np.int64]:
        """How far each run is from the next one of its document."""
        gaps = np.append(self.starts[1:], FAR) - self.ends
        gaps[self.first[1:][self.first[1:] > 0] - 1] = FAR
        return gaps

    @cached_property
    def gaps_before(self) -> NDArray[np.int64]:
        """How far each run is from the one before it."""
        return np.append(FAR, self.gaps)[: len(self)]

    def places(self) -> Iterator[tuple[list[int], list[int], int]]:
        """For each document where its runs start and end, counted in it, and its first run."""
        offsets = self.offsets[self.documents]
        starts, ends = (self.starts - offsets).tolist(), (self.ends - offsets).tolist()
        for first, last in pairwise(self.first.tolist()):
            yield starts[first:last], ends[first:last], first

    def before(self, distance: int) -> Codes:
        """The characters that stand this far before each run; 1 is the one right before."""
        return self.codes[self.starts - distance]

    def after(self, distance: int) -> Codes:
        """The characters that stand this far after each run."""
        return self.codes[self.ends + (distance - 1)]

    def joins(self, characters: str, widest: int = 1) -> Flags:
        """Whether another run follows over a gap that begins with one of some characters."""
        flags: Flags = (self.gaps <= widest) & among(self.after(1), characters)
        return flags

    def following(self, values: NDArray[np.int64], ahead: int = 1) -> NDArray[np.int64]:
        """For each run what holds for one after it; zero where there is none."""
        later = np.zeros_like(values)
        later[: max(0, len(values) - ahead)] = values[ahead:]
        return later

    def totals(self, characters: str, widest: int) -> NDArray[np.int64]:
        """How many digits the runs have at most that follow each other over such gaps."""
        links = self.joins(characters, widest).astype(np.int64)
        total, linked = self.lengths.copy(), np.ones(len(self), dtype=np.int64)
        for ahead in range(1, MOST):
            linked = linked * self.following(links, ahead - 1)
            total += linked * self.following(self.lengths, ahead)
        return total

    def reached(self, characters: str, widest: int) -> NDArray[np.int64]:
        """Where the last of the runs ends that follow each other over such gaps."""
        links = self.joins(characters, widest).astype(np.int64)
        reached, linked = self.ends.copy(), np.ones(len(self), dtype=np.int64)
        for ahead in range(1, MOST):
            linked = linked * self.following(links, ahead - 1)
            np.maximum(reached, linked * self.following(self.ends, ahead), out=reached)
        return reached


def _codes(texts: Sequence[str]) -> Codes:
    breaks = "\n" * PADDING
    joined = breaks + breaks.join(texts) + breaks
    if joined.isascii():
        return np.frombuffer(joined.encode("ascii"), dtype=np.uint8)
    wide = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    codes: Codes = np.minimum(wide, SIGN).astype(np.uint8)
    places = np.flatnonzero(wide >= BEYOND)
    distinct, which = np.unique(wide[places], return_inverse=True)
    letters = np.array([chr(code).isalpha() for code in distinct.tolist()], dtype=np.bool_)
    codes[places] = np.where(letters, BEYOND, SIGN)[which]
    return codes
