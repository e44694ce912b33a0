"""Optimizers for noisy gradients: SGD, Adam, and Adam with a correction for the noise.

Guarantee
    None of its own: an optimizer sees noisy gradients only, so whatever it does is post-processing.

Care
    Adam divides by the root of the mean squared gradient. For a private gradient that mean is
    mostly noise, (σC/B)² in every coordinate, so Adam behaves like SGD with momentum. DP-AdamBC
    subtracts the variance of the noise. The difference is an estimate and often negative; a lower
    bound keeps the step finite.

Reference
    Tang, Shpilevskiy and Lécuyer 2024, "DP-AdamBC: Your DP-Adam is actually DP-SGD (unless you
    apply bias correction)".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.optim import SGD, Adam, Optimizer

from sfumato.core.checks import at_least, one_of, positive
from sfumato.training.settings import OPTIMIZERS, SCHEDULES


class AdamBC(Optimizer):
    """Adam with the variance of the noise subtracted from its second moment.

    ``noise_variance`` is the variance of the noise in each coordinate of the next gradient,
    (σC/B)²; it is public, and may change from step to step.
    """

    def __init__(
        self,
        parameters: Iterable[torch.nn.Parameter],
        learning_rate: float,
        *,
        noise_variance: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.999),
        floor: float = 1e-8,
    ) -> None:
        positive("floor", floor)
        super().__init__(parameters, {"lr": positive("learning_rate", learning_rate)})
        self.noise_variance = noise_variance
        self.betas = betas
        self.floor = floor

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One update from the gradients as they are."""
        if closure is not None:
            raise TypeError("a private gradient is computed once; there is no closure to call")
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group["lr"])

    def _update(self, parameter: torch.Tensor, gradient: torch.Tensor, rate: float) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = 0
            state["mean"] = torch.zeros_like(parameter)
            state["square"] = torch.zeros_like(parameter)
            state["noise"] = 0.0
        first, second = self.betas
        state["step"] += 1
        state["mean"].lerp_(gradient, 1 - first)
        state["square"].mul_(second).addcmul_(gradient, gradient, value=1 - second)
        # The variance of the noise is averaged in the same way, so that it is right also when the
        # noise changes during training.
        state["noise"] = second * state["noise"] + (1 - second) * self.noise_variance
        shrink = 1 - second ** state["step"]
        signal = (state["square"] - state["noise"]).div_(shrink).clamp_(min=self.floor)
        parameter.addcdiv_(
            state["mean"], signal.sqrt_(), value=-rate / (1 - first ** state["step"])
        )


class Momentum(SGD):
    """SGD along the sum of all gradients so far, each 0.9 times what it counted a step before."""

    def __init__(self, parameters: Iterable[torch.nn.Parameter], learning_rate: float) -> None:
        super().__init__(parameters, lr=positive("learning_rate", learning_rate), momentum=0.9)


def make_optimizer(
    name: str, parameters: Iterable[torch.nn.Parameter], learning_rate: float
) -> Optimizer:
    """The optimizer called ``name``, for all trainable parameters."""
    trainable = [parameter for parameter in parameters if parameter.requires_grad]
    return optimizer_of(name, trainable, learning_rate)


def optimizer_of(
    name: str, weights: Iterable[torch.nn.Parameter], learning_rate: float
) -> Optimizer:
    """The optimizer called ``name``, for these weights, whether or not torch trains them."""
    one_of("optimizer", name, OPTIMIZERS)
    rate = positive("learning_rate", learning_rate)
    if name == "sgd":
        return SGD(weights, lr=rate)
    if name == "momentum":
        return Momentum(weights, rate)
    return Adam(weights, lr=rate) if name == "adam" else AdamBC(weights, rate)


def tell_noise(optimizer: Optimizer, variance: float) -> None:
    """Set the variance of the noise in the next gradient, if the optimizer uses it."""
    if isinstance(optimizer, AdamBC):
        optimizer.noise_variance = variance


def rate_factor(schedule: str, step: int, steps: int, warm_up: int = 0) -> float:
    """The factor of the learning rate at a step, the first being 0.

    >>> [round(rate_factor("linear", step, 4, warm_up=2), 2) for step in range(4)]
    [0.5, 1.0, 1.0, 0.5]
    """
    one_of("schedule", schedule, SCHEDULES)
    at_least("warm_up", warm_up, 0)
    if step < warm_up:
        return (step + 1) / warm_up
    if schedule == "constant":
        return 1.0
    done = (step - warm_up) / max(1, steps - warm_up)
    return 1 - done if schedule == "linear" else (1 + math.cos(math.pi * done)) / 2


# What each optimizer stores for a parameter: tensors of its shape, and numbers.
_KEPT = {
    "SGD": ((), ()),
    "Momentum": (("momentum_buffer",), ()),
    "Adam": (("exp_avg", "exp_avg_sq"), ("step",)),
    "AdamBC": (("mean", "square"), ("step", "noise")),
}


def put_back(optimizer: Optimizer, state: Mapping[str, Any]) -> bool:
    """Load the state of an optimizer of the same kind; False, and no change, if it does not fit."""
    if not _fits(optimizer, state):
        return False
    optimizer.load_state_dict(dict(state))
    return True


def _fits(optimizer: Optimizer, state: Mapping[str, Any]) -> bool:
    ours, groups = optimizer.state_dict()["param_groups"], state.get("param_groups")
    # The learning rate is set in every step; all other values follow from the settings.
    if not isinstance(groups, list) or not all(isinstance(one, dict) for one in groups):
        return False
    if [one | {"lr": 0.0} for one in ours] != [one | {"lr": 0.0} for one in groups]:
        return False
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    kept = state.get("state")
    return isinstance(kept, dict) and all(
        number in range(len(parameters)) and _remembers(optimizer, parameters[number], one)
        for number, one in kept.items()
    )


def _remembers(optimizer: Optimizer, parameter: torch.Tensor, kept: Any) -> bool:
    """Whether this can be what such an optimizer stores for a parameter."""
    shaped, numbers = _KEPT[type(optimizer).__name__]
    return (
        isinstance(kept, dict)
        and kept.keys() == {*shaped, *numbers}
        and all(_alike(kept[name], parameter) for name in shaped)
        and all(_counts(kept[name]) for name in numbers)
    )


def _alike(one: Any, parameter: torch.Tensor) -> bool:
    return (
        isinstance(one, torch.Tensor)
        and one.shape == parameter.shape
        and one.dtype == parameter.dtype
    )


def _counts(one: Any) -> bool:
    number = one.item() if isinstance(one, torch.Tensor) and one.numel() == 1 else one
    return isinstance(number, float | int) and 0 <= number < math.inf


def set_rate(optimizer: Optimizer, rate: float) -> None:
    """Set the learning rate of every group."""
    groups: list[dict[str, Any]] = optimizer.param_groups
    for group in groups:
        group["lr"] = rate
