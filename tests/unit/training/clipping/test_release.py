"""What a step releases is one object: ours, and another one that plugs in without other changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from torch import Tensor, nn

from naive_gradients import gradients_of_records, norm
from sfumato.accounting.events import SampledGaussian
from sfumato.core.errors import InvalidArgument, UndefinedGradient
from sfumato.core.randomness import Randomness
from sfumato.training.clipping.clippers import Adaptive, Automatic, Clipper, Clipping, Flat
from sfumato.training.clipping.recording import Recording
from sfumato.training.clipping.release import (
    GaussianRelease,
    GradientRelease,
    NamedTensors,
    StepNoise,
    add_noise,
    refuse_undefined,
)
from sfumato.training.clipping.rounding import bound_formed, together
from sfumato.training.clipping.slots import Records
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import (
    Prepared,
    Task,
    TokenMaterial,
    TrainingMethod,
    prepare_steps,
)
from sfumato.training.plan import Plan
from sfumato.training.request import Request
from sfumato.training.settings import Privacy
from sfumato.training.steps import PrivateStep
from unit.training.runs import SETTINGS, small_plan, some_documents, tokenizer


class Directions:
    """Only directions: every record's gradient at length 1, and Gaussian noise on the sum."""

    sensitivity = 1.0
    saturation = 1.0

    def contribute(self, recording: Recording, records: Records, noise: StepNoise) -> NamedTensors:  # noqa: ARG002
        bounds = recording.measure(records).bounds()
        refuse_undefined(bounds)
        return recording.weighted_sums(1 / bounds.clamp(min=1e-30), records)

    def contribute_whole(self, gradient: Mapping[str, Tensor], noise: StepNoise) -> NamedTensors:  # noqa: ARG002
        bound = together([bound_formed(one[None]) for one in gradient.values()]).bounds()
        return ((name, one * float(1 / bound)) for name, one in gradient.items())

    def finish(self, sums: Sequence[Tensor], size: float, noise: StepNoise) -> None:  # noqa: ARG002
        add_noise(sums, noise.multiplier, noise.randomness.stream(0))

    def deviation(self, noise_multiplier: float) -> float:
        return noise_multiplier

    def event(self, noise_multiplier: float, *, rate: float = 1.0) -> SampledGaussian:
        return SampledGaussian(noise_multiplier=noise_multiplier, rate=rate)

    def restore(self, sensitivity: float) -> None:
        """Nothing moves."""


@dataclass(frozen=True, kw_only=True)
class DirectionalPlan(Plan):
    def release(self) -> GradientRelease:
        return Directions()


@dataclass(frozen=True)
class Directional(TrainingMethod):
    """DP-SGD on directions."""

    name: ClassVar[str] = "clipped-directions"

    def prepare(self, task: Task) -> Prepared:
        material = TokenMaterial(task.records())
        usual = task.privacy.plan(len(material.records))
        plan = DirectionalPlan(units=usual.units, stages=usual.stages, delta=usual.delta)
        return prepare_steps(task, material, plan=plan)


def a_model() -> tuple[nn.Module, Tensor]:
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    return model, torch.randn(5, 4) * torch.tensor([0.01, 1.0, 3.0, 1.0, 30.0])[:, None]


def losses(model: nn.Module, rows: Tensor) -> Tensor:
    outputs: Tensor = model(rows).square().sum(1)
    return outputs


def private(model: nn.Module, release: GradientRelease, noise: float = 0.0) -> PrivateStep:
    return PrivateStep(
        model,
        torch.optim.SGD(model.parameters(), lr=1.0),
        release=release,
        noise_multiplier=noise,
        expected_batch_size=1.0,
        randomness=Randomness.reproducible(7),
    )


def moved(release: GradientRelease, *, one_by_one: bool = False) -> list[dict[str, Tensor]]:
    """The steps that each of five records takes when it is alone in its batch."""
    found = []
    for row in range(5):
        model, entered = a_model()
        before = {name: one.clone() for name, one in model.named_parameters()}
        step = private(model, release)
        if one_by_one:
            with step.one_record():
                step.backward(losses(model, entered[row : row + 1]))
        else:
            step.backward(losses(model, entered[row : row + 1]))
        step.step()
        step.close()
        found.append({name: before[name] - one for name, one in model.named_parameters()})
    return found


