"""The likeliest continuations of many prompts of one length, read once and then a token at a time.

What was read is kept: the state of a recurrent layer, the keys and values of a transformer. So a
continuation of n tokens costs n single steps, not n readings of everything before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.core.checks import at_least
from sfumato.core.errors import InvalidArgument
from sfumato.models.loading import LoadedModel

if TYPE_CHECKING:
    from torch import Tensor


def greedy_tokens(model: LoadedModel, prompts: Tensor, count: int) -> Tensor:
    """For each row of ``prompts`` (rows × length, no padding) its ``count`` likeliest next tokens.

    The end of a document is a token like others here: what follows it is of no use to anybody, and
    is compared as it is.
    """
    import torch

    at_least("count", count, 1)
    if prompts.shape[1] + count > model.context:
        raise InvalidArgument(
            f"{prompts.shape[1]} tokens and {count} more exceed the context of {model.context}"
        )
    model.network.eval()
    said: list[Tensor] = []
    with torch.no_grad():
        scores, state = _read(model.network, prompts, None)
        while True:
            # A model may have more outputs than there are tokens; the rest stands for nothing.
            said.append(scores[:, : model.tokenizer.size].argmax(1))
            if len(said) == count:
                return torch.stack(said, 1)
            scores, state = _read(model.network, said[-1][:, None], state)


def _read(network: Any, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
    """Scores after the last of the tokens, and what to remember of all read so far."""
    if hasattr(network, "step"):
        logits, after = network.step(tokens, state)
        return logits[:, -1], after
    output = network(input_ids=tokens, past_key_values=state, use_cache=True)
    return output.logits[:, -1], output.past_key_values
