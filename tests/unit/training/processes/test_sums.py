"""A step's sum has noise exactly once, or nothing of it is used; what fails in one fails in all.

Each twin breaks one thing: noise by everybody, by nobody, by a team that is not the one that adds
up, a member that is missing, a step that is left out. None of them may take a step.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD

from sfumato.core.errors import (
    ENDED_BY_RECORDS,
    InvalidArgument,
    ProcessesDisagree,
    ProcessLost,
)
from sfumato.core.randomness import Randomness
from sfumato.training.checkpoints import Saving
from sfumato.training.clipping import release as releases
from sfumato.training.clipping.clippers import Adaptive, Flat
from sfumato.training.clipping.directional import DirectionalRelease, PerRecordRelease
from sfumato.training.clipping.embedded import EmbeddedRelease
from sfumato.training.clipping.release import GaussianRelease, GradientRelease
from sfumato.training.processes import likeness
from sfumato.training.processes.meetings import (
    SUMMED,
    agree_to_save,
    failing_together,
    led,
    meet,
)
from sfumato.training.processes.sums import add_up
from sfumato.training.processes.team import ALONE, Team, own_stream, shared_stream
from sfumato.training.steps import PrivateStep
from teams import Table, Threads, all_done, run_as_team

WIDTH, ROWS = 5, 4
RELEASES: dict[str, Callable[[], GradientRelease]] = {
    "gaussian": lambda: GaussianRelease(Flat(0.5)),
    "adaptive": lambda: GaussianRelease(Adaptive(0.5, count_noise=2.0)),
    "per-record": lambda: PerRecordRelease(ROWS),
    "directional": lambda: DirectionalRelease(WIDTH * 3, ROWS),
    "embedded": lambda: basis_of_two(),  # noqa: PLW0108  # it is defined below
}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several pieces, of which no process has all."""
    monkeypatch.setattr(releases, "_NUMBERS_AT_A_TIME", 4)


def basis_of_two() -> EmbeddedRelease:
    made = EmbeddedRelease(0.5, 0.2)
    basis = torch.linalg.qr(torch.arange(30.0).sin().view(15, 2))[0].t()
    made.basis = {"weight": basis.reshape(2, 3, WIDTH)}
    return made


def take_step(team: Team, kind: str = "gaussian", seed: int | None = 1) -> Tensor:
    """The weights after a step in which each member has some of the rows."""
    network = nn.Linear(WIDTH, 3, bias=False)
    with torch.no_grad():
        network.weight.copy_(torch.arange(15.0).cos().view(3, WIDTH))
    source = Randomness.secure() if seed is None else Randomness.reproducible(seed)
    step = PrivateStep(
        network.double(),
        SGD(network.parameters(), lr=1.0),
        release=RELEASES[kind](),
        noise_multiplier=1.0,
        expected_batch_size=ROWS,
        randomness=source,
        team=team,
    )
    rows = torch.arange(ROWS * WIDTH, dtype=torch.double).sin().view(ROWS, WIDTH)
    own = rows[team.rank :: team.size]
    if len(own):
        step.backward(network(own).square().sum(1))
    step.step()
    step.close()
    return network.weight.detach().clone()


@pytest.mark.parametrize("kind", RELEASES)
@pytest.mark.parametrize("size", [2, 7])  # with seven some have no rows, and some no piece
def test_a_step_of_a_team(kind: str, size: int) -> None:
    found = all_done(run_as_team(size, lambda team: take_step(team, kind)))
    assert all(torch.equal(found[0], one) for one in found)
    if kind != "directional":  # its draws are for all rows of a batch together
        torch.testing.assert_close(found[0], take_step(ALONE, kind), rtol=0, atol=1e-12)


def test_one_sum_for_each_step() -> None:
    tables: list[Table] = []

    def member(rank: int, table: Table) -> Threads:
        tables.append(table)
        return Threads(rank, table)

    all_done(run_as_team(2, take_step, member))
    assert tables[0].sums == 1


