"""Which recorded layer replaces a module of a model, and the test of registered ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

from sfumato.core.errors import InvalidArgument, UnsupportedLayer
from sfumato.models.lstm_layer import LSTM
from sfumato.models.output_layer import OutputLayer
from sfumato.training.clipping.layers.convolution import FilterSlot, RecordedConvolution
from sfumato.training.clipping.layers.embedding import RecordedEmbedding, TableSlot
from sfumato.training.clipping.layers.layer import CurrentBatch, Layer, Role
from sfumato.training.clipping.layers.linear import MatrixSlot, RecordedConv1D, RecordedLinear
from sfumato.training.clipping.layers.lstm import RecordedLSTM
from sfumato.training.clipping.layers.norms import (
    RecordedLayerNorm,
    RecordedRMSNorm,
    RecordedVectors,
    is_elementwise,
)
from sfumato.training.clipping.layers.output import RecordedOutput
from sfumato.training.clipping.layers.relative_bias import RecordedRelativeBias, relative_table
from sfumato.training.clipping.layers.tied import TiedSlot
from sfumato.training.clipping.slots import Slot, VectorSlot

RuleT = TypeVar("RuleT", bound=Layer)
# The losses of some rows, given by a tensor of row numbers, under a model.
Losses = Callable[[nn.Module, Tensor], Tensor]
# Makes a module, and a batch of at least two rows for it.
Example = Callable[[], tuple[nn.Module, Tensor]]

# In double precision this is far above rounding errors and far below any mistake.
TOLERANCE = 1e-8

SUPPORTED = (
    "Linear, Conv1D of GPT-2, Conv1d, Embedding, LayerNorm, RMSNorm of any kind, tables of "
    "relative positions as T5 has them, sfumato.models.lstm_layer.LSTM"
)


@dataclass
class _Registered:
    rule: type[Layer]
    example: Example
    checked: bool = False


_REGISTERED: dict[type[nn.Module], _Registered] = {}


def register_layer(
    kind: type[nn.Module], *, example: Example
) -> Callable[[type[RuleT]], type[RuleT]]:
    """Register a recorded layer for modules of a kind, as a decorator.

    ``example`` makes such a module, and a batch of at least two rows for it. Before the rule is
    first used, it is compared on this example with a loop over records (``check_layer``), and
    refused if it is wrong. Rules for layers that are already supported cannot be replaced.
    """

    def decorate(rule: type[RuleT]) -> type[RuleT]:
        ours = [parent.__name__ for parent, _ in _rules() if kind is parent]
        if ours or kind in _REGISTERED:
            raise InvalidArgument(
                f"there is a rule for {kind.__name__} already; it is not replaced"
            )
        _REGISTERED[kind] = _Registered(rule, example)
        return rule

    return decorate


def _registered_rule(module: nn.Module) -> type[Layer] | None:
    for kind, found in _REGISTERED.items():
        if isinstance(module, kind) and type(module).forward is kind.forward:
            if not found.checked:
                found.checked = True  # also during the check, which needs the rule
                try:
                    check_layer(found.example)
                except BaseException:
                    found.checked = False
                    raise
            return found.rule
    return None


def rule_for(module: nn.Module) -> type[Layer] | None:
    """The recorded layer for a module, or None if there is none.

    A subclass qualifies only if it does not override ``forward``.
    """
    if "forward" in vars(module):
        return None  # another library has replaced its forward
    for parent, rule in _rules():
        if isinstance(module, parent) and type(module).forward is parent.forward:
            return rule if _over_last_axis(module) else None
    registered = _registered_rule(module)
    if registered is not None:
        return registered
    return RecordedVectors if is_elementwise(module) else None


def slot_for(parameter: Tensor, roles: Iterable[Role]) -> Slot | None:
    """The slot that collects the gradients of a parameter with these roles."""
    slots: dict[frozenset[Role], Callable[[Tensor], Slot]] = {
        frozenset({Role.MATRIX}): MatrixSlot,
        frozenset({Role.FILTER}): FilterSlot,
        frozenset({Role.TABLE}): TableSlot,
        frozenset({Role.MATRIX, Role.TABLE}): TiedSlot,
        frozenset({Role.VECTOR}): VectorSlot,
    }
    make = slots.get(frozenset(roles))
    return None if make is None else make(parameter)


def find_layers(model: nn.Module, batch: CurrentBatch) -> list[Layer]:
    """A recorded layer for every module with trainable parameters; an error if one has none."""
    found: list[Layer] = []
    strangers: dict[nn.Parameter, str] = {}
    tables: set[nn.Module] = set()
    for name, module in model.named_modules():
        table = relative_table(module)
        if table is not None and table.weight.requires_grad:
            found.append(RecordedRelativeBias(name, module, batch))
            tables.add(table)
        if module in tables:  # recorded where it is looked up
            continue
        own = {
            key: one
            for key, one in module._parameters.items()
            if one is not None and one.requires_grad
        }
        rule = rule_for(module) if own else None
        layer = rule(name, module, batch) if rule is not None else None
        if layer is not None and own.keys() <= layer.roles().keys():
            found.append(layer)
        else:
            kind = type(module).__name__
            strangers |= {one: f"{_join(name, key)} ({kind})" for key, one in own.items()}
    # A module may hold a parameter that only a layer inside it uses.
    used = {parameter for layer in found for parameter in layer.trainable().values()}
    missing = [name for parameter, name in strangers.items() if parameter not in used]
    if missing:
        raise unsupported(missing)
    return found


def assign_slots(model: nn.Module, layers: Iterable[Layer]) -> dict[str, Slot]:
    """Give each trainable parameter one slot, shared by all layers that use it.

    They are by name, in the order of the model's parameters, whichever layer was found first.
    """
    names = {parameter: name for name, parameter in model.named_parameters()}
    roles: dict[nn.Parameter, set[Role]] = {}
    for layer in layers:
        for key, parameter in layer.trainable().items():
            roles.setdefault(parameter, set()).add(layer.roles()[key])
    slots = {parameter: slot_for(parameter, kinds) for parameter, kinds in roles.items()}
    impossible = [names[parameter] for parameter, slot in slots.items() if slot is None]
    if impossible:
        raise unsupported(impossible)
    known = {parameter: slot for parameter, slot in slots.items() if slot is not None}
    coarse = [names[one] for one in known if one.dtype not in (torch.float32, torch.float64)]
    if coarse:
        raise InvalidArgument(
            f"{', '.join(coarse)} must be float32 or float64: norms and noise would be rounded "
            "too much; call model.float() first"
        )
    for layer in layers:
        layer.slots = {key: known[parameter] for key, parameter in layer.trainable().items()}
    if not known:
        raise InvalidArgument(
            "the model has no trainable parameters; unfreeze what is to be trained"
        )
    return {name: known[parameter] for parameter, name in names.items() if parameter in known}


def _join(name: str, key: str) -> str:
    return f"{name}.{key}" if name else key


def unsupported(parameters: Iterable[str]) -> UnsupportedLayer:
    """The error for parameters whose gradients cannot be clipped."""
    return UnsupportedLayer(
        f"no per-example gradients for {', '.join(sorted(parameters))}; supported are {SUPPORTED}. "
        "Replace the layer, register a rule for it (register_layer), or freeze it with "
        "requires_grad_(False); it would not be trained then"
    )


def _rules() -> Iterable[tuple[type[nn.Module], type[Layer]]]:
    yield OutputLayer, RecordedOutput
    yield nn.Linear, RecordedLinear
    yield nn.Conv1d, RecordedConvolution
    yield nn.Embedding, RecordedEmbedding
    yield nn.LayerNorm, RecordedLayerNorm
    yield nn.RMSNorm, RecordedRMSNorm
    yield LSTM, RecordedLSTM
    transformers = sys.modules.get("transformers.pytorch_utils")
    if transformers is not None:  # if it is not imported, the model has no such layer
        yield transformers.Conv1D, RecordedConv1D


def _over_last_axis(module: nn.Module) -> bool:
    shape = getattr(module, "normalized_shape", (1,))
    return len(shape) == 1


@dataclass(frozen=True)
class Differences:
    """How far book-keeping differs from the loop, relative to the longest record."""

    norms: float
    sums: float
    inner_products: float
    gradients: float
    gram: float

    @property
    def worst(self) -> float:
        """The largest of all."""
        return max(self.norms, self.sums, self.inner_products, self.gradients, self.gram)


def gradients_of_records(
    model: nn.Module, losses: Losses, owner: Tensor
) -> list[dict[str, Tensor]]:
    """The gradient of each record, in the order of the owners, from separate calls for each row.

    In double precision, on a copy of the model, so that the loop itself is exact.
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
    """Compare all that is computed for the records of a batch with the loop.

    Weights are chosen so that some records are clipped and some are not. Inner products are with a
    random direction, and computed twice, because measuring norms may change how gradients are kept.
    """
    from sfumato.training.clipping.recording import Recording

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
        first = recording.products(records, direction)
        norms = recording.measure(records).norms()
        after = recording.inner_products(direction, records)
        second = recording.products(records, direction)
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
    along = (before, after, first.along, second.along)
    apart = max(float((products - found).abs().max()) for found in along)
    each = torch.stack([torch.cat([one[name].flatten() for name in one]) for one in naive]).double()
    among = max(float((each @ each.t() - found.among).abs().max()) for found in (first, second))
    formed = [
        norm({name: gradients[name][place] - one[name] for name in one})
        for place, one in enumerate(naive)
    ]
    return Differences(
        norms=float(((norms - lengths).abs() / nonzero).max()),
        sums=norm(wrong) / longest,
        inner_products=apart / (longest * norm(direction)),
        gradients=max(formed) / longest,
        gram=among / longest**2,
    )


class _TwoUses(nn.Module):
    """A module that is called twice: the records of both calls must add up."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, rows: Tensor) -> Tensor:
        once: Tensor = self.module(rows).flatten(1)
        again: Tensor = self.module(rows).flatten(1)
        return torch.cat([once, once.tanh() * again], 1)


def check_layer(example: Example) -> None:
    """Refuse a rule that does not give the gradients of a loop over records.

    ``example`` makes a module of the kind that the rule is for, and a batch for it. The test runs
    in double precision, with parameters that are neither zero nor one, with one call and with two,
    with single rows as records and with records of several rows.
    """
    module, rows = example()
    kind = type(module).__name__
    if len(rows) < 2:
        raise UnsupportedLayer(f"the example of {kind} needs two rows or more, to tell them apart")
    chance = torch.Generator().manual_seed(0)  # public numbers, only for testing the rule
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
                    "released; fix the rule before it is used"
                )
