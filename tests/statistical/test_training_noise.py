"""The noise in the actual update of a private step: N(0, (σC/B)²) in every coordinate, once.

The check looks at parameters before and after a step of plain SGD, subtracts what a step without
noise would have done, and compares the rest with its law. Sums and differences over two halves of
the coordinates, and over two steps, have to follow it too, so noise that is used twice shows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor, nn
from torch.optim import SGD

from sfumato.core.randomness import Randomness
from sfumato.training.clipping.clippers import Adaptive, Flat
from sfumato.training.clipping.release import add_noise
from sfumato.training.steps import PrivateStep, make_private
from statistical import budget

SIGMA, BOUND, EXPECTED, ROWS = 1.7, 0.4, 12, 8
Sample = NDArray[np.float64]
Take = Callable[[PrivateStep, Tensor], None]


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(40, 100), nn.Tanh(), nn.Linear(100, 40), nn.LayerNorm(40))


def private(of: nn.Module, noise: float = SIGMA, seed: int = 5) -> PrivateStep:
    return make_private(
        of,
        SGD(of.parameters(), lr=1.0),
        clipper=Flat(BOUND),
        noise_multiplier=noise,
        expected_batch_size=EXPECTED,
        randomness=Randomness.reproducible(seed),
    )


def losses(step: PrivateStep, rows: Tensor) -> Tensor:
    return step.recording.model(rows).square().sum(1)  # type: ignore[no-any-return]


def one_batch(step: PrivateStep, rows: Tensor) -> None:
    step.backward(losses(step, rows))
    step.step()


def micro_batches(step: PrivateStep, rows: Tensor) -> None:
    for row in rows:
        step.backward(losses(step, row[None]))
    step.step()


def no_batch(step: PrivateStep, _: Tensor) -> None:
    step.step()


CASES: dict[str, Take] = {
    "one batch": one_batch,
    "micro-batches": micro_batches,
    "no batch": no_batch,
}


def flat(of: nn.Module) -> Tensor:
    return torch.cat([one.detach().double().flatten() for one in of.parameters()])


def updates(take: Take, noise: float, steps: int = 2) -> Tensor:
    """What each of a few steps from the same place does to the parameters, one row per step."""
    draw = torch.Generator().manual_seed(9)
    rows, network = 5 * torch.randn(ROWS, 40, generator=draw), model()
    step, before = private(network, noise), flat(network)
    moves = []
    for _ in range(steps):
        take(step, rows)
        moves.append(before - flat(network))
        network.load_state_dict(model().state_dict())
    return torch.stack(moves)


def noise_of(take: Take, honest: Take) -> Sample:
    return np.asarray((updates(take, SIGMA) - updates(honest, 0.0)).numpy())


def is_wrong(case: str, take: Take) -> bool:
    noise = noise_of(take, CASES[case])
    half = noise.shape[1] // 2
    first, second = noise[:, :half], noise[:, half : 2 * half]
    samples = [noise[0], noise[1]]
    for one, other in ((first[0], second[0]), (noise[0], noise[1])):
        samples += [(one + other) / 2**0.5, (one - other) / 2**0.5]
    p_values = [value for one in samples for value in fits_normal(one, SIGMA * BOUND / EXPECTED)]
    return budget.rejects("training: noise", case, p_values)


def fits_normal(sample: Sample, deviation: float) -> list[float]:
    """Exact p-values of the whole law, and of the sum of squares, which sees the scale best."""
    total, law = float(np.square(sample / deviation).sum()), stats.chi2(len(sample))
    of_squares = min(1.0, 2 * min(law.cdf(total), law.sf(total)))
    return [budget.fits_law(sample, stats.norm(scale=deviation)), of_squares]


@pytest.mark.parametrize("case", CASES)
def test_noise_in_the_update_has_the_promised_deviation(case: str) -> None:
    assert not is_wrong(case, CASES[case])


# --- sabotaged twins -------------------------------------------------------------------------


def with_noise_on_every_micro_batch(step: PrivateStep, rows: Tensor) -> None:
    for number, row in enumerate(rows):
        step.backward(losses(step, row[None]))
        stream = Randomness.reproducible(77).stream(1000 * step.steps + number)
        add_noise(step._sums.values(), step.noise_multiplier * BOUND, stream)
    step.step(noise_multiplier=0.0)


def with_the_bound_forgotten(step: PrivateStep, rows: Tensor) -> None:
    step.backward(losses(step, rows))
    step.step(noise_multiplier=step.noise_multiplier / BOUND)


def with_the_actual_batch_size(step: PrivateStep, rows: Tensor) -> None:
    step.backward(losses(step, rows))
    step.step(expected_batch_size=len(rows))


def with_a_tenth_less_noise(step: PrivateStep, rows: Tensor) -> None:
    step.backward(losses(step, rows))
    step.step(noise_multiplier=0.9 * step.noise_multiplier)


def with_the_same_noise_in_every_step(step: PrivateStep, rows: Tensor) -> None:
    step.steps = 0
    one_batch(step, rows)


@pytest.mark.parametrize(
    ("case", "twin"),
    [
        ("micro-batches", with_noise_on_every_micro_batch),
        ("one batch", with_the_bound_forgotten),
        ("one batch", with_the_actual_batch_size),
        ("one batch", with_a_tenth_less_noise),
        ("one batch", with_the_same_noise_in_every_step),
    ],
)
def test_twins_are_caught(case: str, twin: Take) -> None:
    assert is_wrong(case, twin)


# --- the count of adaptive clipping ----------------------------------------------------------


def counts(count_noise: float) -> Sample:
    """The noise on the count, from how the bound moves when nobody is in the batch."""
    network = nn.Linear(2, 2)
    step = make_private(
        network,
        SGD(network.parameters(), lr=1.0),
        clipper=Adaptive(1.0, count_noise=count_noise),
        noise_multiplier=0.0,
        expected_batch_size=EXPECTED,
        randomness=Randomness.reproducible(3),
    )
    bounds = [1.0]
    for _ in range(600):
        step.step()
        bounds.append(step.release.sensitivity)
    # ln C moves by −0.2·(noise / B), for the share is ½ and so is the quantile.
    return -np.diff(np.log(bounds)) * EXPECTED / 0.2


def count_is_wrong(noise: Sample) -> bool:
    pairs = (noise[::2] + noise[1::2]) / 2**0.5
    p_values = [*fits_normal(noise, 2.5), *fits_normal(pairs, 2.5)]
    return budget.rejects("training: noise", "count", p_values)


def test_the_count_has_its_noise() -> None:
    assert not count_is_wrong(counts(2.5))


@pytest.mark.parametrize("factor", [0.5, 1.5])
def test_a_count_with_other_noise_is_caught(factor: float) -> None:
    assert count_is_wrong(counts(2.5 * factor))
