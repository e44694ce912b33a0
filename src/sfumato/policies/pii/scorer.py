"""Scores of tokens: what is seen of a form is worked out once, and kept for public words.

Signs and words of the embedded vocabulary, in the three usual ways to write them, are met again in
the next call, so what is seen of them is kept for the life of the process. Nothing is kept of any
other word: it may be private.
"""

from __future__ import annotations

from itertools import repeat
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.features import Look
from sfumato.policies.pii.forms import is_public
from sfumato.policies.pii.network import FAR, KINDS, NEAR, PART, Network, Numbers
from sfumato.policies.pii.surroundings import Surroundings
from sfumato.policies.pii.tokens import APART, Tokens

_BLOCK = 2048  # tokens that are scored at a time
_LOOK = 4096  # forms that are looked at at a time
_MOST_KEPT = 60_000

Places = NDArray[np.int64]


class Kept:
    """What a network sees of public words, by the number of their row."""

    def __init__(self, width: int) -> None:
        self.rows: dict[str, int] = {}
        self.seen = np.zeros((_MOST_KEPT, width), dtype=np.uint8)
        self.leads = np.zeros(_MOST_KEPT, dtype=np.bool_)
        self._lock = Lock()

    def add(self, forms: list[str], seen: Numbers, leads: NDArray[np.bool_]) -> None:
        """Keep some forms, as long as there is room."""
        with self._lock:
            first = len(self.rows)
            new = [number for number, form in enumerate(forms) if form not in self.rows]
            new = new[: _MOST_KEPT - first]
            self.seen[first : first + len(new)] = seen[new]
            self.leads[first : first + len(new)] = leads[new]
            for row, number in enumerate(new, start=first):
                self.rows[forms[number]] = row


_KEPT: dict[int, tuple[Network, Kept]] = {}


def kept_for(network: Network) -> Kept:
    """What is kept for a network; only the last one's is."""
    found = _KEPT.get(id(network))
    if found is None or found[0] is not network:
        _KEPT.clear()
        found = _KEPT[id(network)] = network, Kept(network.width)
    return found[1]


class Scorer:
    """Scores some tokens after others."""

    def __init__(self, network: Network, tokens: Tokens) -> None:
        self._network = network
        self._ids = np.pad(tokens.ids, APART)  # nothing stands before the first text
        self._seen, self.leads = _see(network, tokens)
        self._part = np.ascontiguousarray(self._seen[:, :PART])
        self._around = Surroundings(tokens)
        self._shape = tokens.shape

    def score(self, places: Places) -> Numbers:
        """For the tokens at some places, how much rather each kind than none of them each is."""
        found = np.empty((len(places), len(KINDS)), dtype=np.float32)
        for begin in range(0, len(places), _BLOCK):
            some = places[begin : begin + _BLOCK, None]
            near = self._seen[self._ids[some + (APART + np.array(NEAR))]]
            far = self._part[self._ids[some + (APART + np.array(FAR))]]
            around = self._around.at(some[:, 0])
            found[begin : begin + _BLOCK] = self._network.margins(
                near.reshape(len(some), -1), far.reshape(len(some), -1), around
            )
        found += self._network.shifts[self._shape[places]]
        return found


def score_all(network: Network, tokens: Tokens) -> Numbers:
    """The scores of all tokens; empty ones are no name at all."""
    margins = np.full((len(tokens), len(KINDS)), -np.inf, dtype=np.float32)
    places = np.flatnonzero(tokens.ids)
    margins[places] = Scorer(network, tokens).score(places)
    return margins


def _see(network: Network, tokens: Tokens) -> tuple[Numbers, NDArray[np.bool_]]:
    """What is seen of each form, and whether it can make a name one."""
    forms, kept = tokens.forms, kept_for(network)
    rows = np.fromiter(map(kept.rows.get, forms, repeat(-1)), dtype=np.int64, count=len(forms))
    seen = np.zeros((len(forms), network.width), dtype=np.float32)
    leads = np.zeros(len(forms), dtype=np.bool_)
    old = rows >= 0
    seen[old], leads[old] = kept.seen[rows[old]], kept.leads[rows[old]]
    new = np.flatnonzero(~old)[1:]  # without the empty form, of which nothing is seen
    for begin in range(0, len(new), _LOOK):
        some = new[begin : begin + _LOOK]
        words = [forms[number] for number in some]
        seen[some] = network.see(Look.at(words, tokens.shapes[some], network.rare))
        leads[some] = network.can_lead(seen[some])
        public = [number for number, word in enumerate(words) if is_public(word)]
        kept.add([words[number] for number in public], seen[some[public]], leads[some[public]])
    return seen, leads
