"""The map from states to the scores of all tokens, and losses without a whole batch of scores.

A batch of 4,096 tokens has 33 million scores over a vocabulary of 8,000: 130 MB for the scores and
as much for their gradient, which the system hands out page by page in every step. Nothing but the
loss at each place is needed. So within ``expecting`` the layer returns losses, one slice of places
at a time, and each slice's gradient is formed at once, while its scores are in the cache. Within
``withheld`` it returns the states themselves, for callers that want the scores of a few places at a
time (``scores``).

Why this changes no result
    A loss is −log softmax at one place; no other place takes part. The gradient at a place is
    softmax − one-hot, times the weight of the place. Gradients of weight and bias are sums over
    places, which slices add up in another order: they are equal up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.core.errors import InvalidArgument
from sfumato.models.tokenizer import IGNORED

# Scores at a time: few enough for the cache, enough for an efficient product. Those of few digits
# are quicker, and take more at a time.
SCORES_AT_A_TIME = 500_000
SHORT_SCORES_AT_A_TIME = 2_000_000


class Expected(NamedTuple):
    """The token that is wanted at each place (−100 for none), and the weight of each row."""

    labels: Tensor
    weights: Tensor


class _Asked(NamedTuple):
    """The label and weight of every place, and in what their products are computed."""

    labels: Tensor
    weights: Tensor
    products: torch.dtype


class OutputLayer(nn.Linear):
    """A linear layer that can return weighted losses (rows, places, 1) in place of scores.

    >>> layer = OutputLayer(2, 3, bias=False)
    >>> _ = nn.init.zeros_(layer.weight)
    >>> with layer.expecting(torch.tensor([[0, 2], [1, -100]]), torch.tensor([1.0, 0.5])):
    ...     layer(torch.ones(2, 2, 2)).detach()[..., 0].exp()
    tensor([[3.0000, 3.0000],
            [1.7321, 1.0000]])
    """

    expected: Expected | None = None
    withholds = False
    is_short = False  # computed in few digits, whether or not its weight is trained

    @contextmanager
    def expecting(self, labels: Tensor, weights: Tensor) -> Iterator[None]:
        """Within this block the layer returns losses."""
        self.expected = Expected(labels, weights)
        try:
            yield
        finally:
            self.expected = None

    @contextmanager
    def withheld(self) -> Iterator[None]:
        """Within this block the layer returns its input; ``scores`` turns it into scores."""
        self.withholds = True
        try:
            yield
        finally:
            self.withholds = False

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  # torch calls it so
        """Scores; losses or the states themselves if they are asked for."""
        if self.withholds:
            return input
        if self.expected is None:
            return functional.linear(input, self.weight, self.bias)
        labels, weights = by_place(input, self.expected)
        states = input.flatten(0, 1).to(self.weight.dtype)
        kind = input.device.type if input.device.type != "meta" else "cpu"
        # Autocast says what products are computed in; all else is in the precision of the weight.
        products = states.dtype
        if torch.is_autocast_enabled(kind) and products == torch.float32:
            products = torch.get_autocast_dtype(kind)
        with torch.autocast(kind, enabled=False):
            losses: Tensor = _SlicedLosses.apply(  # type: ignore[no-untyped-call]
                states, self.weight, self.bias, _Asked(labels, weights, products)
            )
        return losses.view(*input.shape[:2], 1)

    def scores(self, states: Tensor) -> Tensor:
        """The scores of states that were withheld."""
        return functional.linear(states.to(self.weight.dtype), self.weight, self.bias)


def ask_for_scores(network: nn.Module) -> None:
    """Let every output layer return scores, whatever was expected of it."""
    for module in network.modules():
        if isinstance(module, OutputLayer):
            module.expected = None


def by_place(states: Tensor, expected: Expected) -> tuple[Tensor, Tensor]:
    """The label and the weight of every place, in one row; places that do not count weigh 0."""
    if states.shape[:2] != expected.labels.shape:
        raise InvalidArgument("there must be one label for each place of each row")
    labels = expected.labels.reshape(-1)
    weights = expected.weights[:, None].to(states.device, fine(states.dtype))
    weights = weights.expand(expected.labels.shape).reshape(-1)
    return labels.clamp(min=0), torch.where(labels == IGNORED, 0.0, weights)


def fine(dtype: torch.dtype) -> torch.dtype:
    """The precision of losses: that of the scores, but never less than float32."""
    return torch.float32 if dtype in (torch.bfloat16, torch.float16) else dtype


def slices(places: int, classes: int, most: int = SCORES_AT_A_TIME) -> Iterator[slice]:
    """Some places at a time."""
    size = max(1, most // classes)
    return (slice(start, start + size) for start in range(0, places, size))


def pull(scores: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """The losses of some places; ``scores`` become the gradient of their sum, in place."""
    totals = scores.logsumexp(1)
    losses = (totals - scores.gather(1, labels[:, None])[:, 0]).mul_(weights)
    scores.sub_(totals[:, None]).exp_().mul_(weights[:, None])
    scores.scatter_add_(1, labels[:, None], -weights[:, None])
    return losses


def sliced_losses(
    states: Tensor, layer: tuple[Tensor, Tensor | None], labels: Tensor, weights: Tensor
) -> Tensor:
    """The losses alone, without gradients."""
    found = states.new_empty(len(states), dtype=fine(states.dtype))
    for some in slices(len(states), len(layer[0])):
        scores = functional.linear(states[some], *layer).to(found.dtype)
        found[some] = scores.logsumexp(1) - scores.gather(1, labels[some, None])[:, 0]
    return found.mul_(weights)


class _SlicedLosses(torch.autograd.Function):
    """Losses at places, and their gradients in the same pass.

    A step sums the losses of all places, so every loss has the same gradient and what the forward
    pass formed needs only a factor. If they differ, slices are computed again.
    """

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None, asked: _Asked
    ) -> Tensor:
        if not any(ctx.needs_input_grad):
            return sliced_losses(states, (weight, bias), asked.labels, asked.weights)
        ctx.trained = (weight.requires_grad, bias is not None and bias.requires_grad)
        losses, *gradients = _with_gradients(states, (weight, bias), asked, trained=ctx.trained)
        ctx.asked = asked
        ctx.save_for_backward(states, weight, bias, *gradients)
        return losses

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> Any:
        states, weight, bias, *formed = ctx.saved_tensors
        factor = upstream[:1]
        if len(factor) and bool((upstream == factor).all()):
            gradients = [None if one is None else one * factor.to(one) for one in formed]
        else:
            asked = ctx.asked._replace(weights=ctx.asked.weights * upstream)
            _, *gradients = _with_gradients(states, (weight, bias), asked, trained=ctx.trained)
        return *gradients, None


def _with_gradients(
    states: Tensor,
    layer: tuple[Tensor, Tensor | None],
    asked: _Asked,
    *,
    trained: tuple[bool, bool],
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Losses, and the gradients of their sum by states, and by weight and bias if trained.

    Factors of products are rounded to ``products``, and what is added up over slices is not.
    """
    (weight, bias), (labels, weights, products) = layer, asked
    of_weight = torch.zeros_like(weight) if trained[0] else None
    of_bias = weight.new_zeros(len(weight)) if trained[1] else None
    exact = fine(states.dtype)
    losses, of_states = states.new_zeros(len(states), dtype=exact), torch.zeros_like(states)
    factor, added = weight.to(products), None if bias is None else bias.to(products)
    # Padding is not computed at all.
    counted = (weights != 0).nonzero()[:, 0]
    most = SCORES_AT_A_TIME if products == exact else SHORT_SCORES_AT_A_TIME
    for some in slices(len(counted), len(weight), most):
        places = counted[some]
        entered = states[places].to(products)
        scores = functional.linear(entered, factor, added).to(exact)
        losses[places] = pull(scores, labels[places], weights[places])
        if of_bias is not None:
            of_bias += scores.sum(0)
        scores = scores.to(products)
        of_states[places] = (scores @ factor).to(states.dtype)
        if of_weight is not None and products == weight.dtype:
            of_weight.addmm_(scores.t(), entered)
        elif of_weight is not None:
            of_weight += scores.t() @ entered
    return losses, of_states, of_weight, of_bias
