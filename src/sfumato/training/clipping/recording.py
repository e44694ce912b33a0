"""Finds the layers of a model, and lets them write down what they see in one backward pass.

From what was written down follow, for every record, the norm of its gradient, its inner product
with a direction, the gradient itself, and any weighted sum over records.

Why nothing is missed
    Every trainable parameter must belong to a layer that is supported, or there is an error that
    names it. While the model is called, the forward pass of each of these layers is replaced by
    one in which parameters are constants. So if a parameter is used in any other way (by a function
    of its own, through another module), torch finds it, gives it a gradient in the ordinary way,
    and that is an error too. The gradient of a parameter is then the sum of what was written down.

Why rows are not mixed
    A row's gradient is what was written down in its row, provided no row has an influence on
    another row's loss. This is tried out on the first batches of two rows or more, then on some at
    random (``row_checks``). The losses of a random half of the rows must leave the other half at
    zero in every layer, and the other way round. And what the model computes for a row must be the
    same whatever the other rows are, and however many. Normalization over the batch, detached or
    not, a state that is passed from row to row, a capacity that rows share, or an axis taken for
    the rows that is not, do not pass.

Ways around the noise: what a forward pass writes into the model, and batch statistics.

Why it matters
    Gradients get noise; what else a batch leaves in the model does not, and is saved with it. A
    batch normalization keeps averages of what went through it, an embedding with ``max_norm``
    shortens the lines that were looked up, also when it is frozen. And what is normalized by the
    other rows of a batch depends on them, whether or not that shows in a gradient.

Why nothing is missed
    Torch counts the changes of every tensor. Parameters and all buffers that are saved must have
    the same count before the model is called and after the backward pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from sfumato.core.errors import CoupledRows, InvalidArgument, UnsupportedLayer
from sfumato.core.randomness import Randomness
from sfumato.training.clipping.layers.layer import CurrentBatch, Layer, Role
from sfumato.training.clipping.layers.rules import rule_for, slot_for, unsupported
from sfumato.training.clipping.records import Records
from sfumato.training.clipping.replays import ModelInputs, tensors_in
from sfumato.training.clipping.rounding import (
    MeasuredNorms,
    refuse_coarse_products,
    shares,
    together,
)
from sfumato.training.clipping.row_checks import CheckSchedule, RowSplit, check_call
from sfumato.training.clipping.slots import Slot

BufferVersions = Mapping[str, tuple[int, int]]


def refuse_batch_statistics(model: nn.Module) -> None:
    """Name the layers that let the rows of a batch see each other."""
    for name, module in model.named_modules():
        if isinstance(module, _BatchNorm) and (module.training or module.running_mean is None):
            raise UnsupportedLayer(
                f"layer {name!r} ({type(module).__name__}) normalizes over the batch: its rows see "
                "each other, and averages of them are kept without noise. Replace it, for instance "
                "by LayerNorm, or freeze it and call its eval()"
            )


def state_of(model: nn.Module) -> BufferVersions:
    """Which tensor stands where, and how often it was changed."""
    return {name: (id(one), one._version) for name, one in _save(model)}


def refuse_changes(before: BufferVersions, model: nn.Module) -> None:
    """Name what was changed since then by something else than a private step."""
    after = state_of(model)
    changed = sorted(name for name, state in before.items() if after.get(name) != state)
    if changed:
        raise UnsupportedLayer(
            f"{', '.join(changed)} was changed while the model was computing: it would be saved "
            "with the model, and holds the text without noise. Switch that off (eval(), no "
            "max_norm), or replace the layer; use this model no further"
        )


def _save(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    for prefix, module in model.named_modules():
        passing = module._non_persistent_buffers_set
        for held in (module._parameters, module._buffers):
            for name, one in held.items():
                if one is not None and name not in passing and not one.is_inference():
                    yield (f"{prefix}.{name}" if prefix else name), one


class Recording:
    """A model whose layers write down what clipping needs, whenever it is called for training.

    ``slots`` maps the name of each trainable parameter to where its gradients are gathered.
    ``coin`` decides which batches are looked at more closely, and may be known to anybody. Who has
    compared rows by other means may set ``compared`` before a call that is then spared.
    """

    def __init__(self, model: nn.Module, coin: Randomness | None = None) -> None:
        self.model = model
        self.batch = CurrentBatch()
        self.layers = _layers(model, self.batch)
        self.slots = _slots(model, self.layers)
        refuse_batch_statistics(model)
        self._state = state_of(model)
        self._entered: list[Tensor] = []
        self.paused = False
        self._installed = False
        if any(layer.module is model for layer in self.layers):
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
        """Leave the model as it was found."""
        for hook in self._hooks:
            hook.remove()
        self._uninstall()
        if self.model.__dict__.get("forward") == self._call_root:
            del self.model.__dict__["forward"]

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Let the model be trained or evaluated in the ordinary way for a while."""
        before, self.paused = self.paused, True
        try:
            yield
        finally:
            self.paused = before

    def backward(self, losses: Tensor, owner: Tensor | None = None) -> Records:
        """The one backward pass; afterwards every slot knows the gradients of the rows.

        Row i belongs to the record ``owner[i]``; without ``owner`` each row is a record.
        """
        # No error here tells a shape: how many rows there are, and how long, is secret.
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
        try:
            refuse_changes(self._state, self.model)
            half, self._half = self._half, None
            if half is not None and all(self._rows_are_apart(losses, one) for one in (half, ~half)):
                self._gradients.passed()
            self.gather(losses.sum(), records)
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
        slots = [slot for slot in self.slots.values() if slot.used]
        parts = [slot.measure(records) for slot in slots]
        whole = together(parts)
        which = whole.uncertain()
        if len(which):
            # What is left alone adds up to less than half of what a record may be in doubt by.
            much = shares(whole.dtype)[0] * whole.square[which] / (2 * len(parts))
            for index, (slot, part) in enumerate(zip(slots, parts, strict=True)):
                doubtful = which[part.doubt[which] > much]
                if len(doubtful):
                    closer = slot.measure_closely(records, doubtful)
                    parts[index] = part.replaced(doubtful, closer)
            whole = together(parts)
        return whole

    def inner_products(self, direction: Mapping[str, Tensor], records: Records) -> Tensor:
        """The inner product of each record's gradient with a direction, in double precision.

        ``direction`` has a tensor in the shape of each parameter, by name. No gradient is formed
        for it: what it costs is about a forward pass.
        """
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
        used = [(direction[name], slot) for name, slot in self.slots.items() if slot.used]
        parts = [slot.inner_products(one.to(slot.parameter), records) for one, slot in used]
        return torch.stack(parts).sum(0)

    def gradients(self, records: Records) -> dict[str, Tensor]:
        """The gradients themselves, by parameter: (records, …), then the shape of the parameter.

        The price is the memory of as many models as there are records in this physical batch, which
        norms and weighted sums never need. Only parameters that the batch used are there; do not
        change the tensors, they may be what the sums are computed from.
        """
        used = {name: slot for name, slot in self.slots.items() if slot.used}
        return {name: slot.gradients(records) for name, slot in used.items()}

    def weighted_sums(self, weights: Tensor, records: Records) -> Iterator[tuple[str, Tensor]]:
        """For each parameter the records' gradients times their weights, summed; forgets them."""
        for name, slot in self.slots.items():
            if slot.used:
                total = slot.weighted_sum(_round(weights, slot.parameter.dtype), records)
                slot.clear()
                yield name, total

    def clear(self) -> None:
        """Forget the batch."""
        for slot in self.slots.values():
            slot.clear()

    @contextmanager
    def comparing(self) -> Iterator[None]:
        """Record calls that are no part of training, and forget them."""
        before = self.batch.rows, self._comparing
        self._comparing = True
        try:
            yield
        finally:
            self.batch.rows, self._comparing = before
            self.clear()

    def gather(self, loss: Tensor, records: Records, *, keep_graph: bool = False) -> None:
        """Go back from a number, so that every slot knows what each row has to do with it."""
        self.clear()
        for slot in self.slots.values():
            slot.each_row = records.each_row
        everything = dict(self.model.named_parameters())
        for parameter in everything.values():
            parameter.grad = None
        # Layers that are computed again in the backward pass must be recorded as well.
        self._install()
        try:
            loss.backward(retain_graph=keep_graph)  # type: ignore[no-untyped-call]
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
        """Whether losses of some rows are seen to leave all others alone; an error if they do not.

        Numbers that are not finite hide what there is to see, and prove nothing.
        """
        probed = probed.to(losses.device)
        self.gather(losses[probed].sum(), Records(len(losses)), keep_graph=True)
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
                    "the model was called without a tensor whose first axis are the rows"
                )
            refuse_batch_statistics(self.model)
            if not self._comparing:
                self._state = state_of(self.model)
                self._look_closely(first, args, kwargs)
            self.batch.rows = len(first)
            self._install()
            if self._half is not None and not self._comparing:
                self._entered.clear()
                return tuple(map(self._traced, args)), {
                    k: self._traced(v) for k, v in kwargs.items()
                }
        return None

    def _look_closely(self, first: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Now and then see whether rows stay apart: in this call, and later in its gradients."""
        compared, self.compared, self._half = self.compared, False, None
        if len(first) < 2:
            return
        # Only here numbers turn their signs, in every other comparison.
        if (not compared or first.is_floating_point()) and self._calls.due():
            split = RowSplit.drawn(len(first), self.coin, flipped=self._comparisons % 2 == 1)
            self._comparisons += 1
            if check_call(self, ModelInputs(args, kwargs), split):
                self._calls.passed()
            refuse_changes(self._state, self.model)
        if self._gradients.due():
            self._half = RowSplit.drawn(len(first), self.coin).looked_at

    def _traced(self, value: Any) -> Any:
        """Numbers that enter the model, so that their rows can be seen to stay apart as well."""
        if not isinstance(value, Tensor) or not value.is_floating_point() or value.requires_grad:
            return value
        self._entered.append(value.detach().clone().requires_grad_())
        return self._entered[-1] * 1  # as it was: it may be changed in place

    def _end(self, *_: Any) -> None:
        self._uninstall()

    def _install(self) -> None:
        self._installed = True
        for layer in self.layers:
            if layer.module is not self.model:
                layer.module.__dict__["forward"] = layer.forward

    def _uninstall(self) -> None:
        self._installed = False
        for layer in self.layers:
            if layer.module is not self.model:
                layer.module.__dict__.pop("forward", None)

    def _call_root(self, *args: Any, **kwargs: Any) -> Any:
        # Torch looks up the forward of the model before it calls our hook, so a model that is
        # itself a layer must find out when it is called.
        root = next(layer for layer in self.layers if layer.module is self.model)
        if self._installed:
            return root.forward(*args, **kwargs)
        return type(self.model).forward(self.model, *args, **kwargs)


def _layers(model: nn.Module, batch: CurrentBatch) -> list[Layer]:
    found: list[Layer] = []
    strangers: dict[nn.Parameter, str] = {}
    for name, module in model.named_modules():
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
    # A module may hold a parameter that only a layer below it uses.
    used = {parameter for layer in found for parameter in layer.trainable().values()}
    missing = [name for parameter, name in strangers.items() if parameter not in used]
    if missing:
        raise unsupported(missing)
    return found


def _slots(model: nn.Module, layers: Iterable[Layer]) -> dict[str, Slot]:
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
    return {names[parameter]: slot for parameter, slot in known.items()}


def _round(weights: Tensor, dtype: torch.dtype) -> Tensor:
    """Weights in the precision of a parameter; one so small that rounding could double it is 0."""
    return torch.where(weights.abs() < torch.finfo(dtype).tiny, 0.0, weights).to(dtype)


def _join(name: str, key: str) -> str:
    return f"{name}.{key}" if name else key
