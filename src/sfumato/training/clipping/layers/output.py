"""The output layer of a language model, recorded: losses at places in place of scores.

Why the gradient is right
    With G_t = w·(softmax − one-hot) at place t, the loss's gradient at the scores, the weight of
    the layer has the gradient Σ_t G_t a_tᵀ, that of a linear layer (``linear``). Here G is formed
    in slices in the forward pass and takes the place of the scores: one tensor of the size of the
    scores is kept instead of the scores and their gradient.

Why it is kept
    The scale of a record is known only after the norms of all layers are, and the scaled sum
    Σ_i c_i G_iᵀ a_i needs G once more. Computing it again would cost a product and an exponential
    for every score; a physical batch (``tokens_at_once``) bounds the memory.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sfumato.models.output_layer import Expected, OutputLayer, by_place, pull, slices
from sfumato.training.clipping.layers.layer import autocast_to, through
from sfumato.training.clipping.layers.linear import RecordedLinear


class RecordedOutput(RecordedLinear):
    """``OutputLayer``: a linear layer, or its losses if they are asked for."""

    def record(self, input: Tensor) -> Tensor:  # noqa: A002  # torch calls it so
        """Scores or losses, with input and the gradient at the scores recorded."""
        module = self.module
        assert isinstance(module, OutputLayer)  # noqa: S101  # the rules choose by type
        if module.withholds:
            return input
        if module.expected is None:
            return super().record(input)
        self.check_rows(input)
        output: Tensor = through(_Losses, input, self.batch.anchor, self, module.expected)
        return output


class _Losses(torch.autograd.Function):
    """Losses with constant weight and bias; the gradient at the scores is recorded."""

    @staticmethod
    def forward(
        ctx: Any, entered: Tensor, _anchor: Tensor, layer: RecordedOutput, expected: Expected
    ) -> Tensor:
        module: Any = layer.module
        ctx.layer, ctx.given = layer, entered.dtype
        entered = entered.to(autocast_to(entered, module.weight) or module.weight.dtype)
        labels, weights = by_place(entered, expected)
        states, classes = entered.flatten(0, 1), len(module.weight)
        pulled = states.new_empty(len(states), classes)
        fine = module.weight.dtype
        losses = states.new_empty(len(states), dtype=fine)
        weight = module.weight.to(entered.dtype).t()
        for some in slices(len(states), classes):
            scores = pulled[some]
            torch.mm(states[some], weight, out=scores)
            if module.bias is not None:
                scores += module.bias
            exact = scores.to(fine)  # the same tensor, unless scores have few digits
            losses[some] = pull(exact, labels[some], weights[some].to(fine))
            if exact is not scores:
                scores.copy_(exact)
        ctx.save_for_backward(entered, pulled.view(*entered.shape[:2], classes))
        return losses.view(*entered.shape[:2], 1)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, None, None, None]:
        entered, pulled = ctx.saved_tensors
        # Training sums the losses, so this is 1 everywhere; checks of rows leave some out.
        every = bool((upstream == 1).all())
        gradient = pulled if every else (pulled * upstream).to(pulled.dtype)
        ctx.layer.collect(entered if "weight" in ctx.layer.slots else None, gradient)
        if not ctx.needs_input_grad[0]:
            return None, None, None, None
        weight: Tensor = ctx.layer.module.weight.to(gradient.dtype)
        return (gradient @ weight).to(ctx.given), None, None, None
