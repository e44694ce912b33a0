"""Records, in one backward pass, what the layers of a model see.

From what was recorded follow the norm of each record's gradient, its inner product with a
direction, the gradient itself, and any weighted sum over records.

Why nothing is missed
    Every trainable parameter must belong to a supported layer; otherwise an error names it. While
    the model is called, the forward pass of each of these layers is replaced by one in which
    parameters are constants. If a parameter is used in any other way (by a separate function,
    through another module), torch gives it an ordinary gradient, and that is an error, too. So the
    gradient of a parameter is the sum of what was recorded.

Why rows are not mixed
    A row's gradient is what was recorded in its row, provided that no row influences another row's
    loss. This is tested on the first batches of two rows or more, then on random ones
    (``row_checks``). The gradient of the losses of a random half of the rows must be zero in the
    other half, in every layer, and vice versa. And what the model computes for a row must not
    depend on the other rows or on their number. Normalization over the batch, detached or not, a
    state that is passed from row to row, a capacity that rows share, or a wrong axis for the rows
    do not pass these tests.

Side effects of a forward pass are refused by ``side_effects``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from sfumato.core.errors import CoupledRows, InvalidArgument, UnsupportedLayer
from sfumato.core.randomness import Randomness
from sfumato.training.clipping.layers.layer import CurrentBatch, Layer
from sfumato.training.clipping.layers.rules import assign_slots, find_layers
from sfumato.training.clipping.passes import Pass, PassingSlot, enlarge, refuse_other_numbers
from sfumato.training.clipping.replays import ModelInputs, tensors_in
from sfumato.training.clipping.rounding import (
    MeasuredNorms,
    fully,
    refuse_coarse_products,
    shares,
    together,
)
from sfumato.training.clipping.row_checks import CheckSchedule, RowSplit, check_call
from sfumato.training.clipping.side_effects import refuse_batch_statistics, refuse_changes, state_of
from sfumato.training.clipping.slots import Products, Records


class Recording:
    """A model whose layers record what clipping needs, whenever it is called for training.

    ``slots`` maps the name of each trainable parameter to where its gradients are gathered.
    ``coin`` decides which batches are checked, and need not be secret. Callers that have compared
    rows by other means may set ``compared`` before a call, which is then not checked. With
    ``two_passes`` norms and sums come from a backward pass each, and nothing else can be asked for
    (``passes``).
    """

    def __init__(
        self, model: nn.Module, coin: Randomness | None = None, *, two_passes: bool = False
    ) -> None:
        self.model = model
        self.batch = CurrentBatch(
            coarse=any(map(_is_coarse, model.parameters()))
            # A frozen output layer records nothing that would show it.
            or any(getattr(module, "is_short", False) for module in model.modules())
        )
        self.layers = find_layers(model, self.batch)
        self.slots = assign_slots(model, self.layers)
        self._passing: tuple[PassingSlot, ...] = ()
        if two_passes:
            self._let_pass()
        self._loss: Tensor | None = None
        self._promised: MeasuredNorms | None = None
        self._counting = False
        refuse_batch_statistics(model)
        self._state = state_of(model)
        self._entered: list[Tensor] = []
        self.paused = False
        self._installed = False
        if self._root is not None:
            model.__dict__["forward"] = self._call_root
        self._parameters_checked = False
        self.coin = coin or Randomness.secure()
        self._calls, self._gradients = CheckSchedule(self.coin), CheckSchedule(self.coin)
        self._half: Tensor | None = None
        self._comparing, self._comparisons = False, 0
        self.compared = False
        self._hooks = [
            model.register_forward_pre_hook(self._begin, with_kwargs=True),
            model.register_forward_hook(self._end, always_call=True),
        ]

    def close(self) -> None:
        """Restore the model as it was before."""
        for hook in self._hooks:
            hook.remove()
        self._uninstall()
        if self.model.__dict__.get("forward") == self._call_root:
            del self.model.__dict__["forward"]

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Within this block the model can be trained or evaluated in the ordinary way."""
        before, self.paused = self.paused, True
        try:
            yield
        finally:
            self.paused = before

    def backward(self, losses: Tensor, owner: Tensor | None = None) -> Records:
        """The one backward pass; afterwards every slot holds the gradients of the rows.

        Row i belongs to the record ``owner[i]``; without ``owner`` each row is a record.
        """
        # No error here contains a shape: the number of rows and their length are secret.
        if not isinstance(losses, Tensor) or not losses.requires_grad:
            raise InvalidArgument(
                "the losses do not come from the model; call it with gradients enabled, and give "
                "the losses of its rows as one tensor"
            )
        if losses.dim() != 1 or len(losses) != self.batch.rows:
            raise InvalidArgument(
                "the losses must be one number for each row that the model was last called with, "
                "not their sum or mean"
            )
        frozen = [name for name, slot in self.slots.items() if not slot.parameter.requires_grad]
        if frozen:
            raise InvalidArgument(
                f"{', '.join(frozen)} was frozen after training was made private; close this "
                "private step and make a new one"
            )
        refuse_coarse_products()
        records = Records.of(owner, len(losses))
        self.clear()
        try:
            refuse_changes(self._state, self.model)
            half, self._half = self._half, None
            if half is not None and all(self._rows_are_apart(losses, one) for one in (half, ~half)):
                self._gradients.passed()
            loss = losses.sum()
            self.gather(loss, records, keep_graph=bool(self._passing))
            self._loss = loss if self._passing else None
            refuse_changes(self._state, self.model)  # layers may have been computed again
            if not self._parameters_checked:
                self._check_every_parameter_was_used()
                self._parameters_checked = True
            return records
        except BaseException:
            self.clear()
            raise

    def measure(self, records: Records) -> MeasuredNorms:
        """The norm of each record's gradient over all parameters, and a bound on it."""
        with fully():
            whole = self._measure(records)
        if self._loss is not None:
            whole = self._promised = enlarge(whole)
        return whole

    def _measure(self, records: Records) -> MeasuredNorms:
        slots = [slot for slot in self.slots.values() if slot.used]
        parts = [slot.measure(records) for slot in slots]
        whole = together(parts)
        which = whole.uncertain()
        if not len(which):
            return whole
        # The doubt of the slots that are not measured again is less than half of what is allowed.
        much = shares(whole.dtype)[0] * whole.square[which] / (2 * len(parts))
        for index, (slot, part) in enumerate(zip(slots, parts, strict=True)):
            doubtful = which[part.doubt[which] > much]
            if not len(doubtful):
                continue
            if isinstance(slot, PassingSlot):
                slot.doubtful = doubtful
            else:
                closer = slot.measure_closely(records, doubtful)
                parts[index] = part.replaced(doubtful, closer)
        if self._passing and self._loss is not None:
            # Rarely: what they saw is gone, so a further pass brings it again.
            self.gather(self._loss, records, keep_graph=True)
            parts = [slot.measure(records) for slot in slots]
        return together(parts)

    def inner_products(self, direction: Mapping[str, Tensor], records: Records) -> Tensor:
        """The inner product of each record's gradient with a direction, in double precision.

        ``direction`` has a tensor in the shape of each parameter, by name. No gradient is formed;
        the cost is about that of a forward pass.
        """
        self._check_direction(direction)
        used = [(direction[name], slot) for name, slot in self.slots.items() if slot.used]
        with fully():
            parts = [slot.inner_products(one.to(slot.parameter), records) for one, slot in used]
        return torch.stack(parts).sum(0)

    def gram(self, records: Records) -> Tensor:
        """The inner products of the records' gradients with each other, in double precision.

        Gradients are formed in pieces, so this takes the time of forming them and little memory.
        """
        return self._products(records, None).among

    def products(self, records: Records, direction: Mapping[str, Tensor]) -> Products:
        """The inner products of the gradients with each other and with a direction, at once."""
        self._check_direction(direction)
        return self._products(records, direction)

    def gradients(self, records: Records) -> dict[str, Tensor]:
        """The gradients themselves, by parameter: (records, …), then the shape of the parameter.

        This takes the memory of as many models as there are records in this physical batch, which
        norms and weighted sums never need. It contains only parameters that the batch used. Do not
        change the tensors: the sums may be computed from them.
        """
        used = {name: slot for name, slot in self.slots.items() if slot.used}
        with fully():
            return {name: slot.gradients(records) for name, slot in used.items()}

    def weighted_sums(self, weights: Tensor, records: Records) -> Iterator[tuple[str, Tensor]]:
        """The weighted sum of the records' gradients for each parameter; discards the gradients."""
        if self._loss is not None:
            self._pass_again(self._loss, weights, records)
        for name, slot in self.slots.items():
            if slot.used:
                with fully():
                    total = slot.weighted_sum(_round(weights, slot.parameter.dtype), records)
                slot.clear()
                yield name, total

    def _pass_again(self, loss: Tensor, weights: Tensor, records: Records) -> None:
        """The second pass, and the proof that what it adds is what was clipped."""
        self._loss = None
        self.gather(loss, records, weights=weights)
        refuse_changes(self._state, self.model)
        promised, self._promised = self._promised, None
        if promised is not None:
            added = [slot.measure(records) for slot in self._passing if slot.used]
            refuse_other_numbers(promised, together(added))

    def _products(self, records: Records, direction: Mapping[str, Tensor] | None) -> Products:
        among = torch.zeros(records.count, records.count, dtype=torch.float64)
        along = among.new_zeros(records.count)
        for name, slot in self.slots.items():
            if slot.used:
                one = None if direction is None else direction[name].to(slot.parameter)
                with fully():
                    found = slot.products(records, one)
                among += found.among.to(among.device)
                along += found.along.to(along.device)
        return Products(among, along)

    def _check_direction(self, direction: Mapping[str, Tensor]) -> None:
        if missing := self.slots.keys() - direction.keys():
            raise InvalidArgument(
                f"the direction lacks {', '.join(sorted(missing))}; give a tensor for every "
                "trainable parameter, by its name"
            )
        for name, slot in self.slots.items():
            if direction[name].shape != slot.parameter.shape:
                raise InvalidArgument(
                    f"the direction of {name} must have the shape of the parameter, "
                    f"{tuple(slot.parameter.shape)}"
                )

    def clear(self) -> None:
        """Discard the batch."""
        self._loss = self._promised = None
        for slot in self.slots.values():
            slot.clear()
        for passing in self._passing:
            passing.doubtful = None

    @contextmanager
    def comparing(self) -> Iterator[None]:
        """Record calls that are not part of training, and discard them afterwards."""
        before = self.batch.rows, self._comparing
        uses = [slot.uses for slot in self._passing]
        self._comparing = True
        try:
            yield
        finally:
            self.batch.rows, self._comparing = before
            self.clear()
            for slot, called in zip(self._passing, uses, strict=True):
                slot.uses = called

    def gather(
        self,
        loss: Tensor,
        records: Records,
        *,
        keep_graph: bool = False,
        weights: Tensor | None = None,
        extents: bool = False,
    ) -> None:
        """Backpropagate from a scalar, so that every slot holds each row's part of its gradient.

        Slots that forget it need to be told before what will be asked of them (``passes``).
        """
        for slot in self.slots.values():
            slot.clear()
            slot.each_row = records.each_row
        for passing in self._passing:
            given = None if weights is None else _round(weights, passing.parameter.dtype)
            passing.begin(Pass(records, given, extents))
        everything = dict(self.model.named_parameters())
        for parameter in everything.values():
            parameter.grad = None
        # Layers that are computed again in the backward pass must be recorded as well.
        self._install()
        try:
            with fully():
                loss.backward(retain_graph=keep_graph)  # type: ignore[no-untyped-call]
                for passing in self._passing:
                    passing.close()
        finally:
            self._uninstall()
        strays = [name for name, one in everything.items() if one.grad is not None]
        for parameter in everything.values():
            parameter.grad = None
        if strays:
            raise UnsupportedLayer(
                f"{', '.join(strays)} had an influence on the loss that did not go through the "
                "layer it belongs to, so its gradient cannot be split by row; call the model "
                "itself, and its layers rather than functions on their weights"
            )

    def _rows_are_apart(self, losses: Tensor, probed: Tensor) -> bool:
        """Whether the losses of some rows have no gradient in other rows; an error if they have.

        False if numbers are not finite, so that nothing is proven.
        """
        probed = probed.to(losses.device)
        each = Records(len(losses))
        self.gather(losses[probed].sum(), each, keep_graph=True, extents=True)
        finite = True
        for one in self._entered:
            others, one.grad = one.grad, None
            if others is not None and len(others) == len(losses):
                others[probed.to(others.device)] = 0
                if bool((others != 0).any()) and bool(others.isfinite().all()):
                    raise CoupledRows(
                        "the loss of one row has a gradient in the input of other rows; rows of a "
                        "batch must not see each other"
                    )
        for name, slot in self.slots.items():
            if slot.used:
                extents = slot.extents()
                extents[probed.to(extents.device)] = 0
                finite = finite and bool(extents.isfinite().all())
                if bool((extents > 0).any()) and finite:
                    raise CoupledRows(
                        f"the loss of one row has a gradient in other rows of {name}; rows of a "
                        "batch must not see each other, and must be the first axis everywhere"
                    )
        return finite

    def _check_every_parameter_was_used(self) -> None:
        idle = [name for name, slot in self.slots.items() if not slot.used]
        if idle:
            raise UnsupportedLayer(
                f"{', '.join(idle)} took no part in the loss, so training would add nothing but "
                "noise; freeze with requires_grad_(False) what is not used"
            )

    def _begin(
        self, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        if torch.is_grad_enabled() and not self.paused:
            first = next(iter(tensors_in((args, kwargs))), None)
            if first is None or first.dim() == 0:
                raise InvalidArgument(
                    "the model was called without a tensor whose first axis is the rows"
                )
            refuse_batch_statistics(self.model)
            if not self._comparing:
                self._state = state_of(self.model)
                self._look_closely(first, args, kwargs)
            self.batch.rows = len(first)
            for slot in self._passing:
                slot.uses = 0
            self._install()
            self._counting = True
            if self._half is not None and not self._comparing:
                self._entered.clear()
                return tuple(map(self._traced, args)), {
                    k: self._traced(v) for k, v in kwargs.items()
                }
        return None

    def _look_closely(self, first: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """From time to time check that rows are independent: in this call, and in its gradients."""
        compared, self.compared, self._half = self.compared, False, None
        if len(first) < 2:
            return
        # Only this check flips the signs of inputs, in every other comparison.
        if (not compared or first.is_floating_point()) and self._calls.due():
            split = RowSplit.drawn(len(first), self.coin, flipped=self._comparisons % 2 == 1)
            self._comparisons += 1
            if check_call(self, ModelInputs(args, kwargs), split):
                self._calls.passed()
            refuse_changes(self._state, self.model)
        if self._gradients.due():
            self._half = RowSplit.drawn(len(first), self.coin).looked_at

    def _traced(self, value: Any) -> Any:
        """A copy of a floating-point input with a gradient, so that its rows are checked, too."""
        if not isinstance(value, Tensor) or not value.is_floating_point() or value.requires_grad:
            return value
        self._entered.append(value.detach().clone().requires_grad_())
        return self._entered[-1] * 1  # not a leaf, so it may be changed in place

    def _end(self, *_: Any) -> None:
        self._counting = False
        self._uninstall()

    def _let_pass(self) -> None:
        """Put a slot that forgets around every slot."""
        around = {id(slot): PassingSlot(slot) for slot in self.slots.values()}
        self._passing = tuple(around.values())
        self.slots = {name: around[id(slot)] for name, slot in self.slots.items()}
        for layer in self.layers:
            layer.slots = {key: around[id(slot)] for key, slot in layer.slots.items()}

    def _count(self, layer: Layer, *args: Any, **kwargs: Any) -> Any:
        """A layer's forward pass; calls in the backward pass, to compute it again, do not count."""
        if self._counting:
            for slot in layer.slots.values():
                if isinstance(slot, PassingSlot):
                    slot.uses += 1
        return layer.forward(*args, **kwargs)

    def _install(self) -> None:
        self._installed = True
        for layer in self.layers:
            if layer is not self._root:
                forward = partial(self._count, layer) if self._passing else layer.forward
                layer.module.__dict__[layer.replaces] = forward

    def _uninstall(self) -> None:
        self._installed = False
        for layer in self.layers:
            if layer is not self._root:
                layer.module.__dict__.pop(layer.replaces, None)

    @property
    def _root(self) -> Layer | None:
        """The model itself, if it is a layer."""
        own = (one for one in self.layers if one.module is self.model)
        return next((one for one in own if one.replaces == "forward"), None)

    def _call_root(self, *args: Any, **kwargs: Any) -> Any:
        # Torch looks up the model's forward before it calls our hook. So if the model itself is a
        # layer, its forward has to be chosen at the time of the call.
        root = self._root
        if self._installed and root is not None:
            return self._count(root, *args, **kwargs)
        return type(self.model).forward(self.model, *args, **kwargs)


def _round(weights: Tensor, dtype: torch.dtype) -> Tensor:
    """Weights in the precision of a parameter; subnormal ones, which round badly, become 0."""
    return torch.where(weights.abs() < torch.finfo(dtype).tiny, 0.0, weights).to(dtype)


def _is_coarse(parameter: Tensor) -> bool:
    return parameter.dtype in (torch.bfloat16, torch.float16)
