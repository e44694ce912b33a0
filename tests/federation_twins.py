"""Rounds of a federation as they are drawn for tests, and what other servers make of them.

A ``Case`` is a round: who was asked, what came back, and one client that is moved. ``moved`` says
by how much that moves what a server computes, in units of C over the expected number of clients.
Ours must never exceed 1; the twins, each a fault of a published wrapper or a slip that is as
likely, must be found out by the same cases.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfumato.core.randomness import Randomness
from sfumato.federation.averaging import Averaging, Reply
from sfumato.training.plan import LogicalBatch

CLIENTS, EXPECTED, NORM, STEP = 6, 3, 0.5, 4
SHAPES = {"a": torch.zeros(2), "b": torch.zeros(1, 2)}
START = {"a": torch.tensor([0.5, -1.0]), "b": torch.tensor([[2.0, 0.25]])}


@dataclass(frozen=True)
class Answer:
    """A reply, and what the client says of itself beside it."""

    reply: Reply
    examples: int = 1


@dataclass(frozen=True)
class Case:
    """A round, and the client that is not there in the other world."""

    members: tuple[int, ...]
    answers: tuple[Answer, ...]
    moved: int

    @property
    def batch(self) -> LogicalBatch:
        return LogicalBatch(STEP, np.array(self.members, dtype=np.intp), EXPECTED, 0.0)

    @property
    def beside(self) -> tuple[Answer, ...]:
        """The answers of the neighbor."""
        return tuple(one for one in self.answers if one.reply.client != self.moved)


Mean = Callable[[LogicalBatch, Sequence[Answer]], NDArray[np.float64]]


def moved(mean: Mean, case: Case) -> float:
    """How far one client moves a mean, against what its noise is for; infinite if undefined."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = mean(case.batch, case.answers) - mean(case.batch, case.beside)
    except ZeroDivisionError:
        return math.inf
    length = float(np.linalg.norm(found)) * EXPECTED / NORM
    # A client that was not asked may not move anything.
    return (length if math.isfinite(length) else math.inf) / (
        1.0 if case.moved in case.members else 1e-300
    )


def ours(batch: LogicalBatch, answers: Sequence[Answer]) -> NDArray[np.float64]:
    found = Averaging(SHAPES, NORM).mean(
        batch, START, [one.reply for one in answers], Randomness.reproducible(1)
    )
    return np.concatenate([one.reshape(-1).numpy() for one in found.values()])


def updates(
    batch: LogicalBatch, answers: Sequence[Answer], *, once: bool = True, asked: bool = True
) -> list[tuple[NDArray[np.float64], int]]:
    """The updates that fit, as most servers would take them, with the clients' own counts."""
    found, seen = [], set()
    for one in answers:
        reply = one.reply
        shapes = {name: value.shape for name, value in reply.weights.items()}
        if (asked and reply.client not in batch.members) or reply.step != batch.step:
            continue
        if shapes != {name: value.shape for name, value in SHAPES.items()}:
            continue
        if once and reply.client in seen:
            continue
        seen.add(reply.client)
        parts = [(reply.weights[name] - START[name]).double().reshape(-1) for name in SHAPES]
        found.append((torch.cat(parts).numpy(), one.examples))
    return found


def finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values if np.isfinite(values).all() else np.zeros_like(values)


def clipped(values: NDArray[np.float64]) -> NDArray[np.float64]:
    length = float(np.linalg.norm(values))
    return values * min(1.0, NORM / length) if length else values