def noise_as(rank: int, size: int) -> Callable[..., Tensor]:
    """Noise as another member, or another team, would add it."""
    honest = releases.add_noise

    def add(totals: Any, deviation: float, randomness: Randomness, _: Team = ALONE) -> Tensor:
        return honest(totals, deviation, randomness, Threads(rank, Table(size)))

    return add


def no_noise(totals: Any, *_: Any) -> Tensor:
    return torch.zeros(-(-15 // 4))


def some_noise(totals: Any, deviation: float, randomness: Randomness, team: Team) -> Tensor:
    """As many marks as there should be, and two of them on the same piece."""
    marks = torch.zeros(4)
    marks[: 2 - team.rank] = 1.0
    marks[0] = 1.0
    marks[3] = 1.0 - team.rank
    return marks


TWINS: dict[str, Callable[[], Callable[..., Tensor]]] = {
    "everybody": lambda: noise_as(0, 1),
    "nobody": lambda: no_noise,
    "all are the first": lambda: noise_as(0, 2),
    "a team of three, of which one is gone": lambda: noise_as(1, 3),
    "the right number, on the wrong pieces": lambda: some_noise,
}


@pytest.mark.parametrize("twin", TWINS)
def test_noise_that_is_not_there_once_is_refused(
    twin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "add_noise", TWINS[twin]())
    found = run_as_team(2, take_step)
    assert all(isinstance(one, ProcessesDisagree) for one in found)
    assert any("more than one process, or of none" in str(one) for one in found)


class Shrunk(Threads):
    """A group in which the sum has lost a member."""

    def add(self, numbers: Tensor) -> None:
        found = self.table.exchange(self.rank, numbers.clone())
        numbers.copy_(found[0])


def test_a_sum_without_a_member_is_refused() -> None:
    found = run_as_team(2, take_step, Shrunk)
    assert any("1 of 2 processes" in str(one) for one in found)
    assert all(isinstance(one, ProcessesDisagree) for one in found)


def test_a_member_that_leaves_out_an_empty_batch_is_found_out() -> None:
    """What a sampler that skips empty local batches does: then ranks take other steps."""
    now = Saving(every=9, steps=9)

    def work(team: Team) -> None:
        if team.rank == 0:
            take_step(team)
        else:
            agree_to_save(team, now, 0)

    found = run_as_team(2, work)
    assert all(isinstance(one, ProcessesDisagree) for one in found)
    assert "not at the same step" in str(found[0])


def test_the_numbers_are_left_alone_when_the_witness_refuses() -> None:
    sums = {rank: torch.full((3,), float(rank)) for rank in range(2)}

    def work(team: Team) -> None:
        add_up(team, [sums[team.rank]], torch.ones(1), 1.0)

    assert any(isinstance(one, ProcessesDisagree) for one in run_as_team(2, work))
    assert [one.tolist() for one in sums.values()] == [[0.0] * 3, [1.0] * 3]


def test_alone_the_witness_looks_too() -> None:
    with pytest.raises(ProcessesDisagree, match="or of none"):
        add_up(ALONE, [torch.zeros(2)], torch.tensor([1.0, 0.0]), 1.0)


def test_a_release_that_knows_no_teams_is_for_one_process() -> None:
    class Own(GaussianRelease):
        adds_up_teams = False

    def work(team: Team) -> None:
        network = nn.Linear(2, 1)
        PrivateStep(
            network,
            SGD(network.parameters(), lr=1.0),
            release=Own(Flat(1.0)),
            noise_multiplier=1.0,
            expected_batch_size=1,
            randomness=Randomness.secure(),
            team=team,
        )

    assert all(isinstance(one, InvalidArgument | ProcessLost) for one in run_as_team(2, work))


@pytest.mark.parametrize("kind", [*ENDED_BY_RECORDS, ValueError, InvalidArgument])
@pytest.mark.parametrize("where", [0, 1])
def test_what_fails_in_one_fails_in_all_and_is_said_once(kind: type[Exception], where: int) -> None:
    done = threading.Event()

    def work(team: Team) -> None:
        with failing_together(team):
            if team.rank == where:
                raise kind("what happened")
            meet(team, SUMMED)
            done.set()

    found = run_as_team(3, work)
    assert not done.is_set()
    assert all(isinstance(one, Exception) for one in found)
    silent = [getattr(one, "said_elsewhere", False) for one in found]
    assert silent == [rank != where for rank in range(3)]
    # The leader charges for a step that its records have ended, whoever had them.
    wanted = kind if kind in ENDED_BY_RECORDS else Exception
    assert all(isinstance(one, wanted) for one in found)
    assert "what happened" not in str(found[(where + 1) % 3])


def test_the_leader_does_it_for_all_or_fails_for_all() -> None:
    calls = []

    def make() -> str:
        calls.append(1)
        return "told"

    def fail() -> str:
        raise InvalidArgument("no")

    assert all_done(run_as_team(3, lambda team: led(team, make))) == ["told"] * 3
    assert len(calls) == 1

    def failing(team: Team) -> str:
        with failing_together(team):
            return led(team, fail)

    found = run_as_team(2, failing)
    assert isinstance(found[0], InvalidArgument)
    assert isinstance(found[1], ProcessLost)
    assert found[1].said_elsewhere


def test_all_stop_when_one_is_asked_to() -> None:
    def work(team: Team) -> tuple[bool, int | None, list[float]]:
        now = Saving(every=9, steps=9, asked=15 if team.rank == 1 else None, team=True)
        now.saved()
        due, seen = agree_to_save(team, now, 3, [1.5, team.rank])
        return due, now.asked, seen

    assert all_done(run_as_team(2, work)) == [(True, 15, [3.0, 1.0])] * 2


def test_only_the_leaders_clock_decides() -> None:
    def work(team: Team) -> bool:
        now = Saving(every=9, steps=9, unsaved=9 if team.rank else 0)
        now._last = float("inf")
        return agree_to_save(team, now, 3)[0]

    assert all_done(run_as_team(2, work)) == [False, False]


def test_other_weights_are_not_saved() -> None:
    def work(team: Team, weight: float = 0.0, bound: float = 0.0) -> None:
        network = nn.Linear(2, 1)
        network.register_buffer("scale", torch.tensor(1.0))  # a number by itself
        with torch.no_grad():
            network.weight.fill_(1.0 + weight * team.rank)
            network.bias.fill_(2.0)
        likeness.refuse_other_weights(team, network, 1.0 + bound * team.rank, 3)

    all_done(run_as_team(2, work))
    for change in (partial(work, weight=2.0**-23), partial(work, bound=2.0**-52)):
        found = run_as_team(2, change)
        assert all("different weights" in str(one) for one in found)


def test_streams_of_their_own_and_of_all() -> None:
    def work(team: Team) -> tuple[float, float]:
        source = Randomness.reproducible(7)
        secure = shared_stream(team, Randomness.secure())
        return float(own_stream(team, source).uniform(1)[0]), float(secure.uniform(1)[0])

    (first, shared), (second, likewise) = all_done(run_as_team(2, work))
    assert first != second
    assert first == float(Randomness.reproducible(7).uniform(1)[0])
    assert shared == likewise


def test_no_two_contributions_of_a_team_draw_from_the_same_stream() -> None:
    """Noise that every record has of its own would be the same on two processes with a seed."""
    network = nn.Linear(2, 1)
    paths = []
    for rank in range(3):
        step = PrivateStep(
            network,
            SGD(network.parameters(), lr=1.0),
            release=GaussianRelease(Flat(1.0)),
            noise_multiplier=1.0,
            expected_batch_size=1,
            randomness=Randomness.reproducible(1),
            team=Threads(rank, Table(3)),
        )
        paths += [step._noise_of_contribution().randomness.path for _ in range(3)]
        step.close()
    assert len(set(paths)) == 9
