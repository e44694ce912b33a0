"""Numbers for the different forms among many tokens, without making a string of each token.

A token of at most eight characters of Latin-1 is a number of eight bytes, so equal tokens are equal
numbers and the work is that of comparing arrays. One of at most sixteen is two such numbers, which
are compared by a checksum first. Other tokens are compared as strings, and so are those that share
a checksum with one that they are not equal to. The result is exact: two tokens have the same number
if and only if they have the same characters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]

_WORD = 8
_MOST_FIGURES = 6  # of more than these nobody asks
_LARGEST = 255
_SLOTS = 16  # bits of the number of slots
_MIX = np.uint64(0xD6E8FEB86659FD93)  # odd, so that nothing is lost in a product
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(_WORD + 1)], dtype=np.uint64)


def number_forms(
    text: str, codes: NDArray[Any], starts: Places, ends: Places, figures: NDArray[np.bool_]
) -> tuple[list[str], NDArray[np.int32]]:
    """The different forms, the empty one first, and the number of each token's form.

    ``codes`` are the characters of the text; tokens that are ``figures`` are read as zeros.
    """
    sizes = ends - starts
    narrow = (sizes <= 2 * _WORD) & (codes[starts] != 0) & ~figures
    if codes.dtype != np.uint8:
        large = np.append(0, np.cumsum(codes > _LARGEST))
        narrow &= large[ends] == large[starts]
    words, ids, forms = windows(codes), np.zeros(len(starts), dtype=np.int32), [""]
    for places in (
        np.flatnonzero(narrow & (sizes <= _WORD)),
        np.flatnonzero(narrow & (sizes > _WORD)),
    ):
        firsts, groups, equal = _numbered(words, starts[places], sizes[places])
        ids[places[equal]] = groups[equal] + len(forms)
        forms += _shown(text, places[firsts], starts, ends)
    lengths = np.where(figures, np.minimum(sizes, _MOST_FIGURES), 0)
    for length in range(1, _MOST_FIGURES + 1):
        held = lengths == length
        if held.any():
            ids[held] = len(forms)
            forms.append("0" * length)
    others = np.flatnonzero(ids == 0)
    shown = _shown(text, others, starts, ends)
    numbers = {form: number for number, form in enumerate(dict.fromkeys(shown), start=len(forms))}
    ids[others] = np.fromiter(map(numbers.__getitem__, shown), np.int32, len(shown))
    return [*forms, *numbers], ids


def _shown(text: str, places: Places, starts: Places, ends: Places) -> list[str]:
    limits = zip(starts[places].tolist(), ends[places].tolist(), strict=True)
    return [text[first:last] for first, last in limits]


def windows(codes: NDArray[Any]) -> NDArray[np.uint64]:
    """The eight characters from each place on as one number; beyond the end there are zeros."""
    padded = np.zeros(len(codes) + _WORD, dtype=np.uint8)
    padded[: len(codes)] = codes
    words: NDArray[np.uint64] = np.ndarray(
        (len(codes) + 1,), dtype="<u8", buffer=padded, strides=(1,)
    )
    return words


def _numbered(
    words: NDArray[np.uint64], starts: Places, sizes: Places
) -> tuple[Places, NDArray[np.int64], NDArray[np.bool_]]:
    """One token of each group, the group of each token, and whether it is equal to that one."""
    low = words[starts] & _MASKS[np.minimum(sizes, _WORD)]
    if not (sizes > _WORD).any():
        firsts, groups = _grouped(low)
        return firsts, groups, np.ones(len(low), dtype=np.bool_)
    high = words[starts + _WORD] & _MASKS[sizes - _WORD]
    firsts, groups = _grouped(low + high * _MIX)
    holder = firsts[groups]
    return firsts, groups, (low == low[holder]) & (high == high[holder])


def _grouped(keys: NDArray[np.uint64]) -> tuple[Places, NDArray[np.int64]]:
    """One place of each different key, and for each key the number of its group."""
    slots = (keys * _SPREAD) >> np.uint64(64 - _SLOTS)
    holders = np.zeros(1 << _SLOTS, dtype=np.int64)
    holders[slots] = np.arange(len(keys))
    holder = holders[slots]
    crowded = np.flatnonzero(keys[holder] != keys)  # another key has the slot
    if len(crowded):
        _, first, group = np.unique(keys[crowded], return_index=True, return_inverse=True)
        holder[crowded] = crowded[first][group]
    chosen = np.zeros(len(keys), dtype=np.bool_)
    chosen[holder] = True
    numbers = np.cumsum(chosen) - 1
    return np.flatnonzero(chosen), numbers[holder]
