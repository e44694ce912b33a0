"""What adaptive clipping learns about the norms is charged, exactly."""

from __future__ import annotations

import math

import pytest

from sfumato.accounting.accountants import compute_spending
from sfumato.accounting.events import SampledGaussian
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.training.clipping.clippers import Clipping
from sfumato.training.plan import Plan
from sfumato.training.stages import Stage

STAGE = Stage(steps=50, batch_size=20, noise_multiplier=1.5)
ADAPTIVE = Clipping(kind="adaptive", count_noise=2.0)


def library_epsilon(gradient: float, count: float) -> float:
    """Both sums over one sample, told to the library as two releases."""
    import dp_accounting as dp
    from dp_accounting import rdp

    both = dp.ComposedDpEvent([dp.GaussianDpEvent(gradient), dp.GaussianDpEvent(count)])
    event = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.1, both), 50)
    return float(rdp.RdpAccountant().compose(event).get_epsilon(1e-3))


def plan(clipping: Clipping) -> Plan:
    return Plan(units=200, stages=(STAGE,), delta=1e-3, clipping=clipping, accountant="rdp")


def test_gradient_and_count_are_charged_as_two_releases_over_one_sample() -> None:
    # The count moves by a half, so noise of 2 on it is a multiplier of 4.
    assert plan(ADAPTIVE).epsilon() == pytest.approx(library_epsilon(1.5, 4.0), rel=1e-9)


def test_the_twin_that_forgets_the_count_is_caught() -> None:
    assert plan(Clipping()).epsilon() < library_epsilon(1.5, 4.0) * 0.99


def test_a_count_that_moved_by_one_would_cost_more() -> None:
    assert library_epsilon(1.5, 2.0) > plan(ADAPTIVE).epsilon() * 1.01


def test_without_sampling_the_two_add_up_as_squares() -> None:
    effective = ADAPTIVE.released(3.0)
    assert effective == pytest.approx(1 / math.sqrt(1 / 9 + 1 / 16))
    apart = [SampledGaussian(noise_multiplier=3.0), SampledGaussian(noise_multiplier=4.0)]
    together = [SampledGaussian(noise_multiplier=effective)]
    assert compute_spending(together).epsilon(1e-5) == pytest.approx(
        compute_spending(apart).epsilon(1e-5), rel=1e-4
    )


@pytest.mark.parametrize("kind", ["fixed", "automatic"])
def test_other_clipping_learns_nothing(kind: str) -> None:
    assert Clipping(kind=kind).released(1.5) == 1.5


def test_a_level_that_the_count_alone_exceeds_cannot_be_planned() -> None:
    loud = Clipping(kind="adaptive", count_noise=0.05)
    with pytest.raises(InvalidArgument, match="counts of adaptive clipping"):
        plan(loud).with_epsilon(1.0)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"kind": "adaptive"}, "needs count_noise"),
        ({"count_noise": 1.0}, "no other clipping has one"),
        ({"kind": "adaptive", "count_noise": 0.0}, "count_noise=0"),
        ({"norm": 0.0}, "clip_norm=0"),
        ({"norm": math.inf}, "clip_norm=inf"),
        ({"kind": "adaptive", "count_noise": 1.0, "quantile": 1.5}, "quantile=1.5"),
    ],
    ids=str,
)
def test_impossible_clipping_is_refused(wrong: dict[str, object], match: str) -> None:
    with pytest.raises(InvalidArgument, match=match):
        Clipping(**wrong)  # type: ignore[arg-type]


def test_an_unknown_kind_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'adaptive'"):
        Clipping(kind="adaptiv")
