"""Which units belong to which process.

Guarantee
    The batch of a step has the law that the plan's sampling states, whatever the number of
    processes: every unit takes part with the planned probability, independently of all others, and
    on one process only.

Why it holds
    Process r has the units u with u mod W = r. Under Poisson sampling it tosses a coin for every
    unit and keeps those of its own units; the coins of others are thrown away. With a seed all
    toss the same coins, so together they have the batch of one process. Without a seed each has a
    cryptographic stream of its own, and independent coins of disjoint shards are one Poisson sample
    of all units. Shuffled batches follow from an order that the first process tells all others.
    A process without members takes its step like any other, since the others wait for its noise.

Care
    The number of members on one process is as secret as that of the batch; it is not logged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sfumato.training.plan import LogicalBatch
from sfumato.training.processes.team import Team


def own_batches(team: Team, batches: Iterable[LogicalBatch]) -> Iterator[LogicalBatch]:
    """The same batches with the members of this process only, empty ones included."""
    for batch in batches:
        if team.size == 1:
            yield batch
            continue
        own = batch.members[batch.members % team.size == team.rank]
        yield replace(batch, members=own)
