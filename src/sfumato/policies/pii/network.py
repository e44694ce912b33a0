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

    def score(self, tokens: Tokens) -> Numbers:
        """For each token, how much rather each kind than none of them it is."""
        shapes = tokens.shapes()
        margins = np.empty((len(tokens), len(KINDS)), dtype=np.float32)
        for begin in range(0, len(tokens), _BLOCK):
            end = min(begin + _BLOCK, len(tokens))
            first, last = max(0, begin - REACH), min(len(tokens), end + REACH)
            numbers, places = np.unique(tokens.ids[first:last], return_inverse=True)
            forms = [tokens.forms[number] for number in numbers]
            seen = self.see(Look.at(forms, shapes[numbers], self.rare))
            inside = (tokens.ids[first:last] != 0).astype(np.float32)[:, None]
            around = tokens.around(shapes, first, last)
            scores = self.read_on(seen[places], around, inside)
            margins[begin:end] = scores[begin - first : end - first]
        return margins

    def see(self, look: Look) -> Numbers:
        """What the first layer makes of each form."""
        letters = self.grams[look.letters].astype(np.int32).sum(axis=1)
        summed = np.add.reduceat(letters, look.first_letters, axis=0).astype(np.float32)
        summed = np.clip(np.rint(summed / SUMMED), -FULL, FULL)
        row = np.concatenate([look.vectors, look.flags, summed], axis=1)
        return self.first.active(row @ self.first.weights)

    def read_on(self, seen: Numbers, around: Numbers, inside: Numbers) -> Numbers:
        """The scores of a run of tokens; ``inside`` is zero for the empty tokens between texts."""
        levels = [np.concatenate([seen, around], axis=1) * inside]
        for step, layer in zip(STEPS, self.convolutions, strict=True):
            levels.append(layer.active(_convolve(levels[-1], layer.weights, step)) * inside)
        sums = np.zeros((len(seen), len(KINDS) + 1), dtype=np.float32)
        first = 0
        for level in levels:
            sums += level @ self.last.weights[first : first + level.shape[1]]
            first += level.shape[1]
        scores = sums * self.last.scale + self.last.bias
        margins: Numbers = scores[:, 1:] - scores[:, :1]
        return margins


def _convolve(level: Numbers, weights: Numbers, step: int) -> Numbers:
    """Each row with those a step before and after it, zeros beyond the ends."""
    padded = np.zeros((len(level) + 2 * step, level.shape[1]), dtype=np.float32)
    padded[step : step + len(level)] = level
    sums: Numbers = padded[: len(level)] @ weights[0]
    sums += level @ weights[1]
    sums += padded[2 * step :] @ weights[2]
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
