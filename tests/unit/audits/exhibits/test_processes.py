"""The exhibits about several processes draw from the laws they name.

Tolerances are at least eight standard errors wide.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from sfumato.audits.exhibits import processes
from sfumato.audits.subject import VectorSubject
from sfumato.core.randomness import Randomness

COUNT = 20_000


def drawn(subject: VectorSubject, number: int) -> np.ndarray[tuple[int, int]]:
    return np.asarray(subject.draw(number, COUNT, Randomness.reproducible(3)))


def test_equal_coins_show_in_the_records_of_others() -> None:
    """All steps in which the record was drawn are found, and it is added up in all of them."""
    uses = processes.COINS * processes.RATE
    without, beside = (drawn(processes.shards(equal=True), number) for number in (0, 1))
    assert without.mean() == pytest.approx(0.0, abs=0.15)
    assert beside.mean() == pytest.approx(uses, abs=0.2)
    # Independent coins are seldom all there: the record changes little in what seems to be so.
    means = [drawn(processes.shards(equal=False), number).mean() for number in (0, 1)]
    assert abs(means[1] - means[0]) < uses / 2


def test_only_skipped_batches_change_the_number_of_steps() -> None:
    once = 1 - (1 - processes.STEP_RATE) ** 2
    for number, rate in ((0, processes.STEP_RATE), (1, once)):
        taken = drawn(processes.empty_batches(skipped=True), number)[:, 0]
        assert taken.mean() == pytest.approx(processes.STEPS * rate, abs=0.1)
        kept = drawn(processes.empty_batches(skipped=False), number)[:, 0]
        assert set(kept) == {float(processes.STEPS)}


def test_a_lost_share_is_missing() -> None:
    deviations = [drawn(processes.noise_by_shares(size), 0).std() for size in (1, 2)]
    assert deviations == pytest.approx([math.sqrt(0.5), 1.0], rel=0.05)


def test_what_is_said_of_the_published_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code itself: equal seeds give equal coins, and empty batches are left out."""
    sampling = pytest.importorskip("opacus.utils.uniform_sampler")
    found = []
    for rank in range(2):
        monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
        monkeypatch.setattr(torch.distributed, "get_rank", lambda rank=rank: rank)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(11)
            sampler = sampling.DistributedUniformWithReplacementSampler(
                total_size=8, sample_rate=0.1, shuffle=False, steps=50
            )
            found.append([batch.tolist() for batch in sampler])
    assert len(found[0]) < 50
    assert [[one + 1 for one in batch] for batch in found[0]] == found[1]
