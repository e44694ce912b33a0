"""Carriers change nothing that a network computes, and show its gradients' projections."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from naive_gradients import TOLERANCE, worst_difference
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models import carriers as module
from sfumato.models.carriers import UPDATE, WEIGHT, Carried, Carriers, orthonormal
from sfumato.training.row_losses import row_losses
from unit.training.runs import small_model

TOKENS = torch.arange(24).remainder(7).view(3, 8) + 3


def carried(network: nn.Module, rank: int = 2, **options: Any) -> Carried:
    made = Carried.attach(network, rank, **options)
    made.draw(Randomness.reproducible(5))
    return made


def losses(network: nn.Module, rows: Tensor) -> Tensor:
    """One loss for each row of tokens."""
    tokens = TOKENS[rows]
    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    return row_losses(network, inputs, tokens, torch.ones(len(rows)))


def plain_gradients(network: nn.Module) -> dict[str, Tensor]:
    network.zero_grad()
    losses(network, torch.arange(3)).sum().backward()  # type: ignore[no-untyped-call]
    return {
        name: one.grad.clone() for name, one in network.named_parameters() if one.grad is not None
    }


def matrix(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def pair(rank: int, *, transposed: bool = False, source: str = UPDATE) -> tuple[Carriers, Tensor]:
    """Carriers of a 6×4 matrix, with a gradient of it."""
    shape = (4, 6) if transposed else (6, 4)
    made = Carriers(matrix(0, *shape), rank, transposed=transposed, source=source)
    torch.manual_seed(rank)
    made.draw()
    return made, matrix(1, *shape)


def seen(made: Carriers, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of both carriers."""
    gradient = gradient.t() if made.transposed else gradient
    return gradient @ made.right.weight.t(), made.left.weight.t() @ gradient


def test_a_network_computes_the_same_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, other = (small_model("gpt-small").network.eval() for _ in range(2))
    made = carried(other)
    kinds = ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
    assert set(made.layers) == {f"transformer.h.0.{kind}" for kind in kinds}
    assert torch.equal(plain(TOKENS).logits, other(TOKENS).logits)

    def twin(layer: Any, args: Any, _: Any, output: Tensor) -> Tensor:
        added: Tensor = layer.carriers.left(layer.carriers.right(args[0]))
        return output + added

    monkeypatch.setattr(module, "_add_carriers", twin)
    third = small_model("gpt-small").network.eval()
    carried(third)
    assert not torch.allclose(plain(TOKENS).logits, third(TOKENS).logits)


def test_the_gradients_of_carriers_are_products_and_others_are_the_same() -> None:
    plain, other = (small_model("gpt-small").network.eval() for _ in range(2))
    made = carried(other)
    whole, thin = plain_gradients(plain), plain_gradients(other)
    for name, (_, one) in zip(made.layers, made.pairs(), strict=True):
        gradient = whole.pop(f"{name}.weight").t()  # a Conv1D
        left, right = one.left.weight, one.right.weight
        for part, wanted in (("left", gradient @ right.t()), ("right", left.t() @ gradient)):
            found = thin.pop(f"{name}.carriers.{part}.weight")
            torch.testing.assert_close(found, wanted, atol=1e-6, rtol=1e-4)
    # Nothing more flows back: everything else has the gradient that it had.
    assert whole.keys() == thin.keys()
    for name, wanted in whole.items():
        torch.testing.assert_close(thin[name], wanted, atol=1e-6, rtol=1e-4)


def test_each_record_is_recorded_as_in_a_loop() -> None:
    network = small_model("gpt-small").network.eval()
    carried(network)
    owner = torch.tensor([0, 1, 0])
    for owners in (None, owner):
        assert max(worst_difference(network, losses, 3, owners)) < TOLERANCE


