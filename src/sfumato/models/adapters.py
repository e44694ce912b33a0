"""Bottleneck adapters: two small layers after every attention and feed-forward part of a network.

An adapter corrects what a part says, y, through a bottleneck of ``size`` numbers: it becomes
y + U·gelu(D·y + d) + u. Only adapters and a classifier's head are trained; U and u begin at zero,
so that training begins with exactly the network that was given.

Guarantee
    None of its own; the guarantee is that of the training. Fewer weights are trained, so less noise
    is added in total.

How
    An adapter is a module inside the layer whose result it corrects, called by a hook of that
    layer. So all other weights keep their names, and its two Linear layers are recorded and clipped
    like any other (``training.clipping``). A correction looks at one place of one row, so rows stay
    apart, and a causal network stays causal.

The folder says it
    Unlike low-rank factors, adapters cannot be multiplied into other weights. A saved model holds
    them in a file of their own beside the weights, and its configuration names their size, as
    ``sfumato_adapter``.

Care
    Other programs do not know that entry: transformers alone would load the network without its
    adapters, and give other scores. The normalizations, which Houlsby et al. also train, stay
    frozen. The base model is published as it is; if it was trained on the same private text, that
    is not covered.

Reference
    Houlsby et al. 2019, "Parameter-efficient transfer learning for NLP"; under differential
    privacy, Yu et al. 2022, "Differentially private fine-tuning of language models".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from sfumato.core.checks import at_least
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.pretrained import ADAPTER_KEY
from sfumato.core.randomness import Randomness
from sfumato.models.load import draw_weights_from
from sfumato.models.trainable import ADAPTER, SIZE, Trainable

if TYPE_CHECKING:
    from transformers import PreTrainedModel

FILE, NAME = "sfumato_adapters.safetensors", "adapter"
# The last layers of attention and feed-forward parts, by the ends of their names.
_ENDS = (
    "attn.c_proj", "mlp.c_proj",  # GPT-2
    "attention.output.dense", "output.dense",  # BERT, RoBERTa
    "attention.out_lin", "ffn.lin2",  # DistilBERT
    "self_attn.o_proj", "mlp.down_proj",  # Llama, Mistral, Qwen, Gemma
    "SelfAttention.o", "EncDecAttention.o", "DenseReluDense.wo",  # T5
    "attention.dense", "mlp.dense_4h_to_h",  # GPT-NeoX
)  # fmt: skip


class Adapter(nn.Module):
    """A correction through a bottleneck, of what a layer of this ``width`` says."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(width, size), nn.Linear(size, width)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, said: Tensor) -> Tensor:
        """What the layer said, corrected."""
        corrected: Tensor = said + self.up(gelu(self.down(said)))
        return corrected

    def correct(self, _: nn.Module, __: tuple[Any, ...], said: Tensor) -> Tensor:
        """The same, as a hook; a method, so that a copy of the network calls its own adapters."""
        corrected: Tensor = self(said)
        return corrected


@dataclass(frozen=True, kw_only=True)
class Adapters:
    """Adapters with ``size`` numbers in the middle."""

    size: int = SIZE

    def __post_init__(self) -> None:
        at_least("size", self.size, 1)

    def attach(
        self, network: PreTrainedModel, randomness: Randomness, new: Sequence[str] = ()
    ) -> None:
        """Put them into a network; only they, and a classifier's head, can be trained then.

        A network that has adapters of this size already keeps them. ``new`` are the names of
        weights that were drawn, and are trained in full.
        """
        found = {one.down.out_features for one in adapters_of(network).values()}
        if found - {self.size}:
            raise InvalidArgument(
                f"this model has adapters of size {max(found)} already; go on with them, "
                f"`trainable='adapter:{max(found)}'`"
            )
        if not found:
            self._insert(network, randomness)
        Trainable(ADAPTER, size=self.size).freeze(network, new)

    def _insert(self, network: PreTrainedModel, randomness: Randomness) -> None:
        places = [name for name, module in network.named_modules() if _fits(name, module)]
        if not places:
            raise InvalidArgument(
                f"no place for adapters is known in a model of type {network.config.model_type!r}; "
                "take `trainable='lora'`, `trainable='bias'` or `trainable='all'`"
            )
        with draw_weights_from(randomness):
            for name in places:
                _insert(network, name, self.size)
        setattr(network.config, ADAPTER_KEY, self.size)


def adapters_of(network: Any) -> dict[str, Adapter]:
    """The adapters of a network by name."""
    return {name: one for name, one in network.named_modules() if isinstance(one, Adapter)}


def weights_to_train(network: Any, new: Sequence[str] = ()) -> Iterator[nn.Parameter]:
    """The weights of a classifier's head, and those that were drawn because a folder lacked them.

    They begin at nothing, so they are trained in full whatever else is.
    """
    for name in ("score", "classifier"):
        if hasattr(network, name):
            yield from getattr(network, name).parameters()
    drawn = set(new)
    yield from (one for name, one in network.named_parameters() if name in drawn)


def without_adapters(network: Any) -> dict[str, Tensor] | None:
    """The weights without those of adapters; None if there are none."""
    inside = tuple(f"{name}." for name in adapters_of(network))
    if not inside:
        return None
    weights = network.state_dict()
    return {name: one for name, one in weights.items() if not name.startswith(inside)}


def save_adapters(network: Any, folder: Path) -> None:
    """Write the adapters, if there are any, into the folder of a model."""
    from safetensors.torch import save_file

    found = {
        f"{name}.{key}": one.detach().contiguous()
        for name, adapter in adapters_of(network).items()
        for key, one in adapter.state_dict().items()
    }
    if found:
        save_file(found, folder / FILE, metadata={"format": "pt"})


def restore_adapters(network: Any, folder: Path) -> None:
    """Give a network that was loaded from a folder the adapters it was saved with."""
    size = getattr(network.config, ADAPTER_KEY, None)
    if size is None:
        return
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise BadInput(f"the configuration in {folder} has no size of adapters as {ADAPTER_KEY}")
    if not (folder / FILE).is_file():
        raise BadInput(f"{folder} holds a model with adapters, but there is no {FILE} in it")
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        weights = load_file(folder / FILE)
        sizes = {len(one) for key, one in weights.items() if key.endswith(f"{NAME}.down.weight")}
        if sizes != {size}:
            raise KeyError(size)
        for name in dict.fromkeys(key.partition(f".{NAME}.")[0] for key in weights):
            _insert(network, name, size)
        for name, adapter in adapters_of(network).items():
            own = {key: weights.pop(f"{name}.{key}") for key in adapter.state_dict()}
            adapter.load_state_dict(own)
    except (AttributeError, KeyError, OSError, RuntimeError, SafetensorError, TypeError):
        weights = {"": torch.zeros(())}
    if weights:
        raise BadInput(f"the adapters in {folder / FILE} do not fit its model; it is damaged")


def _fits(name: str, module: nn.Module) -> bool:
    from transformers.pytorch_utils import Conv1D

    known = any(f".{name}".endswith(f".{end}") for end in _ENDS)
    return known and isinstance(module, nn.Linear | Conv1D)


def _insert(network: Any, name: str, size: int) -> None:
    layer = network.get_submodule(name)
    like = layer.weight
    width = layer.out_features if isinstance(layer, nn.Linear) else layer.nf
    adapter = Adapter(width, size).to(device=like.device, dtype=like.dtype)
    layer.add_module(NAME, adapter)
    layer.register_forward_hook(adapter.correct)
