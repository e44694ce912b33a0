"""What the tagger sees of a word: its vector, its letters, its shape, and lists that hold it.

Everything is a whole number, so that the network's sums come out the same on every processor.

Vectors
    Frequent words have the embedded vectors, rounded. For 300,000 rarer words of the same GloVe
    space the weights hold a rough vector, the sum of two of 256 typical ones each; a word is found
    there by 26 bits of its checksum, so that one unknown word in two hundred is taken for a listed
    one.
Letters
    Runs of three, four and five letters, the edges of the word among them, and the word as a
    whole, each with a small learned vector that others with the same checksum share.
Lists
    The list of names and ordinary words that the rules use, and, kept with the rarer words, which
    of them are given names, surnames or parts of place names in public lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.forms import SHAPES, vocabulary
from sfumato.policies.pii.names import list_names, plain
from sfumato.vectors.load import default_space

FULL = 127  # the largest number there is
FINE = 32.0  # steps of a vector's coordinate per unit
BITS = 26
GRAM_BITS = 15
LENGTHS = (3, 4, 5)
LISTS = ("given", "surname", "place")  # the bits of a rare word's lists
FLAGS = ("alone", "paired", "surnames", "words", *LISTS, "frequent", "rare", "long")
_ON = 64
_SPREAD = 2654435761
_FIRST_LETTERS, _LAST_LETTERS = 14, 8
_LONG = 10
_MOST_FIGURES = 6
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True, eq=False)
class Rare:
    """Words outside the embedded vectors, by their checksums in increasing order."""

    keys: NDArray[np.int64]
    codes: NDArray[np.uint8]
    lists: NDArray[np.uint8]
    typical: NDArray[np.int16]

    def places(self, checksums: NDArray[np.int64]) -> NDArray[np.int64]:
        """The row of each checksum, or −1."""
        keys = checksums >> (32 - BITS)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        found: NDArray[np.int64] = np.where(self.keys[places] == keys, places, -1)
        return found

    def vectors(self, places: NDArray[np.int64]) -> NDArray[np.int16]:
        """The rough vectors of some rows."""
        codes = self.codes[places]
        rough: NDArray[np.int16] = self.typical[0, codes[:, 0]] + self.typical[1, codes[:, 1]]
        return rough


@dataclass(frozen=True, eq=False)
class Look:
    """What is seen of some forms, one row each, in whole numbers."""

    vectors: NDArray[np.float32]
    flags: NDArray[np.float32]
    letters: NDArray[np.int64]  # for each letter place the learned vectors to add up, 0 for none
    first_letters: NDArray[np.int64]  # where each form's letter places begin

    @classmethod
    def at(cls, forms: Sequence[str], shapes: NDArray[np.uint8], rare: Rare) -> Look:
        """Look at forms, given their shapes."""
        small = [_cut(form.lower()) for form in forms]
        checksums = np.fromiter(
            (crc32(word.encode("utf-8", "surrogatepass")) for word in small),
            dtype=np.int64,
            count=len(small),
        )
        points = _points(small)
        places = rare.places(checksums)
        vectors = np.zeros((len(forms), _frequent().shape[1]), dtype=np.float32)
        frequent = points >= 0
        vectors[frequent] = _frequent()[points[frequent]]
        listed = places >= 0
        seldom = listed & ~frequent & rare.codes[places].any(axis=1)
        vectors[seldom] = np.clip(rare.vectors(places[seldom]), -FULL, FULL)
        flags = np.zeros((len(forms), len(FLAGS)), dtype=np.float32)
        _flag_names(small, flags)
        bits = np.where(listed, rare.lists[places], 0)
        for number, name in enumerate(LISTS):
            flags[:, FLAGS.index(name)] = (bits >> number) & 1
        flags[:, FLAGS.index("frequent")] = frequent
        flags[:, FLAGS.index("rare")] = seldom
        flags[:, FLAGS.index("long")] = np.fromiter((len(word) >= _LONG for word in small), bool)
        shaped = np.zeros((len(forms), len(SHAPES)), dtype=np.float32)
        shaped[np.arange(len(forms)), shapes] = 1
        letters, first_letters = _letters(small, checksums)
        return cls(vectors, _ON * np.hstack([flags, shaped]), letters, first_letters)


def _cut(word: str) -> str:
    """A word of bounded length: nothing is so long that its middle would tell more.

    Of a number only how many figures it has is seen.
    """
    if word and word[0] not in _LETTERS and word[0].isnumeric():
        return "0" * min(len(word), _MOST_FIGURES)
    if len(word) <= _FIRST_LETTERS + _LAST_LETTERS:
        return word
    return word[:_FIRST_LETTERS] + word[-_LAST_LETTERS:]


def _points(words: Sequence[str]) -> NDArray[np.int64]:
    known = vocabulary()
    return np.fromiter(
        (known[word] if word in known else _point(word) for word in words),
        dtype=np.int64,
        count=len(words),
    )


def _point(word: str) -> int:
    return -1 if word.isascii() else vocabulary().get(plain(word), -1)


@cache
def _frequent() -> NDArray[np.int8]:
    rounded = np.rint(default_space().vectors * np.float32(FINE))
    small: NDArray[np.int8] = np.clip(rounded, -FULL, FULL).astype(np.int8)
    return small


def _flag_names(words: Sequence[str], flags: NDArray[np.float32]) -> None:
    named = _named()
    found = (named.get(word if word.isascii() else plain(word), 0) for word in words)
    bits = np.fromiter(found, dtype=np.uint8, count=len(words))
    for column in range(4):
        flags[:, column] = (bits >> column) & 1


@cache
def _named() -> dict[str, int]:
    """Which of the lists of names and ordinary words hold a word, one bit each."""
    names = list_names()
    bits: dict[str, int] = {}
    for column, listed in enumerate((names.alone, names.paired, names.surnames, names.words)):
        for word in listed:
            bits[word] = bits.get(word, 0) | 1 << column
    return bits


def _letters(
    words: Sequence[str], checksums: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each letter place the rows of the learned vectors of the runs that begin there.

    The last column stands for the whole word, at the first place of each word only.
    """
    joined = "".join(f"\x02{word}\x03" for word in words)
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    sizes = np.fromiter((len(word) + 2 for word in words), dtype=np.int64, count=len(words))
    firsts = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if len(words) else np.zeros(0, np.int64)
    last = np.repeat(firsts + sizes, sizes)  # where the word of each letter ends
    rows = np.zeros((len(codes), len(LENGTHS) + 1), dtype=np.int64)
    place = np.arange(len(codes))
    run: NDArray[np.uint32] = np.zeros(len(codes), dtype=np.uint32)
    for length in range(1, max(LENGTHS) + 1):
        following: NDArray[np.uint32] = np.zeros_like(run)
        following[: max(0, len(codes) - length + 1)] = codes[length - 1 :]
        run = run * np.uint32(31 * 31) + following * np.uint32(7) + np.uint32(length)
        if length in LENGTHS:
            whole = place + length <= last
            rows[:, LENGTHS.index(length)] = np.where(whole, _bucket(run), 0)
    rows[firsts, -1] = _bucket(checksums.astype(np.uint32))
    return rows, firsts


def _bucket(checksums: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Which learned vector: never the first one, which is zero."""
    mixed = (checksums ^ (checksums >> np.uint32(15))) * np.uint32(_SPREAD)
    buckets: NDArray[np.int64] = (mixed >> np.uint32(32 - GRAM_BITS)).astype(np.int64)
    return np.maximum(buckets, 1)
