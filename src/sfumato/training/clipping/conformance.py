"""Whether book-keeping gives what a loop over records gives, for whole models and for one rule.

The loop sends one row after the other through a copy of the model and asks plain autograd, so it
shares nothing with book-keeping. Rules that are registered from outside are held to it before they
are used: a rule that is wrong would clip something else than what is released.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sfumato.core.errors import UnsupportedLayer
from sfumato.training.clipping.recording import Recording

# The losses of some rows, named by a tensor of row numbers, under a model.
Losses = Callable[[nn.Module, Tensor], Tensor]
# A module of a kind, and a batch of two rows or more for it.
Example = Callable[[], tuple[nn.Module, Tensor]]

# In double precision: far above rounding, far below any mistake.
TOLERANCE = 1e-8


@dataclass(frozen=True)
class Differences:
    """How far book-keeping is from the loop, as shares of the longest record."""

    norms: float
    sums: float
    inner_products: float
    gradients: float

    @property
    def worst(self) -> float:
        """The largest of all."""
        return max(self.norms, self.sums, self.inner_products, self.gradients)


def gradients_of_records(
    model: nn.Module, losses: Losses, owner: Tensor
) -> list[dict[str, Tensor]]:
    """The gradient of each record, in the order of the owners, from rows that go through alone.

    In double precision, on a copy of the model: the loop itself must not be what is inexact.
    """
    model = deepcopy(model).double()
    trainable = {name: one for name, one in model.named_parameters() if one.requires_grad}
    totals: list[dict[str, Tensor]] = []
    for record in torch.unique(owner):
        total = {name: torch.zeros_like(one) for name, one in trainable.items()}
        for row in (owner == record).nonzero()[:, 0]:
            loss = losses(model, row[None]).sum()
            found = torch.autograd.grad(loss, list(trainable.values()), allow_unused=True)
            for name, gradient in zip(trainable, found, strict=True):
                if gradient is not None:
                    total[name] = total[name] + gradient
        totals.append(total)
    return totals


def norm(gradient: Mapping[str, Tensor]) -> float:
    """Length of a gradient over all parameters, in double precision."""
    squares = torch.stack([one.detach().double().square().sum() for one in gradient.values()])
    return float(squares.sum().sqrt())


def compare_with_loop(
    model: nn.Module, losses: Losses, rows: int, owner: Tensor | None = None
) -> Differences:
    """Everything that is known of the records of a batch, against the loop.

    Weights are chosen so that some records are clipped and some are not. Inner products are with a
    random direction, and asked for twice: measuring norms may change how gradients are kept.
    """
    everything = torch.arange(rows)
    naive = gradients_of_records(model, losses, everything if owner is None else owner)
    lengths = torch.tensor([norm(one) for one in naive], dtype=torch.float64)
    nonzero = lengths.clamp(min=1e-30)  # a record may have no gradient at all
    longest = float(nonzero.max())
    scales = (lengths.median() / nonzero).clamp(max=1.0)
    chance = torch.Generator().manual_seed(rows)
    direction = {
        name: torch.randn(one.shape, generator=chance, dtype=torch.float64)
        for name, one in naive[0].items()
    }
    recording = Recording(model)
    try:
        records = recording.backward(losses(model, everything), owner)
        before = recording.inner_products(direction, records)
        norms = recording.measure(records).norms()
        after = recording.inner_products(direction, records)
        gradients = {name: one.clone() for name, one in recording.gradients(records).items()}
        sums = dict(recording.weighted_sums(scales, records))
    finally:
        recording.close()
    if set(sums) != set(naive[0]) or set(gradients) != set(naive[0]):
        raise UnsupportedLayer("not every parameter that is trained has a gradient")
    clipped = [
        {name: float(scale) * one[name] for name in one}
        for scale, one in zip(scales, naive, strict=True)
    ]
    wrong = {name: sums[name] - torch.stack([one[name] for one in clipped]).sum(0) for name in sums}
    products = torch.tensor(
        [sum(float((one[name] * direction[name]).sum()) for name in one) for one in naive],
        dtype=torch.float64,
    )
    apart = max(float((products - found).abs().max()) for found in (before, after))
    formed = [
        norm({name: gradients[name][place] - one[name] for name in one})
        for place, one in enumerate(naive)
    ]
    return Differences(
        norms=float(((norms - lengths).abs() / nonzero).max()),
        sums=norm(wrong) / longest,
        inner_products=apart / (longest * norm(direction)),
        gradients=max(formed) / longest,
    )


class _TwoUses(nn.Module):
    """A module that is called twice: what both calls write down must add up."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, rows: Tensor) -> Tensor:
        once: Tensor = self.module(rows).flatten(1)
        again: Tensor = self.module(rows).flatten(1)
        return torch.cat([once, once.tanh() * again], 1)


def check_layer(example: Example) -> None:
    """Refuse a rule that does not give the gradients of a loop over records.

    ``example`` makes a module of the kind that the rule is for, and a batch for it. It is tried in
    double precision, with parameters that are neither zero nor one, alone and called twice, with
    every row a record and with records of several rows.
    """
    module, rows = example()
    kind = type(module).__name__
    if len(rows) < 2:
        raise UnsupportedLayer(f"the example of {kind} needs two rows or more, to tell them apart")
    chance = torch.Generator().manual_seed(0)  # public numbers, only to try the rule out
    module = deepcopy(module).double()
    entered = rows.double() if rows.is_floating_point() else rows
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=chance).to(parameter), alpha=0.1)
        shape = _TwoUses(module)(entered).shape
    weights = torch.randn(shape, generator=chance, dtype=torch.float64)

    def losses(model: nn.Module, some: Tensor) -> Tensor:
        outputs: Tensor = model(entered[some]).flatten(1)
        return (outputs * weights[some, : outputs.shape[1]]).sum(1)

    owner = torch.arange(len(entered)) // 2
    for model in (module, _TwoUses(module)):
        for given in (None, owner.flip(0)):
            worst = compare_with_loop(model, losses, len(entered), given).worst
            if not worst <= TOLERANCE:
                raise UnsupportedLayer(
                    f"the rule for {kind} does not give the gradients of a loop over records: it "
                    f"is off by a share of {worst:.2g}. What it clipped would not be what is "
                    "released; mend the rule before it is used"
                )
