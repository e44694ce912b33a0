"""Words of many documents, looked up in lists all at once.

A word, a run of letters, is known by a number made of its length and its first seven letters in
small letters. Two words may share a number, and all letters beyond ASCII look the same: a list may
seem to hold a word that it does not hold, never the other way round. So this says where a slower
look is worth its time, and nothing more.
"""

from __future__ import annotations

from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.runs import BEYOND, LETTERS, Codes, Flags, among, surely

_LETTERS = 7
_BYTES = 8
_PIECE = 3  # letters by which a word is known that only begins or ends like one of a list
_AT_ONCE = 1 << 18
_SPREAD = 0x9E3779B97F4A7C15
_Places = NDArray[np.int64]
_Numbers = NDArray[np.uint16]


class Words:
    """Where the words stand, in the coordinates of all documents together."""

    def __init__(self, codes: Codes) -> None:
        self.codes = codes
        letter = (surely(codes, LETTERS) | (codes == BEYOND)).view(np.int8)
        turns = np.flatnonzero(letter[1:] != letter[:-1]) + 1
        self.starts, self.ends = turns[::2], turns[1::2]
        self._whole, self._openings, self._closings = self._numbers()

    def __len__(self) -> int:
        return len(self.starts)

    def among(self, words: frozenset[str]) -> Flags:
        """Which words seem to be in a list; a star stands for any letters at either end."""
        whole, openings, closings = _tables(words)
        flags: Flags = whole[self._whole]
        if openings is not None:
            flags = flags | openings[self._openings]
        if closings is not None:
            flags = flags | closings[self._closings]
        return flags

    def ends_of(self, words: frozenset[str]) -> _Places:
        """Where those of a list end."""
        return self.ends[self.among(words)]

    def near_before(self, words: frozenset[str], places: _Places, reach: int) -> Flags:
        """Whether one of a list ends at most this far before each of some places."""
        ends = np.append(-reach - 1, self.ends_of(words))
        held: Flags = places - ends[np.searchsorted(ends, places, side="right") - 1] <= reach
        return held

    def near_after(self, words: frozenset[str], places: _Places, reach: int) -> Flags:
        """Whether one of a list starts at most this far after each of some places."""
        starts = np.append(self.starts[self.among(words)], len(self.codes) + reach + 1)
        return starts[np.searchsorted(starts, places)] - places <= reach

    @cached_property
    def titled(self) -> Flags:
        """Which words begin with a capital."""
        first = self.codes[self.starts]
        held: Flags = ((first >= ord("A")) & (first <= ord("Z"))) | (first == BEYOND)
        return held

    @cached_property
    def beyond(self) -> Flags:
        """Which words have a letter beyond ASCII."""
        places = np.flatnonzero(self.codes == BEYOND)
        return np.searchsorted(places, self.starts) < np.searchsorted(places, self.ends)

    def followed(self, characters: str) -> Flags:
        """Which words are followed by one of some characters."""
        return among(self.codes[self.ends], characters)

    def later(self, flags: Flags, ahead: int) -> Flags:
        """For each word what holds for one after it."""
        return np.append(flags[ahead:], np.zeros(min(ahead, len(flags)), dtype=np.bool_))

    def _numbers(self) -> tuple[_Numbers, _Numbers, _Numbers]:
        whole, openings, closings = (np.empty(len(self), dtype=np.uint16) for _ in range(3))
        small = np.append(_small()[self.codes], np.zeros(_BYTES, dtype=np.uint8))
        eights = np.lib.stride_tricks.sliding_window_view(small, _BYTES)
        for first in range(0, len(self), _AT_ONCE):  # bounds what is held at a time
            part = slice(first, first + _AT_ONCE)
            lengths = np.minimum(self.ends[part] - self.starts[part], 255)
            letters = eights[self.starts[part]].view("<u8")[:, 0]
            packed = (letters & _masks()[lengths]) << np.uint64(8)
            whole[part] = _spread(packed | lengths.astype(np.uint64))
            openings[part] = _spread(packed & _masks()[_PIECE + 1])
            last = eights[np.maximum(self.ends[part] - _PIECE, 0)].view("<u8")[:, 0]
            closings[part] = _spread((last & _masks()[_PIECE]) << np.uint64(8))
        return whole, openings, closings


def _spread(numbers: NDArray[np.uint64]) -> _Numbers:
    spread: _Numbers = ((numbers * np.uint64(_SPREAD)) >> np.uint64(48)).astype(np.uint16)
    return spread


@cache
def _small() -> Codes:
    codes = [ord(chr(code).lower()) if code < BEYOND else code for code in range(256)]
    return np.array(codes, dtype=np.uint8)


@cache
def _masks() -> NDArray[np.uint64]:
    """What keeps the first letters of a word, as many as it has."""
    return np.array([(1 << 8 * min(length, _BYTES)) - 1 for length in range(256)], dtype=np.uint64)


@cache
def _tables(words: frozenset[str]) -> tuple[Flags, Flags | None, Flags | None]:
    """For every number whether a word of the list has it; the same for beginnings and ends."""
    begun = [word[:-1][:_PIECE] for word in words if word.endswith("*")]
    ended = [word[1:][-_PIECE:] for word in words if word.startswith("*")]
    whole = [word for word in words if "*" not in word]
    return (
        _table(whole, counted=True),
        _table(begun, counted=False) if begun else None,
        _table(ended, counted=False) if ended else None,
    )


def _table(words: list[str], *, counted: bool) -> Flags:
    packed = []
    for word in words:
        letters = [min(ord(letter), BEYOND) for letter in word.lower()]
        number = min(len(letters), 255) if counted else 0
        for place, code in enumerate(letters[:_LETTERS]):
            number |= code << (8 * (place + 1))
        packed.append(number)
    table = np.zeros(1 << 16, dtype=np.bool_)
    table[_spread(np.array(packed, dtype=np.uint64))] = True
    return table
