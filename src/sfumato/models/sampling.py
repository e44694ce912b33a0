"""Many texts after one public prompt, drawn together, with what was computed so far kept.

For text from a model that is public, or private already: nothing here protects anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.core.checks import at_least, between, number
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.generate import read_on
from sfumato.models.load import LoadedModel

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class TextSampling:
    """How texts are drawn: at a ``temperature`` (0 takes the likeliest token) ...

    ... from the ``top`` likeliest tokens if that is given, and of those from the fewest that have a
    probability of ``nucleus`` together. A text has at most ``tokens`` tokens.
    """

    tokens: int = 64
    temperature: float = 1.0
    top: int | None = None
    nucleus: float = 1.0

    def __post_init__(self) -> None:
        at_least("tokens", self.tokens, 1)
        if number("temperature", self.temperature) < 0:
            raise InvalidArgument(f"temperature={self.temperature} must not be negative")
        if self.top is not None:
            at_least("top", self.top, 1)
        between("nucleus", self.nucleus, 1e-6, 1.0)


def sample_texts(
    model: LoadedModel, prompt: str, count: int, sampling: TextSampling, randomness: Randomness
) -> list[str]:
    """``count`` continuations of a public prompt, each up to its end, without the prompt."""
    import torch

    if model.classes:
        raise InvalidArgument("a classifier does not write; only language models do")
    tokenizer = model.tokenizer
    begin = [] if tokenizer.begin is None else [tokenizer.begin]
    start = [*begin, *(int(one) for one in tokenizer.encode(prompt))]
    if not start:
        raise InvalidArgument("the prompt is empty, and this model has no token to begin with")
    most = min(sampling.tokens, model.context - len(start))
    if most < 1:
        raise InvalidArgument(f"the prompt fills the context of {model.context} tokens")
    said: list[Tensor] = []
    ended = torch.zeros(count, dtype=torch.bool)
    model.network.eval()
    with torch.no_grad():
        scores, state = read_on(model.network, torch.tensor([start] * count), None)
        while True:
            # A model may have more outputs than there are tokens; the others have no meaning.
            drawn = _draw(scores[:, : tokenizer.size].double(), sampling, randomness)
            said.append(drawn)
            if tokenizer.end is not None:
                ended |= drawn == tokenizer.end
            if len(said) == most or bool(ended.all()):
                break
            scores, state = read_on(model.network, drawn[:, None], state)
    before = tokenizer.decode(start)
    return [
        # Some tokenizers drop a space at the start, so the new tokens are not decoded alone.
        tokenizer.decode([*start, *_until(row, tokenizer.end)])[len(before) :]
        for row in torch.stack(said, 1).tolist()
    ]


def _draw(scores: Tensor, sampling: TextSampling, randomness: Randomness) -> Tensor:
    import torch

    if sampling.temperature == 0:
        return scores.argmax(1)
    top = scores.shape[1] if sampling.top is None else min(sampling.top, scores.shape[1])
    best, places = scores.topk(top, dim=1)
    chances = ((best - best[:, :1]) / sampling.temperature).softmax(1)
    reached = chances.cumsum(1)
    # A token stays if those before it do not make up the nucleus.
    chances = chances.masked_fill(reached - chances >= sampling.nucleus, 0.0)
    reached = chances.cumsum(1)
    wanted = torch.from_numpy(randomness.uniform(len(scores)))[:, None] * reached[:, -1:]
    found = torch.searchsorted(reached, wanted, right=True)
    # Rounding must not select a token of probability zero.
    last = (chances > 0).sum(1, keepdim=True) - 1
    return places.gather(1, torch.minimum(found, last))[:, 0]


def _until(tokens: list[int], end: int | None) -> list[int]:
    return tokens[: tokens.index(end)] if end in tokens else tokens
