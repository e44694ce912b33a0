"""How outputs are drawn: each input by itself, in a crowd, once in a call, alone.

A mechanism says that it makes one independent draw per point. Then an output has the same law
whatever else is in the call, and draws may be made in any company. A mechanism that keeps its claim
among equal words only, or among many, is caught only if words are drawn as they stand in texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from sfumato.audits.subject import DrawsTogether, Outputs, Subject
from sfumato.core.arrays import Points
from sfumato.core.progress import Advance
from sfumato.core.randomness import Randomness

# How many different words stand in one call, in turn: from two of them to a short text.
SIZES = (2, 3, 5, 8, 13, 21)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Outputs of one input: from calls of equal inputs, and from calls among all the others."""

    equal: Outputs
    crowd: Outputs

    @property
    def outputs(self) -> Outputs:
        """All of them, in turn, so that every part holds both kinds."""
        if not len(self.crowd):
            return self.equal
        mixed = np.empty(len(self.equal) + len(self.crowd), dtype=np.intp)
        mixed[0::2], mixed[1::2] = self.equal, self.crowd
        return mixed


def draw_each(
    subject: Subject,
    numbers: Sequence[int],
    count: int,
    randomness: Randomness,
    advance: Advance | None = None,
) -> dict[int, Drawn]:
    """So many outputs of each input, half of them in one call with all the others, shuffled."""
    together = count // 2 if isinstance(subject, DrawsTogether) and len(numbers) > 1 else 0
    crowd = _crowd(subject, numbers, together, randomness.stream(0))
    own = randomness.stream(1)
    found = {}
    for place, number in enumerate(numbers):
        equal = subject.draw(number, count - together, own.stream(number))
        found[number] = Drawn(equal, crowd[place])
        if advance is not None:
            advance(place + 1)
    return found


def _crowd(subject: Subject, numbers: Sequence[int], count: int, randomness: Randomness) -> Points:
    """One row for each input."""
    if not count or not isinstance(subject, DrawsTogether):
        return np.empty((len(numbers), 0), dtype=np.intp)
    inputs = np.repeat(np.array(numbers, dtype=np.intp), count)
    return draw_in_calls(subject.draw_together, inputs, (len(inputs),), randomness).reshape(
        len(numbers), count
    )


def draw_once(
    subject: DrawsTogether, numbers: Points, passes: int, randomness: Randomness
) -> Points:
    """One row for each input: outputs of short calls in which no input comes twice."""
    return _passes(subject, numbers, SIZES, passes, randomness)


def draw_once_each(
    subject: DrawsTogether, numbers: Points, passes: int, randomness: Randomness
) -> Points:
    """One row for each input: outputs of calls in which every input comes once."""
    return _passes(subject, numbers, (len(numbers),), passes, randomness)


def draw_alone(
    subject: DrawsTogether, numbers: Points, passes: int, randomness: Randomness
) -> Points:
    """One row for each input: outputs of calls with a single input."""
    return _passes(subject, numbers, (1,), passes, randomness)


def _passes(
    subject: DrawsTogether,
    numbers: Points,
    sizes: Sequence[int],
    passes: int,
    randomness: Randomness,
) -> Points:
    columns = [
        draw_in_calls(subject.draw_together, numbers, sizes, randomness.stream(number))
        for number in range(passes)
    ]
    return np.stack(columns, axis=1)


def draw_in_calls(
    draw: Callable[[Points, Randomness], Points],
    inputs: Points,
    sizes: Sequence[int],
    randomness: Randomness,
) -> Points:
    """An output for each input, the inputs shuffled and cut into calls of these sizes in turn."""
    order = np.argsort(randomness.stream(0).uniform(len(inputs)), kind="stable")
    noise = randomness.stream(1)
    outputs = np.empty_like(inputs)
    start, lengths = 0, cycle(sizes)
    while start < len(order):
        call = order[start : start + next(lengths)]
        outputs[call] = draw(inputs[call], noise)
        start += len(call)
    return outputs
