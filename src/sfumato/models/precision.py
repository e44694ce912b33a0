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

from types import new_class
from typing import TYPE_CHECKING, Any, SupportsIndex

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
        _shorten(module)


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


def _shorten(module: Any) -> None:
    """Let every call of a module, its hooks included, be under autocast; calls may be within calls.

    Its class becomes a subclass that says so, as torch does for parametrized modules. Hooks at the
    end of a call would not do: torch leaves them out if the call is interrupted, and whatever this
    process computes afterwards would have few digits.
    """
    if not getattr(type(module), "computes_short", False):
        module.__class__ = _short_class(type(module))


def _short_class(kind: Any) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        import torch

        device = next(self.parameters()).device.type
        # Rounded weights are not kept: there would be a copy of every one.
        with torch.autocast(device, dtype=torch.bfloat16, cache_enabled=False):
            return kind._call_impl(self, *args, **kwargs)

    def reduce(self: Any, _: SupportsIndex) -> tuple[Any, ...]:
        return _made_short, (kind,), self.__getstate__()

    named = {key: getattr(kind, key) for key in ("__module__", "__qualname__", "__doc__")}
    own = {**named, "_call_impl": call, "__reduce_ex__": reduce, "computes_short": True}
    return new_class(kind.__name__, (kind,), {}, lambda body: body.update(own))


def _made_short(kind: Any) -> Any:
    """For copies, and for whoever reads what was pickled."""
    made = kind.__new__(kind)
    _shorten(made)
    return made
