"""Several processes together draw the batch of one, and the noise of one.

Coins: what the members of a team draw from streams of their own is one Poisson sample. Twin: all
members toss the same coins for their shards.
Noise: the sum of a team has noise of the planned deviation, independent in every coordinate. Twins:
each of two members adds σ/√2 and one is lost, and all draw from the same stream; both say what the
witness wants to hear.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats

from sfumato.core.randomness import Randomness
from sfumato.training.clipping import release as releases
from sfumato.training.clipping.clippers import Flat
from sfumato.training.clipping.release import GaussianRelease, StepNoise
from sfumato.training.plan import LogicalBatch
from sfumato.training.processes.shards import own_batches
from sfumato.training.processes.sums import add_up
from sfumato.training.processes.team import ALONE, Team
from sfumato.training.sampling import Poisson
from statistical import test_sampling as sampling
from statistical.budget import fits_law, rejects
from teams import Table, Threads, all_done, run_as_team

CHECK = "processes: as one"
SIZE, SIGMA, BOUND = 3, 1.3, 0.7
Sample = NDArray[np.float64]


def shard(rank: int, stream: Randomness) -> Callable[[int], NDArray[np.intp]]:
    draw = Poisson().drawing(sampling.UNITS, stream, {})
    team = Threads(rank, Table(SIZE))

    def members(step: int) -> NDArray[np.intp]:
        batch = LogicalBatch(step, draw(step, sampling.SIZES["large batches"]), 20, 1.0)
        return next(own_batches(team, [batch])).members

    return members


def equal_coins(rank: int, stream: Randomness) -> Callable[[int], NDArray[np.intp]]:
    del stream
    of_all = Poisson().drawing(sampling.UNITS // SIZE, Randomness.reproducible(1), {})
    return lambda step: of_all(step, 20 // SIZE) * SIZE + rank


def batches(
    make: Callable[[int, Randomness], Callable[[int], NDArray[np.intp]]],
) -> sampling.Members:
    """Who took part in which step, on any of the processes."""
    table = np.zeros((sampling.STEPS, sampling.UNITS), dtype=bool)
    for rank in range(SIZE):
        draw = make(rank, Randomness.reproducible(30 + rank))
        for step in range(sampling.STEPS):
            table[step, draw(step)] = True
    return table


@pytest.fixture
def fewer_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of the steps are enough here: equal coins are never apart."""
    monkeypatch.setattr(sampling, "STEPS", 1000)


@pytest.mark.usefixtures("fewer_steps")
def test_coins_by_shard_are_one_poisson_sample_and_equal_ones_are_not() -> None:
    assert not rejects(CHECK, "coins", sampling.p_values(batches(shard), 20))
    assert rejects(CHECK, "coins", sampling.p_values(batches(equal_coins), 20 // SIZE * SIZE))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "_NUMBERS_AT_A_TIME", 500)


class Honest(GaussianRelease):
    """The release of the package."""

    lost = 0


class Shares(Honest):
    """Each adds σ/√W everywhere, for a team of one more; the witness is told a lie."""

    def finish(self, sums: list[torch.Tensor], _: float, noise: StepNoise) -> None:  # type: ignore[override]
        team = noise.team
        deviation = self.deviation(noise.multiplier) / np.sqrt(team.size + 1)
        source = noise.randomness.stream(team.rank)
        releases.add_noise(sums, deviation, source, ALONE)
        add_up(team, sums, torch.full((1,), float(team.rank == 0)), 1.0)


class SameStream(Honest):
    """Members draw from streams that are the same; the witness is told a lie."""

    def finish(self, sums: list[torch.Tensor], _: float, noise: StepNoise) -> None:  # type: ignore[override]
        team, rank = noise.team, noise.team.rank
        own = sums[0].view(team.size, -1)[rank]
        releases.add_noise([own], self.deviation(noise.multiplier), noise.randomness, ALONE)
        add_up(team, sums, torch.full((1,), float(rank == 0)), 1.0)


def noise_of(kind: type[Honest], size: int) -> Sample:
    def step(team: Team) -> torch.Tensor:
        sums = torch.zeros(6000, dtype=torch.double)
        noise = StepNoise(SIGMA, Randomness.reproducible(8), team)
        kind(Flat(BOUND)).finish([sums], 1.0, noise)
        return sums

    found = step(ALONE) if size == 1 else all_done(run_as_team(size, step))[0]
    drawn: Sample = found.numpy() / (SIGMA * BOUND)
    return drawn


def noise_p_values(sample: Sample) -> list[float]:
    first, second = np.split(sample, 2)
    both = (first + second) / np.sqrt(2)
    return [fits_law(one, stats.norm) for one in (sample, both)]


@pytest.mark.parametrize("size", [1, 2])
def test_the_noise_of_a_team_is_that_of_one(size: int) -> None:
    assert not rejects(CHECK, "noise", noise_p_values(noise_of(Honest, size)))


@pytest.mark.parametrize("twin", [Shares, SameStream])
def test_other_noise_is_told_apart(twin: type[Honest]) -> None:
    assert rejects(CHECK, "noise", noise_p_values(noise_of(twin, 2)))
