"""Gradient carriers: two thin matrices through which the gradient of a large one is seen.

A matrix W of p×d has a left carrier L of p×r with orthonormal columns, and a right carrier R of r×d
with orthonormal rows. It is read as W = L·R + residual, where the residual W − L·R is a constant.
So the network computes what it computed before, and the gradient G of W shows as two thin ones:
∂L = G·Rᵀ and ∂R = Lᵀ·G. They are trained in the place of W, and turned into an update of W.

Guarantee
    None of its own; the guarantee is that of the training (``training.methods.rgp``).

Why the values are the same
    A hook adds L·R·x − L·R·x to what the layer returns, with the second term and x detached: the
    value is that of the layer bit for bit, nothing more flows back to x, and the gradients of L and
    R are (∂y)(R·x)ᵀ and Lᵀ(∂y)xᵀ, which are G·Rᵀ and Lᵀ·G for G = (∂y)xᵀ.

Why the update is the projected gradient
    (∂L)·R + L·(∂R) − L·Lᵀ·(∂L)·R = G·RᵀR + LLᵀ·G − LLᵀ·G·RᵀR, which is G less what neither carrier
    sees, (1 − LLᵀ)·G·(1 − RᵀR): its projection on the matrices whose columns are those of L, or
    whose rows are those of R. LLᵀ and RᵀR are projections only if the carriers are orthonormal. At
    full rank, r = min(p, d), one of them is the identity, and the update is G.

Care
    Carriers are a function of what they are computed from. ``refresh`` takes the matrix as it is
    and as it began, and nothing else: both are released. Carriers made of a private gradient would
    be a release without noise.

Reference
    Yu, Zhang, Chen, Yin and Liu 2021, "Large scale private learning via low-rank
    reparametrization" (theorem 3.1; the published code for language models adds the last term
    instead of subtracting it).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from sfumato.core.checks import at_least
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.load import draw_weights_from

UPDATE, WEIGHT = "update", "weight"
_NAME = "carriers"


class Carriers(nn.Module):
    """The carriers of one matrix; ``start`` is the matrix as it began, if carriers depend on it.

    ``transposed`` says that the matrix is stored as d×p, as GPT-2's Conv1D does.
    """

    def __init__(self, weight: Tensor, rank: int, *, transposed: bool, source: str) -> None:
        super().__init__()
        across, along = weight.shape[::-1] if transposed else weight.shape
        self.transposed = transposed
        self.left = nn.Linear(rank, across, bias=False)
        self.right = nn.Linear(along, rank, bias=False)
        self.to(weight)
        self.start: Tensor | None
        self.register_buffer("start", weight.detach().clone() if source == UPDATE else None)

    @torch.no_grad()
    def draw(self) -> None:
        """Orthonormal carriers in random directions, from torch's own stream."""
        left, right = self.left.weight, self.right.weight
        left.copy_(orthonormal(torch.randn(left.shape)))
        right.copy_(orthonormal(torch.randn(right.shape).t()).t())

    @torch.no_grad()
    def refresh(self, weight: Tensor) -> None:
        """One step of the power method, on the update of the matrix so far or on the matrix.

        A matrix that has not moved, or is not finite, has no directions: the carriers stay then.
        """
        source = weight if self.start is None else weight - self.start
        if self.transposed:
            source = source.t()
        if not bool(source.any()) or not bool(source.isfinite().all()):
            return
        left, right = self.left.weight, self.right.weight
        left.copy_(orthonormal(source @ right.t()))
        right.copy_(orthonormal(source.t() @ left).t())

    @torch.no_grad()
    def rebuild(self, of_left: Tensor, of_right: Tensor) -> Tensor:
        """The gradient of the matrix, from those of the carriers, in its own shape."""
        left, right = self.left.weight, self.right.weight
        apart = of_left - left @ (left.t() @ of_left)
        rebuilt: Tensor = left @ of_right + apart @ right
        if self.transposed:
            rebuilt = rebuilt.t().contiguous()
        return rebuilt


def orthonormal(columns: Tensor) -> Tensor:
    """An orthonormal basis of the columns; directions of their own where they are dependent."""
    basis: Tensor = torch.linalg.qr(columns.double())[0]
    return basis.to(columns)


@dataclass(frozen=True, eq=False)
class Carried:
    """The matrices of a network that have carriers, by the names of their layers."""

    layers: dict[str, nn.Module]
    _hooks: tuple[Any, ...]

    @classmethod
    def attach(
        cls, network: nn.Module, rank: int, *, source: str = UPDATE, whole: Iterable[str] = ()
    ) -> Carried:
        """Freeze every matrix that carriers make smaller, and put carriers beside it.

        These are the trained matrices of linear layers that no other layer shares, with fewer than
        p·d numbers in their carriers; parameters named in ``whole`` are left out.
        """
        at_least("rank", rank, 1)
        layers = dict(_carriable(network, rank, set(whole)))
        if not layers:
            raise InvalidArgument(
                f"rank={rank}: the model has no trained linear layer that carriers of this rank "
                "make smaller; take a smaller rank, another model, or the method private"
            )
        hooks = []
        for layer in layers.values():
            weight: Any = layer.weight.requires_grad_(False)
            transposed = not isinstance(layer, nn.Linear)
            made = Carriers(weight, rank, transposed=transposed, source=source)
            layer.add_module(_NAME, made.train(layer.training))
            hooks.append(layer.register_forward_hook(_add_carriers, with_kwargs=True))
        return cls(layers, tuple(hooks))

    def detach(self) -> None:
        """The network as it was, with the weights as they are now."""
        for hook in self._hooks:
            hook.remove()
        for layer in self.layers.values():
            layer.weight.requires_grad_(True)
            if _NAME in layer._modules:
                del layer._modules[_NAME]

    def draw(self, randomness: Randomness) -> None:
        """Carriers in public random directions, for the first step."""
        with draw_weights_from(randomness):
            for _, carriers in self.pairs():
                carriers.draw()

    def pairs(self) -> Iterator[tuple[nn.Parameter, Carriers]]:
        """Every matrix with its carriers."""
        for layer in self.layers.values():
            carriers = layer._modules[_NAME]
            assert isinstance(carriers, Carriers)  # noqa: S101  # ``attach`` put it there
            weight: Any = layer.weight
            yield weight, carriers


def _add_carriers(layer: nn.Module, args: Any, kwargs: dict[str, Any], output: Tensor) -> Any:
    """A hook: the layer's output, to which the carriers add nothing but their gradients."""
    if not torch.is_grad_enabled():
        return None
    carriers: Any = layer._modules[_NAME]
    entered: Tensor = next(iter((*args, *kwargs.values()))).detach()
    seen = carriers.left(carriers.right(entered))
    return output + (seen - seen.detach())


def _carriable(network: nn.Module, rank: int, whole: set[str]) -> Iterator[tuple[str, nn.Module]]:
    from transformers.pytorch_utils import Conv1D

    uses = Counter(id(one) for module in network.modules() for one in module._parameters.values())
    for name, module in network.named_modules():
        # A layer with a forward pass of its own, such as an output layer, has a reason for it.
        plain = type(module).forward in (nn.Linear.forward, Conv1D.forward)
        if not plain or f"{name}.weight" in whole:
            continue
        weight: Any = module.weight
        across, along = weight.shape
        thin = rank * (across + along) < across * along
        if weight.requires_grad and thin and uses[id(weight)] == 1:
            yield name, module
