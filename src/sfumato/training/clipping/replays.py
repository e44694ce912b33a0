"""Calling a model again: without side effects, with other rows, and without randomness.

Guarantee
    A call within ``unseen`` has no effect on training: it changes no weight, gradient, buffer or
    attribute of a module, and no random generator of torch, numpy or Python.

Why it holds
    Generators and attributes are restored, and buffers are replaced by copies. So every call within
    ``unseen`` begins in the same state: dropout has the same masks, a counter the same count. State
    that is kept elsewhere, such as in a list or a file, is not restored.

Care
    A batch of another size has other masks. For that, ``StillDraws`` removes randomness: nothing is
    dropped, and whatever is drawn is the same for all rows.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@contextmanager
def unseen(model: nn.Module) -> Iterator[None]:
    """Within this block the model may be called; afterwards it and all generators are restored."""
    modules = [(one, dict(vars(one))) for one in model.modules()]
    gradients = [(one, one.grad) for one in model.parameters()]
    devices = {one.device.index for one, _ in gradients if one.is_cuda}
    numbers, numpys = random.getstate(), np.random.get_state()
    for module, _ in modules:
        module.__dict__["_buffers"] = {
            name: None if one is None else one.clone() for name, one in module._buffers.items()
        }
    try:
        with torch.random.fork_rng(devices=sorted(devices)):
            yield
    finally:
        random.setstate(numbers)
        np.random.set_state(numpys)
        for module, attributes in modules:
            vars(module).clear()
            vars(module).update(attributes)
        for parameter, gradient in gradients:
            parameter.grad = gradient


def draws(model: nn.Module) -> list[Tensor]:
    """The states of torch's generators, which change when something is drawn."""
    devices = {one.device for one in model.parameters() if one.is_cuda}
    return [torch.get_rng_state(), *(torch.cuda.get_rng_state(one) for one in devices)]


def draw_once(model: nn.Module) -> None:
    """Change all later draws, by one extra draw."""
    for device in {one.device for one in model.parameters()}:
        torch.rand(1, device=device)


class StillDraws(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Within this block, dropout drops nothing and every draw of torch gives the same number."""

    def __torch_dispatch__(
        self, func: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run one operation of torch without randomness."""
        kwargs = dict(kwargs or {})
        if torch.Tag.nondeterministic_seeded not in func.tags:
            return func(*args, **kwargs)
        names = [argument.name for argument in func._schema.arguments]
        dropped = "p" if func is torch.ops.aten.native_dropout.default else "dropout_p"
        if dropped in names:
            place = names.index(dropped)
            if place < len(args):
                args = (*args[:place], 0.0, *args[place + 1 :])
            else:
                kwargs[dropped] = 0.0
            return func(*args, **kwargs)
        drawn = func(*args, **kwargs)
        for one in tensors_in(drawn):
            # A mask of ones drops nothing; zero is an index that always exists.
            one.fill_(1 if one.is_floating_point() or one.dtype == torch.bool else 0)
        return drawn


def still_draws() -> AbstractContextManager[object]:
    """Within this block, what torch computes does not depend on randomness."""
    return StillDraws()  # type: ignore[no-untyped-call]


class ModelInputs:
    """The arguments of a call of the model, by row.

    The rows are the first axis of the first tensor. Other tensors have the rows on their first
    axis, or on their second like the state of a recurrent network; or they are the same for all
    rows.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._given: Arguments = (args, kwargs)
        first, *others = tensors_in(self._given)
        self._first, self.rows = first, len(first)
        shapes = [one.shape for one in (first, *others)]
        # If a tensor has two axes as long as the number of rows, its row axis is not known.
        self._told_apart = not others or all(tuple(one).count(self.rows) <= 1 for one in shapes)
        self.can_be_cut = self._told_apart and not _opaque(self._given, self.rows)

    def taken(self, rows: Tensor, flipped: Tensor) -> Arguments:
        """The arguments with the named rows; numbers of those that are flipped change sign."""

        def taken(one: Tensor) -> Tensor:
            axis = row_axis(one, self.rows)
            if one is self._first:
                chosen = one.detach()[rows.to(one.device)]
                signs = torch.where(flipped, -1, 1).view(-1, *(1,) * (one.dim() - 1)).to(chosen)
                return chosen * signs if one.is_floating_point() else chosen
            if axis is None or not self._told_apart:
                return one.detach().clone()
            return one.detach().index_select(axis, rows.to(one.device))

        args, kwargs = _map(self._given, taken)
        return args, kwargs


def row_axis(tensor: Tensor, rows: int) -> int | None:
    """Which of the first two axes is that of the rows, if any."""
    return next((axis for axis, size in enumerate(tensor.shape[:2]) if size == rows), None)


def tensors_in(value: Any) -> list[Tensor]:
    """All tensors in a nested structure, in their order."""
    if isinstance(value, Tensor):
        return [value]
    return [tensor for inner in _inside(value) for tensor in tensors_in(inner)]


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, list | tuple):
        return value
    return ()


def _map(value: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """The same structure with other tensors."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, Mapping):
        found = copy.copy(value)
        for key, inner in value.items():
            found[key] = _map(inner, function)  # type: ignore[index]
        return found
    if isinstance(value, list | tuple):
        inner = [_map(one, function) for one in value]
        return type(value)(*inner) if hasattr(value, "_fields") else type(value)(inner)
    return value


def _opaque(value: Any, rows: int) -> bool:
    """Whether an argument may contain rows but cannot be split into them."""
    if value is None or isinstance(value, Tensor | bool | int | float | str):
        return False
    if isinstance(value, list | tuple) and value and not tensors_in(value):
        return len(value) == rows
    if isinstance(value, Mapping | list | tuple):
        return any(_opaque(one, rows) for one in _inside(value))
    return True
