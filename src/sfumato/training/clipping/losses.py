"""Losses of rows that depend on nothing but the row.

Guarantee
    The loss of a row, and with it the row's gradient, is the same whatever else is in the batch.

Why it holds
    A row's loss is the sum over its own tokens, divided by a public constant or by the row's own
    number of tokens. The usual mean over all tokens of a batch does not have this property: a long
    row makes the gradients of all others smaller, so removing one record changes the contributions
    of the others, and clipping bounds nothing.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sfumato.core.checks import positive
from sfumato.core.errors import InvalidArgument
from sfumato.models.output_layer import fine
from sfumato.models.tokenizer import IGNORED

# Scores that are processed at a time: few enough for the cache, enough for several threads.
_NUMBERS_AT_A_TIME = 8_000_000


def record_losses(
    logits: Tensor, labels: Tensor, mask: Tensor | None = None, *, divisor: float | None = None
) -> Tensor:
    """Cross-entropy of each row: (rows, …, classes) against (rows, …).

    Positions with the label −100, or where ``mask`` is 0, do not count. A row's sum is divided by
    ``divisor``, a public constant, or else by the number of its own positions that count.

    >>> logits = torch.zeros(2, 3, 4)
    >>> labels = torch.tensor([[0, 1, 2], [3, -100, -100]])
    >>> record_losses(logits, labels), record_losses(logits, labels, divisor=3)
    (tensor([1.3863, 1.3863]), tensor([1.3863, 0.4621]))
    """
    if logits.shape[:-1] != labels.shape:
        raise InvalidArgument(
            f"labels with {labels.dim()} axes do not fit logits with {logits.dim()}, whose last "
            "axis is the classes; give one label for each position of each row"
        )
    counted = labels != IGNORED
    if mask is not None:
        counted = counted & mask.bool()
    if divisor is None:
        length = counted.flatten(1).sum(1) if counted.dim() > 1 else counted.long()
        divisors = length.clamp(min=1).to(fine(logits.dtype))
    else:
        divisors = logits.new_full(
            (len(logits),), positive("divisor", divisor), dtype=fine(logits.dtype)
        )
    classes = logits.shape[-1]
    weights = (counted.reshape(len(logits), -1) / divisors[:, None]).to(divisors.dtype)
    losses: Tensor = _CrossEntropy.apply(  # type: ignore[no-untyped-call]
        logits.reshape(-1, classes), labels.clamp(min=0).reshape(-1), weights.reshape(-1)
    )
    return losses.view(len(logits), -1).sum(1)


def next_tokens(tokens: Tensor, mask: Tensor | None = None) -> Tensor:
    """Labels for a causal model: at each position the next token, and −100 at the last.

    >>> next_tokens(torch.tensor([[5, 6, 7]]), torch.tensor([[1, 1, 0]]))
    tensor([[   6, -100, -100]])
    """
    labels = torch.full_like(tokens, IGNORED)
    labels[:, :-1] = tokens[:, 1:]
    if mask is not None:
        labels[:, :-1].masked_fill_(~mask[:, 1:].bool(), IGNORED)
    return labels


class _CrossEntropy(torch.autograd.Function):
    """Weighted cross-entropy at each position, in chunks that stay in the cache.

    Torch's own function keeps the log-probabilities of all classes at all positions beside the
    scores. Here they are computed again in the backward pass, directly as the gradient.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
        totals = weights.new_empty(len(logits))
        for places in _chunks(logits):
            torch.logsumexp(logits[places].to(totals.dtype), 1, out=totals[places])
        ctx.save_for_backward(logits, labels, weights, totals)
        return (totals - logits.gather(1, labels[:, None])[:, 0]).mul_(weights)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        logits, labels, weights, totals = ctx.saved_tensors
        weights = weights * gradient
        before = torch.empty_like(logits)
        for places in _chunks(logits):
            if logits.dtype == totals.dtype:
                chunk = torch.sub(logits[places], totals[places, None], out=before[places])
            else:
                chunk = logits[places] - totals[places, None]
            chunk.exp_().mul_(weights[places, None])
            chunk.scatter_add_(1, labels[places, None], -weights[places, None])
            if logits.dtype != totals.dtype:
                before[places] = chunk
        return before, None, None


def _chunks(logits: Tensor) -> list[slice]:
    size = max(1, _NUMBERS_AT_A_TIME // logits.shape[1])
    return [slice(start, start + size) for start in range(0, len(logits), size)]
