"""What a training step needs in memory and arithmetic, computed before anything is loaded.

The step itself is run, on tensors that have a shape and a precision and no numbers: the same
forward pass, the same recording, the same sums and the same optimizer as in training. Every storage
that this allocates is counted while somebody holds it. So the peak is not a formula that can forget
something: a layer that keeps one tensor more needs as much more here.

Care
    The peak is that of tensors. A process has more: Python, torch itself, and what allocators keep;
    a measured process needs some hundred megabytes more. Data decide a few sizes; then the largest
    is taken: all tokens of a batch differ, and no row is shorter than the others. Rows are compared
    in the first two batches, and in few later ones (``clipping.row_checks``). That holds the scores
    and sums of several batches at a time and is not counted here.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from sfumato.models.precision import FULL
from sfumato.models.recomputing import ALL
from sfumato.training.clipping.recording import Recording
from sfumato.training.clipping.release import _NUMBERS_AT_A_TIME
from sfumato.training.optimizers import make_optimizer
from sfumato.training.row_losses import row_losses
from sfumato.training.settings import Course

_ATEN = torch.ops.aten


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """Of one physical batch: bytes at the peak and by what they are for, and operations.

    ``kept`` is what stays from step to step, ``weights`` and the state of the optimizer in it;
    ``sums`` those of clipped gradients, ``noise`` what is drawn at a time, and ``batch`` all the
    rest at the peak: activations, what is recorded of them, scores. ``short`` of the ``operations``
    are in bfloat16; ``moved`` are bytes read and written, and ``calls`` those of torch's kernels.
    """

    parameters: int
    trained: int
    weights: int
    optimizer: int
    sums: int
    noise: int
    batch: int
    operations: float
    short: float
    moved: float
    calls: int

    @property
    def peak(self) -> int:
        """Bytes at the peak."""
        return self.weights + self.optimizer + self.sums + self.noise + self.batch

    def lines(self) -> list[tuple[str, str]]:
        """For people."""
        parts = ("weights", "optimizer", "sums", "noise", "batch")
        return [
            ("parameters", f"{self.parameters:,} ({self.trained:,} trained)"),
            *((name, _gigabytes(getattr(self, name))) for name in parts),
            ("in all", _gigabytes(self.peak)),
            ("operations", f"{self.operations / 1e12:.2f} · 10¹² ({_share(self)} in bf16)"),
        ]


def _gigabytes(count: int) -> str:
    """A number of bytes for people.

    >>> _gigabytes(1_234_567_890), _gigabytes(5_000_000)
    ('1.23 GB', '0.01 GB')
    """
    return f"{count / 1e9:.2f} GB"


def _share(found: Footprint) -> str:
    return f"{found.short / max(1.0, found.operations):.0%}"


def measure_footprint(network: nn.Module, course: Course, rows: int, places: int) -> Footprint:
    """The footprint of a private step with one physical batch of so many rows and places.

    ``network`` is on the device ``meta``, set as it will be trained; it is used up.
    """
    with _without_numbers(network, course), torch.random.fork_rng(devices=[]):
        network.train()
        trained = [one for one in network.parameters() if one.requires_grad]
        count = _Counting()
        for one in (*network.parameters(), *network.buffers()):
            count.hold(one)
        weights = count.held
        optimizer = make_optimizer(course.optimizer, network.parameters(), course.learning_rate)
        recording = Recording(network, two_passes=course.recompute == ALL)
        try:
            with count, never_compared(recording):
                # From the second step on there is a state of the optimizer.
                _update(optimizer, {one: torch.empty_like(one) for one in trained})
                count.start()
                _take_step(network, recording, optimizer, (rows, places))
        finally:
            recording.close()
        sums = sum(one.numel() * one.element_size() for one in trained)
        kept = count.held  # gradients have been let go
        noise = 2 * 8 * min(_NUMBERS_AT_A_TIME, max(one.numel() for one in trained))
        # Noise is drawn when the batch is gone, so it is at the peak only if it is larger.
        batch = max(0, count.peak - kept - sums)
        return Footprint(
            parameters=sum(one.numel() for one in network.parameters()),
            trained=sum(one.numel() for one in trained),
            weights=weights,
            optimizer=kept - weights,
            sums=sums,
            noise=max(0, noise - batch),
            batch=batch,
            operations=count.operations,
            short=count.short,
            moved=count.moved,
            calls=count.calls,
        )


def _take_step(
    network: Any, recording: Recording, optimizer: torch.optim.Optimizer, shape: tuple[int, int]
) -> None:
    """What ``PrivateStep`` does with a batch, but for noise, which needs numbers."""
    tokens = torch.zeros(shape, dtype=torch.long)
    inputs: dict[str, Any] = {"input_ids": tokens}  # no row has padding
    if getattr(network.config, "is_encoder_decoder", False):
        inputs |= {"decoder_input_ids": tokens, "use_cache": False}
    losses = row_losses(network, inputs, tokens, torch.ones(shape[0]))
    records = recording.backward(losses)
    scales = recording.measure(records).bounds()
    sums = dict(recording.weighted_sums(torch.ones_like(scales), records))
    recording.clear()
    del losses
    _update(optimizer, {slot.parameter: sums.pop(key) for key, slot in recording.slots.items()})


def _update(optimizer: torch.optim.Optimizer, gradients: dict[Tensor, Tensor]) -> None:
    for parameter in list(gradients):
        parameter.grad = gradients.pop(parameter)
    optimizer.step()
    optimizer.zero_grad()


@contextmanager
def never_compared(recording: Recording) -> Iterator[None]:
    """Rows without numbers cannot be compared."""
    recording._look_closely = lambda *_: None  # type: ignore[method-assign]
    yield


@contextmanager
def _without_numbers(network: nn.Module, course: Course) -> Iterator[None]:
    """Within this block, tensors that are made have no numbers either."""
    if course.precision == FULL:
        with torch.device("meta"):
            yield
    else:  # slower; but autocast knows no tensors that are nowhere
        with FakeTensorMode(allow_non_fake_inputs=True):
            pretend(network)
            yield


def pretend(network: nn.Module) -> None:
    """Let weights that are nowhere claim to be on the processor; within a ``FakeTensorMode``."""
    made: dict[int, Tensor] = {}

    def processor(one: Tensor) -> Tensor:
        if id(one) not in made:
            empty = torch.empty(one.shape, dtype=one.dtype, device="cpu")
            if isinstance(one, nn.Parameter):
                empty = nn.Parameter(empty, requires_grad=one.requires_grad)
            made[id(one)] = empty
        return made[id(one)]

    for module in network.modules():
        for held in (module._parameters, module._buffers):
            for name, one in held.items():
                if one is not None:
                    held[name] = processor(one)  # type: ignore[assignment]


class _Counting(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts bytes that are held, and operations; answers what depends on numbers."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.held = self.peak = 0
        self._known: dict[int, Any] = {}
        self.start()

    def start(self) -> None:
        """Count operations, and the peak, from here on."""
        self.operations = self.short = self.moved = 0.0
        self.calls = 0
        self.peak = self.held

    def hold(self, one: Tensor) -> None:
        """Count a tensor's storage until nobody holds it."""
        storage = one.untyped_storage()
        key, size = id(storage), storage.nbytes()
        if key in self._known:
            return
        self._known[key] = weakref.ref(storage, partial(self._release, key, size))
        self.held += size
        self.peak = max(self.peak, self.held)

    def _release(self, key: int, size: int, _: object) -> None:
        if self._known.pop(key, None) is not None:
            self.held -= size

    def __torch_dispatch__(
        self, func: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run one operation of torch on tensors without numbers."""
        answer = _ANSWERS.get(func)
        found = func(*args, **(kwargs or {})) if answer is None else answer(*args)
        outputs = [one for one in tree_leaves(found) if isinstance(one, Tensor)]
        for one in outputs:
            self.hold(one)
        inputs = [one for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
        if not func.is_view and func.overloadpacket is not _ATEN.detach:
            self.calls += 1
            self.moved += sum(one.numel() * one.element_size() for one in (*inputs, *outputs))
        done = _operations(func, args, kwargs or {}, found)
        self.operations += done
        if any(one.dtype == torch.bfloat16 for one in outputs):
            self.short += done
        return found


def _operations(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], found: Any) -> float:
    """Multiplications and additions of a product."""
    known = flop_registry.get(func.overloadpacket)
    if known is not None:
        return float(known(*args, **kwargs, out_val=found))
    if "scaled_dot_product" in func.name():
        back = "backward" in func.name()
        query, key = args[1 if back else 0], args[2 if back else 1]
        return float((10 if back else 4) * prod(query.shape) * int(key.shape[-2]))
    return 0.0


def _all_differ(one: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor]:
    """``unique`` where nothing occurs twice: the largest result there can be."""
    flat = one.new_empty(one.numel())
    return flat, one.new_empty(one.shape), flat.new_empty(one.numel())


# What depends on numbers: the case that needs most, and the way of an ordinary batch.
_ANSWERS: dict[Any, Any] = {
    _ATEN._local_scalar_dense.default: lambda one: one.dtype == torch.bool or 1,
    _ATEN.is_nonzero.default: lambda _: True,
    _ATEN.equal.default: lambda *_: True,
    _ATEN._unique2.default: _all_differ,
    _ATEN.nonzero.default: lambda one: one.new_empty(0, one.dim(), dtype=torch.long),
}
