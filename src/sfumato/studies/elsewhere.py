"""Cells of a study that an engine computes elsewhere, as soon as what they need is there.

The process that runs the study hands out the numbers of cells. A worker computes one as workers of
this machine do: under the lock of the cell, unless its record is there, with the record written
last and in one step. So a cell whose worker died is computed again by another, a cell that two
workers hold has one record, and a study may go on with another engine, or with several commands at
once. Nothing comes back but that a cell is done: figures are read from its record.

Locks are those of the file system. Where nodes do not see each other's locks, a cell may be
computed twice; under the seeds of the study it comes out the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from sfumato.core.errors import InvalidArgument
from sfumato.engines.engine import Counts, Engine
from sfumato.studies.deadline import Clock
from sfumato.studies.worker import WAIT, Work, compute_cell, is_ready, list_open


def refuse_payment(work: Work) -> None:
    """Refuse to compute elsewhere what is paid for."""
    if work.payment is not None:
        raise InvalidArgument(
            "what a study releases is charged by the process that computes it, with the key of the "
            "budget, which goes nowhere else: leave out `engine=...`"
        )


def compute_elsewhere(work: Work, engine: Engine) -> Iterator[None]:
    """Let an engine compute every open cell; pauses now and then, for whoever watches."""
    offer = _Offer(work)
    place = work.folder.lock("errand")
    place.parent.mkdir(parents=True, exist_ok=True)
    with closing(engine.each(compute_numbered, work, offer, place)) as computed:
        for number, _ in computed:
            offer.out.discard(number)
            yield


def compute_numbered(work: Work, number: int) -> Counts:
    """Elsewhere: compute a cell by its number, unless somebody has or does."""
    if not compute_cell(work, work.grid.distinct[number]):
        time.sleep(WAIT)  # another command is at it; who asks again must not ask all the time
    return {}


@dataclass
class _Offer:
    """The numbers of cells that can be computed now; None while all of those are handed out."""

    work: Work
    out: set[int] = field(default_factory=set)
    _finished: dict[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[int | None]:
        numbers = {cell.key: number for number, cell in enumerate(self.work.grid.distinct)}
        clock = Clock(self.work.grid, self.work.folder, self.work.until)
        while cells := clock.in_time(list_open(self.work, self._finished), self._finished):
            ready = (numbers[cell.key] for cell in cells if is_ready(cell, self._finished))
            number = next((one for one in ready if one not in self.out), None)
            if number is not None:
                self.out.add(number)
            yield number
