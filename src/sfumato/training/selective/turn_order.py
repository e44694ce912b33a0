"""Who takes which turn when: full batches of stretches, each document once per epoch.

A step takes one turn of each of up to ``batch_size`` documents. Documents have different numbers of
turns. Were a batch of documents worked through until its longest one is done, most steps would
serve a few documents only, at the price of a full one; so a document that is done makes room for
the next.

Guarantee
    In every epoch each document takes all its turns, in reading order, and at most one in a step.
    So a record contributes to as many private sums per epoch as it has private stretches, once to
    each. The steps of an epoch are as few as can be, and their number is the same for every order.

Why it holds
    The turns of all documents are laid end to end, in the epoch's order, and the line is cut into
    lanes of equal length, of which step t takes what stands at t (McNaughton 1959). A lane is at
    least as long as a document has turns, so a document that is cut in two never meets itself. The
    order is drawn without looking at private text, and lengths are counted in turns, which are
    public: nothing rests on the order being secret.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.randomness import Randomness


@dataclass(frozen=True)
class Step:
    """The documents that take a turn, and which one; ``step`` counts from 0 over all epochs."""

    step: int
    documents: NDArray[np.int64]
    numbers: NDArray[np.int64]


def steps_per_epoch(turns: NDArray[np.int64], batch_size: int) -> int:
    """As few as can be: enough for all turns, and for the document with the most of them.

    >>> steps_per_epoch(np.array([1, 1, 5, 2]), 2), steps_per_epoch(np.array([1, 7]), 2)
    (5, 7)
    """
    return max(int(turns.max()), -(-int(turns.sum()) // batch_size))


def epoch(
    turns: NDArray[np.int64], batch_size: int, order: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For every step of an epoch the documents that take a turn, and which turn it is."""
    length = steps_per_epoch(turns, batch_size)
    counts = turns[order]
    owner = np.repeat(order, counts).astype(np.int64)
    begin = np.repeat(np.cumsum(counts) - counts, counts)
    place = np.arange(len(owner))
    # A document that is cut by the end of a lane goes on at the beginning of the next one, which is
    # earlier: those are its first turns.
    edge = (place // length) * length
    ahead = np.repeat(
        _beyond(begin_of=np.cumsum(counts) - counts, counts=counts, length=length), counts
    )
    numbers = np.where(edge > begin, place - edge, place - begin + ahead)
    for step in range(length):
        yield owner[step::length], numbers[step::length]


def all_steps(
    turns: NDArray[np.int64], batch_size: int, epochs: int, key: int, *, first: int = 0
) -> Iterator[Step]:
    """The steps from ``first`` on, in orders that follow from ``key``."""
    length, orders = steps_per_epoch(turns, batch_size), Randomness.reproducible(key)
    for number in range(first // length, epochs):
        order = orders.stream(number).uniform(len(turns)).argsort(kind="stable")
        for place, (documents, numbers) in enumerate(epoch(turns, batch_size, order)):
            step = number * length + place
            if step >= first:
                yield Step(step, documents, numbers)


def _beyond(
    *, begin_of: NDArray[np.int64], counts: NDArray[np.int64], length: int
) -> NDArray[np.int64]:
    """How many turns of each document stand in the lane behind the one in which it begins."""
    end_of_lane = (begin_of // length + 1) * length
    beyond: NDArray[np.int64] = np.maximum(0, begin_of + counts - end_of_lane)
    return beyond
