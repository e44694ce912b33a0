"""Steps that release directions: what is drawn, for how many places, and what counts as none."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from naive_gradients import gradients_of_records
from sfumato.core.errors import InvalidArgument, ProcessesDisagree, UndefinedGradient
from sfumato.core.randomness import Randomness
from sfumato.training.clipping import directional
from sfumato.training.clipping.clippers import Flat
from sfumato.training.clipping.directional import DirectionalRelease, PerRecordRelease
from sfumato.training.clipping.release import GaussianRelease, GradientRelease
from sfumato.training.clipping.slots import Products, Records
from sfumato.training.clipping.vmf import mean_cosine
from sfumato.training.steps import PrivateStep

ROWS = 5


def a_model() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))


def some_rows() -> Tensor:
    torch.manual_seed(4)
    return torch.randn(ROWS, 4) * torch.tensor([0.05, 1.0, 3.0, 1.0, 30.0])[:, None]


def losses(model: nn.Module, rows: Tensor) -> Tensor:
    found: Tensor = (model(rows).square().sum(1) + 1).log()
    return found


DIMENSION = sum(one.numel() for one in a_model().parameters())


def step_of(
    model: nn.Module, release: GradientRelease, *, noise: float, seed: int = 7, size: int = ROWS
) -> PrivateStep:
    return PrivateStep(
        model,
        torch.optim.SGD(model.parameters(), lr=1.0),
        release=release,
        noise_multiplier=noise,
        expected_batch_size=size,
        randomness=Randomness.reproducible(seed),
    )


def released(release: GradientRelease, rows: Tensor, **options: float) -> Tensor:
    """The sum that a step releases, as one vector; each row is given by itself, or all at once."""
    model = a_model()
    apart, whole = options.pop("apart", 0), options.pop("whole", 0)
    size = int(options.pop("size", ROWS))
    step = step_of(
        model, release, noise=options["noise"], seed=int(options.get("seed", 7)), size=size
    )
    before = [one.detach().clone() for one in model.parameters()]
    for some in torch.split(rows, 1) if apart or whole else [rows]:
        if not len(some):
            continue
        if whole:
            with step.one_record():
                step.backward(losses(model, some))
        else:
            step.backward(losses(model, some))
    step.step()
    step.close()
    moved = [old - new.detach() for old, new in zip(before, model.parameters(), strict=True)]
    return size * torch.cat([one.flatten() for one in moved]).double()


def directions(rows: Tensor) -> Tensor:
    found = gradients_of_records(
        a_model(), lambda under, some: losses(under, rows[some].double()), torch.arange(len(rows))
    )
    flat = torch.stack([torch.cat([one.flatten() for one in each.values()]) for each in found])
    units: Tensor = flat / flat.norm(dim=1, keepdim=True)
    return units


@pytest.mark.parametrize("how", ["together", "apart", "whole"])
@pytest.mark.parametrize("kind", ["directional", "per-record"])
def test_without_noise_directions_are_summed(kind: str, how: str) -> None:
    release: GradientRelease = (
        DirectionalRelease(DIMENSION, ROWS) if kind == "directional" else PerRecordRelease(ROWS)
    )
    rows = some_rows()
    found = released(release, rows, noise=0.0, **({how: 1} if how != "together" else {}))
    expected = directions(rows).sum(0)
    assert float((found - expected).norm() / expected.norm()) < 0.02
    assert release.deviation(0.0) == 0.0


@pytest.mark.parametrize("how", ["together", "apart", "whole"])
def test_draws_point_where_the_gradients_point(how: str) -> None:
    """At a high concentration the sum of the draws is nearly the sum of the directions."""
    rows = some_rows()
    options = {"noise": 1e-5} | ({how: 1} if how != "together" else {})
    release = DirectionalRelease(DIMENSION, ROWS)
    found = released(release, rows, **options)
    expected = directions(rows).sum(0)
    assert float((found - expected).norm() / expected.norm()) < 0.02


def test_a_single_draw_has_the_same_length_whatever_the_record_is() -> None:
    """Zero gradients and empty places have a draw like every other; lengths show nothing."""
    kappa = math.sqrt(DIMENSION) / 0.5
    expected = 1 / mean_cosine(DIMENSION, kappa)
    rows = some_rows()
    # A row that saturates every unit and whose loss is flat has no direction.
    for some in (*torch.split(rows, 1), torch.zeros(1, 4), rows[:0]):
        release = DirectionalRelease(DIMENSION, 1)
        found = released(release, some, noise=0.5, size=1)
        assert float(found.norm()) == pytest.approx(expected, rel=1e-4)


def test_a_twin_that_leaves_empty_places_out_shows_how_many_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lengths(seeds: range) -> float:
        return sum(
            float(released(DirectionalRelease(DIMENSION, 40), some_rows(), noise=3.0, size=40,
                           seed=seed).norm()) for seed in seeds) / len(seeds)  # fmt: skip

    cosine = mean_cosine(DIMENSION, math.sqrt(DIMENSION) / 3.0)
    assert lengths(range(8)) == pytest.approx(math.sqrt(40) / cosine, rel=0.2)
    monkeypatch.setattr(directional._PlaceCount, "left", lambda _self, _size, _team: 0)
    # As many draws as places are due: a step with fewer is refused.
    with pytest.raises(ProcessesDisagree, match="or of none"):
        lengths(range(1))
    monkeypatch.setattr(directional, "add_up", lambda *_: None)
    assert lengths(range(8)) < 0.6 * math.sqrt(40) / cosine


def test_noise_is_that_of_so_many_separate_draws() -> None:
    """The variance of every coordinate of the sum, for both releases, is about places·z²."""
    for release in (DirectionalRelease(DIMENSION, ROWS), PerRecordRelease(ROWS)):
        sums = torch.stack(
            [released(release, some_rows(), noise=4.0, seed=seed) for seed in range(25)]
        )
        spread = float((sums - sums.mean(0)).square().mean().sqrt())
        assert spread == pytest.approx(release.deviation(4.0), rel=0.1)
        assert release.deviation(4.0) == pytest.approx(4.0 * math.sqrt(ROWS), rel=0.05)


def test_more_records_than_places_are_refused() -> None:
    for release in (DirectionalRelease(DIMENSION, 3), PerRecordRelease(3)):
        with pytest.raises(InvalidArgument, match="fixed beforehand"):
            released(release, some_rows(), noise=1.0, size=3)


def test_too_many_records_are_refused_however_often_the_step_is_asked_for() -> None:
    model = a_model()
    step = step_of(model, DirectionalRelease(DIMENSION, 1), noise=1.0, size=1)
    step.backward(losses(model, some_rows()))
    for _ in range(2):
        with pytest.raises(InvalidArgument, match="fixed beforehand"):
            step.step()
    step.close()


def test_a_batch_that_failed_halfway_counts_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller who gives it again would add a part of its records twice."""
    for release in (GaussianRelease(Flat(1.0)), DirectionalRelease(DIMENSION, ROWS)):
        model = a_model()
        step = step_of(model, release, noise=0.0)
        usual = step.recording.weighted_sums

        def failing(weights: Tensor, records: Records, usual: Any = usual) -> Any:
            whole = usual(weights, records)
            yield next(whole)
            raise MemoryError

        with monkeypatch.context() as patch:
            patch.setattr(step.recording, "weighted_sums", failing)
            with pytest.raises(MemoryError):
                step.backward(losses(model, some_rows()))
        with pytest.raises(InvalidArgument, match="failed halfway"):
            step.backward(losses(model, some_rows()))
        with pytest.raises(InvalidArgument, match="failed halfway"):
            step.step()
        step.close()


