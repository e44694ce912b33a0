"""Side effects of a forward pass, which would bypass the noise: they are refused.

So are batch statistics.

Why it matters
    Gradients get noise; other changes that a batch makes to the model do not, and they are saved
    with it. Batch normalization keeps averages of its inputs, and an embedding with ``max_norm``
    rescales the lines that were looked up, even if it is frozen. And values that are normalized
    over a batch depend on the other rows, whether or not a gradient shows it.

Why no change is missed
    Torch counts the changes of every tensor. Parameters and all buffers that are saved must have
    the same count before the model is called and after the backward pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from sfumato.core.errors import UnsupportedLayer

BufferVersions = Mapping[str, tuple[int, int]]


def refuse_batch_statistics(model: nn.Module) -> None:
    """Refuse layers that normalize over the rows of a batch."""
    for name, module in model.named_modules():
        if isinstance(module, _BatchNorm) and (module.training or module.running_mean is None):
            raise UnsupportedLayer(
                f"layer {name!r} ({type(module).__name__}) normalizes over the batch: its rows see "
                "each other, and averages of them are kept without noise. Replace it, for instance "
                "by LayerNorm, or freeze it and call its eval()"
            )


def state_of(model: nn.Module) -> BufferVersions:
    """The identity of every parameter and saved buffer, and how often it was changed."""
    return {name: (id(one), one._version) for name, one in _save(model)}


def refuse_changes(before: BufferVersions, model: nn.Module) -> None:
    """Refuse changes since then that were not made by a private step."""
    after = state_of(model)
    changed = sorted(name for name, state in before.items() if after.get(name) != state)
    if changed:
        raise UnsupportedLayer(
            f"{', '.join(changed)} was changed while the model was computing: it would be saved "
            "with the model, and holds the text without noise. Switch that off (eval(), no "
            "max_norm), or replace the layer; do not use this model any more"
        )


def _save(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    for prefix, module in model.named_modules():
        passing = module._non_persistent_buffers_set
        for held in (module._parameters, module._buffers):
            for name, one in held.items():
                if one is not None and name not in passing and not one.is_inference():
                    yield (f"{prefix}.{name}" if prefix else name), one
