"""False claims about DP-SGD on several processes: coins, empty batches and noise by shares.

Each function below makes what an observer sees of the steps, in the fewest dimensions in which
draws can tell. Its docstring says what is claimed, why that is false, and what repairs it.
``training.processes`` trains as the repairs do.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.accounting.accountants import compute_spending
from sfumato.accounting.events import SampledGaussian
from sfumato.accounting.gaussian import gaussian_epsilon
from sfumato.audits.exhibits.exhibit import Exhibit
from sfumato.audits.exhibits.gradients import APPROXIMATE, PRESENT
from sfumato.audits.subject import DrawVectors, VectorSubject
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness

OPACUS = "Opacus 1.6, DistributedUniformWithReplacementSampler"

PROCESSES = 8
COINS = 32
RATE = 1 / 8
COIN_NOISE = 1.0
COIN_DELTA = 0.05

STEPS = 16
STEP_RATE = 0.1
STEP_NOISE = 16.0
STEP_DELTA = 1e-3

SHARES = 2
SHARED_NOISE = 1.0
SHARED_DELTA = 0.1


def shards(*, equal: bool) -> VectorSubject:
    """Steps on Poisson samples whose coins are tossed by each process for its own shard.

    What is claimed
        Each process selects every record of its shard with probability q, so batches are Poisson
        samples at rate q, and the steps have the level that is amplified by sampling.

    Why it is false
        ``__iter__`` draws ``torch.rand(self.num_samples, generator=self.generator)``, by default
        from the process's global stream. Where all processes have called ``torch.manual_seed`` with
        the same number, as is usual so that they begin with the same weights, all shards have the
        *same* coins: the record at place i of one shard is in the batch exactly when those at place
        i of all others are. The size of a batch has W times its variance, and whoever sees the
        others' part of the sum sees the record's coin: nothing is amplified.

    Repair
        Coins of its own for every record: a stream for each process, or one vector of coins for all
        records of which each process keeps its part.

    Reference
        Opacus 1.6.0, ``opacus/utils/uniform_sampler.py``; amplification by sampling: Balle, Barthe
        and Gaboardi 2018, "Privacy amplification by subsampling".
    """
    steps = SampledGaussian(noise_multiplier=COIN_NOISE, rate=RATE, count=COINS)
    epsilon = compute_spending([steps], "pld").epsilon(COIN_DELTA)

    def toss(count: int, randomness: Randomness) -> Floats:
        return (randomness.uniform(count * COINS) < RATE).astype(float).reshape(count, COINS)

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        coins = toss(count, randomness)
        sums = number * coins + COIN_NOISE * randomness.normal(count, COINS)
        # The records at the same place of all other shards, which the attacker knows.
        others = PROCESSES - 1
        for _ in range(others):
            sums += coins if equal else toss(count, randomness)
        # What is seen of the record in steps that the others seem to be in.
        seen: Floats = np.where(sums > others / 2, sums - others, 0.0).sum(axis=1, keepdims=True)
        return seen

    return _told_apart(epsilon, COIN_DELTA, source)


def empty_batches(*, skipped: bool) -> VectorSubject:
    """Some steps of a process whose shard has few records.

    What is claimed
        The level of the noise of all steps.

    Why it is false
        ``__iter__`` yields a batch only ``if len(selected_examples) > 0``: a process with an empty
        local batch goes on to its next one, and takes fewer steps than the others. They then add up
        sums of different steps, and at the end wait for one that has none left. How many steps a
        process has taken is seen by all, and has no noise: it says how often somebody of its shard
        was drawn.

    Repair
        Every process takes every step, with an empty batch as with any other.

    Reference
        Opacus 1.6.0, ``opacus/utils/uniform_sampler.py``; its sampler for one process does yield
        empty batches.
    """
    # Whether or not records are sampled, these many Gaussian releases have at most this level.
    epsilon = gaussian_epsilon(math.sqrt(STEPS) / STEP_NOISE, STEP_DELTA)

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        other, record = (randomness.uniform(count * STEPS) < STEP_RATE for _ in range(2))
        drawn = np.stack([other, record & bool(number)]).reshape(2, count, STEPS)
        taken = drawn.any(axis=0).sum(axis=1) if skipped else np.full(count, STEPS)
        deviation = STEP_NOISE * np.sqrt(np.maximum(taken, 1))
        noisy = drawn.sum(axis=(0, 2)) + deviation * randomness.normal(1, count)[0]
        return np.column_stack([taken, noisy])

    return _told_apart(epsilon, STEP_DELTA, source)


def noise_by_shares(members: int) -> VectorSubject:
    """A sum to which each of some processes adds noise of σ/√W, W being the number at the start.

    What is claimed
        W processes that add σ/√W each add σ together: the level of DP-SGD with σ.

    Why it is false
        It is true while the processes that divide are the ones that add up. If one is lost and the
        others go on with the W they know, the noise is √((W−1)/W) of its due, 0.71 for two, and
        nothing shows it.

    Repair
        Full noise on every coordinate from one process, and a count of who has noised what in the
        same sum; or W read anew for every sum.

    Reference
        A slip that elastic training invites; Opacus 1.6.0 (``ddpoptimizer.py``) adds all noise in
        the first process and does not have it.
    """
    epsilon = gaussian_epsilon(1 / SHARED_NOISE, SHARED_DELTA)

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        shares = randomness.normal(count, members) * SHARED_NOISE / math.sqrt(SHARES)
        noisy: Floats = number + shares.sum(axis=1, keepdims=True)
        return noisy

    return _told_apart(epsilon, SHARED_DELTA, source)


def _told_apart(epsilon: float, delta: float, source: DrawVectors) -> VectorSubject:
    return VectorSubject(
        claim=APPROXIMATE.format("Data sets that differ in a record", epsilon, delta),
        epsilon=epsilon,
        inputs=PRESENT,
        source=source,
        delta=delta,
    )


EQUAL_COINS = Exhibit(
    name="equal-coins",
    source=f"{OPACUS}, with the same torch seed in all processes",
    claim="coins tossed by each process for its shard are a Poisson sample of all records",
    reason="with equal seeds all shards have the same coins: other records show that of this one",
    repair="a stream of coins for each process, or one vector of which each keeps its part",
    broken=lambda: shards(equal=True),
    repaired=lambda: shards(equal=False),
)
SKIPPED_EMPTY_BATCHES = Exhibit(
    name="skipped-empty-batches",
    source=OPACUS,
    claim="a process whose local batch is empty may go on to its next one",
    reason="how many steps it takes has no noise, and says how often its shard was drawn",
    repair="every process takes every step, with an empty batch, too",
    broken=lambda: empty_batches(skipped=True),
    repaired=lambda: empty_batches(skipped=False),
)
STALE_SHARES = Exhibit(
    name="stale-shares",
    source="noise divided among processes, after one was lost",
    claim="W processes that add noise of σ/√W each have the level of σ",
    reason=f"the W is out of date: one of {SHARES} is gone, and the noise is 0.71 of its due",
    repair="full noise on each coordinate from one process, and a witness in the same sum",
    broken=lambda: noise_by_shares(SHARES - 1),
    repaired=lambda: noise_by_shares(SHARES),
)
