"""The network of the tagger: three convolutions over what is seen of each word, in whole numbers.

Weights are whole numbers from −127 to 127 and so is all that flows between the layers. No sum of
products reaches 2^24, where float32 would begin to round, so a matrix product is exact in whatever
order a processor adds it up. What is found therefore depends neither on the processor nor on how
texts are cut into calls.

``scripts/train_tagger.py`` trains the weights; sources and terms stand beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.features import Look, Rare
from sfumato.policies.pii.tokens import FULL, Tokens

STEPS = (1, 2, 4)  # how far apart the three words are that a convolution looks at
REACH = sum(STEPS)
KINDS = ("PERSON", "LOCATION", "ORG")
SUMMED = 4  # sums of letter vectors are divided by it
_BLOCK = 4096
_MOST_FORMS = 100_000  # of which what is seen is kept

Numbers = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Layer:
    """Weights in whole numbers, and what turns a sum back into the scale of the next layer."""

    weights: Numbers
    scale: Numbers
    bias: Numbers

    def active(self, sums: Numbers) -> Numbers:
        """A sum as the next layer sees it: a whole number from 0 to 127."""
        scaled = sums * self.scale + self.bias
        return np.clip(np.rint(scaled, out=scaled), 0, FULL, out=scaled)


@dataclass(frozen=True, eq=False)
class Network:
    """All weights, and how surely a word must be named to count, by setting and kind."""

    rare: Rare
    grams: NDArray[np.int8]
    first: Layer
    convolutions: tuple[Layer, ...]
    last: Layer
    thresholds: Numbers

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]]) -> Network:
        """A network from the arrays of its file."""

        def layer(name: str) -> Layer:
            weights = arrays[f"{name}_weights"].astype(np.float32)
            return Layer(weights, arrays[f"{name}_scale"], arrays[f"{name}_bias"])

        return cls(
            cls.rare_of(arrays),
            arrays["grams"],
            layer("first"),
            tuple(layer(f"step{step}") for step in STEPS),
            layer("last"),
            arrays["thresholds"],
        )

    @staticmethod
    def rare_of(arrays: Mapping[str, NDArray[Any]]) -> Rare:
        """The rare words, which are there before any weight is trained."""
        return Rare(
            np.cumsum(arrays["rare_gaps"], dtype=np.int64),
            arrays["rare_codes"],
            arrays["rare_lists"],
            arrays["typical"],
        )

    def score(self, tokens: Tokens, wanted: NDArray[np.bool_] | None = None) -> Numbers:
        """For each token, how much rather each kind than none of them it is."""
        every = np.ones(len(tokens), dtype=np.bool_) if wanted is None else wanted
        return Scorer(self, tokens).score(every)

    def see(self, look: Look) -> Numbers:
        """What the first layer makes of each form."""
        letters = self.grams[look.letters].astype(np.int32).sum(axis=1)
        summed = np.add.reduceat(letters, look.first_letters, axis=0).astype(np.float32)
        summed = np.clip(np.rint(summed / SUMMED), -FULL, FULL)
        row = np.concatenate([look.vectors, look.flags, summed], axis=1)
        return self.first.active(row @ self.first.weights)

    def read_on(
        self, seen: Numbers, around: Numbers, inside: Numbers, needed: list[NDArray[np.bool_]]
    ) -> Numbers:
        """The scores of some of a run of tokens.

        ``inside`` is zero for the empty tokens between texts; ``needed`` says for each level which
        tokens are worked out there.
        """
        level = np.concatenate([seen, around], axis=1) * inside
        rows = np.flatnonzero(needed[-1])
        sums = level[rows] @ self.last.weights[: level.shape[1]]
        first = level.shape[1]
        for step, layer, flags in zip(STEPS, self.convolutions, needed[1:], strict=True):
            places = np.flatnonzero(flags)
            found = layer.active(_convolve(level, layer.weights, step, places))
            level = np.zeros((len(seen), found.shape[1]), dtype=np.float32)
            level[places] = found * inside[places]
            sums += level[rows] @ self.last.weights[first : first + level.shape[1]]
            first += level.shape[1]
        scores = sums * self.last.scale + self.last.bias
        margins: Numbers = scores[:, 1:] - scores[:, :1]
        return margins


class Scorer:
    """Scores some tokens after others; what is seen of a form is worked out once."""

    def __init__(self, network: Network, tokens: Tokens) -> None:
        self._network, self._tokens = network, tokens
        kept = len(tokens.forms) if len(tokens.forms) <= _MOST_FORMS else 0
        self._known = np.zeros(kept, dtype=np.bool_)
        self._seen = np.zeros((kept, network.first.weights.shape[1]), dtype=np.uint8)

    def score(self, wanted: NDArray[np.bool_]) -> Numbers:
        """The scores of the tokens that are wanted; the others count as no name at all."""
        tokens = self._tokens
        margins = np.full((len(tokens), len(KINDS)), -np.inf, dtype=np.float32)
        for begin in range(0, len(tokens), _BLOCK):
            end = min(begin + _BLOCK, len(tokens))
            if not wanted[begin:end].any():
                continue
            first, last = max(0, begin - REACH), min(len(tokens), end + REACH)
            asked = np.zeros(last - first, dtype=np.bool_)
            asked[begin - first : end - first] = wanted[begin:end]
            needed = _needed(asked)
            ids = np.where(needed[0], tokens.ids[first:last], 0)
            inside = (ids != 0).astype(np.float32)[:, None]
            around = tokens.around(first, last)
            scores = self._network.read_on(self._see(ids), around, inside, needed)
            margins[first + np.flatnonzero(asked)] = scores
        return margins

    def _see(self, ids: NDArray[np.int32]) -> Numbers:
        numbers, places = np.unique(ids, return_inverse=True)
        if not len(self._known):
            return self._look(numbers)[places]
        new = numbers[~self._known[numbers]]
        if len(new):
            self._seen[new] = self._look(new)
            self._known[new] = True
        return self._seen[ids].astype(np.float32)

    def _look(self, numbers: NDArray[np.int32]) -> Numbers:
        forms = [self._tokens.forms[number] for number in numbers]
        look = Look.at(forms, self._tokens.shapes[numbers], self._network.rare)
        return self._network.see(look)


def _needed(asked: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """Which tokens each level needs, the first level first, for some to be scored in the end."""
    levels = [asked]
    for step in reversed(STEPS):
        wider = levels[-1].copy()
        wider[step:] |= levels[-1][:-step]
        wider[:-step] |= levels[-1][step:]
        levels.append(wider)
    return levels[::-1]


def _convolve(level: Numbers, weights: Numbers, step: int, places: NDArray[np.intp]) -> Numbers:
    """Some rows with those a step before and after them, zeros beyond the ends."""
    width = level.shape[1]
    padded = np.zeros((len(level) + 2 * step, width), dtype=np.float32)
    padded[step : step + len(level)] = level
    wide = np.empty((len(places), 3 * width), dtype=np.float32)
    for number in range(3):
        wide[:, number * width : (number + 1) * width] = padded[places + number * step]
    sums: Numbers = wide @ weights.reshape(3 * width, -1)
    return sums


def _content() -> bytes:
    return files("sfumato.policies.pii").joinpath("weights", "tagger.npz").read_bytes()


@cache
def load_network() -> Network:
    """The network that comes with the package, read once per process."""
    with np.load(BytesIO(_content()), allow_pickle=False) as arrays:
        return Network.read(dict(arrays))


@cache
def weights_version() -> str:
    """A code of the weights: another one may find something else."""
    return sha256(_content()).hexdigest()[:16]
