"""The network of the tagger: a small one that sees each word in its surroundings, in whole numbers.

What is seen of a form (``features``) goes through two layers: that is done once for each form. A
token is scored by what so came of it and its two neighbors, by a part of what came of the ten
words beyond, and by its surroundings, through two more layers. A screen on a form alone says which
tokens need not be scored. Scores are shifted by the shape of the word, because training saw more
names in small letters than people write.

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

from sfumato.policies.pii.features import FULL, Look, Rare
from sfumato.policies.pii.surroundings import NUMBERS

NEAR = (-1, 0, 1)  # where words are seen as a whole
FAR = (-6, -5, -4, -3, -2, 2, 3, 4, 5, 6)  # and where in part
PART = 16  # so many numbers of what is seen of a word count farther away
KINDS = ("PERSON", "LOCATION", "ORG")
SUMMED = 4  # sums of letter vectors are divided by it
LAYERS = ("first", "second", "window", "middle", "last", "screen")

Numbers = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Layer:
    """Weights in whole numbers, and what turns a sum back into the scale of the next layer."""

    weights: Numbers
    scale: Numbers
    bias: Numbers

    def active(self, sums: Numbers) -> Numbers:
        """A sum as the next layer sees it: a whole number from 0 to 127."""
        sums *= self.scale
        sums += self.bias
        np.rint(sums, out=sums)
        return np.clip(sums, 0, FULL, out=sums)


@dataclass(frozen=True, eq=False)
class Network:
    """All weights, and how surely a word must be named to count, by setting and kind."""

    rare: Rare
    grams: NDArray[np.int8]
    first: Layer
    second: Layer
    window: Layer
    middle: Layer
    last: Layer
    screen: Layer
    shifts: Numbers  # what is added to the scores of each kind, by the shape of a word
    thresholds: Numbers

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]]) -> Network:
        """A network from the arrays of its file."""

        def layer(name: str) -> Layer:
            weights = arrays[f"{name}_weights"].astype(np.float32)
            return Layer(weights, arrays[f"{name}_scale"], arrays[f"{name}_bias"])

        return cls(
            rare=cls.rare_of(arrays),
            grams=arrays["grams"],
            first=layer("first"),
            second=layer("second"),
            window=layer("window"),
            middle=layer("middle"),
            last=layer("last"),
            screen=layer("screen"),
            shifts=arrays["shifts"],
            thresholds=arrays["thresholds"],
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

    @property
    def width(self) -> int:
        """How many numbers are seen of a form."""
        return int(self.second.weights.shape[1])

    def see(self, look: Look) -> Numbers:
        """What the first layers make of each form."""
        letters = self.grams[look.letters].sum(axis=1, dtype=np.int16)
        summed = np.add.reduceat(letters, look.first_letters, axis=0, dtype=np.int32)
        summed = summed.astype(np.float32)
        summed = np.clip(np.rint(summed / SUMMED), -FULL, FULL)
        row = np.concatenate([look.vectors, look.flags, summed], axis=1)
        inner = self.first.active(row @ self.first.weights)
        return self.second.active(inner @ self.second.weights)

    def can_lead(self, seen: Numbers) -> NDArray[np.bool_]:
        """Which forms can be what makes a name one; beside others all of them can be in it."""
        sums = (seen @ self.screen.weights)[:, 0]
        passed: NDArray[np.bool_] = sums * self.screen.scale[0] + self.screen.bias[0] > 0
        return passed

    def margins(self, near: Numbers, far: Numbers, around: Numbers) -> Numbers:
        """How much rather each kind than none some tokens are.

        ``near`` are the words that are seen as a whole, ``far`` the parts of the others.
        """
        weights = self.window.weights
        rows, width = near.shape[1], self.width
        sums = near @ weights[:rows]
        sums += far @ weights[rows:-NUMBERS]
        sums += around @ weights[-NUMBERS:]
        inner = self.window.active(sums)
        outer = self.middle.active(inner @ self.middle.weights)
        begin = NEAR.index(0) * width
        last = near[:, begin : begin + width] @ self.last.weights[:width]
        last += inner @ self.last.weights[width : width + inner.shape[1]]
        last += outer @ self.last.weights[width + inner.shape[1] :]
        scores = last * self.last.scale + self.last.bias
        found: Numbers = scores[:, 1:] - scores[:, :1]
        return found


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