def _sum(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    total: NDArray[np.float64] = np.sum([np.zeros(4), *parts], axis=0)
    return total


def weighted_by_examples(batch: LogicalBatch, answers: Sequence[Answer]) -> NDArray[np.float64]:
    """Weights by the client's own number of examples (flwr 1.41, strategy/fedavg.py)."""
    found = updates(batch, answers)
    total = sum(count for _, count in found) or 1
    return _sum([clipped(finite(one)) * (count / total) for one, count in found])


def over_answers(batch: LogicalBatch, answers: Sequence[Answer]) -> NDArray[np.float64]:
    """Divided by those who answer, with noise for those who were asked (flwr 1.41)."""
    found = updates(batch, answers)
    return _sum([clipped(finite(one)) for one, _ in found]) / max(1, len(found))


def next_norm(batch: LogicalBatch, answers: Sequence[Answer]) -> NDArray[np.float64]:
    """Adaptive clipping whose noise is for the *next* norm (strategy/dp_adaptive_clipping.py).

    Scaled so that the noise is always that of ``NORM``.
    """
    found = [finite(one) for one, _ in updates(batch, answers)]
    share = sum(float(np.linalg.norm(one)) <= NORM for one in found) / max(1, len(found))
    following = math.exp(-0.2 * (share - 0.5))
    return _sum([clipped(one) for one in found]) / EXPECTED / following


def zero_divides(batch: LogicalBatch, answers: Sequence[Answer]) -> NDArray[np.float64]:
    """An update of zero divides by its norm (supercore/differential_privacy.py)."""
    found = [finite(one) for one, _ in updates(batch, answers)]
    parts = [one * min(1.0, NORM / float(np.linalg.norm(one))) for one in found]
    return _sum(parts) / EXPECTED


def not_a_number(batch: LogicalBatch, answers: Sequence[Answer]) -> NDArray[np.float64]:
    """What is not finite goes into the model."""
    return _sum([clipped(one) for one, _ in updates(batch, answers)]) / EXPECTED


def twice(batch: LogicalBatch, answers: Sequence[Answer]) -> NDArray[np.float64]:
    """A client that answers twice counts twice."""
    found = updates(batch, answers, once=False)
    return _sum([clipped(finite(one)) for one, _ in found]) / EXPECTED


def not_asked(batch: LogicalBatch, answers: Sequence[Answer]) -> NDArray[np.float64]:
    """Whoever answers counts."""
    found = updates(batch, answers, asked=False)
    return _sum([clipped(finite(one)) for one, _ in found]) / EXPECTED


def by_array(batch: LogicalBatch, answers: Sequence[Answer]) -> NDArray[np.float64]:
    """Every array is clipped by itself, to the norm of all."""
    found = [finite(one) for one, _ in updates(batch, answers)]
    return _sum([np.concatenate([clipped(one[:2]), clipped(one[2:])]) for one in found]) / EXPECTED


def first_to_answer(batch: LogicalBatch, answers: Sequence[Answer]) -> NDArray[np.float64]:
    """Answers are taken until there are enough of them: a missing client lets another one in."""
    found = updates(batch, answers)[: EXPECTED - 1]
    return _sum([clipped(finite(one)) for one, _ in found]) / EXPECTED


def unclipped(batch: LogicalBatch, answers: Sequence[Answer]) -> NDArray[np.float64]:
    """Nobody clips."""
    return _sum([finite(one) for one, _ in updates(batch, answers)]) / EXPECTED


TWINS: tuple[Mean, ...] = (
    weighted_by_examples, over_answers, next_norm, zero_divides, not_a_number, twice, not_asked,
    by_array, first_to_answer, unclipped,
)  # fmt: skip

NUMBERS = (0.0, 0.125, -0.5, 1.0, -3.0, 1e-30, 1e30, 3.4e38, math.nan, math.inf)


def _weights(values: Sequence[float]) -> dict[str, Tensor]:
    flat = torch.tensor(values, dtype=torch.float32)
    return {"a": START["a"] + flat[:2], "b": START["b"] + flat[2:].reshape(1, 2)}


def _spoil(reply: Reply, how: str) -> Reply:
    if how == "round":
        return replace(reply, step=STEP - 1)
    if how == "name":
        return replace(reply, weights={"a": reply.weights["a"], "c": reply.weights["b"]})
    if how == "shape":
        return replace(reply, weights=dict(reply.weights) | {"b": torch.ones(2, 1)})
    return replace(reply, weights={name: one.double() for name, one in reply.weights.items()})


def make_case(seed: int) -> Case:
    """A round of a few clients, and its neighbor, in which one of them is not there.

    A client sends nothing, one answer or two, and sometimes one that does not fit.
    """
    coins = random.Random(seed)
    answers = []
    for client in range(CLIENTS):
        for _ in range(coins.choice([0, 1, 1, 1, 2])):
            reply = Reply(client, STEP, _weights(coins.choices(NUMBERS, k=4)))
            if coins.random() < 0.2:
                reply = _spoil(reply, coins.choice(["round", "name", "shape", "dtype"]))
            answers.append(Answer(reply, coins.choice([0, 1, 1, 99])))
    coins.shuffle(answers)
    members = tuple(client for client in range(CLIENTS) if coins.random() < 0.5)
    return Case(members, tuple(answers), coins.randrange(CLIENTS))
