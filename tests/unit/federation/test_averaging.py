"""One client moves a round by at most C over the expected number, whatever anybody answers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from federation_twins import NORM, SHAPES, START, TWINS, Case, Mean, make_case, moved, ours
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.federation.averaging import MOST_CLIENTS, WHOLE, Averaging, Reply, bound
from sfumato.training.plan import LogicalBatch

EXACT = 1 + 1e-12  # dividing by the expected number is rounded, after the noise
QUICK = settings(max_examples=4000, database=None, phases=[Phase.generate])


@settings(max_examples=400)
@given(st.integers(0, 2**63).map(make_case))
def test_one_client_moves_the_mean_by_at_most_its_bound(case: Case) -> None:
    assert moved(ours, case) <= EXACT


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_the_same_rounds_find_out_every_twin(twin: Mean) -> None:
    case = next(case for case in map(make_case, range(5000)) if moved(twin, case) > 1.05)
    assert moved(ours, case) <= EXACT


Bound = Callable[[NDArray[np.float64], float], NDArray[np.float64]]


def longer(made: Bound, update: Sequence[float], norm: float) -> bool:
    """Whether what a client adds is longer than the noise is for, counted in whole numbers."""
    with np.errstate(all="ignore"):
        found = made(np.array(update), norm)
    if not np.isfinite(found).all() or not (found == np.trunc(found)).all():
        return True
    return sum(int(one) ** 2 for one in found) > int(WHOLE) ** 2


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
VECTORS = st.lists(NUMBERS, min_size=1, max_size=12)
NORMS = st.floats(min_value=1e-300, max_value=1e300)


@given(VECTORS, NORMS)
def test_what_a_client_adds_is_short_in_exact_arithmetic(update: list[float], norm: float) -> None:
    assert not longer(bound, update, norm)


def _rounded(update: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    """To the nearest whole number: rounding may lengthen it."""
    length = float(np.linalg.norm(update))
    found: NDArray[np.float64] = np.rint(update * WHOLE * min(1 / norm, 1 / (length or 1e-300)))
    return found


def _of_floats(update: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    """Squares overflow, or vanish, and the norm with them."""
    length = float(np.sqrt(np.square(update).sum()))
    return np.trunc(update * min(1 / norm, 1 / length if length else math.inf) * WHOLE)


def _single(update: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    """A norm in single precision is off by more than whole numbers forgive."""
    length = float(np.linalg.norm(update.astype(np.float32)))
    return np.trunc(update * (WHOLE * min(1 / norm, 1 / length if length else math.inf)))


@pytest.mark.parametrize("twin", [_rounded, _of_floats, _single])
def test_coarser_bounds_are_found_out(twin: Bound) -> None:
    drawn = st.tuples(VECTORS, NORMS)
    assert find(drawn, lambda one: longer(twin, *one), settings=QUICK, random=random.Random(3))


def batch(members: Sequence[int], size: int = 2, noise: float = 0.0) -> LogicalBatch:
    return LogicalBatch(0, np.array(members, dtype=np.intp), size, noise)


def reply(client: int, shift: float) -> Reply:
    return Reply(client, 0, {name: one + shift for name, one in START.items()})


def test_a_short_update_is_not_changed_and_the_divisor_stays() -> None:
    mean = Averaging(SHAPES, NORM).mean(
        batch([0, 1, 2]), START, [reply(1, 0.125)], Randomness.reproducible(1)
    )
    assert mean["b"].shape == (1, 2)
    assert torch.allclose(mean["a"], torch.full((2,), 0.0625, dtype=torch.float64), rtol=1e-8)


def test_noise_is_that_of_the_norm_that_clipped_whoever_answers() -> None:
    averaging, stream = Averaging(SHAPES, NORM), Randomness.reproducible(7)
    everyone = [reply(client, 3.0) for client in range(10)]
    noise = stream.stream(0).noise(4) * 1.5 * NORM / 2  # the first piece of the sum
    for answers in (everyone, everyone[:2], []):
        asked = batch(range(10), noise=1.5)
        noisy = averaging.mean(asked, START, answers, Randomness.reproducible(7))
        plain = averaging.mean(batch(range(10)), START, answers, stream)
        found = torch.cat([(noisy[name] - plain[name]).reshape(-1) for name in SHAPES]).numpy()
        assert np.allclose(found, noise, rtol=1e-9, atol=1e-9)


def test_the_order_of_answers_does_not_matter_to_the_last_bit() -> None:
    draws = np.random.default_rng(5)
    answers = [
        Reply(n, 0, {k: one + torch.from_numpy(draws.normal(size=one.shape)).float()
                     for k, one in START.items()})
        for n in range(9)
    ]  # fmt: skip
    averaging = Averaging(SHAPES, NORM)
    means = [
        averaging.mean(batch(range(9)), START, some, Randomness.reproducible(1))
        for some in (answers, answers[::-1])
    ]
    assert all(torch.equal(means[0][name], means[1][name]) for name in SHAPES)


def test_without_a_norm_the_mean_is_the_plain_one() -> None:
    answers = [reply(0, 2.0), reply(1, 4.0)]
    mean = Averaging(SHAPES).mean(batch([0, 1]), START, answers, Randomness.reproducible(1))
    assert torch.equal(mean["a"], torch.full((2,), 3.0, dtype=torch.float64))


def test_more_clients_than_can_be_added_exactly_are_refused() -> None:
    many = batch(range(MOST_CLIENTS + 1))
    with pytest.raises(InvalidArgument, match="added up exactly"):
        Averaging(SHAPES, NORM).mean(many, START, [], Randomness.reproducible(1))
    assert MOST_CLIENTS * WHOLE <= 2**53  # whole numbers are exact up to there
