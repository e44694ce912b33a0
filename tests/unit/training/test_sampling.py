"""Batches: who takes part in which step, and that no unit is used more than was charged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.accounting.events import SampledGaussian
from sfumato.core.errors import CannotResume, InvalidArgument, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.training.sampling import Poisson, Shuffled, micro_batches, sampling
from sfumato.training.stages import Stage, each_step

Batches = Iterator[NDArray[np.intp]]


def drawn(
    way: Poisson | Shuffled, units: int, stages: Sequence[Stage], seed: int | None = None
) -> Batches:
    randomness = Randomness.secure() if seed is None else Randomness.reproducible(seed)
    draw = way.drawing(units, randomness, way.start(randomness))
    for step, stage in enumerate(each_step(stages)):
        yield draw(step, stage.batch_size)


def most_moved(units: int, stages: Sequence[Stage], batches: Batches) -> float:
    """The squared distance by which the unit that is used most moves all sums together."""
    moved = np.zeros(units)
    for stage, members in zip(each_step(stages), batches, strict=True):
        moved[members] += 1 / stage.noise_multiplier**2
    return float(moved.max())


def charged(events: Sequence[SampledGaussian]) -> float:
    assert all(event.rate == 1.0 for event in events)
    return math.fsum(event.count / event.noise_multiplier**2 for event in events)


def constant(steps: int, batch_size: int) -> tuple[Stage, ...]:
    return (Stage(steps=steps, batch_size=batch_size, noise_multiplier=1.0),)


# --- shuffled ---------------------------------------------------------------------------------


@given(
    st.integers(2, 40),
    st.integers(1, 40),
    st.lists(st.tuples(st.integers(1, 15), st.floats(0.5, 4)), min_size=1, max_size=4),
)
def test_no_unit_is_used_more_than_shuffled_batches_are_charged(
    units: int, batch_size: int, parts: list[tuple[int, float]]
) -> None:
    size = min(units, batch_size)
    stages = [Stage(steps=n, batch_size=size, noise_multiplier=z) for n, z in parts]
    claimed = charged(Shuffled().events(units, stages))
    assert most_moved(units, stages, drawn(Shuffled(), units, stages)) <= claimed * (1 + 1e-9)


def test_with_constant_noise_the_charge_is_exact() -> None:
    stages = constant(steps=23, batch_size=3)  # 4 batches per epoch: 5 epochs and a bit
    claimed = charged(Shuffled().events(10, stages))
    assert claimed == 6.0
    assert most_moved(10, stages, drawn(Shuffled(), 10, stages)) == claimed


def test_the_twin_that_draws_a_new_order_for_every_step_is_caught() -> None:
    stages = constant(steps=40, batch_size=3)

    def redrawn() -> Batches:
        randomness = Randomness.reproducible(5)
        for step in range(40):
            yield randomness.stream(step).choose(10, 3)

    assert most_moved(10, stages, redrawn()) > charged(Shuffled().events(10, stages))


def test_an_epoch_holds_every_unit_once_and_epochs_differ() -> None:
    first: list[list[int]] = []
    second: list[list[int]] = []
    for step, members in enumerate(drawn(Shuffled(), 100, constant(steps=8, batch_size=30))):
        (first if step < 4 else second).append(members.tolist())
    for epoch in (first, second):
        assert [len(batch) for batch in epoch] == [30, 30, 30, 10]
        assert sorted(unit for batch in epoch for unit in batch) == list(range(100))
        assert all(batch == sorted(batch) for batch in epoch)
    assert first != second


def used_once(before: list[int], after: list[int]) -> bool:
    return not set(before) & set(after)


def test_a_run_that_goes_on_keeps_its_order_and_the_twin_without_it_is_caught() -> None:
    def half(saved: dict[str, int], steps: range) -> list[int]:
        draw = Shuffled().drawing(100, Randomness.secure(), saved)
        return [int(unit) for step in steps for unit in draw(step, 10)]

    saved = Shuffled().start(Randomness.secure())
    before = half(saved, range(5))
    assert used_once(before, half(saved, range(5, 10)))
    assert not used_once(before, half(Shuffled().start(Randomness.secure()), range(5, 10)))
    with pytest.raises(CannotResume, match="used twice"):
        half({}, range(5, 10))


def test_two_runs_have_different_orders() -> None:
    one, two = (Shuffled().start(Randomness.secure()) for _ in range(2))
    assert one != two


def test_shuffled_batches_keep_their_size() -> None:
    growing = [*constant(3, 10), *constant(3, 20)]
    with pytest.raises(InvalidArgument, match="need Poisson sampling"):
        Shuffled().check(100, growing)
    Poisson().check(100, growing)


# --- Poisson ----------------------------------------------------------------------------------


def test_poisson_batches_vary_and_may_be_empty() -> None:
    sizes = [len(members) for members in drawn(Poisson(), 50, constant(300, 1), seed=1)]
    assert min(sizes) == 0
    assert max(sizes) > 2


def test_a_batch_of_everybody_is_everybody() -> None:
    for members in drawn(Poisson(), 30, constant(20, 30)):
        assert members.tolist() == list(range(30))


def test_members_are_different_units_in_increasing_order() -> None:
    for members in drawn(Poisson(), 1000, constant(20, 100)):
        assert (np.diff(members) > 0).all()
        assert members[0] >= 0
        assert members[-1] < 1000


def test_each_secure_step_is_drawn_afresh_also_after_a_stop() -> None:
    randomness = Randomness.secure()
    draw = Poisson().drawing(2000, randomness, {})
    assert draw(7, 1000).tolist() != draw(7, 1000).tolist()
    assert draw(7, 1000).tolist() != draw(8, 1000).tolist()


def test_poisson_sampling_saves_nothing() -> None:
    assert Poisson().start(Randomness.secure()) == {}


def test_events_follow_batch_size_and_noise_step_by_step() -> None:
    stages = [
        Stage(steps=5, batch_size=10, noise_multiplier=2.0),
        Stage(steps=3, batch_size=20, noise_multiplier=2.0),
        Stage(steps=2, batch_size=20, noise_multiplier=1.0),
        Stage(steps=4, batch_size=10, noise_multiplier=2.0),
    ]
    assert Poisson().events(100, stages) == (
        SampledGaussian(rate=0.1, noise_multiplier=2.0, count=9),
        SampledGaussian(rate=0.2, noise_multiplier=2.0, count=3),
        SampledGaussian(rate=0.2, noise_multiplier=1.0, count=2),
    )


# --- both -------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [Poisson(), Shuffled()])
def test_no_batch_expects_more_units_than_there_are(way: Poisson | Shuffled) -> None:
    with pytest.raises(InvalidArgument, match="batch_size=31 is more than the 30 units"):
        way.check(30, constant(1, 31))


def test_epochs_in_steps() -> None:
    assert Poisson().steps(5056, 128, 30) == 1185
    assert Shuffled().steps(5056, 128, 30) == 1200
    assert Poisson().steps(5056, 128, 0.001) == 1
    assert Shuffled().steps(10, 10, 2.5) == 3


def test_samplings_have_names() -> None:
    assert sampling("poisson") == Poisson()
    assert sampling("shuffled") == Shuffled()
    with pytest.raises(UnknownName, match="did you mean 'poisson'"):
        sampling("poison")


@given(st.integers(0, 50), st.integers(1, 20))
def test_micro_batches_are_the_batch_in_pieces(count: int, size: int) -> None:
    members = np.arange(count, dtype=np.intp) * 3
    pieces = list(micro_batches(members, size))
    assert [unit for piece in pieces for unit in piece] == members.tolist()
    assert all(0 < len(piece) <= size for piece in pieces)


def test_micro_batches_have_a_size() -> None:
    with pytest.raises(InvalidArgument, match="size=0"):
        list(micro_batches(np.arange(3, dtype=np.intp), 0))


# --- the rate that is charged for ---------------------------------------------------------------

DRAWS = 2**53  # a uniform number is one of so many


class Grid(Randomness):
    """A stream that gives the same number of the grid for every unit."""

    def __init__(self, number: int) -> None:
        super().__init__(1)
        self.number = number

    def stream(self, index: int) -> Randomness:  # noqa: ARG002
        return self

    def uniform(self, count: int) -> NDArray[np.float64]:
        return np.full(count, self.number / DRAWS)


def exceeds_its_rate(takes_part: Callable[[int, float], bool], units: int, size: int) -> bool:
    """Whether more of all draws let a unit take part than its rate allows; they are the first."""
    rate = size / units
    most = math.floor(Fraction(rate) * DRAWS)
    return most < DRAWS and takes_part(most, rate)


@given(st.integers(1, 10**6), st.integers(2, 10**6))
@example(1, 3)
@example(1, 10**6)
def test_nobody_takes_part_with_more_than_the_rate_that_is_charged(size: int, units: int) -> None:
    size = min(size, units)

    def takes_part(number: int, rate: float) -> bool:
        return bool(number / DRAWS + 1 / DRAWS <= rate)

    assert not exceeds_its_rate(takes_part, units, size)


@pytest.mark.parametrize(("units", "size"), [(3, 1), (7, 2), (3, 3), (1000, 7)])
def test_poisson_samples_cut_the_grid_there(units: int, size: int) -> None:
    def takes_part(number: int, rate: float) -> bool:
        assert rate == size / units
        draw = Poisson().drawing(units, Grid(number), {})
        return len(draw(0, size)) == units

    assert not exceeds_its_rate(takes_part, units, size)
    assert takes_part(math.floor(Fraction(size / units) * DRAWS) - 1, size / units)


def test_the_twin_that_takes_every_draw_below_the_rate_is_caught() -> None:
    assert exceeds_its_rate(lambda number, rate: number / DRAWS < rate, 3, 1)
