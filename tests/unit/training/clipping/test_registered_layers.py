"""Rules for layers that others register: held to the loop over records before they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.core.errors import InvalidArgument, UnsupportedLayer
from sfumato.training.clipping.layers import rules
from sfumato.training.clipping.layers.layer import Layer, Role
from sfumato.training.clipping.layers.linear import RecordedLinear
from sfumato.training.clipping.layers.rules import compare_with_loop, register_layer
from sfumato.training.clipping.recording import Recording


class Scaled(nn.Module):
    """A product, times a constant."""

    bias = None

    def __init__(self, wide: int, narrow: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(narrow, wide))

    def forward(self, input: Tensor) -> Tensor:
        return 3.0 * functional.linear(input, self.weight)


def example() -> tuple[nn.Module, Tensor]:
    torch.manual_seed(0)
    return Scaled(4, 3), torch.randn(4, 5, 4)


class RecordedScaled(RecordedLinear):
    def roles(self) -> Mapping[str, Role]:
        return {"weight": Role.MATRIX}

    def record(self, input: Tensor) -> Tensor:
        return 3.0 * super().record(input)


class WithoutTheConstant(RecordedScaled):
    """The right output; the gradient it writes down is that of the product alone."""

    def collect(self, entered: Tensor | None, gradient: Tensor) -> None:
        super().collect(entered, gradient / 3.0)


class WithRowsSummed(RecordedScaled):
    """The right sum over the batch, all of it in the first row."""

    def collect(self, entered: Tensor | None, gradient: Tensor) -> None:
        assert entered is not None
        places = (gradient.flatten(0, 1), entered.flatten(0, 1))
        one, other = (torch.zeros(len(gradient), *both.shape).to(both) for both in places)
        one[0], other[0] = places
        self.write("weight", one, other)


class WithTheLastUseOnly(RecordedScaled):
    """What a second call writes down replaces what the first one did."""

    def collect(self, entered: Tensor | None, gradient: Tensor) -> None:
        self.slots["weight"].clear()
        super().collect(entered, gradient)


TWINS: list[type[Layer]] = [WithoutTheConstant, WithRowsSummed, WithTheLastUseOnly]


@pytest.fixture(autouse=True)
def own_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_REGISTERED", {})


def test_without_a_rule_the_layer_is_refused() -> None:
    with pytest.raises(UnsupportedLayer, match=r"weight.*Scaled.*register_layer"):
        Recording(Scaled(4, 3))


def test_a_registered_rule_is_used_and_right() -> None:
    register_layer(Scaled, example=example)(RecordedScaled)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 4), Scaled(4, 3), nn.LayerNorm(3)).double()
    entered = torch.randn(5, 2, 4, dtype=torch.float64)

    def losses(under: nn.Module, some: Tensor) -> Tensor:
        outputs: Tensor = under(entered[some]).sin().flatten(1).sum(1)
        return outputs

    for owner in (None, torch.tensor([1, 0, 1, 2, 2])):
        assert compare_with_loop(model, losses, 5, owner).worst < 1e-9


@pytest.mark.parametrize("twin", TWINS)
def test_twin_a_wrong_rule_is_never_used(twin: type[Layer]) -> None:
    register_layer(Scaled, example=example)(twin)
    for _ in range(2):
        with pytest.raises(UnsupportedLayer, match=r"loop over records|rows must not see"):
            Recording(Scaled(4, 3))


def test_the_check_runs_once() -> None:
    made: list[int] = []

    def counted() -> Any:
        made.append(1)
        return example()

    register_layer(Scaled, example=counted)(RecordedScaled)
    for _ in range(3):
        Recording(Scaled(4, 3)).close()
    assert made == [1]


def test_a_module_with_a_forward_of_its_own_is_another_layer() -> None:
    class Squared(Scaled):
        def forward(self, input: Tensor) -> Tensor:
            return super().forward(input).square()

    register_layer(Scaled, example=example)(RecordedScaled)
    with pytest.raises(UnsupportedLayer):
        Recording(Squared(4, 3))


def test_ours_are_not_replaced_and_an_example_has_rows() -> None:
    with pytest.raises(InvalidArgument, match="a rule for Linear already"):
        register_layer(nn.Linear, example=example)(RecordedScaled)
    register_layer(Scaled, example=lambda: (Scaled(4, 3), torch.ones(1, 4)))(RecordedScaled)
    with pytest.raises(InvalidArgument, match="a rule for Scaled already"):
        register_layer(Scaled, example=example)(RecordedScaled)
    with pytest.raises(UnsupportedLayer, match="two rows or more"):
        Recording(Scaled(4, 3))
