"""Move made-up embeddings until their gradient is the released one, and read the nearest tokens.

How
    The best of some random starts is improved by Adam. LAMP also keeps embeddings at the mean
    length of the model's own, and from time to time tries other orders of the tokens: it takes the
    order whose gradients come nearest, a likely text counting as near, too. At the end come sweeps
    over the tokens themselves (``sweeps``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from torch import Tensor

from sfumato.attacks.gradients.matching.dummies import Rows
from sfumato.attacks.gradients.matching.edits import draw_edits
from sfumato.attacks.gradients.matching.judge import Judge
from sfumato.attacks.gradients.matching.sweeps import Sweeps
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness

# The rate falls to this share of itself.
LAST_RATE = 0.05
# How much the mean length of embeddings counts.
LENGTH_WEIGHT = 1.0
MOST_LABELINGS = 64

Labelings = Sequence[Sequence[int]]
"""Some ways to give each row a class."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How hard to try.

    ``starts`` random rows are compared before the first of ``moves`` moves of size ``rate``, in
    units of a coordinate of an embedding. ``rounds`` times, in equal distances, ``edits`` other
    orders are tried, and at the end there are at most ``sweeps`` over the tokens. With ``discrete``
    off there are neither rounds nor sweeps, and embeddings may have any length.
    """

    discrete: bool = True
    moves: int = 220
    rate: float = 0.25
    starts: int = 30
    rounds: int = 6
    edits: int = 30
    sweeps: int = 2


class Search:
    """One search for the rows behind a release."""

    def __init__(self, judge: Judge, effort: Effort) -> None:
        table = judge.dummies.table[judge.dummies.words]
        self.judge, self.effort = judge, effort
        self.width = table.shape[1]
        self.length = float(table.norm(dim=1).mean())
        self.coordinate = self.length / self.width**0.5

    def run(
        self, lengths: Sequence[int], labelings: Labelings, randomness: Randomness
    ) -> list[list[int]]:
        """The tokens of each row; of some labelings the one with the best start is taken."""
        effort = self.effort
        rows, labels = self.start(lengths, labelings, randomness.stream(0))
        rate = effort.rate * self.coordinate
        optimizer = torch.optim.Adam(rows, lr=rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
            optimizer, effort.moves, rate * LAST_RATE
        )
        every = effort.moves // (effort.rounds + 1) + 1
        for move in range(1, effort.moves + 1):
            apart = self.judge.slope(rows, labels)
            if effort.discrete:
                apart = apart + LENGTH_WEIGHT * self._off_length(rows)
            for row, slope in zip(rows, torch.autograd.grad(apart, rows), strict=True):
                # Where nothing was released there is no way to go.
                row.grad = slope.nan_to_num(0.0, 0.0, 0.0)
            optimizer.step()
            schedule.step()
            if effort.discrete and move % every == 0:
                self._reorder(rows, labels, randomness.stream(1 + move))
        sweeps = Sweeps(self.judge, effort.sweeps if effort.discrete else 0, effort.edits)
        return sweeps.run([row.detach() for row in rows], labels, randomness.stream(1))

    def start(
        self, lengths: Sequence[int], labelings: Labelings, randomness: Randomness
    ) -> tuple[Rows, Sequence[int]]:
        """The best of some random rows, and of some labelings."""
        best: tuple[float, Rows, Sequence[int]] | None = None
        for _ in range(self.effort.starts):
            rows = [
                self.coordinate * torch.from_numpy(randomness.normal(length, self.width)).float()
                for length in lengths
            ]
            for labels in labelings:
                apart = self.judge.of_rows(rows, labels)
                if best is None or apart < best[0]:
                    best = apart, rows, labels
        if best is None:
            raise InvalidArgument("there must be a start and a labeling")
        return [row.requires_grad_() for row in best[1]], best[2]

    def _off_length(self, rows: Rows) -> Tensor:
        mean = torch.cat([row.norm(dim=1) for row in rows]).mean()
        return (mean / self.length - 1).square()

    def _reorder(self, rows: Rows, labels: Sequence[int], randomness: Randomness) -> None:
        """Put each row in the best order among some; the moments of Adam stay where they are."""
        for place, row in enumerate(rows):
            present = row.detach().clone()
            tokens = [one[0] for one in self.judge.dummies.nearest(present, 1)]
            orders = [list(range(len(row)))]
            orders += draw_edits(len(row), self.effort.edits, randomness.stream(place))
            texts = [[tokens[one] for one in order] for order in orders]
            scores = self.judge.unlikeliness(texts)
            for number, order in enumerate(orders):
                tried = [*rows[:place], present[order], *rows[place + 1 :]]
                scores[number] += self.judge.of_rows(tried, labels)
            with torch.no_grad():
                row.copy_(present[orders[int(np.argmin(scores))]])


def list_labelings(rows: int, classes: int) -> list[tuple[int, ...]]:
    """Every way to give each row a class.

    >>> list_labelings(1, 3), list_labelings(2, 0)
    ([(0,), (1,), (2,)], [()])
    """
    if not classes:
        return [()]
    if classes**rows > MOST_LABELINGS:
        raise InvalidArgument(
            f"{rows} rows of {classes} classes have more than {MOST_LABELINGS} labelings to "
            "search; take a smaller batch, or known labels"
        )
    return list(product(range(classes), repeat=rows))
