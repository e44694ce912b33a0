"""Small subjects and mechanisms whose laws are known, for the tests of the falsifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.subject import VectorSubject
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.mechanisms.claims import covered_outputs, loss_bounds
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rows import FromRows
from sfumato.vectors.space import Space

TWO_WORDS = Space("two words", ["no", "yes"], np.array([[0.0], [1.0]], dtype=np.float32))


def answers(epsilon: float, truth: float, *, delta: float = 0.0) -> VectorSubject:
    """Randomized response with log-odds ``truth`` that claims ``epsilon``."""
    kept = 1 / (1 + np.exp(-truth))

    def source(number: int, count: int, randomness: Randomness) -> NDArray[np.float64]:
        honest = randomness.uniform(count) < kept
        return np.where(honest, number, 1 - number)[:, None].astype(np.float64)

    return VectorSubject(
        claim=f"at most exp({epsilon:g})",
        epsilon=epsilon,
        inputs=("no", "yes"),
        source=source,
        delta=delta,
    )


@dataclass(frozen=True, kw_only=True)
class Rows(FromRows):
    """A mechanism that is a table, and claims one level for any two points."""

    space: Space
    table: tuple[tuple[float, ...], ...]
    epsilon: float
    delta: float = 0.0

    def guarantee(self) -> Guarantee:
        return Guarantee(
            notion=Notion.APPROXIMATE_DP if self.delta else Notion.PURE_DP,
            unit="word",
            neighbors="any two words",
            epsilon=self.epsilon,
            delta=self.delta,
        )

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.array(self.table)[points]))


@dataclass(frozen=True)
class Twin:
    """What one mechanism claims, with the draws of another."""

    claims: PointMechanism
    draws: PointMechanism

    @property
    def space(self) -> Space:
        return self.claims.space

    def guarantee(self) -> Guarantee:
        return self.claims.guarantee()

    def loss_bounds(self, point: int) -> NDArray[np.float64]:
        return loss_bounds(self.claims, point)

    def covered_outputs(self) -> NDArray[np.bool_]:
        return covered_outputs(self.claims)

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        return self.draws.privatize(points, randomness)


@dataclass(frozen=True)
class RowTwin(Twin):
    """What one mechanism claims, with the rows of another."""

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        rows: Callable[[NDArray[np.intp]], NDArray[np.float64]] = self.draws.log_rows  # type: ignore[attr-defined]
        return rows(points)

    def log_row(self, point: int) -> NDArray[np.float64]:
        return self.log_rows(np.array([point], dtype=np.intp)).ravel()

    def row(self, point: int) -> NDArray[np.float64]:
        return np.asarray(np.exp(self.log_row(point)))


def words_in_space(count: int, seed: int = 1) -> Space:
    """So many words in three dimensions, about as far apart as colors are at level 1."""
    places = np.random.default_rng(seed).uniform(0, 4, (count, 3))
    return Space(f"{count} words", [f"w{n}" for n in range(count)], places.astype(np.float32))


@dataclass(frozen=True)
class OneInTheClear(Twin):
    """Every word as it should be, but for one."""

    word: int = 77

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        return np.where(points == self.word, points, super().privatize(points, randomness))


@dataclass(frozen=True)
class HonestForRepeatedWords(Twin):
    """As it should be where a call holds one word only; other calls go to another mechanism."""

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        honest = len(np.unique(points)) == 1
        return (self.claims if honest else self.draws).privatize(points, randomness)


@dataclass(frozen=True)
class LessForAWordThatComesOnce(Twin):
    """As it should be for words that come again in the call; another mechanism for the others."""

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        _, places, counts = np.unique(points, return_inverse=True, return_counts=True)
        honest = self.claims.privatize(points, randomness)
        return np.where(counts[places] > 1, honest, self.draws.privatize(points, randomness))


@dataclass(frozen=True)
class UnknownOnTop(Twin):
    """An unknown word becomes one and the same word a little more often than it should."""

    word: int = 0
    share: float = 0.01

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        outputs = super().privatize(points, randomness)
        moved = (points == self.space.unknown) & (randomness.uniform(len(points)) < self.share)
        return np.where(moved, self.word, outputs)