@pytest.mark.parametrize("transposed", [False, True])
def test_what_is_rebuilt_is_the_projection_and_at_full_rank_everything(transposed: bool) -> None:
    made, gradient = pair(2, transposed=transposed)
    left, right = made.left.weight, made.right.weight
    across = torch.eye(6, dtype=torch.float64) - left @ left.t()
    along = torch.eye(4, dtype=torch.float64) - right.t() @ right
    upright = gradient.t() if transposed else gradient
    wanted = upright - across @ upright @ along
    found = made.rebuild(*seen(made, gradient))
    assert found.shape == gradient.shape
    torch.testing.assert_close(found.t() if transposed else found, wanted)
    assert not torch.allclose(found, gradient)  # something is lost
    whole, gradient = pair(4, transposed=transposed)
    torch.testing.assert_close(whole.rebuild(*seen(whole, gradient)), gradient)


def test_twins_that_rebuild_something_else_are_caught() -> None:
    made, gradient = pair(4)
    of_left, of_right = seen(made, gradient)
    left, right = made.left.weight, made.right.weight
    added = of_left @ right + left @ of_right + left @ left.t() @ of_left @ right
    assert not torch.allclose(added, gradient)  # the sign of the published code
    with torch.no_grad():  # carriers that are not orthonormal
        right.mul_(1.5)
    assert not torch.allclose(made.rebuild(*seen(made, gradient)), gradient)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("source", [UPDATE, WEIGHT])
def test_carriers_follow_the_matrix(source: str, transposed: bool) -> None:
    made, moved = pair(2, transposed=transposed, source=source)
    weight = matrix(0, *moved.shape) + moved
    followed = moved if source == UPDATE else weight
    for _ in range(200):
        made.refresh(weight)
    outer, _, inner = torch.linalg.svd(followed.t() if transposed else followed)
    left, right = made.left.weight, made.right.weight
    torch.testing.assert_close(left.t() @ left, torch.eye(2, dtype=torch.float64))
    torch.testing.assert_close(right @ right.t(), torch.eye(2, dtype=torch.float64))
    torch.testing.assert_close(left @ left.t(), outer[:, :2] @ outer[:, :2].t())
    torch.testing.assert_close(right.t() @ right, inner[:2].t() @ inner[:2])


@pytest.mark.parametrize("gone", [0.0, float("nan"), float("inf")])
def test_a_matrix_without_directions_leaves_the_carriers_alone(gone: float) -> None:
    made, _ = pair(2)
    before = [one.detach().clone() for one in made.parameters()]
    made.refresh(matrix(0, 6, 4) + gone)
    assert all(torch.equal(*both) for both in zip(before, made.parameters(), strict=True))


def test_dependent_columns_still_have_an_orthonormal_basis() -> None:
    for columns in (torch.ones(5, 3), torch.zeros(5, 3)):
        basis = orthonormal(columns)
        torch.testing.assert_close(basis.t() @ basis, torch.eye(3))


def test_detached_the_network_is_an_ordinary_one_again() -> None:
    network = small_model("gpt-small").network
    before = {name: one.clone() for name, one in network.state_dict().items()}
    made = carried(network)
    assert network.state_dict().keys() > before.keys()
    made.detach()
    after = network.state_dict()
    assert after.keys() == before.keys()
    assert all(torch.equal(one, before[name]) for name, one in after.items())
    assert all(one.requires_grad for one in network.parameters())


class Mixed(nn.Module):
    """Layers that carriers are for, and others."""

    def __init__(self) -> None:
        super().__init__()
        self.large, self.flat, self.frozen = nn.Linear(9, 9), nn.Linear(9, 2), nn.Linear(9, 9)
        self.frozen.weight.requires_grad_(False)
        self.one, self.two = nn.Linear(9, 9), nn.Linear(9, 9)
        self.two.weight = self.one.weight
        self.turned, self.head = Conv1D(9, 9), nn.Linear(9, 9)


def test_only_large_trained_matrices_of_one_layer_are_carried() -> None:
    made = Carried.attach(Mixed(), 2, whole=["head.weight"])
    assert set(made.layers) == {"large", "turned"}
    with pytest.raises(InvalidArgument, match="rank=5"):
        Carried.attach(Mixed(), 5)
    with pytest.raises(InvalidArgument, match="rank=0"):
        Carried.attach(Mixed(), 0)
