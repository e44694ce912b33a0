"""Text generation, one token after the other.

Text from a private model is post-processing of its weights and costs no privacy. The randomness
decides which text is drawn and protects nothing.

``greedy_tokens`` gives the most likely continuations of many prompts of one length. It keeps what
was computed for the tokens so far (the state of a recurrent layer, the keys and values of a
transformer), so a continuation of n tokens costs n single steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.core.checks import at_least, number
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.kinds import MASKED, SEQ2SEQ, TAGGER
from sfumato.models.load import LoadedModel
from sfumato.models.sentinels import sentinels_of
from sfumato.models.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor


# What a model was trained for that fills in spans.
SPANS = "spans"


@dataclass(frozen=True, kw_only=True)
class TokenSampling:
    """How the next token is drawn; temperature 0 takes the most likely one."""

    tokens: int = 50
    temperature: float = 1.0
    top: int | None = None

    def __post_init__(self) -> None:
        at_least("tokens", self.tokens, 1)
        if number("temperature", self.temperature) < 0:
            raise InvalidArgument(f"temperature={self.temperature} must not be negative")
        if self.top is not None:
            at_least("top", self.top, 1)


def continue_text(
    model: LoadedModel, prompt: str, sampling: TokenSampling, randomness: Randomness
) -> str:
    """The prompt and its continuation, up to the end of the document.

    A model that fills in spans writes what stands in the place of ``<extra_id_0>``, or what follows
    the prompt if that is not in it.
    """
    import torch

    if model.classes or model.kind in (MASKED, TAGGER):
        named = {MASKED: "a masked model", TAGGER: "a tagger"}
        what = named.get(model.kind, "a classifier")
        raise InvalidArgument(f"{what} does not write; only causal models and decoders do")
    if model.kind == SEQ2SEQ:
        return _complete(model, prompt, sampling, randomness)
    tokenizer = model.tokenizer
    tokens = [] if tokenizer.begin is None else [tokenizer.begin]
    tokens += [int(one) for one in tokenizer.encode(prompt)]
    if not tokens:
        raise InvalidArgument("the prompt is empty, and this model has no token to begin with")
    said: list[int] = []
    model.network.eval()
    with torch.no_grad():
        for chance in randomness.uniform(sampling.tokens).tolist():
            seen = torch.tensor([(tokens + said)[-model.context :]])
            # A model may have more outputs than there are tokens; the others have no meaning.
            scores = model.network(input_ids=seen).logits[0, -1, : tokenizer.size].double()
            following = _draw(scores, sampling, chance)
            if following == tokenizer.end:
                break
            said.append(following)
    # Some tokenizers drop a space at the start, so the new tokens are not decoded alone.
    before, whole = tokenizer.decode(tokens), tokenizer.decode(tokens + said)
    return prompt + whole[len(before) :]


def _complete(
    model: LoadedModel, prompt: str, sampling: TokenSampling, randomness: Randomness
) -> str:
    """What a decoder writes after the prompt, or in the place of its first sentinel."""
    import torch

    tokenizer, network = model.tokenizer, model.network
    sentinels = sentinels_of(tokenizer) if model.objective.startswith(SPANS) else ()
    hole = tokenizer.decode(sentinels[:1]) if sentinels else ""
    whole = prompt + hole if hole not in prompt else prompt
    before, after = tokenizer.frame
    read = [*before, *tokenizer.encode_public(whole), *after] or [tokenizer.padding]
    if len(read) > model.context:
        raise InvalidArgument(
            f"the prompt has {len(read)} tokens, and the model reads {model.context}; shorten it"
        )
    start = decoder_start(network, tokenizer)
    written = [start, *sentinels[:1]]
    said: list[int] = []
    ends = {tokenizer.end, *sentinels}
    any_network: Any = network.eval()
    with torch.no_grad():
        heard = any_network.get_encoder()(input_ids=torch.tensor([read]))
        for chance in randomness.uniform(min(sampling.tokens, model.context)).tolist():
            output = any_network(
                encoder_outputs=heard,
                decoder_input_ids=torch.tensor([written + said]),
                use_cache=False,
            )
            following = _draw(output.logits[0, -1, : tokenizer.size].double(), sampling, chance)
            if following in ends:
                break
            said.append(following)
    text = tokenizer.decode(said)
    return whole.replace(hole, text, 1) if hole else prompt + text


def decoder_start(network: Any, tokenizer: Tokenizer) -> int:
    """The token that a decoder reads before the first one that it writes."""
    told = (network.config, getattr(network, "generation_config", None))
    starts = (getattr(one, "decoder_start_token_id", None) for one in told)
    start = next((one for one in starts if one is not None), tokenizer.padding)
    return int(start)


def _draw(scores: Tensor, sampling: TokenSampling, chance: float) -> int:
    import torch

    if sampling.temperature == 0:
        return int(scores.argmax())
    if sampling.top is not None and sampling.top < len(scores):
        least = scores.topk(sampling.top).values[-1]
        scores = scores.masked_fill(scores < least, float("-inf"))
    chances = ((scores - scores.max()) / sampling.temperature).softmax(0)
    reached = chances.cumsum(0)
    place = int(torch.searchsorted(reached, chance * reached[-1], right=True))
    # Rounding must not select a token of probability zero.
    return min(place, int(chances.nonzero()[-1]))


def greedy_tokens(model: LoadedModel, prompts: Tensor, count: int) -> Tensor:
    """The ``count`` most likely next tokens of each row of ``prompts`` (rows × length, no padding).

    The end of a document is treated like any other token; tokens after it have no meaning.
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
        scores, state = read_on(model.network, prompts, None)
        while True:
            # A model may have more outputs than there are tokens; the others have no meaning.
            said.append(scores[:, : model.tokenizer.size].argmax(1))
            if len(said) == count:
                return torch.stack(said, 1)
            scores, state = read_on(model.network, said[-1][:, None], state)


def greedy_answers(model: LoadedModel, read: Tensor, begun: Tensor, count: int) -> Tensor:
    """The ``count`` most likely next tokens of a decoder that has written ``begun``, by row.

    Rows are not padded: an encoder reads ``read`` (rows × length).
    """
    import torch

    network: Any = model.network.eval()
    said: list[Tensor] = []
    with torch.no_grad():
        heard = network.get_encoder()(input_ids=read)
        tokens, state = begun, None
        while len(said) < at_least("count", count, 1):
            output = network(
                encoder_outputs=heard,
                decoder_input_ids=tokens,
                past_key_values=state,
                use_cache=True,
            )
            state = output.past_key_values
            said.append(output.logits[:, -1, : model.tokenizer.size].argmax(1))
            tokens = said[-1][:, None]
    return torch.stack(said, 1)


def read_on(network: Any, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
    """Scores after the last token, and the state to continue from."""
    if hasattr(network, "step"):
        logits, after = network.step(tokens, state)
        return logits[:, -1], after
    output = network(input_ids=tokens, past_key_values=state, use_cache=True)
    return output.logits[:, -1], output.past_key_values