@pytest.mark.parametrize("first", [0.0, 0.01, 5.0])
def test_all_draws_of_a_step_have_the_noise_that_is_accounted_for(first: float) -> None:
    """Records were drawn when they were given: noise named afterwards would come too late."""
    model = a_model()
    step = step_of(model, DirectionalRelease(DIMENSION, ROWS), noise=first)
    step.backward(losses(model, some_rows()[:2]))
    with pytest.raises(InvalidArgument, match="another noise multiplier"):
        step.step(noise_multiplier=1.0)
    step.noise_multiplier = 1.0
    with pytest.raises(InvalidArgument, match="another noise multiplier"):
        step.backward(losses(model, some_rows()[2:]))
    with pytest.raises(InvalidArgument, match="another noise multiplier"), step.one_record():
        step.backward(losses(model, some_rows()[2:3]))
    step.step(noise_multiplier=first)
    step.backward(losses(model, some_rows()))  # the next step may have other noise
    step.step()
    step.close()


def test_another_dimension_than_planned_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="planned for 10 trainable"):
        released(DirectionalRelease(10, ROWS), some_rows(), noise=1.0)


def test_what_is_not_finite_is_refused() -> None:
    broken = some_rows()
    broken[1, 0] = float("nan")
    for release in (DirectionalRelease(DIMENSION, ROWS), PerRecordRelease(ROWS)):
        with pytest.raises(UndefinedGradient):
            released(release, broken, noise=1.0)


def test_events_are_not_sampled() -> None:
    for release in (DirectionalRelease(DIMENSION, ROWS), PerRecordRelease(ROWS)):
        assert release.event(2.0).noise_multiplier == 2.0
        with pytest.raises(InvalidArgument, match="not amplified"):
            release.event(2.0, rate=0.5)


def test_a_direction_in_doubt_counts_as_none() -> None:
    """Where a bound is far above the length, the draw is uniform: its mean is zero."""
    lengths = torch.tensor([1.0, 1.0, 1e-9], dtype=torch.float64)
    bounds = torch.tensor([1.01, 1.5, 1.01e-9], dtype=torch.float64)
    products = Products(torch.diag(lengths.square()), torch.zeros_like(lengths))
    seen = directional._Directions(bounds, products)
    assert seen.exist.tolist() == [True, False, False]
    assert seen.shortened().tolist() == [pytest.approx(1 / 1.01), 0.0, 0.0]
    assert seen.unit_gram().diagonal().tolist() == [1.0, 0.0, 0.0]
