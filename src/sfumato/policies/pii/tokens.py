"""Texts as the tagger reads them: cut into tokens, each with its place and its shape.

A token is a run of letters, a run of digits, an ending such as 's, a run of line breaks and tabs,
or a run of one other character; blanks separate. Several texts stand one after the other, with
empty tokens between them that keep them apart.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import regex
from numpy.typing import NDArray

APART = 4  # empty tokens between two texts: as many as the widest step of a convolution
_AROUND = 32  # tokens on either side in which capitals are counted
_CAPITAL = ("title", "mixed")
FULL = 127

SHAPES = (
    *("empty", "small", "title", "shouted", "letter", "mixed", "uncased", "digits", "ending"),
    *("stop", "comma", "quote", "bracket", "at", "hash", "joint", "line", "other"),
)
_SIGNS = {
    **dict.fromkeys(".!?…", "stop"),
    **dict.fromkeys(",;:", "comma"),
    **dict.fromkeys("\"'`´‘’“”„«»‹›", "quote"),
    **dict.fromkeys("()[]{}<>", "bracket"),
    **dict.fromkeys("-/_&+", "joint"),
    "@": "at",
    "#": "hash",
    **dict.fromkeys("\n\t\v\f\x85\u2028\u2029", "line"),
}


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of some texts: where each stands in its text, and the number of its form."""

    forms: list[str]
    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    bounds: list[tuple[int, int]]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Tokens:
        """Cut texts; ``bounds`` says which tokens are those of each text.

        >>> tokens = Tokens.of(["Ann's 12 cats...", "Hm"])
        >>> [tokens.forms[index] for index in tokens.ids if index]
        ['Ann', "'s", '12', 'cats', '...', 'Hm']
        """
        numbers = {"": 0}
        ids, starts, ends = array("i"), array("q"), array("q")
        bounds = []
        for text in texts:
            first = len(ids)
            spans = [match.span() for match in _pattern(text).finditer(text)]
            ids.extend([numbers.setdefault(text[start:end], len(numbers)) for start, end in spans])
            starts.extend([start for start, _ in spans])
            ends.extend([end for _, end in spans])
            bounds.append((first, len(ids)))
            for column in (ids, starts, ends):
                column.extend((0,) * APART)
        return cls(
            list(numbers),
            np.frombuffer(ids, dtype=np.int32) if ids else np.zeros(0, np.int32),
            np.frombuffer(starts, dtype=np.int64) if ids else np.zeros(0, np.int64),
            np.frombuffer(ends, dtype=np.int64) if ids else np.zeros(0, np.int64),
            bounds,
        )

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Tokens({len(self)} tokens of {len(self.bounds)} texts)"

    def shapes(self) -> NDArray[np.uint8]:
        """The shape of each form."""
        codes = _codes()
        shapes = (codes[_shape(form)] for form in self.forms)
        return np.fromiter(shapes, dtype=np.uint8, count=len(self.forms))

    def around(
        self, shapes: NDArray[np.uint8], begin: int = 0, end: int | None = None
    ) -> NDArray[np.float32]:
        """What is known of some tokens by their neighbors: a blank before each, and case near it.

        The share of words with a capital and the share of words in capitals tell whether a
        capital means something here.
        """
        end = len(self) if end is None else end
        places = np.arange(begin, end)
        first, last = self._limits(places)
        offset = max(0, begin - _AROUND)
        low = np.clip(places - _AROUND, first, last) - offset
        high = np.clip(places + _AROUND + 1, first, last) - offset
        shape = shapes[self.ids[offset : end + _AROUND]]
        capital, shouted, words = (
            _between(np.isin(shape, shape_numbers(*names)), low, high)
            for names in (_CAPITAL, ("shouted",), ("small", "shouted", *_CAPITAL))
        )
        blank = (self.starts[places] > self.ends[places - 1]) & (places > first)
        shares = [capital * FULL // words.clip(1), shouted * FULL // words.clip(1)]
        return np.stack([blank * FULL, *shares], axis=1).astype(np.float32)

    def _limits(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the text of each token begins and ends."""
        bounds = np.array(self.bounds, dtype=np.int64).reshape(-1, 2)
        texts = np.searchsorted(bounds[:, 0], places, side="right") - 1
        return bounds[texts, 0], bounds[texts, 1]


def _between(
    flags: NDArray[np.bool_], low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How many flags are up from one place to another."""
    sums = np.concatenate([[0], np.cumsum(flags)])
    counts: NDArray[np.int64] = sums[high] - sums[low]
    return counts


@cache
def shape_numbers(*names: str) -> tuple[int, ...]:
    """The numbers of some shapes."""
    return tuple(SHAPES.index(name) for name in names)


@cache
def _codes() -> dict[str, int]:
    return {name: number for number, name in enumerate(SHAPES)}


def shape_of(form: str) -> int:
    """The number of a form's shape.

    >>> [SHAPES[shape_of(form)] for form in ("Ann", "ann", "ANN", "A", "McArthur", "42", "…", "愛")]
    ['title', 'small', 'shouted', 'letter', 'mixed', 'digits', 'stop', 'uncased']
    """
    return _codes()[_shape(form)]


def _shape(form: str) -> str:
    first = form[:1]
    if first.isalpha():
        return _shape_of_word(form)
    if first.isnumeric():
        return "digits"
    if first == "'" and form[1:2].isalpha():
        return "ending"
    return _SIGNS.get(first, "other") if form else "empty"


def _shape_of_word(word: str) -> str:
    first = word[0]
    if word.islower():
        shape = "small"
    elif word.isupper():
        shape = "letter" if len(word) == 1 else "shouted"
    elif first.isupper() and word[1:].islower():
        shape = "title"
    else:
        shape = "uncased" if first.lower() == first.upper() else "mixed"
    return shape


def _pattern(text: str) -> re.Pattern[str] | regex.Pattern[str]:
    return _ascii() if text.isascii() else _unicode()


@cache
def _ascii() -> re.Pattern[str]:
    return re.compile(
        r"[A-Za-z]+|[0-9]+|'(?:[stdmSTDM]|re|ve|ll|RE|VE|LL)(?![A-Za-z])|[\n\t\v\f][\n\r\t\v\f]*"
        r"|([^\sA-Za-z0-9])\1*"
    )


@cache
def _unicode() -> regex.Pattern[str]:
    return regex.compile(
        r"[\p{L}\p{M}]++|\p{N}++|'(?:[stdmSTDM]|re|ve|ll|RE|VE|LL)(?![\p{L}\p{M}])"
        r"|[\n\t\v\f\x85\u2028\u2029][\n\r\t\v\f\x85\u2028\u2029]*+"
        r"|([^\s\p{L}\p{M}\p{N}])\1*+"
    )
