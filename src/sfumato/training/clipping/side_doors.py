"""Ways around the noise: what a forward pass writes into the model, and batch statistics.

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

from collections.abc import Iterator, Mapping

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from sfumato.core.errors import UnsupportedLayer

State = Mapping[str, tuple[int, int]]


def refuse_batch_statistics(model: nn.Module) -> None:
    """Name the layers that let the rows of a batch see each other."""
    for name, module in model.named_modules():
        if isinstance(module, _BatchNorm) and (module.training or module.running_mean is None):
            raise UnsupportedLayer(
                f"layer {name!r} ({type(module).__name__}) normalizes over the batch: its rows see "
                "each other, and averages of them are kept without noise. Replace it, for instance "
                "by LayerNorm, or freeze it and call its eval()"
            )


def state_of(model: nn.Module) -> State:
    """Which tensor stands where, and how often it was changed."""
    return {name: (id(one), one._version) for name, one in _saved(model)}


def refuse_changes(before: State, model: nn.Module) -> None:
    """Name what was changed since then by something else than a private step."""
    after = state_of(model)
    changed = sorted(name for name, state in before.items() if after.get(name) != state)
    if changed:
        raise UnsupportedLayer(
            f"{', '.join(changed)} was changed while the model was computing: it would be saved "
            "with the model, and holds the text without noise. Switch that off (eval(), no "
            "max_norm), or replace the layer; use this model no further"
        )


def _saved(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    for prefix, module in model.named_modules():
        passing = module._non_persistent_buffers_set
        for held in (module._parameters, module._buffers):
            for name, one in held.items():
                if one is not None and name not in passing and not one.is_inference():
                    yield (f"{prefix}.{name}" if prefix else name), one
