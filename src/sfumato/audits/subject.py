"""What can be put to the test: inputs, draws, and a claim about every pair of inputs.

A claim says of two inputs x and x' that P[E | x] <= exp(bound)·P[E | x'] + delta for every event E.
To break it, one pair and one event are enough. A subject knows its inputs by number; it can draw
outputs for each, and propose scores by which outputs may tell two inputs apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.core.randomness import Randomness

# Points of a space (one dimension) or vectors (two, one per row).
Outputs = NDArray[np.intp] | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two inputs and the claimed bound on ln(P[E | x] / P[E | x']) in both directions."""

    first: int
    second: int
    forward: float
    backward: float


@dataclass(frozen=True, slots=True)
class DrawnSample:
    """Outputs of one input and how often each came."""

    outputs: Outputs
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, draws: Outputs) -> DrawnSample:
        """Equal points are counted together; vectors hardly ever meet again."""
        if draws.ndim == 1:
            points, counts = np.unique(draws.astype(np.intp), return_counts=True)
            return cls(points, counts.astype(np.int64))
        return cls(draws, np.ones(len(draws), dtype=np.int64))

    @property
    def total(self) -> int:
        """How many draws there were."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True)
class Score:
    """A number for every possible output, and what it is called."""

    name: str
    of: Callable[[Outputs], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Event:
    """All outputs whose score is at least, or at most, some number."""

    score: Score
    threshold: float
    above: bool

    def contains(self, outputs: Outputs) -> NDArray[np.bool_]:
        """Of each output, whether it belongs to the event."""
        values = self.score.of(outputs)
        inside: NDArray[np.bool_] = (
            values >= self.threshold if self.above else values <= self.threshold
        )
        return inside

    def hits(self, sample: DrawnSample) -> int:
        """How many draws fell into the event."""
        return int(sample.counts[self.contains(sample.outputs)].sum())

    def __str__(self) -> str:
        relation = "at least" if self.above else "at most"
        return f"{self.score.name} is {relation} {self.threshold:.4g}"


class Examined(Protocol):
    """What it takes to learn an event between two inputs, and to speak about it."""

    @property
    def delta(self) -> float:
        """The probability up to which the bound is claimed; mostly 0."""
        ...

    def name(self, number: int) -> str:
        """An input, for people."""
        ...

    def scores(self, pair: Pair, first: DrawnSample, second: DrawnSample) -> list[Score]:
        """Scores that may tell the two inputs apart, from public things and these draws."""
        ...

    def describe(self, event: Event, seen: DrawnSample) -> str:
        """An event, for people; ``seen`` holds draws of the likelier input."""
        ...


@runtime_checkable
class Subject(Examined, Protocol):
    """Something that draws, and claims how alike its draws are."""

    @property
    def claim(self) -> str:
        """What is claimed, in a sentence."""
        ...

    def pairs(self) -> Sequence[Pair]:
        """The pairs to look at; chosen without looking at any draw that decides."""
        ...

    def draw(self, number: int, count: int, randomness: Randomness) -> Outputs:
        """Independent outputs for one input."""
        ...


@runtime_checkable
class DrawsTogether(Protocol):
    """A subject that can draw for different inputs in one call, as words stand in a text."""

    def beside(self) -> Sequence[int]:
        """Inputs that keep company, whether or not they take part in a pair."""
        ...

    def draw_together(self, numbers: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        """One independent output for each of these inputs, from a single call."""
        ...

    def distances(
        self, numbers: NDArray[np.intp], outputs: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """How far each output lies from its input, in a public distance."""
        ...
