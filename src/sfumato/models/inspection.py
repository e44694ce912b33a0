"""What must be known of a loaded model before it is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.core.errors import BadInput
from sfumato.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# For a network that names no limit of its own.
CONTEXT = 256
_PROBE = 8


def context_of(model: PreTrainedModel, tokenizer: Tokenizer) -> int:
    """The most tokens a row may have."""
    config: Any = model.config
    named = getattr(config, "context", None) or getattr(config, "max_position_embeddings", None)
    if named is None:
        return CONTEXT
    # RoBERTa and its kin number positions from behind the padding index.
    skipped = (
        module.padding_idx + 1
        for name, module in model.named_modules()
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None
    )
    return int(min(named - next(skipped, 0), tokenizer.backend.model_max_length))


def is_causal(model: PreTrainedModel) -> bool:
    """Whether a later token leaves the prediction at earlier places as it was.

    Tried, not looked up: an encoder can be loaded under a causal head, and then it sees the very
    token it is to predict.
    """
    import torch

    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            tokens = torch.arange(_PROBE).remainder(model.config.vocab_size)[None]
            changed = tokens.clone()
            changed[0, -1] = (changed[0, -1] + 1) % model.config.vocab_size
            before, after = (model(input_ids=one).logits[0, :-1] for one in (tokens, changed))
    finally:
        model.train(was_training)
    if before.isnan().any():
        raise BadInput("the model gives no finite numbers; its training may have diverged")
    return bool((before - after).abs().max() <= 1e-6 * before.abs().max())
