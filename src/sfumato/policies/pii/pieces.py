"""Runs of tokens that may be names, parted by kind, and the name in each part.

Small words, initials and signs are of the kind of the word before them. A name begins and ends with
a word that can be an end of a name of its kind; one that has no word of more than a letter is none,
unless it is of capitals with full stops (D.C., U.S.). Nor is a place or organization of words that
name none by themselves (``borders``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.borders import Beside, named_by_others, named_never
from sfumato.policies.pii.forms import mark
from sfumato.policies.pii.network import KINDS
from sfumato.policies.pii.tokens import Tokens

PERSON = KINDS.index("PERSON")
READABLE = ("small", "title", "shouted", "letter", "mixed", "uncased")  # shapes of words

Flags = NDArray[np.bool_]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces of runs: ``places`` are their tokens, ``firsts`` where each begins in these."""

    places: Places
    firsts: Places
    kinds: NDArray[np.int8]  # of each piece

    @classmethod
    def of(cls, tokens: Tokens, kinds: NDArray[np.int8], begins: Places, ends: Places) -> Pieces:
        """Runs of tokens, parted where the kind changes."""
        sizes = ends - begins
        firsts = np.cumsum(sizes) - sizes
        places = np.arange(int(sizes.sum())) + np.repeat(begins - firsts, sizes)
        weak = (tokens.mark[places] & np.uint32(mark("weak"))) != 0
        settled = _settled(kinds[places], ~weak, firsts, sizes)
        new = np.append(True, settled[1:] != settled[:-1])
        new[firsts] = True
        starts = np.flatnonzero(new)
        return cls(places, starts, settled[starts])

    def names(self, tokens: Tokens) -> tuple[list[int], list[int], list[int], list[int]]:
        """Where names begin and end, their kinds, and the numbers of their texts."""
        places, size = self.places, len(self.places)
        marks = tokens.mark[places]

        def has(*names: str) -> Flags:
            bits = sum(mark(name) for name in names)
            found: Flags = (marks & np.uint32(bits)) != 0
            return found

        lengths = np.diff(np.append(self.firsts, size))
        person = np.repeat(self.kinds == PERSON, lengths)
        particle = has("particle")
        near = Beside(tokens, places)
        can = near.here.among(*READABLE) & ~named_never(near)
        can &= np.where(particle, person | has("article"), ~has("listed"))
        index = np.arange(size)
        head, tail = can & ~(person & has("opens")), can & ~(person & has("joining"))
        first = np.minimum.reduceat(np.where(head, index, size), self.firsts)
        last = np.maximum.reduceat(np.where(tail, index, -1), self.firsts)
        telling = person | ~named_by_others(near)
        words = np.append(0, np.cumsum(can & telling & ~has("short") & ~particle))
        dotted = np.add.reduceat(has("capital").astype(np.int64), self.firsts) > 1
        dotted &= np.add.reduceat(has("dot").astype(np.int64), self.firsts) > 0
        full = first <= last
        first, last = first[full], last[full]
        kept = (words[last + 1] > words[first]) | dotted[full]
        begin, end = places[first[kept]], places[last[kept]]
        texts = np.array([low for low, _ in tokens.bounds], dtype=np.int64)
        numbers = np.searchsorted(texts, begin, side="right") - 1
        stops = tokens.ends[end] + _is_initial(tokens, end)
        kinds = self.kinds[full][kept]
        return tokens.starts[begin].tolist(), stops.tolist(), kinds.tolist(), numbers.tolist()


def _settled(
    kinds: NDArray[np.int8], strong: Flags, firsts: Places, sizes: Places
) -> NDArray[np.int8]:
    """The kind of each token: of the last strong one up to it, else the first one of its run."""
    index = np.arange(len(kinds))
    origin = np.repeat(firsts, sizes)
    latest = np.maximum.accumulate(np.where(strong, index, -1))
    following = np.minimum.reduceat(np.where(strong, index, len(kinds)), firsts)
    opening = np.repeat(following, sizes)
    found = np.where(latest >= origin, latest, opening)
    chosen: NDArray[np.int8] = kinds[
        np.where(found < origin + np.repeat(sizes, sizes), found, index)
    ]
    return chosen


def _is_initial(tokens: Tokens, places: Places) -> Flags:
    """Which tokens are single capitals with a full stop, which belongs to them."""
    following = np.minimum(places + 1, len(tokens) - 1)
    near = (following > places) & (tokens.starts[following] == tokens.ends[places])
    dot = (tokens.mark[following] & np.uint32(mark("dot"))) != 0
    found: Flags = tokens.among("letter")[places] & near & dot
    return found
