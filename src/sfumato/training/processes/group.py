"""The processes that torch has started for one training, as a team.

``torchrun --nproc-per-node W -m sfumato train …`` starts W processes with the same command, each
with its number; ``joined`` makes a team of them. Sums go over gloo where numbers are in the memory
of processors, and over nccl where they are on GPUs.

Care
    There is no encryption between the processes: ``sums`` says what they send. A process that ends
    breaks its connections, so the others notice at once; one that is alive and silent is given up
    after ``PATIENCE``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as torch_processes
from torch import Tensor

from sfumato.core.errors import ProcessLost
from sfumato.training.processes.launch import started_together
from sfumato.training.processes.team import ALONE, Team, current_team, working_in

T = TypeVar("T")

# The others wait so long for one that reads a corpus, or learns a tokenizer.
PATIENCE = timedelta(hours=2)


class Group:
    """The processes of torch's default group."""

    def __init__(self) -> None:
        self.rank = torch_processes.get_rank()
        self.size = torch_processes.get_world_size()

    def add(self, numbers: Tensor) -> None:
        """One all-reduce."""
        _heard(lambda: torch_processes.all_reduce(numbers))

    def copy(self, numbers: Tensor) -> None:
        """One broadcast."""
        _heard(lambda: torch_processes.broadcast(numbers, src=0))

    def gather(self, numbers: Sequence[float]) -> list[tuple[float, ...]]:
        """One all-gather of doubles."""
        own = torch.tensor(numbers, dtype=torch.float64)
        rows = [torch.empty_like(own) for _ in range(self.size)]
        _heard(lambda: torch_processes.all_gather(rows, own))
        return [tuple(row.tolist()) for row in rows]

    def collect(self, value: T) -> list[T]:
        """Pickled, to everybody."""
        found: list[Any] = [None] * self.size
        _heard(lambda: torch_processes.all_gather_object(found, value))
        return found

    def tell(self, value: T) -> T:
        """Pickled, from the first."""
        told = [value]
        _heard(lambda: torch_processes.broadcast_object_list(told, src=0))
        return told[0]


@contextmanager
def joined() -> Iterator[Team]:
    """Within this block, train with the processes that were started together with this one."""
    if current_team() is not ALONE:
        yield current_team()
        return
    if torch_processes.is_available() and torch_processes.is_initialized():
        with working_in(Group()) as team:  # whoever began it also ends it
            yield team
        return
    if not started_together():
        yield ALONE
        return
    _heard(lambda: torch_processes.init_process_group(timeout=PATIENCE))
    try:
        with working_in(Group()) as team:
            yield team
    finally:
        torch_processes.destroy_process_group()


def _heard(call: Callable[[], object]) -> None:
    """An operation of all processes; torch's message would name addresses."""
    try:
        call()
    except RuntimeError:
        pass
    else:
        return
    raise ProcessLost(
        "another process of this training has ended or is out of reach; nothing of this step was "
        "used. With `resume=True`, in as many processes as you like, training goes on from the "
        "last checkpoint"
    )