@pytest.mark.parametrize("one_by_one", [False, True])
def test_another_release_plugs_in(one_by_one: bool) -> None:
    model, entered = a_model()
    naive = gradients_of_records(
        model, lambda under, some: losses(under, entered[some].double()), torch.arange(5)
    )
    for update, gradient in zip(moved(Directions(), one_by_one=one_by_one), naive, strict=True):
        assert norm(update) <= 1.0
        assert norm(update) == pytest.approx(1.0, rel=0.02)
        product = sum(float((update[name].detach() * gradient[name]).sum()) for name in update)
        assert product == pytest.approx(norm(update) * norm(gradient), rel=1e-4)
    # A twin that clips: a short gradient stays short.
    assert min(map(norm, moved(GaussianRelease(Flat(1.0))))) < 0.5


def test_a_method_with_another_release_is_one_file(tmp_path: Path) -> None:
    request = Request(
        model="lstm",
        settings=SETTINGS["lstm"],
        tokenizer=tokenizer(),
        privacy=Privacy(epsilon=8.0, delta=1e-2, epochs=2, batch_sizes=(3,)),
        method=Directional(),
    )
    run = train_model(request, some_documents(), RunFolder(tmp_path / "run"))
    assert 7 < run.guarantee.epsilon <= 8
    assert run.files.settings()["method"] == "clipped-directions"


CLIPPERS: list[tuple[Clipping, Clipper]] = [
    (Clipping(norm=0.5), Flat(0.5)),
    (Clipping(kind="automatic", norm=0.5), Automatic(0.5)),
    (Clipping(kind="adaptive", norm=0.5, count_noise=2.0), Adaptive(0.5, count_noise=2.0)),
]


@pytest.mark.parametrize(("clipping", "clipper"), CLIPPERS)
def test_a_plan_charges_the_event_of_its_release(clipping: Clipping, clipper: Clipper) -> None:
    plan = small_plan(units=6, batch_size=3, noise=1.5, clipping=clipping)
    release = plan.release()
    assert isinstance(release, GaussianRelease)
    assert release.clipper == clipper
    assert release.sensitivity == 0.5
    assert release.deviation(1.5) == 0.75
    (charged,) = plan.events()
    stated = release.event(1.5, rate=0.5)
    assert (charged.noise_multiplier, charged.rate) == (stated.noise_multiplier, stated.rate)
    assert (stated.noise_multiplier < 1.5) == (clipping.kind == "adaptive")


class Spying(Directions):
    """Notes the streams that noise could be drawn from."""

    def __init__(self) -> None:
        self.paths: list[tuple[int, ...]] = []

    def contribute(self, recording: Recording, records: Records, noise: StepNoise) -> NamedTensors:
        self.paths.append(noise.randomness.path)
        return super().contribute(recording, records, noise)

    def contribute_whole(self, gradient: Mapping[str, Tensor], noise: StepNoise) -> NamedTensors:
        self.paths.append(noise.randomness.path)
        return super().contribute_whole(gradient, noise)

    def finish(self, sums: Sequence[Tensor], size: float, noise: StepNoise) -> None:  # noqa: ARG002
        self.paths.append(noise.randomness.stream(0).path)


def test_noise_of_every_contribution_has_a_stream_of_its_own() -> None:
    model, entered = a_model()
    spying = Spying()
    step = private(model, spying, noise=1.0)
    for _ in range(3):
        for row in range(2):
            step.backward(losses(model, entered[row : row + 1]))
        with step.one_record():
            step.backward(losses(model, entered[2:4]))
        step.step()
    assert len(spying.paths) == len(set(spying.paths)) == 3 * 4
    step.close()


@pytest.mark.parametrize("release", [Directions(), GaussianRelease(Flat(1.0))])
def test_what_is_not_finite_is_refused_and_leaves_nothing(release: GradientRelease) -> None:
    model, entered = a_model()
    step = private(model, release)
    broken = entered.clone()
    broken[2, 0] = float("inf")
    with pytest.raises(UndefinedGradient, match="nothing of the batch was used"):
        step.backward(losses(model, broken))
    assert not step._sums
    assert not any(slot.used for slot in step.recording.slots.values())
    step.close()


def test_a_direction_is_one_of_this_model() -> None:
    model, entered = a_model()
    recording = Recording(model)
    records = recording.backward(losses(model, entered))
    direction = {name: torch.ones_like(one) for name, one in model.named_parameters()}
    assert recording.inner_products(direction, records).shape == (5,)
    with pytest.raises(InvalidArgument, match=r"lacks 0\.bias"):
        recording.inner_products(
            {name: one for name, one in direction.items() if name != "0.bias"}, records
        )
    with pytest.raises(InvalidArgument, match="the shape of the parameter"):
        recording.inner_products(direction | {"0.bias": torch.ones(2)}, records)
    recording.close()
