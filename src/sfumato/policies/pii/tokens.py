"""Texts cut into tokens, for the tagger.

A token is a run of letters, a run of figures, one of the endings 's, 't, 're, …, a run of one sign,
or a line break or tab. Every form (what a token looks like) has a number; 0 is the empty token, of
which there are some between any two texts, so that nothing that looks at neighbors sees from one
text into another.

Texts are cut together, by comparing the classes of neighboring characters. Classes of common
characters stand in a table; rare ones are looked up once each, however often they stand there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from sfumato.policies.pii.forms import SHAPES, describe, shape_numbers
from sfumato.policies.pii.numbering import number_forms

APART = 6  # empty tokens between two texts: as many as the tagger sees on either side

_KNOWN = 0x2070  # characters below are in the table: Latin, Greek, Cyrillic, …, common signs
_BLANK, _LETTER, _FIGURE, _LINE, _SIGN, _STRANGE = range(6)
_ENDINGS = frozenset(["s", "t", "d", "m", "S", "T", "D", "M", "re", "ve", "ll", "RE", "VE", "LL"])
_LONGEST_ENDING = 2

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of some texts: where each stands in its text, and the number of its form.

    ``shapes`` and ``marks`` are those of the forms, ``shape`` and ``mark`` those of the tokens.
    """

    forms: list[str]
    ids: NDArray[np.int32]
    starts: Places
    ends: Places
    bounds: list[tuple[int, int]]
    shapes: NDArray[np.uint8]
    marks: NDArray[np.uint32]
    shape: NDArray[np.uint8]
    mark: NDArray[np.uint32]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Tokens:
        """Cut texts; ``bounds`` says which tokens are those of each text.

        Of figures only how many there are is told.

        >>> tokens = Tokens.of(["Ann's 12 cats...", "Hm"])
        >>> [tokens.forms[index] for index in tokens.ids if index]
        ['Ann', "'s", '00', 'cats', '...', 'Hm']
        """
        joined = " ".join(texts)
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        offsets = np.cumsum(lengths + 1) - lengths - 1
        codes = _codes(joined)
        starts, ends = _cut(joined, codes)
        figures = np.take(_kinds(), codes[starts], mode="clip") == _FIGURE
        forms, numbers = number_forms(joined, codes, starts, ends, figures)
        counts = np.searchsorted(starts, offsets + lengths) - np.searchsorted(starts, offsets)
        firsts = np.cumsum(counts + APART) - counts - APART
        places = np.arange(len(starts)) + np.repeat(APART * np.arange(len(texts)), counts)
        size = len(starts) + APART * len(texts)
        ids = np.zeros(size, dtype=np.int32)
        ids[places] = numbers
        spread = np.repeat(offsets, counts)
        begin, end = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        begin[places], end[places] = starts - spread, ends - spread
        shapes, marks = describe(forms)
        bounds = list(zip(firsts.tolist(), (firsts + counts).tolist(), strict=True))
        return cls(forms, ids, begin, end, bounds, shapes, marks, shapes[ids], marks[ids])

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Tokens({len(self)} tokens of {len(self.bounds)} texts)"

    def among(self, *names: str) -> NDArray[np.bool_]:
        """Which tokens have one of some shapes."""
        return is_shape(*names)[self.shape]

    def marked(self, bits: int) -> NDArray[np.bool_]:
        """Which tokens have one of some marks."""
        found: NDArray[np.bool_] = (self.mark & np.uint32(bits)) != 0
        return found


@cache
def is_shape(*names: str) -> NDArray[np.bool_]:
    """For the number of each shape whether it is one of some."""
    found = np.zeros(len(SHAPES), dtype=np.bool_)
    found[list(shape_numbers(*names))] = True
    return found


def _cut(joined: str, codes: NDArray[Any]) -> tuple[Places, Places]:
    """Where tokens begin and end in texts that were joined, each with a blank after it."""
    kinds = np.take(_kinds(), codes, mode="clip")
    strange = np.flatnonzero(kinds == _STRANGE)
    if len(strange):
        rare, which = np.unique(codes[strange], return_inverse=True)
        kinds[strange] = _classify("".join(map(chr, rare.tolist())))[which]
    _carry_on(codes, kinds)
    return _with_endings(joined, codes, *_runs(codes, kinds))


def _codes(text: str) -> NDArray[Any]:
    """The characters of a text as numbers."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


@cache
def _kinds() -> NDArray[np.uint8]:
    """The class of each character of the table; the last entry stands for all others."""
    known = _classify("".join(map(chr, range(_KNOWN))))
    return np.append(known, np.uint8(_STRANGE))


def _classify(characters: str) -> NDArray[np.uint8]:
    """The class of each of some characters."""
    kinds = np.full(len(characters), _SIGN, dtype=np.uint8)
    patterns = (r"[\s\x1c-\x1f]", r"[\p{L}\p{M}]", r"\p{N}", r"[\n\t\v\f\x85\u2028\u2029]")
    for kind, pattern in zip((_BLANK, _LETTER, _FIGURE, _LINE), patterns, strict=True):
        kinds[[match.start() for match in regex.finditer(pattern, characters)]] = kind
    return kinds


def _carry_on(codes: NDArray[Any], kinds: NDArray[np.uint8]) -> None:
    """A carriage return belongs to the line break before it, if there is one."""
    returns = codes == ord("\r")
    if returns.any():
        place = np.where(returns, 0, np.arange(len(codes)))
        before = np.maximum.accumulate(place)
        kinds[returns & (kinds[before] == _LINE)] = _LINE


def _runs(codes: NDArray[Any], kinds: NDArray[np.uint8]) -> tuple[Places, Places]:
    """Where characters of one class begin and end to stand together; of signs only equal ones."""
    new = kinds[1:] != kinds[:-1]
    new |= (kinds[1:] == _SIGN) & (codes[1:] != codes[:-1])
    full = kinds != _BLANK
    starts = np.flatnonzero(full & np.append(True, new))
    ends = np.flatnonzero(full & np.append(new, True)) + 1
    return starts, ends


def _with_endings(
    joined: str, codes: NDArray[Any], starts: Places, ends: Places
) -> tuple[Places, Places]:
    """An apostrophe alone and the letters of an ending after it are one token."""
    sizes = ends - starts
    quotes = (codes[starts[:-1]] == ord("'")) & (sizes[:-1] == 1) & (ends[:-1] == starts[1:])
    maybe = np.flatnonzero(quotes & (sizes[1:] <= _LONGEST_ENDING))
    found = [
        place
        for place in maybe.tolist()
        if joined[int(starts[place + 1]) : int(ends[place + 1])] in _ENDINGS
    ]
    if not found:
        return starts, ends
    return np.delete(starts, np.array(found) + 1), np.delete(ends, found)
