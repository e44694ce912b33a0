"""Words of many documents, looked up in lists all at once.

A word, a run of letters, is known by a number made of its length and its first seven letters in
small letters. Two words may share a number, and all letters beyond ASCII look the same: a list may
seem to hold a word that it does not hold, never the other way round. So this says where a slower
look is worth its time, and nothing more.

Every list that is asked for has a bit of its own in tables by these numbers, 64 lists to a table,
so that all words are looked up in all lists at once.
"""

from __future__ import annotations

from functools import cache, cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.numbering import windows
from sfumato.policies.pii.runs import BEYOND, Codes, Flags, among, is_letter

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
        letter = is_letter(codes)
        turns = np.flatnonzero(letter[1:] != letter[:-1]) + 1
        self.starts, self.ends = turns[::2], turns[1::2]
        self._whole, self._openings, self._closings = self._numbers()
        self._held: dict[int, tuple[int, NDArray[np.uint64]]] = {}

    def __len__(self) -> int:
        return len(self.starts)

    def among(self, words: frozenset[str]) -> Flags:
        """Which words seem to be in a list; a star stands for any letters at either end."""
        shelf, bit = _shelf_of(words)
        listed, held = self._held.get(shelf.number, (0, None))
        if held is None or bit >= listed:
            # Those that are listed from here on are not yet in what is looked up now.
            listed = shelf.listed
            held = shelf.whole[self._whole]
            held |= shelf.openings[self._openings]
            held |= shelf.closings[self._closings]
            self._held[shelf.number] = listed, held
        flags: Flags = (held & np.uint64(1 << bit)) != 0
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
        eights = windows(_small()[self.codes])
        for first in range(0, len(self), _AT_ONCE):  # bounds what is held at a time
            part = slice(first, first + _AT_ONCE)
            lengths = np.minimum(self.ends[part] - self.starts[part], 255)
            letters = eights[self.starts[part]]
            packed = (letters & _masks()[lengths]) << np.uint64(8)
            whole[part] = _spread(packed | lengths.astype(np.uint64))
            openings[part] = _spread(packed & _masks()[_PIECE + 1])
            last = eights[np.maximum(self.ends[part] - _PIECE, 0)]
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


class _Shelf:
    """Up to 64 lists: for every number the bits of the lists with a word that has it.

    The same for beginnings and for ends of words.
    """

    def __init__(self, number: int) -> None:
        self.number, self.listed = number, 0
        self.whole, self.openings, self.closings = (
            np.zeros(1 << 16, dtype=np.uint64) for _ in range(3)
        )

    def add(self, words: frozenset[str]) -> int:
        """Take one more list, and say which bit it has."""
        begun = [word[:-1][:_PIECE] for word in words if word.endswith("*")]
        ended = [word[1:][-_PIECE:] for word in words if word.startswith("*")]
        whole = [word for word in words if "*" not in word]
        bit = np.uint64(1 << self.listed)
        self.whole[_numbers_of(whole, counted=True)] |= bit
        self.openings[_numbers_of(begun, counted=False)] |= bit
        self.closings[_numbers_of(ended, counted=False)] |= bit
        self.listed += 1
        return self.listed - 1


_ON_A_SHELF = 64
_SHELVES: list[_Shelf] = []
_ADDING = Lock()


@cache
def _shelf_of(words: frozenset[str]) -> tuple[_Shelf, int]:
    """Where a list has its bit."""
    with _ADDING:
        if not _SHELVES or _SHELVES[-1].listed == _ON_A_SHELF:
            _SHELVES.append(_Shelf(len(_SHELVES)))
        return _SHELVES[-1], _SHELVES[-1].add(words)


def _numbers_of(words: list[str], *, counted: bool) -> _Numbers:
    packed = []
    for word in words:
        letters = [min(ord(letter), BEYOND) for letter in word.lower()]
        number = min(len(letters), 255) if counted else 0
        for place, code in enumerate(letters[:_LETTERS]):
            number |= code << (8 * (place + 1))
        packed.append(number)
    return _spread(np.array(packed, dtype=np.uint64))
