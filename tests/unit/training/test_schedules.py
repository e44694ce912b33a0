"""Schedules: stages as asked for, each step charged as it is, absurd ones refused at once."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.accounting.accountants import compute_spending
from sfumato.accounting.events import SampledGaussian
from sfumato.core.errors import InvalidArgument
from sfumato.training.clipping.clippers import Clipping
from sfumato.training.plan import Plan
from sfumato.training.sampling import Poisson, Shuffled
from sfumato.training.settings import Privacy
from sfumato.training.stages import Schedule, each_step

UNITS = 1000


def schedule(**changes: Any) -> Schedule:
    asked: dict[str, Any] = {
        "epochs": 1, "batch_sizes": (20, 40, 60), "noise": (1.0, 0.8, 0.6), **changes,
    }  # fmt: skip
    return Schedule(**asked)


def step_by_step(plan: Plan, *, count_noise: float | None = None) -> float:
    """Every step of a Poisson plan as a release of its own, in terms of its definition."""
    events = []
    for stage in each_step(plan.stages):
        inverse = stage.noise_multiplier**-2
        if count_noise is not None:
            inverse += (2 * count_noise) ** -2
        rate = stage.batch_size / plan.units
        events.append(SampledGaussian(noise_multiplier=inverse**-0.5, rate=rate))
    return compute_spending(events, plan.accountant).epsilon(float(plan.delta))


@pytest.mark.parametrize("accountant", ["rdp", "pld"])
def test_sizes_and_noise_are_charged_step_by_step(accountant: str) -> None:
    stages = schedule().stages(UNITS, Poisson())
    assert [(one.batch_size, one.noise_multiplier) for one in stages] == [
        (20, 1.0), (40, 0.8), (60, 0.6),
    ]  # fmt: skip
    plan = Plan(units=UNITS, stages=stages, accountant=accountant)
    assert plan.epsilon() == pytest.approx(step_by_step(plan), rel=1e-9)
    # As if it all had the noise of its start, it would look cheaper than it is.
    flat = Plan(
        units=UNITS,
        stages=schedule(noise=(1.0,)).stages(UNITS, Poisson()),
        accountant=accountant,
    )
    assert flat.epsilon() < 0.9 * step_by_step(plan)


def test_what_adaptive_clipping_counts_is_charged_in_every_step() -> None:
    clipping = Clipping(kind="adaptive", count_noise=2.0)
    stages = schedule().stages(UNITS, Poisson())
    plan = Plan(units=UNITS, stages=stages, accountant="rdp", clipping=clipping)
    assert plan.epsilon() == pytest.approx(step_by_step(plan, count_noise=2.0), rel=1e-9)
    assert plan.epsilon() > step_by_step(plan) * 1.01


def test_one_value_serves_all_stages_and_epochs_are_kept() -> None:
    stages = schedule(batch_sizes=(50,), epochs=3).stages(UNITS, Poisson())
    assert [stage.steps for stage in stages] == [20, 20, 20]
    assert {stage.batch_size for stage in stages} == {50}
    assert sum(stage.steps for stage in schedule().stages(UNITS, Poisson())) == 25
    assert len(schedule(epochs=1e-9).stages(UNITS, Poisson())) == 3


def test_a_request_keeps_its_level_with_noise_that_falls() -> None:
    asked = Privacy(
        epsilon=4.0, epochs=2, batch_sizes=(50,), noise_schedule=(2.0, 1.0), accountant="rdp"
    )
    made = asked.plan(UNITS)
    first, second = (stage.noise_multiplier for stage in made.stages)
    assert first == pytest.approx(2 * second, rel=1e-4)
    assert 3.99 < step_by_step(made) <= 4.0


def test_shuffled_epochs_cost_what_their_least_noise_costs() -> None:
    stages = schedule(batch_sizes=(300,), epochs=3).stages(UNITS, Shuffled())
    events = Shuffled().events(UNITS, stages)  # epochs of 4 steps, stages of 4
    assert {(one.noise_multiplier, one.count) for one in events} == {(1.0, 1), (0.8, 1), (0.6, 1)}
    uneven = schedule(batch_sizes=(300,), epochs=3, noise=(1.0, 0.5)).stages(UNITS, Shuffled())
    noise = [one.noise_multiplier for one in each_step(uneven)]
    least = sorted(min(noise[begin : begin + 4]) for begin in range(0, 12, 4))
    found = Shuffled().events(UNITS, uneven)
    assert sorted(z for e in found for z in [e.noise_multiplier] * e.count) == least
    many = schedule(batch_sizes=(1,), epochs=1e4, noise=(1.0,)).stages(UNITS, Shuffled())
    assert [one.count for one in Shuffled().events(UNITS, many)] == [10_000]


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"noise": (1.0, 0.5)}, "3 batch sizes and 2 amounts of noise"),
        ({"noise": ()}, "at least one batch size"),
        ({"noise": (1.0, 0.0, 1.0)}, "noise_schedule=0.0"),
        ({"noise": (1e-31,)}, "between 1e-30 and"),
        ({"noise": (1.0,) * 51, "batch_sizes": (5,)}, "51 stages"),
        ({"epochs": float("nan")}, "epochs=nan"),
        ({"batch_sizes": (2000,), "noise": (1.0,)}, "more than the .* units"),
        ({"batch_sizes": (1,), "epochs": 1e9}, "steps are more than can be planned for"),
        ({"epochs": 1e308, "batch_sizes": (1,)}, "inf steps|more than can be planned for"),
    ],
    ids=str,
)
def test_what_makes_no_schedule_is_refused(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidArgument, match=match):
        schedule(**changes).stages(UNITS, Poisson())


def test_steps_without_number_are_refused_by_whoever_would_compose_them() -> None:
    many = SampledGaussian(noise_multiplier=1.0, rate=1e-6, count=2_000_000)
    with pytest.raises(InvalidArgument, match="use the accountant rdp"):
        compute_spending([many])
    assert compute_spending([many], "rdp").epsilon(1e-6) > 0


def test_very_many_steps_are_composed_in_time_and_not_below_the_truth() -> None:
    # Gaussian without sampling has a closed form; with a rate near 1 it is hardly smaller.
    many = SampledGaussian(noise_multiplier=400.0, rate=1 - 1e-6, count=100_000)
    whole = SampledGaussian(noise_multiplier=400.0 / 100_000**0.5)
    assert compute_spending([many]).epsilon(1e-5) == pytest.approx(
        compute_spending([whole]).epsilon(1e-5), rel=0.02
    )
