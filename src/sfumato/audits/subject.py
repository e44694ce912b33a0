"""What can be tested: inputs, draws, and a claim about every pair of inputs.

A claim says of two inputs x and x' that P[E | x] <= exp(bound)·P[E | x'] + delta for every event E.
One pair and one event are enough to break it. A subject knows its inputs by number. It draws
outputs for each of them, and proposes scores that may tell two inputs apart.

``WordSubject`` tests a word mechanism; ``VectorSubject`` tests any function from a few inputs to
random vectors or bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.distinguishers import vector_scores, word_scores
from sfumato.audits.events import DrawnSample, Event, Examined, Outputs, Pair, Score
from sfumato.core.errors import InvalidArgument, SfumatoError
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.claims import covered_outputs
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.vectors.space import Space

SHOWN = 4
# Notions whose epsilon does not bound a ratio of probabilities.
_OTHER = (Notion.ZCDP, Notion.DIRECTIONAL)
DrawVectors = Callable[[int, int, Randomness], NDArray[np.float64]]


@runtime_checkable
class Subject(Examined, Protocol):
    """Something that draws outputs, and claims how similar their distributions are."""

    @property
    def claim(self) -> str:
        """What is claimed, in a sentence."""
        ...

    def pairs(self) -> Sequence[Pair]:
        """The pairs to test; chosen without looking at any draw that decides."""
        ...

    def draw(self, number: int, count: int, randomness: Randomness) -> Outputs:
        """Independent outputs for one input."""
        ...


@runtime_checkable
class DrawsTogether(Protocol):
    """A subject that can draw for different inputs in one call, as for the words of a text."""

    def beside(self) -> Sequence[int]:
        """Inputs to draw beside the others, whether or not they take part in a pair."""
        ...

    def draw_together(self, numbers: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        """One independent output for each of these inputs, from a single call."""
        ...

    def distances(
        self, numbers: NDArray[np.intp], outputs: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """The public distance of each output from its input."""
        ...


@dataclass(frozen=True, kw_only=True)
class WordSubject:
    """A mechanism on points, and the pairs of points to test."""

    mechanism: PointMechanism
    chosen: Sequence[Pair]
    company: Sequence[int] = ()

    @property
    def claim(self) -> str:
        """The mechanism's guarantee in plain English."""
        return self.mechanism.guarantee().sentence()

    @property
    def delta(self) -> float:
        """The δ of the guarantee."""
        return self.mechanism.guarantee().delta

    def pairs(self) -> Sequence[Pair]:
        """The chosen pairs."""
        return self.chosen

    def name(self, number: int) -> str:
        """A public word, or the point of all unknown words."""
        return point_name(self.mechanism.space, number)

    def beside(self) -> Sequence[int]:
        """Points that are only drawn beside the others."""
        return self.company

    def draw(self, number: int, count: int, randomness: Randomness) -> Outputs:
        """Independent outputs for one point, from a single call."""
        return self.draw_together(np.full(count, number, dtype=np.intp), randomness)

    def draw_together(self, numbers: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        """Independent outputs; errors of the user's own mechanisms are reported as such."""
        who = type(self.mechanism).__name__
        try:
            outputs = np.asarray(self.mechanism.privatize(numbers.copy(), randomness))
        except SfumatoError:
            raise
        except (Exception, SystemExit) as error:
            # Only public words are passed in, so the message cannot hold private text.
            raise InvalidArgument(
                f"{who}.privatize(points, randomness) failed: {type(error).__name__}: {error}"
            ) from error
        if outputs.shape != numbers.shape or not np.issubdtype(outputs.dtype, np.integer):
            raise InvalidArgument(
                f"{who}.privatize(points, randomness) must give one whole number per point; for "
                f"{len(numbers)} points it gave {outputs.dtype} numbers of shape {outputs.shape}"
            )
        # The point of unknown words is no word, but a mechanism may return it to keep them.
        if outputs.min() < 0 or outputs.max() > self.mechanism.space.unknown:
            raise InvalidArgument(
                f"{who}.privatize(points, randomness) gave a number that is no point of the space"
            )
        return outputs.astype(np.intp)

    def distances(
        self, numbers: NDArray[np.intp], outputs: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Euclidean distances in the space."""
        space = self.mechanism.space
        away: NDArray[np.float64] = np.linalg.norm(space.at(outputs) - space.at(numbers), axis=1)
        return away

    def scores(self, pair: Pair, first: DrawnSample, second: DrawnSample) -> list[Score]:
        """Scores learned from draws and from public vectors, on covered outputs only."""
        space = self.mechanism.space
        places = space.at(np.array([pair.first, pair.second], dtype=np.intp))
        names = (self.name(pair.first), self.name(pair.second))
        scores = word_scores(space, places, names, first, second)
        covered = covered_outputs(self.mechanism)
        return scores if covered.all() else [_within(score, covered) for score in scores]

    def describe(self, event: Event, seen: DrawnSample) -> str:
        """The most frequent words of an event, and the rule that defines it."""
        inside = event.contains(seen.outputs)
        words = seen.outputs[inside].astype(np.intp)
        order = np.argsort(-seen.counts[inside], kind="stable")
        named = [self.name(word) for word in words[order[:SHOWN]].tolist()]
        if len(words) > SHOWN:
            named.append(f"one of {len(words) - SHOWN:,} more words for which {event}")
        return f"the output is {' or '.join(named) or f'a word for which {event}'}"


def check_claims_something(mechanism: PointMechanism) -> None:
    """Refuse a mechanism without a testable claim, with the reason."""
    guarantee = mechanism.guarantee()
    who = type(mechanism).__name__
    if guarantee.notion is Notion.NONE or np.isinf(guarantee.epsilon):
        raise InvalidArgument(
            f"nothing is claimed: {who} is a baseline without a formal guarantee, so there is "
            "nothing to refute; attack its output instead"
        )
    if guarantee.notion in _OTHER:
        raise InvalidArgument(
            f"{who} claims {guarantee.notion.value}, whose level does not bound a ratio of "
            "probabilities; verify tests pure, approximate, local and metric differential privacy"
        )


def point_name(space: Space, point: int) -> str:
    """A word in quotation marks, or "an unknown word".

    >>> space = Space("toy", ["rome", "paris"], np.eye(2, dtype=np.float32))
    >>> point_name(space, 1), point_name(space, 2)
    ("'paris'", 'an unknown word')
    """
    return "an unknown word" if point == space.unknown else f"'{space.words[point]}'"


def _within(score: Score, covered: NDArray[np.bool_]) -> Score:
    """The same score without a value on outputs that are not covered, so no event contains them."""
    known = np.append(covered, False)  # no claim covers the unknown word as an output

    def masked(outputs: Outputs) -> NDArray[np.float64]:
        return np.where(known[outputs.astype(np.intp)], score.of(outputs), np.nan)

    return Score(score.name, masked)


@dataclass(frozen=True, kw_only=True)
class VectorSubject:
    """A few inputs, a source of output vectors, and one level claimed for every pair of them.

    ``source(number, count, randomness)`` gives ``count`` independent outputs of an input, one per
    row.

    >>> noise = lambda number, count, randomness: number + randomness.normal(count, 1)
    >>> subject = VectorSubject(claim="…", epsilon=1.0, inputs=("zero", "one"), source=noise)
    >>> [(pair.first, pair.second, pair.forward) for pair in subject.pairs()]
    [(0, 1, 1.0)]
    """

    claim: str
    epsilon: float
    inputs: tuple[str, ...]
    source: DrawVectors
    delta: float = 0.0

    def pairs(self) -> Sequence[Pair]:
        """All pairs of inputs."""
        numbers = combinations(range(len(self.inputs)), 2)
        return [Pair(first, second, self.epsilon, self.epsilon) for first, second in numbers]

    def name(self, number: int) -> str:
        """What the input is called."""
        return self.inputs[number]

    def draw(self, number: int, count: int, randomness: Randomness) -> Outputs:
        """Independent outputs, one per row."""
        return self.source(number, count, randomness)

    def scores(self, pair: Pair, first: DrawnSample, second: DrawnSample) -> list[Score]:
        """Scores learned from draws only; no geometry is known."""
        return vector_scores((self.name(pair.first), self.name(pair.second)), first, second)

    def describe(self, event: Event, seen: DrawnSample) -> str:
        """The score and its threshold."""
        del seen
        return str(event)
