"""Models in fewer digits: frozen weights in bfloat16, and products computed in it.

Guarantee
    None of its own. What training needs for its guarantee holds in any precision: what is clipped
    are the numbers that are added, and they are measured and added in float32
    (``training.clipping.layers.layer``).

Why only so much
    Weights that are trained stay in float32: a step changes a weight by less than the distance of
    two numbers of bfloat16, and would often change nothing. Frozen weights do not change; in
    bfloat16 they take half the memory, and this is most of a large model with low-rank factors.
    float16 is not offered: small gradients become zero in it.

Care
    Frozen weights are rounded, to three digits, and saved like that. Of a language model with a
    recurrent layer only the scores of all tokens are computed in bfloat16, which is most of the
    work: its sums over time keep their digits, and its frozen weights are left as they are. Other
    recurrent and convolutional networks gain nothing and are refused. Whether bfloat16 is faster
    than float32 depends on the processor; on one without instructions for it, it is slower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.core.checks import one_of
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from torch import nn

FULL, FEW = "float32", "bf16"
PRECISIONS = (FULL, FEW)


def set_precision(network: nn.Module, precision: str) -> None:
    """Compute a network in a precision from now on, whoever calls it."""
    if one_of("precision", precision, PRECISIONS) == FULL:
        return
    from torch import nn

    from sfumato.models.lstm_layer import LSTM
    from sfumato.models.output_layer import OutputLayer

    shortened = [network]
    if any(isinstance(module, LSTM | nn.RNNBase | nn.Conv1d) for module in network.modules()):
        shortened = [module for module in network.modules() if isinstance(module, OutputLayer)]
        if not shortened:
            raise InvalidArgument(
                f"`precision={precision!r}` is for language models: this recurrent or "
                "convolutional network is computed in float32, where its sums over time keep their "
                "digits; leave it out"
            )
    else:
        _round_frozen(network)
    for module in shortened:
        if isinstance(module, OutputLayer):
            module.is_short = True
        module.__dict__["_call_impl"] = _Shortly(module)


def _round_frozen(network: nn.Module) -> None:
    """Frozen weights in bfloat16, unless they share a layer with weights that are trained."""
    import torch

    mixed = {
        id(one)
        for module in network.modules()
        if any(own.requires_grad for own in module.parameters(recurse=False))
        for one in module.parameters(recurse=False)
    }
    for one in network.parameters():
        if id(one) not in mixed and one.is_floating_point():
            one.data = one.data.to(torch.bfloat16)


class _Shortly:
    """Calls of a module under autocast, its hooks included; calls may be within calls.

    Hooks could do the same, but for one thing: torch leaves out those at the end if a call is
    interrupted, and all that this process computes afterwards would have few digits.
    """

    def __init__(self, module: nn.Module) -> None:
        # A copy of the module has a copy of this, which calls the copy.
        self.module = module

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import torch

        device = next(self.module.parameters()).device.type
        # Rounded weights are not kept: there would be a copy of every one.
        with torch.autocast(device, dtype=torch.bfloat16, cache_enabled=False):
            called: Any = type(self.module)._call_impl
            return called(self.module, *args, **kwargs)
