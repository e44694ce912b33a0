"""Adam that knows its noise is Adam where there is none, and finds the signal where there is."""

from __future__ import annotations

import copy
import math

import pytest
import torch

from sfumato.core.errors import InvalidArgument
from sfumato.training.optimizers import AdamBC, make_optimizer, rate_factor, set_rate, tell_noise
from sfumato.training.settings import OPTIMIZERS


def parameter(value: float = 1.0) -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.full((3,), value))


def test_without_noise_it_is_adam() -> None:
    ours, theirs = parameter(), parameter()
    adam = torch.optim.Adam([theirs], lr=0.1, eps=0.0)
    corrected = AdamBC([ours], 0.1, floor=1e-30)
    for step in range(1, 20):
        gradient = torch.tensor([1.0, -2.0, 0.5]) * math.sin(step)
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        corrected.step()
        adam.step()
        assert torch.allclose(ours, theirs, atol=1e-6)


def test_the_noise_is_taken_out_of_the_second_moment() -> None:
    """Under noise of a known size the step is that of the signal, as it is not with Adam."""
    generator = torch.Generator().manual_seed(3)
    noise, signal = 2.0, 1.0
    moved = {}
    for name, told in (("corrected", noise**2), ("plain", 0.0)):
        value = torch.nn.Parameter(torch.zeros(20_000))
        optimizer = AdamBC([value], 0.01, noise_variance=told, betas=(0.0, 0.99))
        for _ in range(600):
            before = value.detach().clone()
            value.grad = signal + noise * torch.randn(20_000, generator=generator)
            optimizer.step()
        moved[name] = float((before - value.detach()).median() / 0.01)
    # Without momentum a step is g/√v̂: about signal/|signal| = 1 once the noise is taken out,
    # and signal/√(signal² + noise²) = 0.45 if it is not.
    assert moved["corrected"] == pytest.approx(1.0, abs=0.1)
    assert moved["plain"] == pytest.approx(1 / math.sqrt(5), abs=0.05)


def test_the_floor_keeps_a_step_finite_where_the_difference_is_negative() -> None:
    value = parameter()
    optimizer = AdamBC([value], 0.1, noise_variance=100.0, floor=1e-4)
    value.grad = torch.tensor([1.0, 0.0, -1.0])
    optimizer.step()
    assert torch.allclose(value, torch.tensor([1 - 10.0, 1.0, 1 + 10.0]))


def test_it_goes_on_from_its_saved_state() -> None:
    one, other = parameter(), parameter()
    first = AdamBC([one], 0.1, noise_variance=0.01)
    for _ in range(3):
        one.grad = torch.tensor([1.0, 2.0, 3.0])
        first.step()
    with torch.no_grad():
        other.copy_(one)
    second = AdamBC([other], 0.1, noise_variance=0.01)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for value, optimizer in ((one, first), (other, second)):
        value.grad = torch.tensor([-1.0, 0.5, 0.0])
        optimizer.step()
    assert torch.equal(one, other)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_moves_what_is_trainable_only(name: str) -> None:
    moving, fixed = parameter(), parameter()
    fixed.requires_grad_(False)
    optimizer = make_optimizer(name, [moving, fixed], 0.1)
    tell_noise(optimizer, 0.0)
    set_rate(optimizer, 0.2)
    moving.grad = torch.ones(3)
    optimizer.step()
    assert (moving != 1.0).all()
    assert (fixed == 1.0).all()


def test_rates_rise_fall_and_stay() -> None:
    assert rate_factor("constant", 7, 10) == 1.0
    assert rate_factor("cosine", 5, 10) == pytest.approx(0.5)
    assert rate_factor("linear", 9, 10) == pytest.approx(0.1)
    assert rate_factor("constant", 0, 10, warm_up=4) == 0.25


def test_unknown_names_and_rates_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="adam-bc"):
        make_optimizer("adagrad", [parameter()], 0.1)
    with pytest.raises(InvalidArgument, match="learning_rate"):
        make_optimizer("sgd", [parameter()], 0.0)
    with pytest.raises(InvalidArgument, match="schedule"):
        rate_factor("steps", 0, 1)
