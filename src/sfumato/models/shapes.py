"""Networks that have a shape and no numbers, to find out what they need before they are loaded.

Known shapes are built from their published numbers; nothing is fetched. Of a folder only the
configuration is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.catalog import entries
from sfumato.core.checks import extra
from sfumato.core.settings import configure
from sfumato.models.hub import folder_of
from sfumato.models.name import is_built_in


def _gpt2(width: int, layers: int, heads: int) -> Any:
    from transformers import GPT2Config

    return GPT2Config(n_embd=width, n_layer=layers, n_head=heads)


def _llama2() -> Any:
    from transformers import LlamaConfig

    return LlamaConfig(vocab_size=32000, hidden_size=4096, intermediate_size=11008)


def _mistral() -> Any:
    from transformers import MistralConfig

    return MistralConfig(vocab_size=32000, hidden_size=4096, intermediate_size=14336)


SHAPES: dict[str, Callable[[], Any]] = {
    "gpt2": lambda: _gpt2(768, 12, 12),
    "gpt2-medium": lambda: _gpt2(1024, 24, 16),
    "gpt2-large": lambda: _gpt2(1280, 36, 20),
    "llama-2-7b": _llama2,
    "mistral-7b": _mistral,
}


def shape_of(spec: str, settings: Mapping[str, object] | None = None) -> Any:
    """A language model on torch's device ``meta``: a known shape, a built-in model or a folder.

    ``settings`` are those of a built-in model.
    """
    extra("transformers", needed_for="a model", extra="train")
    import torch

    from sfumato.core.pretrained import quiet, read_config
    from sfumato.models.bpe import default_tokenizer
    from sfumato.models.load import register_own, slice_losses

    if spec not in SHAPES and is_built_in(spec):
        architecture: Any = configure(entries("models")[spec].load(), settings or {})
        network = architecture.build(default_tokenizer(), None).to("meta")
        network.tie_weights()  # moving has made two tensors of one
    else:
        from transformers import AutoModelForCausalLM

        register_own()
        config = SHAPES[spec]() if spec in SHAPES else read_config(folder_of(spec))
        with quiet(), torch.device("meta"):
            network = AutoModelForCausalLM.from_config(config)
    slice_losses(network)
    return network
