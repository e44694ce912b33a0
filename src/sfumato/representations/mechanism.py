"""What every mechanism on vectors can do, and how its guarantee is said.

A ``VectorMechanism`` takes rows of ``size`` numbers, whatever they are, and gives rows of
``outputs`` numbers. ``prepare`` moves each row into a public set, which is where the sensitivity
comes from; ``release`` draws noise for what is prepared. All that shapes the noise is a setting or
a public constant: nothing is taken from the rows. Rows have no influence on each other.

``Carrier`` says what a row stands for: a whole document, or one word of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sfumato.accounting.guessing import Level
from sfumato.catalog import find
from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least, between, one_of
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.core.settings import configure, settings_of
from sfumato.guarantees.guarantee import Guarantee, Notion, metric_dp
from sfumato.mechanisms.mechanism import check_level
from sfumato.mechanisms.vector_sets import clip_rows, finite_rows, scale_rows

KIND = "representations"
DOCUMENT, WORD = "document", "word"
NORMALIZE, CLIP, NONE = "normalize", "clip", "none"
MOST_NUMBERS = 100_000
# Lengths with which noise of any level is a number of float32.
_SHORTEST, _LONGEST = 1e-9, 1e9
# Steps of a released number for each of the noise on it.
_GRAINS, _SMALLEST = 2**16, 2.0**-900


@dataclass(frozen=True)
class Carrier:
    """What a vector stands for, what encoded it, and a code that tells the encoder from others."""

    unit: str = DOCUMENT
    encoder: str = "a public encoder"
    digest: str = ""

    @property
    def scope(self) -> str:
        """What is protected, as guarantees begin."""
        whole = f"the vector of every {self.unit} by {self.encoder}"
        return whole if self.unit == DOCUMENT else f"{whole}, each {self.unit} by itself"

    @property
    def neighbors(self) -> str:
        """What is told apart no better than the level allows."""
        if self.unit == DOCUMENT:
            return "any two documents"
        return f"any two values of one {self.unit}"


ANY_DOCUMENT = Carrier()


@runtime_checkable
class VectorMechanism(Protocol):
    """A random map from rows of numbers to rows of numbers, defined for every row."""

    @property
    def size(self) -> int:
        """How many numbers a row has that goes in."""
        ...

    @property
    def outputs(self) -> int:
        """How many numbers a row has that comes out."""
        ...

    @property
    def sensitivity(self) -> float:
        """How far apart two prepared rows can be, in the distance of ``apart``."""
        ...

    @property
    def level(self) -> Level | None:
        """What is proven of any two rows; None where it depends on their distance."""
        ...

    def guarantee(self, carrier: Carrier = ...) -> Guarantee:
        """What is proven about what a row stands for."""
        ...

    def prepare(self, rows: Floats) -> Floats:
        """Each row, moved into a public set: what noise is added to."""
        ...

    def apart(self, first: Floats, second: Floats) -> Floats:
        """The distance between prepared rows that the noise is made for, row by row."""
        ...

    def release(self, rows: Floats, randomness: Randomness) -> Floats:
        """One independent draw for each row."""
        ...

    def log_likelihoods(self, released: Floats, prepared: Floats) -> Floats:
        """How likely each released row is for each prepared one, in logarithms.

        Up to a constant that all have in common; an attacker of maximum likelihood uses it.
        """
        ...

    def facts(self) -> dict[str, Any]:
        """Numbers that say how the noise was made; all of it is public."""
        ...


def build_representation(
    name: str, *, size: int, epsilon: float, delta: float = 0.0, settings: Mapping[str, object]
) -> VectorMechanism:
    """The mechanism of that name for rows of ``size`` numbers."""
    component = find(KIND, name).load()
    given: dict[str, object] = {"size": size, "epsilon": epsilon}
    if "delta" in settings_of(component):
        given["delta"] = delta
    elif delta:
        raise InvalidArgument(
            f"{name!r} is pure and has no delta: leave out `delta=...`, or take gaussian or "
            "projected noise"
        )
    made: VectorMechanism = configure(component, settings, **given)
    return made


def grain_of(mechanism: VectorMechanism) -> float:
    """The step of what is released: a power of two far below the noise on a number, and public.

    Noise in floating point reaches some numbers and not others, and which ones depends on what it
    is added to: of a sum with all of its digits somebody may tell the vector behind it (Mironov
    2012, "On significance of the least significant bits for differential privacy"). A step holds
    very many of those numbers. What has no length of noise has whole outcomes.
    """
    length = mechanism.facts().get("mean_noise_length")
    if length is None:
        return 1.0
    each = float(length) / math.sqrt(mechanism.outputs) / _GRAINS
    return 2.0 ** math.floor(math.log2(max(each, _SMALLEST)))


def round_to_grain(numbers: Floats, grain: float) -> Floats:
    """Each number at the nearest multiple of ``grain``: post-processing.

    >>> round_to_grain(np.array([0.3, -1.1]), 0.25).tolist()
    [0.25, -1.0]
    """
    # Zero has no sign: that would be half a step more.
    found: Floats = np.rint(numbers / grain) * grain + 0.0
    return found


def check_numbers(size: int, epsilon: object, clip_norm: object) -> tuple[float, float]:
    """A size, a level and a length that can be computed with."""
    at_least("size", size, 1, MOST_NUMBERS)
    return check_level(epsilon), between("clip_norm", clip_norm, _SHORTEST, _LONGEST)


def check_delta(delta: object) -> float:
    """A delta below 1."""
    found = between("delta", delta, 0.0, 1.0)
    if found >= 1:
        raise InvalidArgument(f"delta={found:g} must be smaller than 1")
    return found


def check_rows(rows: Floats, size: int) -> Floats:
    """Rows of the right size, or an error that quotes none of them."""
    if rows.ndim != 2 or rows.shape[1] != size:
        raise InvalidArgument(
            f"vectors of {size} numbers are expected, one in each row, and not an array of shape "
            f"{rows.shape}"
        )
    return rows


def bring_inside(rows: Floats, bound: str, length: float) -> Floats:
    """Each row at a length, or no longer than it, or only made finite."""
    if bound == NORMALIZE:
        return scale_rows(rows, length)
    return clip_rows(rows, length) if bound == CLIP else finite_rows(rows)


def say_bound(bound: str, length: float) -> str:
    """What was done to each vector before the noise."""
    if bound == NORMALIZE:
        return f"each scaled to length {length:g}"
    return f"each cut to length {length:g}" if bound == CLIP else "of any length"


def state(
    carrier: Carrier, how: str, *, epsilon: float, delta: float = 0.0, metric: str = ""
) -> Guarantee:
    """A guarantee for any two values, or by the distance of their vectors."""
    scope = f"{carrier.scope}, {how}"
    if metric:
        found = metric_dp(
            epsilon=epsilon, metric=metric, unit=carrier.unit, about=(carrier.digest,)
        )
        return replace(found, neighbors=carrier.neighbors, scope=scope)
    return Guarantee(
        notion=Notion.APPROXIMATE_DP if delta else Notion.PURE_DP,
        unit=carrier.unit,
        neighbors=carrier.neighbors,
        epsilon=epsilon,
        delta=delta,
        scope=scope,
    )


def check_bound(bound: str, allowed: tuple[str, ...]) -> str:
    """One of the ways to bound a vector that a mechanism has."""
    return one_of("bound", bound, allowed)


def squared_distances(first: Floats, second: Floats) -> Floats:
    """Between every two rows; never below 0."""
    lengths = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1)[None, :]
    found: Floats = lengths - 2 * (first @ second.T)
    return found.clip(min=0.0)
