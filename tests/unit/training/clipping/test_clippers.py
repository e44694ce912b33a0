"""Scales bound what they scale; the count of adaptive clipping is charged for."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import InvalidArgument
from sfumato.training.clipping.clippers import Adaptive, Automatic, Clipper, Flat

bounds = st.floats(1e-6, 1e6)
lengths = st.lists(st.floats(0, 1e12), min_size=1, max_size=8)


def clippers(bound: float) -> list[Clipper]:
    return [Flat(bound), Automatic(bound), Automatic(bound, stability=1e-9), Adaptive(bound)]


@given(bound=bounds, norms=lengths)
def test_no_scaled_norm_exceeds_the_bound(bound: float, norms: list[float]) -> None:
    given_norms = torch.tensor(norms, dtype=torch.float64)
    for clipper in clippers(bound):
        scales = clipper.scales(given_norms)
        assert clipper.clip_norm == bound
        assert bool((scales * given_norms <= bound).all())
        assert bool((scales.float() * given_norms.float() <= bound).all()), "in single precision"
        assert bool(scales.isfinite().all())


@given(bound=bounds, norms=lengths)
def test_a_scale_depends_on_no_norm_but_its_own(bound: float, norms: list[float]) -> None:
    together = torch.tensor(norms, dtype=torch.float64)
    for clipper in clippers(bound):
        alone = torch.cat([clipper.scales(one[None]) for one in together])
        assert torch.equal(clipper.scales(together), alone)


def test_flat_leaves_short_gradients_alone_and_automatic_does_not() -> None:
    norms = torch.tensor([0.01, 0.5, 0.99])
    assert Flat(1.0).scales(norms).tolist() == [1.0, 1.0, 1.0]
    assert Automatic(1.0, stability=0.01).scales(norms)[0] == pytest.approx(50, rel=1e-4)


def test_the_count_moves_by_half_when_a_record_comes_or_goes() -> None:
    clipper = Adaptive(1.0)
    norms = torch.tensor([0.5, 0.7, 3.0, 1.0])
    assert clipper.count(norms) == 3 - 2
    for row in range(4):
        rest = norms[torch.arange(4) != row]
        assert abs(clipper.count(norms) - clipper.count(rest)) == 0.5
    assert clipper.count(norms[:0]) == 0.0


def test_the_bound_settles_at_the_quantile() -> None:
    draw = torch.Generator().manual_seed(0)
    norms = torch.rand(2000, generator=draw) * 10
    for quantile in (0.2, 0.5, 0.9):
        clipper = Adaptive(0.1, quantile=quantile, learning_rate=0.3)
        for _ in range(300):
            clipper = clipper.updated(clipper.count(norms), len(norms))
        assert clipper.clip_norm == pytest.approx(10 * quantile, rel=0.05)


def test_gradient_and_count_together_cost_what_theorem_1_says() -> None:
    # Andrew et al. 2021: to spend z in all, the gradient gets z_Δ = (z⁻² − (2σ_b)⁻²)^(−1/2).
    clipper, total = Adaptive(1.0, count_noise=5.0), 1.1
    for_gradient = (total**-2 - (2 * 5.0) ** -2) ** -0.5
    assert clipper.count_multiplier == 10.0
    assert clipper.released(for_gradient) == pytest.approx(total, rel=1e-12)
    assert clipper.released(for_gradient) < for_gradient


@pytest.mark.parametrize("bound", [0, -1.0, math.nan, math.inf, "1"])
def test_a_bound_that_is_none_is_refused(bound: float) -> None:
    for make in (Flat, Automatic, Adaptive):
        with pytest.raises(InvalidArgument):
            make(bound)


def test_settings_outside_their_range_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="quantile"):
        Adaptive(1.0, quantile=1.5)
    with pytest.raises(InvalidArgument, match="count_noise"):
        Adaptive(1.0, count_noise=0)
    with pytest.raises(InvalidArgument, match="stability"):
        Automatic(1.0, stability=0)
